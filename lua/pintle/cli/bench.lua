-- pintle bench: how long the calls of a plugin take, and how many it can take.

local lazy = require "pintle.lazy"
local options = require "pintle.cli.options"
local status = require "pintle.cli.status"

local arguments = lazy "pintle.cli.arguments"
local errors = lazy "pintle.error"
local interrupt = lazy "pintle.cli.interrupt"
local reports = lazy "pintle.cli.bench.report"
local starting = lazy "pintle.cli.starting"

local CALLS = 1000 -- unless told
local MOST_IN_FLIGHT = 10000

local bench = { name = "bench", summary = "Measure how long the calls of a plugin take.", takes_command = "first" }

local function whole_number(text)
  local number = math.tointeger(tonumber(text))
  if not number or number < 0 then return nil, ("a whole number expected, got %q"):format(text) end
  return number
end

function bench.define(parser)
  parser:usage [[
Usage: pintle bench [-d NAME] [OPTIONS] [--] CMD… -- OPERATION [key=value…] [key:=JSON…]
       pintle bench [-d NAME] --method METHOD [--params JSON] [OPTIONS] [--] CMD…]]
  parser:argument("command", "The program to start, and its arguments."):argname "CMD…"
  parser:argument("operation", "The operation to run."):args "?"
  parser:argument("words", "An argument, as for pintle call."):argname "key=value":args "*"
  parser:option("--args", "All arguments at once, as a JSON object."):argname "JSON":convert(options.json)
  parser:option("--method", "A method of the protocol to call, instead of an operation."):argname "METHOD"
  parser:option("--params", "The params of that method."):argname "JSON":convert(options.json)
  parser:option("-n --calls", ("How many calls; %d unless told, or as many as --seconds allow."):format(CALLS))
    :argname "N":convert(whole_number)
  parser:option("--seconds", "For how long, such as 10s."):argname "TIME":convert(options.seconds)
  parser:option("-k --in-flight", "How many at a time.", "1"):argname "K":convert(whole_number)
  parser:option("--warm-up", "How many calls come before, and do not count.", "10"):argname "N":convert(whole_number)
  parser:option("-t --timeout", "How long a call may take, such as 1m30s; 60s unless told."):argname "TIME"
    :convert(options.seconds)
  parser:flag("--json", "Print it for programs to read.")
  options.define_starting(parser, "silent")
end

-- {====== What is called ======

local function invalid(message) return nil, errors.new("invalid", message) end

local function check(args)
  if (args.method == nil) == (args.operation == nil) then
    return invalid "either an operation, behind --, or --method METHOD"
  end
  if args.params ~= nil and not args.method then return invalid "--params belong to --method METHOD" end
  if args.args ~= nil and not args.operation then return invalid "--args belong to an operation" end
  if args.in_flight < 1 or args.in_flight > MOST_IN_FLIGHT then
    return invalid(("--in-flight: from 1 to %d"):format(MOST_IN_FLIGHT))
  end
  if args.calls == 0 then return invalid "--calls: at least 1" end
  return true
end

-- A call goes wrong by an error, and an operation by failing, too.
local function caller_of(args, plugin)
  local timing = { timeout = args.timeout }
  if args.method then
    return function()
      local _, err = plugin:call(args.method, args.params, timing)
      return not err, err, err and err.kind
    end
  end
  local operation = plugin.manifest.operations[args.operation]
  local given, message = arguments.gather(args.words, args.args, operation and operation.params)
  if not given then return invalid(message) end
  return function()
    local outcome, err = plugin:execute(args.operation, given, timing)
    if not outcome then return false, err, err.kind end
    return outcome.success, outcome.error or outcome.message
  end
end

-- }======

-- {====== Measuring ======

local function measure(args, started)
  local run = require "pintle.cli.bench.measure"
  local call, err = caller_of(args, started.plugin)
  if not call then return nil, err end
  local warm_up = run(call, { calls = args.warm_up, in_flight = args.in_flight })
  if warm_up.ended then return nil, warm_up.ended end
  local calls = args.calls or not args.seconds and CALLS or nil
  return run(call, { calls = calls, seconds = args.seconds, in_flight = args.in_flight })
end

local function report(measured, args, dialect, console)
  local about = { what = args.operation or args.method, dialect = dialect, in_flight = args.in_flight }
  local summary = reports.summary(measured, about)
  if args.json then console:json(summary) else reports.show(summary, console) end
end

---@param args table
---@param console pintle.cli.console
---@return integer?, pintle.error?
function bench.run(args, console)
  local ok, wrong = check(args)
  if not ok then return nil, wrong end
  local started
  local signal, measured, err = interrupt.run(function()
    local problem
    started, problem = starting.start(args, console)
    if not started then return nil, problem end
    return measure(args, started)
  end)
  if started then started.plugin:stop() end
  if measured then report(measured, args, started.dialect, console) end
  if signal then return status.of_signal(signal) end
  if not measured then return nil, err end
  if measured.ended then return nil, measured.ended end
  return measured.errors > 0 and status.FAILED or status.DONE
end

-- }======

return bench
