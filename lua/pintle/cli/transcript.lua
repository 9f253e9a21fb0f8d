-- A recording as lines: for people, or for programs.

local columns = require "pintle.cli.columns"
local errors = require "pintle.error"
local glob = require "pintle.cli.glob"
local json = require("pintle.core").json
local json_text = require "pintle.cli.json_text"

local ARROWS = { host = "→", plugin = "←" }

---@class pintle.cli.transcript
local methods = {}

local metatable = { __name = "pintle.cli.transcript", __index = methods }

local transcript = {}

local harmless = require("pintle.host.log").harmless

-- {====== Lines ======

-- Up to so many columns, and no half character at the end.
local function cut(text, width)
  if not width or (utf8.len(text) or #text) <= width then return text end
  local stop = utf8.len(text) and utf8.offset(text, width) or width
  return text:sub(1, stop - 1) .. "…"
end

---@param seconds number
---@return string
local function duration_of(seconds)
  if seconds < 1 then return ("%.3f ms"):format(seconds * 1000) end
  return ("%.3f s"):format(seconds)
end

local function name_of(item)
  local name = item.method or (item.kind == "other" and "no JSON-RPC message" or "?")
  return item.id and ("%s #%s"):format(name, item.id) or name
end

local MEMBERS = { request = "params", notification = "params", result = "result", error = "error" }

local function payload_of(item)
  local member = MEMBERS[item.kind]
  if not member then return item.text end
  local first, last = json_text.member(item.text, member)
  return first and item.text:sub(first, last) or ""
end

local function error_text(item)
  local err = item.payload
  if type(err) ~= "table" or err.message == nil then return payload_of(item) end
  local text = ("%s %s"):format(tostring(err.code), tostring(err.message))
  return err.data ~= nil and text .. " " .. json.encode(err.data) or text
end

local function item_text(item)
  local after = item.latency and ("  (%s)"):format(duration_of(item.latency)) or ""
  if item.kind == "result" then return ("%s = %s"):format(name_of(item), payload_of(item)), after end
  if item.kind == "error" then return ("%s ! %s"):format(name_of(item), error_text(item)), after end
  local payload = payload_of(item)
  return payload == "" and name_of(item) or ("%s %s"):format(name_of(item), payload), after
end

local function noise_text(record)
  local text = record.encoding and record.encoding .. " " .. record.noise or record.noise
  return record.problem and ("? %s (%s)"):format(text, record.problem) or "? " .. text
end

---@param record pintle.cli.record that is neither a message nor noise nor stderr
---@return string
function transcript.event_text(record)
  if record.command then return "started " .. table.concat(record.command, " ") end
  if record.dialect then return "the dialect is " .. record.dialect end
  if record.framing then return record.framing .. " framing" end
  if record.signal then return "signal " .. record.signal end
  if record.exit then return "ended with " .. errors.describe_exit(record.exit) end
  if not record.closed then return json.encode(record) end
  local is_writer = (record.from == "host") == (record.closed == "stdin")
  return ("%s %s"):format(is_writer and "has closed" or "does not read any more:", record.closed)
end

local COLOURS = { request = "cyan", result = "green", error = "red", other = "red" }

local function put(self, record, text, after, style)
  local time = ("%11.6f %s "):format(record.time, ARROWS[record.from] or " ")
  local room = self.width and math.max(self.width - utf8.len(time) - utf8.len(after), 8)
  local line = cut(harmless(text), room)
  if style then line = self.console:paint(style, line) end
  self.console:print(time .. line .. self.console:paint("dim", after))
end

-- }======

-- {====== What is wanted ======

local function is_wrong(record)
  local exit = record.exit
  return record.noise ~= nil or exit ~= nil and exit.code ~= 0
end

local function wants(self, record, item)
  if item then
    local is_right_method = not self.matches or item.method ~= nil and self.matches(item.method)
    local is_error = item.kind == "error" or item.kind == "other"
    return is_right_method and (not self.only_errors or is_error)
  end
  if self.matches then return false end
  return not self.only_errors or is_wrong(record)
end

local function wanted_items(self, record, items)
  local wanted = {}
  for _, item in ipairs(items) do
    if wants(self, record, item) then wanted[#wanted + 1] = item end
  end
  return wanted
end

-- }======

-- {====== For programs ======

local function put_json(self, record, items)
  local line = record.line
  local answer = #items == 1 and items[1].latency and items[1]
  if answer then
    local extra = (',"method":%s,"latency":%s}'):format(json.encode(answer.method),
      json.encode(math.floor(answer.latency * 1e6 + 0.5) / 1e6))
    line = line:gsub("}%s*$", function() return extra end)
  end
  self.console:tell(line)
end

local LATENCY = json.order { "method", "asked", "count", "errors", "min", "median", "p95", "max" }

---@param summaries pintle.cli.latencies[]
---@return table
function transcript.latency_values(summaries)
  local list = json.array()
  for i, summary in ipairs(summaries) do list[i] = setmetatable(summary, LATENCY) end
  return list
end

-- }======

local HEADS = { "METHOD", "ASKED", "COUNT", "ERRORS", "MIN", "MEDIAN", "P95", "MAX" }
local NUMBERS = { [3] = true, [4] = true, [5] = true, [6] = true, [7] = true, [8] = true }

---@param summaries pintle.cli.latencies[]
---@return string[]
function transcript.latency_lines(summaries)
  local rows = {}
  for i, summary in ipairs(summaries) do
    rows[i] = { harmless(summary.method), summary.asked, tostring(summary.count), tostring(summary.errors) }
    for _, name in ipairs { "min", "median", "p95", "max" } do
      table.insert(rows[i], duration_of(summary[name]))
    end
  end
  return columns(HEADS, rows, NUMBERS)
end

---@param record pintle.cli.record
---@param items pintle.cli.item[] of its message, if it has one
function methods:record(record, items)
  local wanted = wanted_items(self, record, items)
  local is_wanted = #wanted > 0 or record.message == nil and wants(self, record)
  if not is_wanted then return end
  if self.json then return put_json(self, record, wanted) end
  for _, item in ipairs(wanted) do
    local text, after = item_text(item)
    put(self, record, text, after, COLOURS[item.kind])
  end
  if record.noise then return put(self, record, noise_text(record), "", "yellow") end
  if record.stderr then return put(self, record, "| " .. record.stderr, "", "dim") end
  if record.message == nil then put(self, record, transcript.event_text(record), "", "bold") end
end

---@param list table[] of requests without an answer
function methods:unanswered(list)
  if self.json then return end
  for _, asked in ipairs(list) do
    if not self.matches or self.matches(asked.method) then
      local line = ("never answered: %s #%s"):format(harmless(asked.method), harmless(asked.id))
      self.console:print((" "):rep(12) .. ARROWS[asked.from] .. " " .. self.console:paint("red", line))
    end
  end
end

local function width_of(args, console)
  if args.width == 0 then return nil end
  return args.width or console:columns()
end

---@param args { method?: string, errors?: boolean, width?: integer, json?: boolean }
---@param console pintle.cli.console
---@return pintle.cli.transcript
function transcript.new(args, console)
  return setmetatable({
    console = console, json = args.json, only_errors = args.errors, width = width_of(args, console),
    matches = args.method and glob(args.method),
  }, metatable)
end

return transcript
