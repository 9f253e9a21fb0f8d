-- Which descriptors are ready, and who is told. One stream that keeps being the only one that is ready becomes the
-- favourite: its input is taken out of the poller and waited for by itself, beside the poller, which costs less.

local core = require "pintle.core"

---@class pintle.watcher something that is told when its descriptor is ready
---@field on_ready fun(self: pintle.watcher, readable: boolean, writable: boolean)
---@field stream? pintle.stream if that is what is read when it is ready

local readiness = {}

local SOLE_TURNS = 8 -- turns in which one stream alone was ready, before it is the favourite
local LOOK_AROUND = 16 -- turns of the favourite after which the others are looked at all the same

local poller = assert(core.poller())
local watchers = {} ---@type table<integer, pintle.watcher> by descriptor
local count = 0
local favourite ---@type pintle.watcher?
local favoured ---@type integer? the descriptor of the favourite
local candidate ---@type pintle.watcher? who may become it
local turns = 0 -- in which it was the only one that was ready; then those of the favourite
local is_public = false -- somebody else waits for the poller's descriptor, where everybody has to be then

-- {====== The favourite ======

local function demote()
  local watcher, descriptor = favourite, favoured
  favourite, favoured, candidate = nil, nil, nil
  if watcher then assert(poller:set(descriptor, "r", watcher)) end
end

local function promote(watcher)
  local descriptor = watcher.stream:fds()
  if is_public or watchers[descriptor] ~= watcher then return end
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
  local ok, message, kind = poller:set(descriptor, events, watcher)
  if not ok then return nil, message, kind end
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
  poller:set(descriptor, "")
  watchers[descriptor] = nil
  count = count - 1
  if descriptor == favoured then favourite, favoured = nil, nil end
  if watcher == candidate then candidate = nil end
end

local function poll(timeout)
  local ready = assert(poller:wait(timeout))
  for watcher, readable, writable in poller.next, poller do
    note(watcher, ready == 1 and readable)
    watcher:on_ready(readable, writable)
  end
end

-- As long as there is something to receive for it, the others would never have their turn.
local function wait_for_favourite(timeout)
  local watcher = favourite
  local ready, _, kind = watcher.stream:wait(timeout, count > 1 and poller or nil)
  if kind == "unsupported" then
    is_public = true
    return demote()
  end
  if ready ~= false then watcher:on_ready(true, false) end
  turns = turns + 1
  if count > 1 and (not ready or turns % LOOK_AROUND == 0) then poll(0) end
end

---Waits until something is ready or the time is over, and tells those whom it concerns.
---@param timeout? number seconds; nil is for ever
function readiness.wait(timeout)
  if favourite then return wait_for_favourite(timeout) end
  return poll(timeout)
end

---The same for somebody who has asked this stream for something, if it is the favourite and nobody else is to be looked
---at now: true if something has come for it, which is left to him.
---@param watcher pintle.watcher
---@param timeout? number
---@return boolean
function readiness.wait_for(watcher, timeout)
  if watcher ~= favourite then return false end
  turns = turns + 1
  if turns % LOOK_AROUND == 0 then return false end
  return watcher.stream:wait(timeout, count > 1 and poller or nil) == true
end

---Whether there is anything that could become ready.
---@return boolean
function readiness.is_watching() return count > 0 end

---A descriptor that is readable when something is ready, for another loop to watch.
---@return integer? nil where the system has only poll(2)
function readiness.fileno()
  is_public = true
  demote()
  return poller:fileno()
end

return readiness
