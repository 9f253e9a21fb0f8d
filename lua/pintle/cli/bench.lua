-- pintle bench: measures how long calls of a plugin take.

local consoles = require "pintle.cli.console"
local lazy = require "pintle.lazy"
local options = require "pintle.cli.options"
local status = require "pintle.cli.status"

local core = lazy "pintle.core"
local latency = lazy "pintle.cli.latency"
local recognition = lazy "pintle.cli.recognition"
local suggestions = lazy "pintle.cli.suggestion"
local tasks = lazy "pintle.task"

local CALLS = 1000 -- default of --calls
local MAX_IN_FLIGHT = 10000

local bench = { name = "bench", summary = "Measure how long calls of a plugin take.", takes_command = "first" }

function bench.define(parser)
  parser:usage [[
Usage: pintle bench [-d NAME] [OPTIONS] [--] CMD… -- OPERATION [key=value…]
       pintle bench [-d NAME] --method METHOD [OPTIONS] [--] CMD…]]
  parser:argument("command", "The program to start, and its arguments."):argname "CMD…"
  options.define_target(parser, "An argument, as for `pintle call`.")
  parser:option("-n --calls", ("Number of calls (default: %d, or no limit with --seconds)."):format(CALLS))
    :argname "N":convert(options.whole_number)
  parser:option("--seconds", "Start no call after this time, such as 10s."):argname "TIME":convert(options.seconds)
  parser:option("-k --in-flight", "Number of concurrent calls.", "1"):argname "K":convert(options.whole_number)
  parser:option("--warm-up", "Number of calls before the measurement.", "10"):argname "N":convert(options.whole_number)
  parser:option("-t --timeout", "How long a call may take, such as 1m30s (default: 60s)."):argname "TIME"
    :convert(options.seconds)
  parser:flag("--json", "Print the results as JSON.")
  options.define_starting(parser, "silent")
end

-- {====== The call ======

local function check_bench_arguments(args)
  local ok, err = options.check_target(args)
  if not ok then return nil, err end
  if args.in_flight < 1 or args.in_flight > MAX_IN_FLIGHT then
    return options.usage_error(("--in-flight: 1 to %d expected"):format(MAX_IN_FLIGHT))
  end
  if args.calls == 0 then return options.usage_error "--calls: at least 1 expected" end
  return true
end

-- A call fails with an error; an operation may also report a failure.
local function new_measured_call(args, plugin)
  local timing = { timeout = args.timeout }
  if args.method then
    return function()
      local _, problem = plugin:call(args.method, args.params, timing)
      return not problem, problem, problem and problem.kind
    end
  end
  local operation = plugin.manifest.operations[args.operation]
  local given, err = options.gather_arguments(args.words, args.args, operation and operation.params)
  if not given then return nil, err end
  return function()
    local outcome, problem = plugin:execute(args.operation, given, timing)
    if not outcome then
      problem.message = suggestions.operation_error_message(problem, plugin.manifest, args.operation, given)
      return false, problem, problem.kind
    end
    return outcome.success, outcome.error or outcome.message
  end
end

-- }======

-- {====== Measuring ======

---@class pintle.cli.bench.plan
---@field calls? integer number of calls (default: no limit)
---@field seconds? number no call starts after this time
---@field in_flight integer number of concurrent calls

---@class pintle.cli.bench.measured
---@field times number[] seconds of each call that was answered, also with an error
---@field seconds number total duration
---@field errors integer
---@field problems { message: string, count: integer }[] the errors, each once, in the order of their first occurrence
---@field ended? pintle.error the error that ended the measurement early

local function count_failed_call(measured, message)
  measured.errors = measured.errors + 1
  local known = measured.problems[message]
  if known then known.count = known.count + 1 return end
  known = { message = message, count = 1 }
  measured.problems[message] = known
  table.insert(measured.problems, known)
end

-- Kinds of errors after which no further call makes sense.
local FINAL = { closed = true, cancelled = true, spawn = true, invalid = true }

local function call_repeatedly(call, measured, may_begin_call)
  local now = core.now
  while may_begin_call() do
    local began = now()
    local ok, problem, kind = call()
    if FINAL[kind] then
      measured.ended = measured.ended or problem
      return
    end
    measured.times[#measured.times + 1] = now() - began
    if not ok then count_failed_call(measured, tostring(problem)) end
  end
end

---@param call fun(): boolean, any, string? success; else the error or message, and the kind of an error
---@param plan pintle.cli.bench.plan
---@return pintle.cli.bench.measured
local function measure_calls(call, plan)
  local measured = { times = {}, errors = 0, problems = {} }
  local began, begun = core.now(), 0
  local latest = plan.seconds and began + plan.seconds or math.huge
  local function may_begin_call()
    if measured.ended or begun >= (plan.calls or math.huge) or core.now() >= latest then return false end
    begun = begun + 1
    return true
  end
  local workers = {}
  for i = 1, plan.in_flight do
    workers[i] = function() call_repeatedly(call, measured, may_begin_call) end
  end
  local _, err = tasks.all(workers)
  measured.ended = measured.ended or err
  measured.seconds = core.now() - began
  return measured
end

-- }======

-- {====== Results ======

local BAR = 50 -- columns of the longest bar

---@class pintle.cli.bench.summary
---@field what string name of the operation or method
---@field dialect string
---@field in_flight integer
---@field calls integer number of answered calls
---@field errors integer
---@field seconds number total duration
---@field rate number calls per second
---@field min? number seconds, as the following; nil if no call was answered
---@field median? number
---@field p90? number
---@field p99? number
---@field max? number
---@field histogram pintle.cli.latency.bar[]
---@field problems { message: string, count: integer }[]

local SUMMARY_MEMBERS = {
  "what", "dialect", "in_flight", "calls", "errors", "seconds", "rate", "min", "median", "p90", "p99", "max",
  "histogram", "problems",
}

---@param measured pintle.cli.bench.measured
---@param about { what: string, dialect: string, in_flight: integer }
---@return pintle.cli.bench.summary
local function summarise_calls(measured, about)
  local sorted = measured.times
  table.sort(sorted)
  return setmetatable({
    what = about.what, dialect = about.dialect, in_flight = about.in_flight, calls = #sorted,
    errors = measured.errors, seconds = measured.seconds, rate = #sorted / measured.seconds, min = sorted[1],
    median = #sorted > 0 and latency.median(sorted) or nil, p90 = latency.percentile(sorted, 0.9),
    p99 = latency.percentile(sorted, 0.99), max = sorted[#sorted],
    histogram = core.json.array(latency.histogram(sorted)),
    problems = core.json.array(table.move(measured.problems, 1, #measured.problems, 1, {})),
  }, core.json.order(SUMMARY_MEMBERS))
end

-- {====== Results as text ======

local function milliseconds_text(seconds) return ("%.3f ms"):format(seconds * 1000) end

local function print_bench_times(summary, console)
  local row = {}
  for i, name in ipairs { "min", "median", "p90", "p99", "max" } do row[i] = milliseconds_text(summary[name]) end
  local right = { true, true, true, true, true }
  local lines = consoles.table_lines({ "MIN", "MEDIAN", "P90", "P99", "MAX" }, { row }, right)
  for _, line in ipairs(lines) do console:print(line) end
end

local function print_histogram_bars(bars, console)
  local most, rows = 0, {}
  for _, bar in ipairs(bars) do most = math.max(most, bar.count) end
  for i, bar in ipairs(bars) do
    local length = math.ceil(bar.count / most * BAR)
    rows[i] = { ("%g ms"):format(bar.upto * 1000), tostring(bar.count), ("#"):rep(length) }
  end
  for _, line in ipairs(consoles.table_lines({ "UP TO", "CALLS", "" }, rows, { true, true })) do console:print(line) end
end

---@param summary pintle.cli.bench.summary
---@param console pintle.cli.console
local function print_bench_summary(summary, console)
  console:print(("%s: %s in %.3f s, %.0f per second; %d in flight, %s"):format(summary.what,
    consoles.count(summary.calls, "call"), summary.seconds, summary.rate, summary.in_flight,
    consoles.count(summary.errors, "error")))
  if summary.calls == 0 then return end
  console:print ""
  print_bench_times(summary, console)
  console:print ""
  print_histogram_bars(summary.histogram, console)
  for _, problem in ipairs(summary.problems) do
    console:warn(("%d times: %s"):format(problem.count, problem.message))
  end
end

-- }======

-- }======

-- {====== Running ======

local function warm_up_and_measure(args, started)
  local call, err = new_measured_call(args, started.plugin)
  if not call then return nil, err end
  local warm_up = measure_calls(call, { calls = args.warm_up, in_flight = args.in_flight })
  if warm_up.ended then return nil, warm_up.ended end
  local calls = args.calls or not args.seconds and CALLS or nil
  return measure_calls(call, { calls = calls, seconds = args.seconds, in_flight = args.in_flight })
end

local function report_measured_calls(measured, args, dialect, console)
  local about = { what = args.operation or args.method, dialect = dialect, in_flight = args.in_flight }
  local summary = summarise_calls(measured, about)
  if args.json then console:print_json(summary) else print_bench_summary(summary, console) end
end

---@param args table
---@param console pintle.cli.console
---@return integer?, pintle.error?
function bench.run(args, console)
  local ok, wrong = check_bench_arguments(args)
  if not ok then return nil, wrong end
  local started
  local signal, measured, err = status.run_interruptible(function()
    local problem
    started, problem = recognition.start_plugin(args, console)
    if not started then return nil, problem end
    return warm_up_and_measure(args, started)
  end)
  if started then started.plugin:stop() end
  if measured then report_measured_calls(measured, args, started.dialect, console) end
  if signal then return status.of_signal(signal) end
  if not measured then return nil, err end
  if measured.ended then return nil, measured.ended end
  return measured.errors > 0 and status.FAILED or status.DONE
end

-- }======

return bench
