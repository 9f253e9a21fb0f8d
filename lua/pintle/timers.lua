-- What is due when: a binary heap, so that thousands of timers cost little and any of them can be taken out.

---@class pintle.timer
---@field at number when it is due
---@field action fun(subject: any)
---@field subject any
---@field place integer? where it is in the heap; nil when it is not

---@class pintle.timers
---@field due number when the next one is; huge when there is none
local timers = { due = math.huge }

local heap = {} ---@type pintle.timer[]
local count = 0

local function put(timer, place)
  heap[place] = timer
  timer.place = place
  if place == 1 then timers.due = timer.at end
end

local function rise(timer, place)
  while place > 1 do
    local parent = place // 2
    if heap[parent].at <= timer.at then break end
    put(heap[parent], place)
    place = parent
  end
  put(timer, place)
end

local function sink(timer, place)
  while place * 2 <= count do
    local child = place * 2
    if child < count and heap[child + 1].at < heap[child].at then child = child + 1 end
    if timer.at <= heap[child].at then break end
    put(heap[child], place)
    place = child
  end
  put(timer, place)
end

---@param at number by the clock of `core.now`, and not before now
---@param action fun(subject: any) called once, from the loop
---@param subject any
---@return pintle.timer
function timers.add(at, action, subject)
  local timer = { at = at, action = action, subject = subject, place = 0 }
  count = count + 1
  rise(timer, count)
  return timer
end

---Taking one out that was called or taken out already does nothing.
---@param timer pintle.timer
function timers.remove(timer)
  local place = timer.place
  if not place then return end
  local last = heap[count]
  heap[count] = nil
  count = count - 1
  timer.place = nil
  if count == 0 then timers.due = math.huge end
  if last == timer then return end
  if place > 1 and last.at < heap[place // 2].at then rise(last, place) else sink(last, place) end
end

---Calls those that are due. What they add is not, for time has gone on.
---@param now number
function timers.fire(now)
  while timers.due <= now and count > 0 do
    local timer = heap[1]
    timers.remove(timer)
    timer.action(timer.subject)
  end
end

---@return integer
function timers.count() return count end

return timers
