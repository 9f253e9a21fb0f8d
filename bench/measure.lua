-- How long things take: one step again and again, or many tasks at once, for some seconds.

local now = require("pintle.core").now
local pintle = require "pintle"

local measure = { now = now, BETWEEN_LOOKS = 100 } -- calls from one look at the clock to the next

---Seconds for one call, of which a step makes so many. The first step does not count.
---@param seconds number
---@param calls integer
---@param step fun()
---@return number
function measure.time(seconds, calls, step)
  step()
  local count, spent = 0
  local begun = now()
  repeat
    step()
    count = count + calls
    spent = now() - begun
  until spent >= seconds
  return spent / count
end

---Seconds for one call, made one after another.
---@param seconds number
---@param call fun()
---@return number
function measure.in_turn(seconds, call)
  return measure.time(seconds, measure.BETWEEN_LOOKS, function()
    for _ = 1, measure.BETWEEN_LOOKS do call() end
  end)
end

---Calls a second, where each function makes one call, again and again, in a task of its own.
---@param seconds number
---@param functions fun()[]
---@return number
function measure.at_once(seconds, functions)
  local stop, calls = now() + seconds, 0
  local callers = {}
  for i, call in ipairs(functions) do
    callers[i] = function()
      repeat
        for _ = 1, 10 do call() end
        calls = calls + 10
      until now() >= stop
    end
  end
  local begun = now()
  pintle.all(callers)
  return calls / (now() - begun)
end

---Seconds from the beginning of a step to its end as `once` tells them: the median, for as long as there is time.
---@param seconds number
---@param once fun(): number
---@return number
function measure.median(seconds, once)
  local times, stop = {}, now() + seconds
  repeat times[#times + 1] = once() until now() >= stop
  table.sort(times)
  return times[#times // 2 + 1]
end

return measure
