-- pintle check: whether a plugin, in whatever language, is a good citizen of its dialect.

local lazy = require "pintle.lazy"
local options = require "pintle.cli.options"
local status = require "pintle.cli.status"

local arguments = lazy "pintle.cli.arguments"
local catalog = lazy "pintle.cli.check.catalog"
local columns = require "pintle.cli.columns"
local core = lazy "pintle.core"
local dialects = lazy "pintle.dialect"
local environment = require "pintle.cli.environment"
local errors = lazy "pintle.error"
local glob = require "pintle.cli.glob"
local interrupt = lazy "pintle.cli.interrupt"
local reports = lazy "pintle.cli.check.report"
local runner = lazy "pintle.cli.check.runner"
local starting = lazy "pintle.cli.starting"

local check = { name = "check", summary = "Find out whether a plugin keeps to its protocol.", takes_command = true }

function check.define(parser)
  parser:usage "Usage: pintle check [-d NAME] [--run OPERATION [--args JSON]] [OPTIONS] [--] CMD…"
  parser:argument("command", "The program to start, and its arguments."):argname "CMD…":args "?"
  parser:option("-d --dialect", "The protocol it speaks; without it all that pintle knows are tried."):argname "NAME"
  parser:option("--run", "An operation that may be run. Without it none is."):argname "OPERATION"
  parser:option("--args", "The arguments of that operation, as a JSON object."):argname "JSON":convert(options.json)
  parser:option("--config", "What the plugin is configured with, as JSON."):argname "JSON":convert(options.json)
  parser:option("--root", "The workspace that a language server, or one of the editor's, is given."):argname "DIR"
    :convert(options.directory)
  parser:option("--only", "Only these probes; * and ? are wildcards. May be given more than once.")
    :argname "PATTERN":count "*"
  parser:option("-t --timeout", "How long each answer may take, and the end, such as 10s.", "5s"):argname "TIME"
    :convert(options.seconds)
  parser:option("--patience", "How long it may take to start while its dialect is found out.", "10s"):argname "TIME"
    :convert(options.seconds)
  parser:flag("--strict", "Let warnings be failures.")
  parser:flag("--list", "Show what plugins are probed for, and end.")
  parser:flag("--json", "Print it for programs to read.")
end

local function selector(patterns)
  if #patterns == 0 then return function() return true end end
  local selectors = {}
  for i, pattern in ipairs(patterns) do selectors[i] = glob(pattern) end
  return function(name)
    for _, selects in ipairs(selectors) do
      if selects(name) then return true end
    end
    return false
  end
end

-- {====== What there is ======

local ROW = { "dialect", "name", "level", "rule" }

local function rows_of(name)
  local dialect, err = catalog.dialect(name)
  if not dialect then return nil, err end
  local rows = {}
  for i, probe in ipairs(catalog.list(dialect)) do
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
  for _, line in ipairs(columns({ "DIALECT", "PROBE", "ELSE", "RULE" }, rows)) do console:print(line) end
  return status.DONE
end

-- }======

-- {====== Probing ======

local function invalid(message) return nil, errors.new("invalid", message) end

local function check_words(args)
  if not args.command or #args.command == 0 then return invalid "missing argument 'command'" end
  local ok, message = arguments.check(args.args)
  if not ok then return invalid(message) end
  if args.args and not args.run then return invalid "--args belong to --run OPERATION" end
  return true
end

-- Which dialect it speaks, where nobody says.
local function recognise(args, console)
  local started, err = starting.start({
    command = args.command, config = args.config, patience = args.patience, log = "silent",
  }, console)
  if not started then return nil, err end
  started.plugin:stop()
  return started.dialect
end

local function width_of(dialect, selects)
  local width = 0
  for _, probe in ipairs(catalog.list(dialect)) do
    if selects(probe.name) then width = math.max(width, #probe.name) end
  end
  return width
end

local function probe_all(args, console)
  local name, err = args.dialect, nil
  if not name then name, err = recognise(args, console) end
  if not name then return nil, err end
  local dialect
  dialect, err = catalog.dialect(name)
  if not dialect then return nil, err end
  if args.root and not dialect.has_root then return invalid(("--root: there is no workspace in %s"):format(name)) end
  local selects = selector(args.only)
  local report = reports.new(console, args.json, width_of(dialect, selects))
  if report.width == 0 then return invalid(("--only %s: %s has no such probe"):format(args.only[1], name)) end
  if not args.json then console:print(("Speaks %s%s."):format(name, args.dialect and "" or " (recognised)")) end
  console:flush()
  local came_to_terms = runner.run({
    command = args.command, env = environment(console), timeout = args.timeout, config = args.config, root = args.root,
    run = args.run and { name = args.run, args = args.args or {} }, dialect = dialect, selects = selects,
  }, function(result)
    report:add(result)
    console:flush() -- it takes a while, and each verdict stands by itself
  end)
  report:finish(args.command, name, came_to_terms)
  return report.count
end

---@param args table
---@param console pintle.cli.console
---@return integer?, pintle.error?
function check.run(args, console)
  if args.list then return show_list(args, console) end
  local ok, wrong = check_words(args)
  if not ok then return nil, wrong end
  local signal, count, err = interrupt.run(function()
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
