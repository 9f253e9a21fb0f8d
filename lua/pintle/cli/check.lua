-- pintle check: tests whether a plugin, in any language, conforms to the protocol of its dialect.

local consoles = require "pintle.cli.console"
local lazy = require "pintle.lazy"
local options = require "pintle.cli.options"
local status = require "pintle.cli.status"

local bytes = lazy "pintle.bytes"
local core = lazy "pintle.core"
local dialects = lazy "pintle.dialect"
local errors = lazy "pintle.error"
local recognition = lazy "pintle.cli.recognition"
local runner = lazy "pintle.cli.check.runner"
local suggestions = lazy "pintle.cli.suggestion"

local check = { name = "check", summary = "Test whether a plugin conforms to its protocol.", takes_command = true }

function check.define(parser)
  parser:usage "Usage: pintle check [-d NAME] [--run OPERATION] [OPTIONS] [--] CMD…"
  parser:argument("command", "The program to start, and its arguments."):argname "CMD…":args "?"
  options.define_dialect(parser)
  parser:option("--run", "An operation that may be run (default: none is run)."):argname "OPERATION"
  parser:option("--args", "The arguments of the operation, as a JSON object."):argname "JSON":convert(options.json)
  parser:option("--config", "The plugin's configuration, as JSON."):argname "JSON":convert(options.json)
  parser:option("--root", "The workspace of a language server or an editor server."):argname "DIR"
    :convert(options.directory)
  parser:option("--only", "Run only these probes; * and ? are wildcards. May be repeated.")
    :argname "PATTERN":count "*"
  parser:option("-t --timeout", "How long each answer, and the exit, may take, such as 10s.", "5s"):argname "TIME"
    :convert(options.seconds)
  options.define_via(parser)
  options.define_start_timeout(parser)
  parser:flag("--strict", "Treat warnings as failures.")
  parser:flag("--list", "List the probes and exit.")
  parser:flag("--json", "Print the results as JSON.")
end

local function probe_selector(patterns)
  if #patterns == 0 then return function() return true end end
  return options.any_glob(patterns)
end

-- Members of JSON in this order.
local function with_report_order(value, names) return setmetatable(value, core.json.order(names)) end

-- {====== The list of probes ======

local ROW = { "dialect", "name", "level", "rule" }

local function probe_rows(name)
  local dialect, err = runner.load_probes(name)
  if not dialect then return nil, err end
  local rows = {}
  for i, probe in ipairs(runner.list_probes(dialect)) do
    rows[i] = { name, probe.name, probe.level, probe.rule }
  end
  return rows
end

local function dialects_with_probes()
  local names = {}
  for _, name in ipairs(dialects.names()) do
    if dialects.is_built_in(name) then names[#names + 1] = name end
  end
  return names
end

local function selected_probe_rows(args)
  local rows, selects = {}, probe_selector(args.only)
  for _, name in ipairs(args.dialect and { args.dialect } or dialects_with_probes()) do
    local own, err = probe_rows(name)
    if not own then return nil, err end
    for _, row in ipairs(own) do
      if selects(row[2]) then rows[#rows + 1] = row end
    end
  end
  return rows
end

local function print_probe_row(row, console)
  local value = {}
  for i, member in ipairs(ROW) do value[member] = row[i] end
  console:print_json_line(with_report_order(value, ROW))
end

local function print_probe_list(args, console)
  local rows, err = selected_probe_rows(args)
  if not rows then return nil, err end
  if args.json then
    for _, row in ipairs(rows) do print_probe_row(row, console) end
    return status.DONE
  end
  for _, line in ipairs(consoles.table_lines({ "DIALECT", "PROBE", "LEVEL", "RULE" }, rows)) do console:print(line) end
  return status.DONE
end

-- }======

-- {====== The report as JSON ======

local MAX_BYTES = 2000 -- of a message in JSON
local MAX_COLUMNS = 200 -- of a message in text
local MAX_LINES = 12 -- messages, and lines of stderr, in text

local function cut_probe_text(text, most)
  if #text <= most then return text end
  return ("%s… (%d bytes)"):format(text:sub(1, most):gsub("[\xC2-\xF4][\x80-\xBF]*$", ""), #text)
end

local PIECE = { "from", "kind", "text", "encoding", "problem" }
local RESULT = { "name", "verdict", "rule", "reason", "exchange", "left_out", "stderr" }
local REPORT = { "command", "dialect", "passed", "warnings", "failed", "skipped", "probes" }

local function probe_piece_value(piece)
  local text, encoding = cut_probe_text(piece.text, MAX_BYTES), nil
  if not utf8.len(text) then text, encoding = bytes.new(piece.text:sub(1, MAX_BYTES))["$bytes"], "base64" end
  local value = { from = piece.from, kind = piece.kind, text = text, encoding = encoding, problem = piece.problem }
  return with_report_order(value, PIECE)
end

local function printable_probe_text(text) return utf8.len(text) and text or (text:gsub("[\x80-\xFF]", "?")) end

local function probe_result_value(result)
  local exchange, stderr
  if result.exchange then
    exchange, stderr = core.json.array(), core.json.array()
    for i, piece in ipairs(result.exchange) do exchange[i] = probe_piece_value(piece) end
    for i, line in ipairs(result.stderr) do stderr[i] = printable_probe_text(line) end
  end
  return with_report_order({
    name = result.name, verdict = result.verdict, rule = result.rule, reason = result.reason,
    exchange = exchange, left_out = result.left_out, stderr = stderr,
  }, RESULT)
end

-- }======

-- {====== The report as text ======

local STYLES = { pass = "green", fail = "red", warn = "yellow", skip = "dim" }
local SIGNS = { message = "", bytes = "bytes ", noise = "? " }

local ESCAPES = { ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

local function harmless_probe_text(text) return errors.harmless((text:gsub("[\n\r\t]", ESCAPES))) end

local function probe_piece_line(piece)
  if piece.kind == "closed" then return "→ (end of input)" end
  if piece.kind == "killed" then return "→ (killed)" end
  if piece.kind == "exit" then return "← (ended with " .. piece.text .. ")" end
  local problem = piece.problem and ("  (%s)"):format(piece.problem) or ""
  return ("%s %s%s%s"):format(piece.from == "host" and "→" or "←", SIGNS[piece.kind],
    harmless_probe_text(printable_probe_text(cut_probe_text(piece.text, MAX_COLUMNS))), harmless_probe_text(problem))
end

-- The last elements of a list, and the number of those before.
local function last_probe_lines(list)
  local first = math.max(#list - MAX_LINES + 1, 1)
  return table.move(list, first, #list, 1, {}), first - 1
end

local function print_probe_exchange(self, result)
  local pieces, before = last_probe_lines(result.exchange or {})
  if before > 0 then self.console:print(("      (%d before)"):format(before)) end
  for _, piece in ipairs(pieces) do self.console:print("      " .. probe_piece_line(piece)) end
  if result.left_out then self.console:print(("      (%d more)"):format(result.left_out)) end
  for _, line in ipairs((last_probe_lines(result.stderr or {}))) do
    self.console:print("      | " .. harmless_probe_text(cut_probe_text(printable_probe_text(line), MAX_COLUMNS)))
  end
end

local function print_probe_result(self, result)
  local console, verdict = self.console, result.verdict
  local name = result.name .. (" "):rep(self.width - #result.name)
  local what = verdict == "skip" and harmless_probe_text(result.reason) or result.rule
  console:print(("%s  %s  %s"):format(console:paint(STYLES[verdict], verdict), name, what))
  if verdict == "skip" then return end
  if result.reason then console:print("      " .. harmless_probe_text(result.reason)) end
  if verdict == "pass" then return end
  print_probe_exchange(self, result)
end

-- }======

-- {====== The report ======

---@class pintle.cli.check.report
---@field count { pass: integer, fail: integer, warn: integer, skip: integer }
local methods = {}

local metatable = { __name = "pintle.cli.check.report", __index = methods }

---@param result pintle.cli.check.result
function methods:add_probe_result(result)
  self.results[#self.results + 1] = result
  self.count[result.verdict] = self.count[result.verdict] + 1
  if not self.is_json then print_probe_result(self, result) end
end

local function probe_counts_text(count)
  return ("%d passed, %d failed, %s, %d skipped"):format(count.pass, count.fail, consoles.count(count.warn, "warning"),
    count.skip)
end

---@param command string[]
---@param dialect string
---@param has_handshake boolean
function methods:print_check_summary(command, dialect, has_handshake)
  local count = self.count
  if not self.is_json then
    local remark = has_handshake and "" or "; the handshake failed, so no other probe was run"
    self.console:print(probe_counts_text(count) .. remark)
    return
  end
  local probes = core.json.array()
  for i, result in ipairs(self.results) do probes[i] = probe_result_value(result) end
  self.console:print_json(with_report_order({
    command = core.json.array(command), dialect = dialect, passed = count.pass, warnings = count.warn,
    failed = count.fail, skipped = count.skip, probes = probes,
  }, REPORT))
end

---@param console pintle.cli.console
---@param is_json boolean
---@param width integer columns of the longest name of a probe
---@return pintle.cli.check.report
local function new_check_report(console, is_json, width)
  return setmetatable({
    console = console, is_json = is_json, width = width, results = {},
    count = { pass = 0, fail = 0, warn = 0, skip = 0 },
  }, metatable)
end

-- }======

-- {====== Probing ======

local function check_what_to_check(args)
  local ok, message = options.check_arguments(args.args)
  if not ok then return options.usage_error(message) end
  if args.args and not args.run then return options.usage_error "--args needs --run OPERATION" end
  return true
end

-- An operation that may be run has to exist, and the arguments have to fit its schema. If the plugin has no operations,
-- the probes say why.
local function check_probed_operation(manifest, args)
  if #manifest.names == 0 then return true end
  local given = args.args or {}
  local ok, err = manifest:check(args.run, given)
  if ok then return true end
  err.message = suggestions.operation_error_message(err, manifest, args.run, given)
  return nil, err
end

-- Starts the plugin, to recognise its dialect and to find the operation. If it does not start in the given dialect, the
-- probes say why.
local function recognise_checked_plugin(args, console)
  local started, err = recognition.start_plugin({
    command = args.command, dialect = args.dialect, config = args.config, via = args.via,
    start_timeout = args.start_timeout, log = "silent",
  }, console)
  if not started then return args.dialect, err end
  started.plugin:stop()
  local ok, problem = true, nil
  if args.run then ok, problem = check_probed_operation(started.plugin.manifest, args) end
  if not ok then return nil, problem end
  return started.dialect
end

local function probe_name_columns(dialect, selects)
  local width = 0
  for _, probe in ipairs(runner.list_probes(dialect)) do
    if selects(probe.name) then width = math.max(width, #probe.name) end
  end
  return width
end

local function run_all_probes(args, console)
  local name, err = args.dialect, nil
  if not name or args.run and dialects.get(name) then name, err = recognise_checked_plugin(args, console) end
  if not name then return nil, err end
  local dialect
  dialect, err = runner.load_probes(name)
  if not dialect then return nil, err end
  if args.root and not dialect.has_root then return options.usage_error("--root: %s has no workspace", name) end
  local selects = probe_selector(args.only)
  local report = new_check_report(console, args.json, probe_name_columns(dialect, selects))
  if report.width == 0 then
    return options.usage_error("--only %s: no probe of %s matches", args.only[1], name)
  end
  if not args.json then console:print(("Speaks %s%s."):format(name, args.dialect and "" or " (recognised)")) end
  console:flush()
  local has_handshake = runner.run_probes({
    command = args.command, env = console:plugin_environment(args.via), via = args.via, timeout = args.timeout,
    config = args.config, root = args.root,
    run = args.run and { name = args.run, args = args.args or {} }, dialect = dialect, selects = selects,
  }, function(result)
    report:add_probe_result(result)
    console:flush() -- probes take a while, so each result is shown at once
  end)
  report:print_check_summary(args.command, name, has_handshake)
  return report.count
end

---@param args table
---@param console pintle.cli.console
---@return integer?, pintle.error?
function check.run(args, console)
  if args.list then return print_probe_list(args, console) end
  local ok, wrong = check_what_to_check(args)
  if not ok then return nil, wrong end
  local signal, count, err = status.run_interruptible(function()
    local done, result, problem = pcall(run_all_probes, args, console)
    if done then return result, problem end
    if errors.is(result) then return nil, result end
    error(result, 0)
  end)
  if signal then return status.of_signal(signal) end
  if not count then return nil, err end
  local is_bad = count.fail > 0 or args.strict and count.warn > 0
  return is_bad and status.FAILED or status.DONE
end

-- }======

return check
