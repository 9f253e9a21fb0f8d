-- Waiting until something has come to be so with a conversation.

local errors = require "pintle.error"
local loop = require "pintle.loop"

---@class pintle.peer.expecting
local methods = {}

---@private called when something has changed
function methods:review()
  local expecting = self.expecting or {}
  for waiter, condition in pairs(expecting) do
    if condition(self) then
      expecting[waiter] = nil
      loop.wake(waiter, true)
    end
  end
  if not next(expecting) then self.expecting = false end
end

local function stop_expecting(self, waiter)
  if self.expecting then self.expecting[waiter] = nil end
end

local function expect(self, condition, seconds, message)
  if condition(self) then return true end
  local waiter = loop.waiter()
  self.expecting = self.expecting or {}
  self.expecting[waiter] = condition
  local late = seconds and errors.new("timeout", message)
  return loop.wait_within(seconds, late, waiter, stop_expecting, self, waiter)
end

local function has_ended(self) return self.ended end

---Waits for the end of the conversation.
---@param timeout? number seconds
---@return true?, pintle.error? err of the kind "timeout" if it goes on
function methods:join(timeout) return expect(self, has_ended, timeout, "the conversation has not ended in time") end

---Waits until nothing is being handled, or kept back to be handled later.
---@param timeout? number seconds
---@param asking? pintle.request the one that asks, which does not count
---@return true?, pintle.error? err of the kind "timeout" if there is still something to do
function methods:idle(timeout, asking)
  self:note_serving()
  local function is_idle()
    local own = asking and asking.place and 1 or 0
    return self.running_count <= own and self.parked_count == 0
  end
  return expect(self, is_idle, timeout, "there is still something to do")
end

local function is_settled(self) return self.ended or self.lost or self.stream:queued() == 0 end

---Waits until everything that was queued has been sent.
---@param timeout? number seconds
---@return boolean whether it has
function methods:drain(timeout)
  if not self.ended then self:flush() end
  expect(self, is_settled, timeout, "not everything was sent in time")
  return self.stream:queued() == 0
end

return methods
