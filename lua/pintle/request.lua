-- A request or notification that is being handled: what its handler is given as `ctx`.

local errors = require "pintle.error"
local lazy = require "pintle.lazy"
local loop = require "pintle.loop"
local duration = lazy "pintle.duration"

local GRACE = 0.2 -- seconds in which a handler that computes may see for itself that it was stopped
local STUBBORN = 1 -- seconds in which it may clean up; then it gets no further, whatever it catches

---@class pintle.request: pintle.core.context
---@field peer pintle.peer
---@field id pintle.id? nil for a notification
---@field method string
---@field due number? the deadline, by the clock of the loop
---@field must_abort boolean? whether the watchdog raises before every instruction
---@field is_firm boolean? whether the other side cannot cancel it
---@field concluding? fun() called when the handler has ended, before the answer is queued
local methods = {}

local request = { methods = methods }

request.metatable = { __name = "pintle.request", __index = methods }

---Whether the answer is not wanted any more: the request was cancelled or timed out, or the peer is gone. `why` is the
---error to return.
---@return boolean, pintle.error? why
function methods:cancelled()
  if not self.stopped and self.due and loop.now() >= self.due then self:expire() end
  return self.stopped ~= nil, self.stopped
end

---Seconds that are left, nil when there is no deadline.
---@return number?
function methods:deadline()
  return self.due and math.max(self.due - loop.now(), 0)
end

---Calls the peer that sent the request.
---@return any result, pintle.error?
function methods:call(method, params, options) return self.peer:call(method, params, options) end

---@return true?, pintle.error?
function methods:notify(method, params) return self.peer:notify(method, params) end

---Sets the deadline. When it comes, waits return an error of the kind "timeout", and a handler that computes is
---interrupted.
---@param seconds number
---@param what? string what timed out, for the message; default: "the request"
function methods:set_deadline(seconds, what)
  self.due = loop.now() + seconds
  self.allowed, self.what = seconds, what or "the request"
  loop.set_deadline(self, seconds)
end

---@private
function methods:expire()
  local message = ("%s timed out after %s"):format(self.what, duration.format(self.allowed))
  self:stop(errors.new("timeout", message, { elapsed = self.allowed }))
end

---Ends its waits with `err`. A handler that computes is interrupted after a short grace.
---@param err pintle.error
function methods:stop(err)
  if self.stopped then return end
  self.stopped, self.stopped_at = err, loop.now()
  loop.stop(self, err)
end

---@private called while the handler computes without waiting
function methods:tick()
  if self.must_abort then error(self.stopped, 0) end
  self.peer:listen_in()
  if not self:cancelled() then return end
  local late = loop.now() - self.stopped_at
  self.must_abort = late >= STUBBORN
  if late >= GRACE then error(self.stopped, 0) end
end

return request
