-- What is said of a replay: where the other side deviates, as it happens, and in the end how it went.

local harmless = require("pintle.host.log").harmless
local json = require("pintle.core").json

local DEVIATION = json.order { "line", "what", "differences" }
local DIFFERENCE = json.order { "path", "recorded", "now" }

---@class pintle.cli.report
local methods = {}

local metatable = { __name = "pintle.cli.report", __index = methods }

local reports = {}

local function put(self, text) self.out:write(harmless(text), "\n") end

local function show_difference(self, difference)
  local path = difference.path == "" and "(all of it)" or difference.path
  if difference.recorded then put(self, ("  - %s: %s"):format(path, difference.recorded)) end
  if difference.now then put(self, ("  + %s: %s"):format(path, difference.now)) end
end

---@param deviation pintle.cli.deviation
function methods:deviation(deviation)
  if self.is_json then return end
  put(self, ("%s:%d: the %s deviates: %s"):format(self.file, deviation.line, self.whom, deviation.what))
  for _, difference in ipairs(deviation.differences or {}) do show_difference(self, difference) end
end

local function deviation_value(deviation)
  local list = json.array()
  for i, difference in ipairs(deviation.differences or {}) do
    list[i] = setmetatable({
      path = difference.path, recorded = difference.recorded and json.raw(difference.recorded),
      now = difference.now and json.raw(difference.now),
    }, DIFFERENCE)
  end
  return setmetatable({ line = deviation.line, what = deviation.what, differences = list }, DEVIATION)
end

local function finish_json(self, player)
  local list = json.array()
  for i, deviation in ipairs(player.deviations) do list[i] = deviation_value(deviation) end
  local value = { ok = #list == 0, heard = player.heard, deviations = list }
  self.out:write(json.encode(setmetatable(value, json.order { "ok", "heard", "deviations" })), "\n")
end

local function several(count, what) return ("%d %s%s"):format(count, what, count == 1 and "" or "s") end

---@param player pintle.cli.player
function methods:finish(player)
  if self.is_json then return finish_json(self, player) end
  local heard, count = several(player.heard, "message"), #player.deviations
  local verdict = count == 0 and "all as recorded" or "and " .. several(count, "deviation")
  put(self, ("%s of the %s, %s"):format(heard, self.whom, verdict))
end

---@param file string the recording
---@param whom "host"|"plugin" who is compared
---@param out file*
---@param is_json? boolean
---@return pintle.cli.report
function reports.new(file, whom, out, is_json)
  return setmetatable({ file = file, whom = whom, out = out, is_json = is_json }, metatable)
end

return reports
