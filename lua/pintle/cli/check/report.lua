-- The report of `pintle check`, as text and as JSON.

local bytes = require "pintle.bytes"
local errors = require "pintle.error"
local json = require("pintle.core").json

local MAX_BYTES = 2000 -- of a message in JSON
local MAX_COLUMNS = 200 -- of a message in text
local MAX_LINES = 12 -- messages, and lines of stderr, in text

local reports = {}

local methods = {}

local metatable = { __name = "pintle.cli.check.report", __index = methods }

-- {====== JSON ======

local function cut(text, most)
  if #text <= most then return text end
  return ("%s… (%d bytes)"):format(text:sub(1, most):gsub("[\xC2-\xF4][\x80-\xBF]*$", ""), #text)
end

local PIECE = json.order { "from", "kind", "text", "encoding", "problem" }
local RESULT = json.order { "name", "verdict", "rule", "reason", "exchange", "left_out", "stderr" }
local REPORT = json.order { "command", "dialect", "passed", "warnings", "failed", "skipped", "probes" }

local function value_of_piece(piece)
  local text, encoding = cut(piece.text, MAX_BYTES), nil
  if not utf8.len(text) then text, encoding = bytes.new(piece.text:sub(1, MAX_BYTES))["$bytes"], "base64" end
  local value = { from = piece.from, kind = piece.kind, text = text, encoding = encoding, problem = piece.problem }
  return setmetatable(value, PIECE)
end

local function printable(text) return utf8.len(text) and text or (text:gsub("[\x80-\xFF]", "?")) end

local function value_of(result)
  local exchange, stderr
  if result.exchange then
    exchange, stderr = json.array(), json.array()
    for i, piece in ipairs(result.exchange) do exchange[i] = value_of_piece(piece) end
    for i, line in ipairs(result.stderr) do stderr[i] = printable(line) end
  end
  return setmetatable({
    name = result.name, verdict = result.verdict, rule = result.rule, reason = result.reason,
    exchange = exchange, left_out = result.left_out, stderr = stderr,
  }, RESULT)
end

-- }======

-- {====== Text ======

local STYLES = { pass = "green", fail = "red", warn = "yellow", skip = "dim" }
local SIGNS = { message = "", bytes = "bytes ", noise = "? " }

local ESCAPES = { ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

local function harmless(text) return errors.harmless((text:gsub("[\n\r\t]", ESCAPES))) end

local function line_of(piece)
  if piece.kind == "closed" then return "→ (end of input)" end
  if piece.kind == "killed" then return "→ (killed)" end
  if piece.kind == "exit" then return "← (ended with " .. piece.text .. ")" end
  local problem = piece.problem and ("  (%s)"):format(piece.problem) or ""
  return ("%s %s%s%s"):format(piece.from == "host" and "→" or "←", SIGNS[piece.kind],
    harmless(printable(cut(piece.text, MAX_COLUMNS))), harmless(problem))
end

-- The last elements of a list, and the number of those before.
local function last_of(list)
  local first = math.max(#list - MAX_LINES + 1, 1)
  return table.move(list, first, #list, 1, {}), first - 1
end

local function show_exchange(self, result)
  local pieces, before = last_of(result.exchange or {})
  if before > 0 then self.console:print(("      (%d before)"):format(before)) end
  for _, piece in ipairs(pieces) do self.console:print("      " .. line_of(piece)) end
  if result.left_out then self.console:print(("      (%d more)"):format(result.left_out)) end
  for _, line in ipairs((last_of(result.stderr or {}))) do
    self.console:print("      | " .. harmless(cut(printable(line), MAX_COLUMNS)))
  end
end

local function show(self, result)
  local console, verdict = self.console, result.verdict
  local name = result.name .. (" "):rep(self.width - #result.name)
  local what = verdict == "skip" and harmless(result.reason) or result.rule
  console:print(("%s  %s  %s"):format(console:paint(STYLES[verdict], verdict), name, what))
  if verdict == "skip" then return end
  if result.reason then console:print("      " .. harmless(result.reason)) end
  if verdict == "pass" then return end
  show_exchange(self, result)
end

-- }======

---@param result pintle.cli.check.result
function methods:add(result)
  self.results[#self.results + 1] = result
  self.count[result.verdict] = self.count[result.verdict] + 1
  if not self.is_json then show(self, result) end
end

local function summary(count)
  local function plural(number, word) return ("%d %s%s"):format(number, word, number == 1 and "" or "s") end
  return ("%d passed, %d failed, %s, %d skipped"):format(count.pass, count.fail, plural(count.warn, "warning"),
    count.skip)
end

---@param command string[]
---@param dialect string
---@param has_handshake boolean
function methods:finish(command, dialect, has_handshake)
  local count = self.count
  if not self.is_json then
    self.console:print(summary(count) .. (has_handshake and "" or "; the handshake failed, so no other probe was run"))
    return
  end
  local probes = json.array()
  for i, result in ipairs(self.results) do probes[i] = value_of(result) end
  self.console:json(setmetatable({
    command = json.array(command), dialect = dialect, passed = count.pass, warnings = count.warn,
    failed = count.fail, skipped = count.skip, probes = probes,
  }, REPORT))
end

---@param console pintle.cli.console
---@param is_json boolean
---@param width integer columns of the longest name of a probe
function reports.new(console, is_json, width)
  return setmetatable({
    console = console, is_json = is_json, width = width, results = {},
    count = { pass = 0, fail = 0, warn = 0, skip = 0 },
  }, metatable)
end

return reports
