-- What was measured, for people and for programs.

local columns = require "pintle.cli.columns"
local histogram = require "pintle.cli.bench.histogram"
local json = require("pintle.core").json
local latency = require "pintle.cli.latency"

local BAR = 50 -- columns of the longest

local reports = {}

---@class pintle.cli.bench.summary
---@field what string the operation or method
---@field dialect string
---@field in_flight integer
---@field calls integer that were answered
---@field errors integer
---@field seconds number that all of it has taken
---@field rate number calls a second
---@field min? number seconds, as are the others; nil where nothing was answered
---@field median? number
---@field p90? number
---@field p99? number
---@field max? number
---@field histogram pintle.cli.bench.bar[]
---@field problems { message: string, count: integer }[]

local ORDER = json.order {
  "what", "dialect", "in_flight", "calls", "errors", "seconds", "rate", "min", "median", "p90", "p99", "max",
  "histogram", "problems",
}

---@param measured pintle.cli.bench.measured
---@param about { what: string, dialect: string, in_flight: integer }
---@return pintle.cli.bench.summary
function reports.summary(measured, about)
  local sorted = measured.times
  table.sort(sorted)
  return setmetatable({
    what = about.what, dialect = about.dialect, in_flight = about.in_flight, calls = #sorted,
    errors = measured.errors, seconds = measured.seconds, rate = #sorted / measured.seconds, min = sorted[1],
    median = #sorted > 0 and latency.median(sorted) or nil, p90 = latency.percentile(sorted, 0.9),
    p99 = latency.percentile(sorted, 0.99), max = sorted[#sorted], histogram = json.array(histogram(sorted)),
    problems = json.array(table.move(measured.problems, 1, #measured.problems, 1, {})),
  }, ORDER)
end

-- {====== For people ======

local function milliseconds(seconds) return ("%.3f ms"):format(seconds * 1000) end

local function show_times(summary, console)
  local row = {}
  for i, name in ipairs { "min", "median", "p90", "p99", "max" } do row[i] = milliseconds(summary[name]) end
  local right = { true, true, true, true, true }
  for _, line in ipairs(columns({ "MIN", "MEDIAN", "P90", "P99", "MAX" }, { row }, right)) do console:print(line) end
end

local function show_bars(bars, console)
  local most, rows = 0, {}
  for _, bar in ipairs(bars) do most = math.max(most, bar.count) end
  for i, bar in ipairs(bars) do
    local length = math.ceil(bar.count / most * BAR)
    rows[i] = { ("%g ms"):format(bar.upto * 1000), tostring(bar.count), ("#"):rep(length) }
  end
  for _, line in ipairs(columns({ "UP TO", "CALLS", "" }, rows, { true, true })) do console:print(line) end
end

---@param summary pintle.cli.bench.summary
---@param console pintle.cli.console
function reports.show(summary, console)
  console:print(("%s: %d call%s in %.3f s, %.0f a second; %d in flight, %d error%s"):format(summary.what, summary.calls,
    summary.calls == 1 and "" or "s", summary.seconds, summary.rate, summary.in_flight, summary.errors,
    summary.errors == 1 and "" or "s"))
  if summary.calls == 0 then return end
  console:print ""
  show_times(summary, console)
  console:print ""
  show_bars(summary.histogram, console)
  for _, problem in ipairs(summary.problems) do
    console:complain(("%d times: %s"):format(problem.count, problem.message))
  end
end

-- }======

return reports
