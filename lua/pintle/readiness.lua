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

local ask, disturb = core.stream_methods.ask, core.stream_methods.disturb

---@class pintle.readiness
---@field attended? pintle.watcher what is being waited for by itself. Whoever has something to do for the loop, or
---another time to wait for, has to disturb its stream
local readiness = { attended = nil }

local SOLE_TURNS = 8 -- turns in which one stream alone was ready, before it is the favourite
local LOOK_AROUND = 16 -- turns of the favourite after which the others are looked at all the same
local LOOK_UP = 64 -- calls to any stream after which they are

local poller = assert(core.poller())
local watchers = {} ---@type table<integer, pintle.watcher> by descriptor
local count = 0
local favourite ---@type pintle.watcher?
local favoured ---@type integer? the descriptor of the favourite
local candidate ---@type pintle.watcher? who may become it
local turns = 0 -- in which it was the only one that was ready; then those of the favourite
local calls = 0 -- that were waited for alone
local has_others = false -- somebody else was ready when such a call was answered
local is_public = false -- somebody else waits for the poller's descriptor, where everybody has to be then

-- {====== The favourite ======

local function demote()
  local watcher, descriptor = favourite, favoured
  favourite, favoured, candidate = nil, nil, nil
  if watcher then assert(poller:set(descriptor, "r", watcher, watcher.stream)) end
end

local function promote(watcher)
  local descriptor = watcher.stream:fds()
  if is_public or watchers[descriptor] ~= watcher or not poller:fileno() then return end
  poller:set(descriptor, "")
  favourite, favoured = watcher, descriptor
end

-- Whoever else is ready ends it: he would cost more now.
local function note(watcher, is_alone)
  if favourite then demote() end
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
  if readiness.attended then disturb(readiness.attended.stream) end
  if not watchers[descriptor] then count = count + 1 end
  watchers[descriptor] = watcher
  if descriptor == favoured then favourite, favoured, candidate = nil, nil, nil end
  return true
end

---Has to be called before the descriptor is closed. Does nothing if somebody else watches it by now.
---@param descriptor integer
---@param watcher pintle.watcher
function readiness.unwatch(descriptor, watcher)
  if watchers[descriptor] ~= watcher then return end
  if readiness.attended then disturb(readiness.attended.stream) end
  poller:set(descriptor, "")
  watchers[descriptor] = nil
  count = count - 1
  if descriptor == favoured then favourite, favoured = nil, nil end
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
  local before = readiness.attended
  readiness.attended = watcher
  local found, others = watcher:attend(timeout, count > 1 and poller or nil)
  readiness.attended = before
  turns = turns + 1
  if count > 1 and (others or not found or turns % LOOK_AROUND == 0) then poll(0) end
end

---Waits until something is ready or the time is over, and tells those whom it concerns.
---@param timeout? number seconds; nil is for ever
function readiness.wait(timeout)
  if favourite and not favourite.is_attended then return attend(favourite, timeout) end
  if favourite then demote() end
  return poll(timeout)
end

---Asks a stream, and waits for the answer and for nothing else: as `stream:ask`, but false if there are others to be
---looked at first, which has to be done now and then. A stream that is not the favourite is in the poller itself, so
---that tells nothing then.
---@param watcher pintle.watcher
---@param due number when there is something else to do
---@return true|integer|false|nil answered
function readiness.ask(watcher, cell, method, params, timeout, due)
  local is_favourite = watcher == favourite
  calls = calls + 1
  if has_others or is_public or calls % LOOK_UP == 0 and not is_favourite then
    has_others = false
    return false
  end
  readiness.attended = watcher
  local a, b, c, d, e, f, g, h = ask(watcher.stream, cell, method, params, timeout, due,
    (count > 1 or not is_favourite) and poller or nil)
  readiness.attended = nil
  if a ~= true then return a, b, c, d, e, f, g, h end
  has_others = c and is_favourite
  return true, b
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
  if readiness.attended then disturb(readiness.attended.stream) end
  is_public = true
  demote()
  return poller:fileno()
end

return readiness
