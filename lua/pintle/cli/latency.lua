-- How long answers take: percentiles, histograms, and summaries by method and by the side that was asked.

local consoles = require "pintle.cli.console"
local json = require("pintle.core").json

local methods = {}

local metatable = { __name = "pintle.cli.latency", __index = methods }

---@class pintle.cli.latencies
---@field method string
---@field asked "host"|"plugin" the side that was asked
---@field count integer
---@field errors integer
---@field min number seconds, as the following
---@field median number
---@field p95 number
---@field max number

---@param item pintle.cli.item an answer; anything else is ignored
---@param from string the side that answered
function methods:add_latency(item, from)
  if not item.latency then return end
  local name = from .. " " .. item.method
  local entry = self.entries[name]
  if not entry then
    entry = { method = item.method, asked = from, times = {}, errors = 0 }
    self.entries[name] = entry
  end
  entry.times[#entry.times + 1] = item.latency
  if item.kind == "error" then entry.errors = entry.errors + 1 end
end

local latency = {}

---The smallest value that the given part of all values does not exceed.
---@param sorted number[]
---@param part number from 0 to 1
---@return number?
function latency.percentile(sorted, part) return sorted[math.max(1, math.ceil(#sorted * part))] end

---@param sorted number[] not empty
---@return number
function latency.median(sorted)
  local middle = #sorted // 2
  if #sorted % 2 == 1 then return sorted[middle + 1] end
  return (sorted[middle] + sorted[middle + 1]) / 2
end

-- {====== Histograms ======

local BAR_STEPS = { 1, 2, 5 }
local FIRST_BAR_POWER = -9 -- power of ten of the first bound, in seconds

---@class pintle.cli.latency.bar
---@field upto number upper bound in seconds
---@field count integer

-- The n-th bound, as the number closest to its decimal notation.
local function histogram_bound(n)
  local power = FIRST_BAR_POWER + (n - 1) // #BAR_STEPS
  return tonumber(("%de%d"):format(BAR_STEPS[(n - 1) % #BAR_STEPS + 1], power))
end

---@param sorted number[] seconds
---@return pintle.cli.latency.bar[] bars without the empty ones at both ends
function latency.histogram(sorted)
  local bars, n = {}, 1
  for _, seconds in ipairs(sorted) do
    while seconds > histogram_bound(n) do
      n = n + 1
      if #bars > 0 then bars[#bars + 1] = { upto = histogram_bound(n), count = 0 } end
    end
    if #bars == 0 then bars[1] = { upto = histogram_bound(n), count = 0 } end
    bars[#bars].count = bars[#bars].count + 1
  end
  return bars
end

-- }======

local function summarise_method_latencies(entry)
  local sorted = table.move(entry.times, 1, #entry.times, 1, {})
  table.sort(sorted)
  return {
    method = entry.method, asked = entry.asked, count = #sorted, errors = entry.errors, min = sorted[1],
    median = latency.median(sorted), p95 = latency.percentile(sorted, 0.95), max = sorted[#sorted],
  }
end

---@return pintle.cli.latencies[] sorted by method
function methods:latency_summaries()
  local list = {}
  for _, entry in pairs(self.entries) do list[#list + 1] = summarise_method_latencies(entry) end
  table.sort(list, function(a, b)
    if a.method ~= b.method then return a.method < b.method end
    return a.asked > b.asked
  end)
  return list
end

function latency.new() return setmetatable({ entries = {} }, metatable) end

---@param seconds number
---@return string
function latency.duration_text(seconds)
  if seconds < 1 then return ("%.3f ms"):format(seconds * 1000) end
  return ("%.3f s"):format(seconds)
end

-- {====== Summaries as JSON and as text ======

local LATENCY = json.order { "method", "asked", "count", "errors", "min", "median", "p95", "max" }

---@param summaries pintle.cli.latencies[]
---@return table
function latency.latencies_value(summaries)
  local list = json.array()
  for i, summary in ipairs(summaries) do list[i] = setmetatable(summary, LATENCY) end
  return list
end

local HEADS = { "METHOD", "ASKED", "COUNT", "ERRORS", "MIN", "MEDIAN", "P95", "MAX" }
local NUMBERS = { [3] = true, [4] = true, [5] = true, [6] = true, [7] = true, [8] = true }

---@param summaries pintle.cli.latencies[]
---@return string[]
function latency.latency_lines(summaries)
  local rows = {}
  for i, summary in ipairs(summaries) do
    local method = consoles.harmless_line(summary.method)
    rows[i] = { method, summary.asked, tostring(summary.count), tostring(summary.errors) }
    for _, name in ipairs { "min", "median", "p95", "max" } do
      table.insert(rows[i], latency.duration_text(summary[name]))
    end
  end
  return consoles.table_lines(HEADS, rows, NUMBERS)
end

-- }======

return latency
