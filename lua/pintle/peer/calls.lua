-- Asking: calls, their deadlines, cancelling them, and what is told of their progress.

local core = require "pintle.core"
local errors = require "pintle.error"
local loop = require "pintle.loop"

local give, owners = loop.resume, loop.owners
local innermost, yield, PARKED = core.innermost, coroutine.yield, core.parked
local request = core.stream_methods.request
local huge = math.huge

---@class pintle.peer.calls
local calls = {}

local OVERDUE = {}

-- {====== Deadlines ======

local function arm(self, due)
  if self.alarm then loop.forget(self.alarm) end
  self.alarm_at = due
  self.stream:alarm(due)
  self.alarm = loop.after(due - loop.now(), calls.expire, self)
end

function calls.expire(self)
  local stream, now = self.stream, loop.now()
  self.alarm, self.alarm_at = nil, huge
  stream:alarm(huge)
  local id, waiter = stream:overdue(now)
  while id do
    give(waiter, nil, OVERDUE)
    id, waiter = stream:overdue(now)
  end
  if waiter and waiter < self.alarm_at and not self.ended then arm(self, waiter) end
end

local function tell_cancelled(self, id, reason)
  local cancellation = self.cancellation
  if cancellation and not self.ended then self:notify(cancellation.method, cancellation.params(id, reason)) end
end

---Whether it was still waited for.
---@private
function calls.abandon(self, id, err)
  if not self.stream:abandon(id) then return false end
  tell_cancelled(self, id, err.message)
  return true
end
local abandon = calls.abandon

local function unanswered(self, id, method, timeout)
  tell_cancelled(self, id, "timeout")
  local message = ("no answer to %q within %gs"):format(method, timeout)
  if self.name then message = self.name .. ": " .. message end
  return errors.new("timeout", message, { elapsed = timeout, noise = self.noise })
end

-- }======

-- {====== Calling ======

local function queue(self, waiter, method, params, timeout)
  if self.deaf then return nil, self.deaf end
  local id, due, kind = request(self.stream, waiter, method, params, timeout or nil)
  if not id then return nil, self:failure(kind, due) end
  if due < self.alarm_at then arm(self, due) end
  return id
end

local function see_off(self)
  if not self.is_dirty then self:mark_dirty() end
  if self.spin then loop.spin(self) end
  if self.parked_count > 0 then self:make_way() end
end

local function send(self, waiter, method, params, timeout)
  local id, err = queue(self, waiter, method, params, timeout)
  if id then see_off(self) end
  return id, err
end

local function wait_outside(self, cell, method, timeout, id)
  local result, err = loop.wait(cell, abandon, self, id)
  if err == OVERDUE then err = unanswered(self, id, method, timeout) end
  return result, err
end

-- Turns the loop until the answer is there. The owner is who runs where one cannot yield, if that is in the loop.
local function call_turning(self, owner, method, params, timeout)
  if owner and owner.stopped then return nil, owner.stopped end
  local cell = { done = false, canceller = false, subject = nil, token = nil, owner = owner, nil, nil }
  local id, err = send(self, cell, method, params, timeout)
  if not id then return nil, self:explain_refusal(err) end
  return wait_outside(self, cell, method, timeout, id)
end

-- It was asked already, and then something else came, which is for the loop.
local function go_on_outside(self, cell, method, timeout, id, due, kind, from, what, payload, more, has_answers)
  if due < self.alarm_at then arm(self, due) end
  loop.soon(self.take_on, { peer = self, kind, from, what, payload, more, has_answers })
  see_off(self)
  return wait_outside(self, cell, method, timeout, id)
end

local function call_outside(self, timeout, method, params)
  if timeout == nil then timeout = self.timeout end
  return call_turning(self, nil, method, params, timeout)
end

-- As loop.wait does it, without the detours.
local function call(self, method, params, timeout)
  local thread, may_wait = innermost()
  local runner = owners[thread]
  if not may_wait or not runner then return call_turning(self, runner, method, params, timeout) end
  if runner.stopped then return nil, runner.stopped end
  if self.deaf then return nil, self:explain_refusal(self.deaf) end
  local id, due, kind = request(self.stream, thread, method, params, timeout or nil)
  if not id then return nil, self:explain_refusal(self:failure(kind, due)) end
  if due < self.alarm_at then arm(self, due) end
  if not self.is_dirty or self.spin or self.parked_count > 0 then see_off(self) end
  runner.thread, runner.canceller, runner.subject, runner.token = thread, abandon, self, id
  local result, err = yield(PARKED)
  runner.canceller = false -- an answer from the stream has left it
  if err == OVERDUE then err = unanswered(self, id, method, timeout) end
  return result, err
end

-- `level` is where the one who asks is, as these functions count it.
local function with_progress(self, params, options, level)
  if type(params) ~= "table" and params ~= nil then error("on_progress: params have to be a table", level) end
  local token = self.last_token + 1
  params = self.progress.attach(params, token)
  self.last_token = token
  self.listeners[token] = options.on_progress
  return params, token
end

local OPTIONS = { timeout = true, on_progress = true }

local function check_options(options, level)
  if type(options) ~= "table" then error("options: table expected, got " .. type(options), level) end
  for name in pairs(options) do
    if not OPTIONS[name] then error(("no option %q"):format(tostring(name)), level) end
  end
end

local function seconds_of(self, options, level)
  check_options(options, level + 1)
  local timeout = options.timeout
  if timeout == nil then return self.timeout end
  if timeout ~= false and (type(timeout) ~= "number" or timeout ~= timeout or timeout < 0) then
    error("timeout: seconds expected, or false for none", level)
  end
  return timeout
end

local function check_method(method, level)
  if type(method) ~= "string" then error("method: string expected, got " .. type(method), level) end
end

-- It is called by the core, which the user has called; with a time of its own where there are no options.
local function call_with_options(self, method, params, options, timeout)
  check_method(method, 4)
  if timeout == nil then timeout = self.timeout end
  if not options then return call(self, method, params, timeout) end
  local token
  timeout = seconds_of(self, options, 4)
  if options.on_progress then params, token = with_progress(self, params, options, 4) end
  local result, err = call(self, method, params, timeout)
  if token then self.listeners[token] = nil end
  return result, err
end

local function explain(self, id, method, err, timeout)
  if err == OVERDUE then return unanswered(self, id, method, timeout) end
  return err
end

local call_alone = loop.alone(go_on_outside, call_outside)

---Asks, and waits for the answer. Where a task does and there is nothing special about it, the core does it alone.
---@param method string
---@param params? any
---@param options? { timeout?: number|false, on_progress?: fun(...) }
---@return any result nil if there is none
---@return pintle.error?
calls.call = core.caller(owners, call_with_options, call_alone, see_off, explain)

-- }======

-- {====== Calls that are waited for later ======

---@class pintle.call: pintle.cell
---@field id integer?
---@field peer pintle.peer
local call_methods = {}
local call_metatable = { __name = "pintle.call", __index = call_methods }

---@private called by the loop
function call_methods:settled()
  if self[2] == OVERDUE then self[2] = unanswered(self.peer, self.id, self.method, self.timeout) end
  if self.token then self.peer.listeners[self.token] = nil end
  local waiters = self.waiters
  self.waiters = {}
  for waiter in pairs(waiters) do loop.wake(waiter, self[1], self[2]) end
end

local function stop_waiting(begun, waiter) begun.waiters[waiter] = nil end

---@return any result, pintle.error?
function call_methods:wait()
  if self.done then return self[1], self[2] end
  local waiter = loop.waiter()
  self.waiters[waiter] = true
  return loop.wait(waiter, stop_waiting, self, waiter)
end

---Gives up on it: `wait` returns an error of the kind "cancelled", and the other side is told.
---@param reason? string
function call_methods:cancel(reason)
  if self.done then return end
  local err = loop.cancelled(reason)
  abandon(self.peer, self.id, err)
  give(self, nil, err)
end

---Asks, and goes on at once; `call:wait()` has the answer.
---@param method string
---@param params? any
---@param options? { timeout?: number|false, on_progress?: fun(...) }
---@return pintle.call
function calls.begin(self, method, params, options)
  check_method(method, 3)
  options = options or {}
  local begun = setmetatable({ peer = self, method = method, waiters = {}, done = false }, call_metatable)
  begun.timeout = seconds_of(self, options, 3)
  if options.on_progress then params, begun.token = with_progress(self, params, options, 3) end
  local id, err = send(self, begun, method, params, begun.timeout)
  begun.id = id
  if not id then give(begun, nil, err) end
  return begun
end

-- }======

---Hands a report of progress to the callback of its call; true if there is one.
---@private
function calls.tell_progress(self, token, ...)
  local listener = token ~= nil and self.listeners[token]
  if not listener then return false end
  loop.call(listener, ...)
  return true
end

return calls
