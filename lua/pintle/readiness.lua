-- Which descriptors are ready, and who is told. One stream that keeps being the only one that is ready becomes the
-- favourite: its input is taken out of the poller and waited for by itself, beside the poller, which costs less.

local core = require "pintle.core"

---@class pintle.watcher something that is told when its descriptor is ready
---@field on_ready fun(self: pintle.watcher, readable: boolean, writable: boolean)
---@field stream? pintle.stream if that is what is read when it is ready; then it has the others as well
---@field attend? fun(self: pintle.watcher, timeout: number?, beside: pintle.poller?): boolean, boolean waits for it,
---and sees to what comes: whether something has, and whether the poller has something
---@field take_over? fun(self: pintle.watcher, ...) goes on with what `stream:deliver` has returned
---@field is_attended? boolean whether it wants to be told of more than its input now

local disturb, sole = core.stream_methods.disturb, core.sole

local poller = assert(core.poller())

---@class pintle.readiness
---@field poller pintle.poller
---@field focus { [1]: pintle.watcher|false|nil } what is being waited for by itself. Whoever has something to do for
---the loop, or another time to wait for, has to disturb it. False if the loop is at rest: then a call from outside of
---it need not turn it
---@field favourite? pintle.watcher
local readiness = { poller = poller, focus = { sole.attended }, favourite = nil }

local focus = readiness.focus

local SOLE_TURNS = 8 -- turns in which one stream alone was ready, before it is the favourite
local LOOK_AROUND = 16 -- turns of the favourite after which the others are looked at all the same

local watchers = {} ---@type table<integer, pintle.watcher> by descriptor
local count = 0
local favoured ---@type integer? the descriptor of the favourite
local candidate ---@type pintle.watcher? who may become it
local turns = 0 -- in which it was the only one that was ready; then those of the favourite
local is_public = not poller:fileno() -- all have to be in the poller, for somebody else waits for its descriptor

---There is something to do: whoever waits for one stream alone has to see to it.
function readiness.disturb()
  if focus[1] then disturb(focus[1].stream) else focus[1] = nil end
end

---There is nothing to do.
function readiness.rest()
  if not is_public then focus[1] = false end
end
if not focus[1] then readiness.rest() end

-- {====== The favourite ======

local function demote()
  local watcher, descriptor = readiness.favourite, favoured
  readiness.favourite, favoured, candidate = nil, nil, nil
  if watcher then assert(poller:set(descriptor, "r", watcher, watcher.stream)) end
end

local function promote(watcher)
  local descriptor = watcher.stream:fds()
  if is_public or watchers[descriptor] ~= watcher then return end
  poller:set(descriptor, "")
  readiness.favourite, favoured = watcher, descriptor
end

-- Whoever else is ready ends it: he would cost more now.
local function note(watcher, is_alone)
  if favoured then demote() end
  if not is_alone or watcher ~= candidate then
    candidate, turns = is_alone and watcher.stream and watcher or nil, 0
    return
  end
  turns = turns + 1
  if turns == SOLE_TURNS then promote(watcher) end
end

-- }======

---Watches a descriptor until told otherwise, for these events and no others.
---@param descriptor integer
---@param events "r"|"w"|"rw"
---@param watcher pintle.watcher
---@return true?, string? message, string? kind
function readiness.watch(descriptor, events, watcher)
  local ok, message, kind = poller:set(descriptor, events, watcher, watcher.stream)
  if not ok then return nil, message, kind end
  readiness.disturb()
  if not watchers[descriptor] then count = count + 1 end
  watchers[descriptor] = watcher
  if descriptor == favoured then readiness.favourite, favoured, candidate = nil, nil, nil end
  return true
end

---Has to be called before the descriptor is closed. Does nothing if somebody else watches it by now.
---@param descriptor integer
---@param watcher pintle.watcher
function readiness.unwatch(descriptor, watcher)
  if watchers[descriptor] ~= watcher then return end
  readiness.disturb()
  poller:set(descriptor, "")
  watchers[descriptor] = nil
  count = count - 1
  if descriptor == favoured then readiness.favourite, favoured = nil, nil end
  if watcher == candidate then candidate = nil end
end

-- What `poller:deliver` returned. Of those that have a stream, only those are seen here that have something besides
-- what goes straight to threads.
local function see_to(watcher, readable, writable, ...)
  if not watcher then return false end
  if readable == nil then watcher:take_over(...) else watcher:on_ready(readable, writable) end
  return true
end

-- The only one that is ready, which is the last if nothing is told of it.
local function see_to_one(watcher, readable, ...)
  local one = watcher or readable
  if one then note(one, not watcher or readable ~= false) end
  see_to(watcher, readable, ...)
end

local function poll(timeout)
  local ready = assert(poller:wait(timeout))
  if ready == 1 then return see_to_one(poller:deliver()) end
  if ready == 0 then return end
  note(nil, false)
  repeat until not see_to(poller:deliver())
end

-- It may be attended to in the middle of that, by one who turns the loop there.
local function attend(watcher, timeout)
  local before = focus[1]
  focus[1] = watcher
  local found, others = watcher:attend(timeout, count > 1 and poller or nil)
  focus[1] = before
  turns = turns + 1
  if count > 1 and (others or not found or turns % LOOK_AROUND == 0) then poll(0) end
end

---Waits until something is ready or the time is over, and tells those whom it concerns.
---@param timeout? number seconds; nil is for ever
function readiness.wait(timeout)
  local favourite = readiness.favourite
  if favourite and not favourite.is_attended then return attend(favourite, timeout) end
  if favourite then demote() end
  return poll(timeout)
end

---Whose messages are being handed out now, if that is by the poller.
---@return pintle.watcher?
function readiness.current() return poller:current() end

---Whether there is anything that could become ready.
---@return boolean
function readiness.is_watching() return count > 0 end

---A descriptor that is readable when something is ready, for another loop to watch.
---@return integer? nil where the system has only poll(2)
function readiness.fileno()
  if sole.peer then sole.complete() end
  readiness.disturb()
  is_public = true
  demote()
  return poller:fileno()
end

return readiness
