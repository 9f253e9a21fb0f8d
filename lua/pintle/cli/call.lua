-- pintle call: runs one operation of a plugin.

local lazy = require "pintle.lazy"
local options = require "pintle.cli.options"
local status = require "pintle.cli.status"

local display = lazy "pintle.cli.display"
local errors = lazy "pintle.error"
local recognition = lazy "pintle.cli.recognition"

local call = { name = "call", summary = "Run one operation of a plugin.", takes_command = "first" }

function call.define(parser)
  parser:usage "Usage: pintle call [-d NAME] [OPTIONS] [--] CMD… -- OPERATION [key=value…] [key:=JSON…]"
  parser:argument("command", "The program to start, and its arguments."):argname "CMD…"
  parser:argument("operation", "The operation to run.")
  parser:argument("words", "An argument, converted to the type in the operation's schema; key:=JSON takes any JSON.")
    :argname "key=value":args "*"
  parser:option("--args", "All arguments, as a JSON object."):argname "JSON":convert(options.json)
  parser:option("-t --timeout", "How long the operation may take, such as 1m30s (default: 60s)."):argname "TIME"
    :convert(options.seconds)
  parser:flag("--json", "Print the outcome or the error as JSON.")
  options.define_starting(parser, "info")
end

-- {====== Arguments ======

local function invalid(message) return nil, errors.new("invalid", message) end

local function args_of(args, manifest)
  local operation = manifest.operations[args.operation]
  local read, message = options.gather_arguments(args.words, args.args, operation and operation.params)
  if not read then return invalid(message) end
  return read
end

local function check_args(args)
  local ok, message = options.check_arguments(args.args)
  if not ok then return invalid(message) end
  return true
end

-- }======

-- {====== Running ======

local function execute_operation(started, args, on_part)
  local plugin, terminal = started.plugin, started.terminal
  local given, err = args_of(args, plugin.manifest)
  if not given then return nil, err end
  local has_bar = terminal.has_bar and args.log ~= "silent"
  local outcome
  outcome, err = plugin:execute(args.operation, given, {
    timeout = args.timeout,
    on_part = on_part,
    on_progress = has_bar and function(fraction, message)
      terminal.progress(plugin.name, args.operation, fraction, message)
    end or nil,
  })
  terminal.clear()
  if err and err.kind == "invalid" then err.message = display.error_message(err, plugin.manifest) end
  return outcome, err
end

local function report_outcome(outcome, err, args, parts, console)
  if args.json then
    console:json(outcome and display.outcome_value(outcome, parts) or display.error_value(err))
  elseif outcome then
    display.show_outcome(outcome, args.operation, console)
  end
  if not outcome then return nil, err end
  return outcome.success and status.DONE or status.FAILED
end

---@param args table
---@param console pintle.cli.console
---@return integer?, pintle.error?
function call.run(args, console)
  local ok, wrong = check_args(args)
  if not ok then return nil, wrong end
  local started
  local parts = {}
  local function on_part(part)
    if args.json then parts[#parts + 1] = part else display.show_part(part, console) end
  end
  local signal, outcome, err = status.run_interruptible(function()
    local problem
    started, problem = recognition.start_plugin(args, console)
    if not started then return nil, problem end
    return execute_operation(started, args, on_part)
  end)
  if started then started.plugin:stop() end
  if signal and not outcome then
    console:warn(("interrupted: %s was cancelled"):format(args.operation))
    return status.of_signal(signal)
  end
  return report_outcome(outcome, err, args, parts, console)
end

-- }======

return call
