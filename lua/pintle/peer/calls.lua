-- Asking: calls, their deadlines, cancelling them, and what is told of their progress.

local core = require "pintle.core"
local errors = require "pintle.error"
local loop = require "pintle.loop"

local give, owners = loop.resume, loop.owners
local yielder, yield, PARKED = core.yielder, coroutine.yield, core.parked
local huge = math.huge

local calls = {}

local OVERDUE = {}

-- {====== Deadlines ======

local function arm(self, due)
  if self.alarm then loop.forget(self.alarm) end
  self.alarm_at = due
  self.alarm = loop.after(due - loop.now(), calls.expire, self)
end

function calls.expire(self)
  local stream, now = self.stream, loop.now()
  self.alarm, self.alarm_at = nil, huge
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

local function abandon(self, id, err)
  if self.stream:abandon(id) then tell_cancelled(self, id, err.message) end
end

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
  local id, due, kind = self.stream:request(waiter, method, params, timeout or nil)
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

-- While nothing else is going on, the answer is the next thing to come: then the loop need not be turned for it.
-- Anything else is for the loop, and so is what is left to be sent.
local function find_answer(self, cell)
  if self.spin or self.parked_count > 0 or not loop.wait_alone(self) then return see_off(self) end
  local reader = loop.reader
  loop.reader = self
  local kind, id, what, payload, more = self.stream:deliver()
  loop.reader = reader
  if what == cell and kind == "result" and not more then return payload end
  loop.soon(self.take_on, { peer = self, kind, id, what, payload, more })
  see_off(self)
end

local function call_from_outside(self, method, params, timeout)
  local waiter = loop.waiter()
  local runner = owners[waiter] or waiter.owner
  if runner and runner.stopped then return nil, runner.stopped end
  local id, err = queue(self, waiter, method, params, timeout)
  if not id then return nil, self:explain_refusal(err) end
  local result = find_answer(self, waiter)
  if result ~= nil then return result end
  result, err = loop.wait(waiter, abandon, self, id)
  if err == OVERDUE then err = unanswered(self, id, method, timeout) end
  return result, err
end

-- As loop.wait does it, without the detours: this is where a busy host spends its time.
local function call(self, method, params, timeout)
  local thread = yielder()
  local runner = owners[thread]
  if not runner or runner.stopped then return call_from_outside(self, method, params, timeout) end
  local id, err = send(self, thread, method, params, timeout)
  if not id then return nil, self:explain_refusal(err) end
  runner.thread, runner.canceller, runner.subject, runner.token = thread, abandon, self, id
  local result
  result, err = yield(PARKED)
  if err == OVERDUE then err = unanswered(self, id, method, timeout) end
  return result, err
end

local function with_progress(self, params, options)
  if type(params) ~= "table" and params ~= nil then error("on_progress: params have to be a table", 3) end
  local token = self.last_token + 1
  params = self.progress.attach(params, token)
  self.last_token = token
  self.listeners[token] = options.on_progress
  return params, token
end

local function seconds_of(self, options)
  local timeout = options.timeout
  if timeout == nil then return self.timeout end
  if timeout ~= false and (type(timeout) ~= "number" or timeout ~= timeout or timeout < 0) then
    error("timeout: seconds expected, or false for none", 3)
  end
  return timeout
end

local function check_method(method)
  if type(method) ~= "string" then error("method: string expected, got " .. type(method), 3) end
end

---Asks, and waits for the answer.
---@param method string
---@param params? any
---@param options? { timeout?: number|false, on_progress?: fun(...) }
---@return any result nil if there is none
---@return pintle.error?
function calls.call(self, method, params, options)
  if type(method) ~= "string" then check_method(method) end
  if not options then return call(self, method, params, self.timeout) end
  local timeout, token = seconds_of(self, options), nil
  if options.on_progress then params, token = with_progress(self, params, options) end
  local result, err = call(self, method, params, timeout)
  if token then self.listeners[token] = nil end
  return result, err
end

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
  check_method(method)
  options = options or {}
  local begun = setmetatable({ peer = self, method = method, waiters = {}, done = false }, call_metatable)
  begun.timeout = seconds_of(self, options)
  if options.on_progress then params, begun.token = with_progress(self, params, options) end
  local id, err = send(self, begun, method, params, begun.timeout)
  begun.id = id
  if not id then give(begun, nil, err) end
  return begun
end

-- }======

---Hands a report of progress to the callback of its call; true if there is one.
function calls.tell_progress(self, token, ...)
  local listener = token ~= nil and self.listeners[token]
  if not listener then return false end
  loop.call(listener, ...)
  return true
end

return calls
