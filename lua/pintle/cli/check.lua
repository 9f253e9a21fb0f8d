-- pintle check: tests whether a plugin, in any language, conforms to the protocol of its dialect.

local consoles = require "pintle.cli.console"
local lazy = require "pintle.lazy"
local options = require "pintle.cli.options"
local status = require "pintle.cli.status"

local core = lazy "pintle.core"
local dialects = lazy "pintle.dialect"
local errors = lazy "pintle.error"
local reports = lazy "pintle.cli.check.report"
local runner = lazy "pintle.cli.check.runner"
local starting = lazy "pintle.cli.starting"

local check = { name = "check", summary = "Test whether a plugin conforms to its protocol.", takes_command = true }

function check.define(parser)
  parser:usage "Usage: pintle check [-d NAME] [--run OPERATION [--args JSON]] [OPTIONS] [--] CMD…"
  parser:argument("command", "The program to start, and its arguments."):argname "CMD…":args "?"
  parser:option("-d --dialect", "The protocol of the plugin (default: pintle tries all it knows)."):argname "NAME"
  parser:option("--run", "An operation that may be run (default: none is run)."):argname "OPERATION"
  parser:option("--args", "The arguments of the operation, as a JSON object."):argname "JSON":convert(options.json)
  parser:option("--config", "The plugin's configuration, as JSON."):argname "JSON":convert(options.json)
  parser:option("--root", "The workspace of a language server or an editor server."):argname "DIR"
    :convert(options.directory)
  parser:option("--only", "Run only these probes; * and ? are wildcards. May be repeated.")
    :argname "PATTERN":count "*"
  parser:option("-t --timeout", "How long each answer, and the exit, may take, such as 10s.", "5s"):argname "TIME"
    :convert(options.seconds)
  options.define_start_timeout(parser)
  parser:flag("--strict", "Treat warnings as failures.")
  parser:flag("--list", "List the probes and exit.")
  parser:flag("--json", "Print the results as JSON.")
end

local function selector(patterns)
  if #patterns == 0 then return function() return true end end
  return options.any_glob(patterns)
end

-- {====== The list of probes ======

local ROW = { "dialect", "name", "level", "rule" }

local function rows_of(name)
  local dialect, err = runner.dialect(name)
  if not dialect then return nil, err end
  local rows = {}
  for i, probe in ipairs(runner.list(dialect)) do
    rows[i] = { name, probe.name, probe.level, probe.rule }
  end
  return rows
end

local function built_in()
  local names = {}
  for _, name in ipairs(dialects.names()) do
    if dialects.is_built_in(name) then names[#names + 1] = name end
  end
  return names
end

local function selected_rows(args)
  local rows, selects = {}, selector(args.only)
  for _, name in ipairs(args.dialect and { args.dialect } or built_in()) do
    local own, err = rows_of(name)
    if not own then return nil, err end
    for _, row in ipairs(own) do
      if selects(row[2]) then rows[#rows + 1] = row end
    end
  end
  return rows
end

local function print_row(row, console)
  local value = {}
  for i, member in ipairs(ROW) do value[member] = row[i] end
  console:json_line(setmetatable(value, core.json.order(ROW)))
end

local function show_list(args, console)
  local rows, err = selected_rows(args)
  if not rows then return nil, err end
  if args.json then
    for _, row in ipairs(rows) do print_row(row, console) end
    return status.DONE
  end
  for _, line in ipairs(consoles.table_lines({ "DIALECT", "PROBE", "LEVEL", "RULE" }, rows)) do console:print(line) end
  return status.DONE
end

-- }======

-- {====== Probing ======

local function invalid(message) return nil, errors.new("invalid", message) end

local function check_args(args)
  if not args.command or #args.command == 0 then return invalid "missing argument 'command'" end
  local ok, message = options.check_arguments(args.args)
  if not ok then return invalid(message) end
  if args.args and not args.run then return invalid "--args needs --run OPERATION" end
  return true
end

-- Starts the plugin to recognise its dialect.
local function recognise(args, console)
  local started, err = starting.start({
    command = args.command, config = args.config, start_timeout = args.start_timeout, log = "silent",
  }, console)
  if not started then return nil, err end
  started.plugin:stop()
  return started.dialect
end

local function width_of(dialect, selects)
  local width = 0
  for _, probe in ipairs(runner.list(dialect)) do
    if selects(probe.name) then width = math.max(width, #probe.name) end
  end
  return width
end

local function probe_all(args, console)
  local name, err = args.dialect, nil
  if not name then name, err = recognise(args, console) end
  if not name then return nil, err end
  local dialect
  dialect, err = runner.dialect(name)
  if not dialect then return nil, err end
  if args.root and not dialect.has_root then return invalid(("--root: %s has no workspace"):format(name)) end
  local selects = selector(args.only)
  local report = reports.new(console, args.json, width_of(dialect, selects))
  if report.width == 0 then return invalid(("--only %s: no probe of %s matches"):format(args.only[1], name)) end
  if not args.json then console:print(("Speaks %s%s."):format(name, args.dialect and "" or " (recognised)")) end
  console:flush()
  local has_handshake = runner.run({
    command = args.command, env = starting.environment(console), timeout = args.timeout, config = args.config,
    root = args.root,
    run = args.run and { name = args.run, args = args.args or {} }, dialect = dialect, selects = selects,
  }, function(result)
    report:add(result)
    console:flush() -- probes take a while, so each result is shown at once
  end)
  report:finish(args.command, name, has_handshake)
  return report.count
end

---@param args table
---@param console pintle.cli.console
---@return integer?, pintle.error?
function check.run(args, console)
  if args.list then return show_list(args, console) end
  local ok, wrong = check_args(args)
  if not ok then return nil, wrong end
  local signal, count, err = status.run_interruptible(function()
    local done, result, problem = pcall(probe_all, args, console)
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
