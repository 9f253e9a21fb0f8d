-- How long answers take, by method and by who was asked.

local methods = {}

local metatable = { __name = "pintle.cli.latency", __index = methods }

---@class pintle.cli.latencies
---@field method string
---@field asked "host"|"plugin" who was asked
---@field count integer
---@field errors integer
---@field min number seconds, as are the others
---@field median number
---@field p95 number
---@field max number

---@param item pintle.cli.item an answer
---@param from string who has answered
function methods:add(item, from)
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

---The smallest that so large a part of them does not exceed.
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

local function summary(entry)
  local sorted = table.move(entry.times, 1, #entry.times, 1, {})
  table.sort(sorted)
  return {
    method = entry.method, asked = entry.asked, count = #sorted, errors = entry.errors, min = sorted[1],
    median = latency.median(sorted), p95 = latency.percentile(sorted, 0.95), max = sorted[#sorted],
  }
end

---@return pintle.cli.latencies[] by method
function methods:summaries()
  local list = {}
  for _, entry in pairs(self.entries) do list[#list + 1] = summary(entry) end
  table.sort(list, function(a, b)
    if a.method ~= b.method then return a.method < b.method end
    return a.asked > b.asked
  end)
  return list
end

function latency.new() return setmetatable({ entries = {} }, metatable) end

return latency
