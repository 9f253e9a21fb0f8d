-- What a call may have besides a timeout, why it fails, and calls that are waited for later.

local core = require "pintle.core"
local errors = require "pintle.error"
local loop = require "pintle.loop"

core.protect()

local OVERDUE = core.overdue

local calls = {}

-- {====== Why a call fails ======

local function tell_cancelled(self, id, reason)
  local cancellation = self.cancellation
  if cancellation and not self.ended then self:notify(cancellation.method, cancellation.params(id, reason)) end
end

---A call has missed its deadline.
---@return pintle.error
function calls.overdue(self, id, method, timeout)
  tell_cancelled(self, id, "timeout")
  local message = ("no answer to %q within %gs"):format(method, timeout)
  if self.name then message = self.name .. ": " .. message end
  return errors.new("timeout", message, { elapsed = timeout, noise = self.noise })
end

---The task that made a call was stopped.
function calls.withdrawn(self, id, err) tell_cancelled(self, id, err.message) end

---Why something could not be sent.
---@return pintle.error
function calls.failure(self, kind, message)
  if kind == "closed" and (self.ended or self.deaf or self.lost) then return self.ended or self.deaf or self.lost end
  return errors.new(kind, message)
end

---The same for a call, which may wait a moment to find out.
---@return pintle.error
function calls.refused(self, kind, message) return self:explain_refusal(calls.failure(self, kind, message)) end

-- }======

-- {====== Options ======

-- `level` is where the caller is, as these functions count it.
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

---A call whose options are more than a timeout. The core calls it, and the user has called the core.
---@return any result, pintle.error?
function calls.call_with_options(self, method, params, options)
  local timeout, token = seconds_of(self, options, 3), nil
  if options.on_progress then params, token = with_progress(self, params, options, 3) end
  local result, err = self:call(method, params, { timeout = timeout })
  if token then self.listeners[token] = nil end
  return result, err
end

---Hands a report of progress to the callback of its call; true if there is one.
function calls.tell_progress(self, token, ...)
  local listener = token ~= nil and self.listeners[token]
  if not listener then return false end
  loop.call(listener, ...)
  return true
end

-- }======

-- {====== Calls that are waited for later ======

---@class pintle.call
---@field id integer?
---@field peer pintle.peer
local call_methods = {}
local call_metatable = { __name = "pintle.call", __index = call_methods }

-- What the answer amounts to is found out once.
local function conclude(begun, result, err)
  if begun.is_concluded then return begun.result, begun.err end
  if err == OVERDUE then err = calls.overdue(begun.peer, begun.id, begun.method, begun.timeout) end
  begun.is_concluded, begun.result, begun.err = true, result, err
  if begun.token then begun.peer.listeners[begun.token] = nil end
  return result, err
end

---@return any result, pintle.error?
function call_methods:wait()
  local result, err = self.answered:wait()
  if not self.answered:is_set() then return nil, err end
  return conclude(self, result, err)
end

---@return boolean whether it was answered, or has failed
function call_methods:is_done() return self.answered:is_set() end

---Gives up on it: `wait` returns an error of the kind "cancelled", and the other side is told.
---@param reason? string
function call_methods:cancel(reason)
  if self.answered:is_set() then return end
  local err = loop.cancelled(reason)
  if self.peer.stream:settle(self.id, nil, err) then tell_cancelled(self.peer, self.id, err.message) end
end

local function forget_listener(begun)
  return function() begun.peer.listeners[begun.token] = nil end
end

---Calls, and goes on at once; `call:wait()` has the answer.
---@param method string
---@param params? any
---@param options? { timeout?: number|false, on_progress?: fun(...) }
---@return pintle.call
function calls.begin(self, method, params, options)
  if type(method) ~= "string" then error("method: string expected, got " .. type(method), 2) end
  options = options or {}
  local begun = setmetatable({ peer = self, method = method, answered = loop.event() }, call_metatable)
  begun.timeout = seconds_of(self, options, 3)
  if options.on_progress then
    params, begun.token = with_progress(self, params, options, 3)
    begun.answered:on_set(forget_listener(begun))
  end
  local id, message, kind
  if self.deaf then
    kind = "closed"
  else
    id, message, kind = self.stream:ask(begun.answered, method, params, begun.timeout)
  end
  begun.id = id
  if not id then begun.answered:set(nil, calls.failure(self, kind, message)) end
  return begun
end

-- }======

return calls
