-- pintle call: runs one operation of a plugin, or calls any method.

local lazy = require "pintle.lazy"
local options = require "pintle.cli.options"
local status = require "pintle.cli.status"

local commands = lazy "pintle.cli.run.commands"
local outcomes = lazy "pintle.cli.outcome"
local recognition = lazy "pintle.cli.recognition"
local suggestions = lazy "pintle.cli.suggestion"

local call = { name = "call", summary = "Run one operation of a plugin, or call any method.", takes_command = "first" }

function call.define(parser)
  parser:usage [[
Usage: pintle call [-d NAME] [OPTIONS] [--] CMD… -- OPERATION [key=value…]
       pintle call [-d NAME] --method METHOD [OPTIONS] [--] CMD…]]
  parser:argument("command", "The program to start, and its arguments."):argname "CMD…"
  options.define_target(parser, "An argument, converted to the type in the operation's schema; key:=JSON is any JSON.")
  parser:option("-t --timeout", "How long the operation may take, such as 1m30s (default: 60s)."):argname "TIME"
    :convert(options.seconds)
  parser:flag("--json", "Print the outcome or the error as JSON.")
  parser:option("-o --output", "Save images and other content that is no text, or else the text; - is stdout.")
    :argname "FILE"
  options.define_starting(parser, "info")
end

-- {====== Running ======

---@class pintle.cli.call.work a call, and what it has returned
---@field args table of the command line
---@field console pintle.cli.console where the result is printed
---@field parts any[] parts of the result, if they are needed at the end
---@field outcome? pintle.outcome
---@field result any of a method

-- With `-o -`, stdout is for the saved content.
local function call_result_console(args, console)
  if args.output ~= "-" then return console end
  return setmetatable({ out = console.err }, { __index = console })
end

local function take_call_part(work, part)
  if work.args.json or work.args.output then work.parts[#work.parts + 1] = part end
  if not work.args.json then outcomes.show_part(part, work.console) end
end

local function call_progress_listener(started, args)
  local terminal = started.terminal
  if not terminal.has_bar or args.log == "silent" then return nil end
  local what = args.operation or args.method
  return function(fraction, message) terminal.progress(started.label, what, fraction, message) end
end

local function call_operation(started, work)
  local args, manifest = work.args, started.plugin.manifest
  local operation = manifest.operations[args.operation]
  local given, err = options.gather_arguments(args.words, args.args, operation and operation.params)
  if not given then return nil, err end
  work.outcome, err = started.plugin:execute(args.operation, given, {
    timeout = args.timeout,
    on_part = function(part) take_call_part(work, part) end,
    on_progress = call_progress_listener(started, args),
  })
  if err then err.message = suggestions.operation_error_message(err, manifest, args.operation, given) end
  return work.outcome ~= nil, err
end

local function call_method(started, work)
  local args = work.args
  local timing = { timeout = args.timeout, on_progress = call_progress_listener(started, args) }
  local result, err = started.plugin:call(args.method, args.params, timing)
  work.result = result
  if err then
    local methods = commands.likely_methods(started.dialect, started.plugin.raw_manifest)
    err.message = suggestions.method_error_message(err, args.method, methods,
      started.is_recognised and started.dialect or nil)
  end
  return err == nil, err
end

-- Returns whether the call was answered, and the error if it was not.
local function perform_call(started, work)
  local ok, err = (work.args.method and call_method or call_operation)(started, work)
  started.terminal.clear()
  return ok, err
end

-- }======

-- {====== The result ======

-- A result of a method is printed as JSON.
local function print_call_result(work)
  local args, console = work.args, work.console
  if args.method then
    console:print_json(args.json and work.result or (outcomes.extract_attachments(work.result)))
  elseif args.json then
    console:print_json(outcomes.outcome_value(work.outcome, work.parts))
  else
    outcomes.show_outcome(work.outcome, args.operation, console)
  end
end

local function save_call_result(work, console)
  local args = work.args
  if not args.output then return true end
  local list = args.method and outcomes.attachments_of_result(work.result)
    or outcomes.attachments(work.outcome, work.parts)
  return outcomes.save_attachments(list, args.output, console)
end

local function report_call_result(ok, err, work, console)
  if not ok then
    if work.args.json then work.console:print_json(outcomes.error_value(err)) end
    return nil, err
  end
  print_call_result(work)
  ok, err = save_call_result(work, console)
  if not ok then return nil, err end
  return (not work.outcome or work.outcome.success) and status.DONE or status.FAILED
end

-- }======

---@param args table
---@param console pintle.cli.console
---@return integer?, pintle.error?
function call.run(args, console)
  local ok, wrong = options.check_target(args)
  if not ok then return nil, wrong end
  args.ordered = true
  local started
  local work = { args = args, console = call_result_console(args, console), parts = {} } ---@type pintle.cli.call.work
  local signal, is_answered, err = status.run_interruptible(function()
    local problem
    started, problem = recognition.start_plugin(args, console)
    if not started then return nil, problem end
    return perform_call(started, work)
  end)
  if started then
    if err then started.name_in(err) end
    started.plugin:stop()
  end
  if signal and not is_answered then
    console:warn(("interrupted: %s was cancelled"):format(args.operation or args.method))
    return status.of_signal(signal)
  end
  return report_call_result(is_answered, err, work, console)
end

return call
