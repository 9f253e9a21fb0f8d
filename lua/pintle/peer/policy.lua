-- The decisions about a conversation, which the core leaves to Lua. The core calls these functions by their names: see
-- `pintle.peer.policy` in `_meta/core.lua`. The other functions are for `pintle.peer` alone.

local core = require "pintle.core"
local errors = require "pintle.error"
local loop = require "pintle.loop"
local options = require "pintle.options"

core.protect()

local METHOD_NOT_FOUND, INTERNAL_ERROR, OPERATION_FAILED = -32601, -32603, -32000
local ERROR_NAMES = { [-32700] = "Parse error: ", [-32600] = "Invalid Request: " }

local MOST_REFUSALS = 16 << 20 -- unread bytes past which not even a refusal is queued
local MOST_BYTES = 16 << 20 -- of messages that are held, as they came

---@type pintle.peer.policy
local policy = {}

-- {====== Calls to the other side ======

local function tell_cancelled(self, id, reason)
  local cancellation = self.cancellation
  if cancellation and not self.ended then self:notify(cancellation.method, cancellation.params(id, reason)) end
end

---A call has missed its deadline.
---@return pintle.error
function policy.overdue(self, id, method, timeout)
  tell_cancelled(self, id, "timeout")
  local message = ("no answer to %q within %gs"):format(method, timeout)
  if self.name then message = self.name .. ": " .. message end
  return errors.new("timeout", message, { elapsed = timeout, noise = self.noise })
end

---The task that made a call was stopped.
function policy.withdrawn(self, id, err) tell_cancelled(self, id, err.message) end

---Why something could not be sent.
---@return pintle.error
function policy.failure(self, kind, message)
  if kind == "closed" and (self.ended or self.deaf or self.lost) then return self.ended or self.deaf or self.lost end
  return errors.new(kind, message)
end

---The same for a call, which may wait a moment to find out.
---@return pintle.error
function policy.refused(self, kind, message) return self:explain_refusal(policy.failure(self, kind, message)) end

---Raises, at the level of its caller's caller, if it is no timeout.
function policy.check_timeout(timeout, level)
  if timeout and (type(timeout) ~= "number" or timeout ~= timeout or timeout < 0) then
    error("timeout: seconds expected, or false for none", level + 1)
  end
end

local CALL_OPTIONS = options.set { "timeout", "on_progress" }

---The timeout of a call, its params, and the token of its progress. What is wrong is blamed on its caller's caller.
---@return number|false timeout, any params, integer? token
function policy.read_options(self, params, given)
  if type(given) ~= "table" then error("options: table expected, got " .. type(given), 3) end
  options.check(given, CALL_OPTIONS, 3)
  local timeout, token = given.timeout, nil
  if timeout == nil then timeout = self.timeout end
  policy.check_timeout(timeout, 3)
  if given.on_progress then
    if type(params) ~= "table" and params ~= nil then error("on_progress: params have to be a table", 3) end
    token = self.last_token + 1
    params = self.progress.attach(params, token)
    self.last_token, self.listeners[token] = token, given.on_progress
  end
  return timeout, params, token
end

---A call whose options are more than a timeout. The core calls it, and the user has called the core.
---@return any result, pintle.error?
function policy.call(self, method, params, given)
  local timeout, sent, token = policy.read_options(self, params, given)
  local result, err = self:call(method, sent, { timeout = timeout })
  if token then self.listeners[token] = nil end
  return result, err
end

-- What was received as text, where the peer was opened for that.
local function plain(payload)
  if type(payload) ~= "userdata" then return payload end
  return (core.json.decode(payload))
end

---The error of a response.
function policy.remote_error(payload)
  payload = plain(payload)
  if type(payload) ~= "table" then
    return errors.new("protocol", "an error that is no object: " .. tostring(payload))
  end
  local code, message = math.tointeger(payload.code), payload.message
  return errors.new("remote", type(message) == "string" and message or "an error without a message",
    { code = code, data = payload.data })
end

-- }======

-- {====== Errors of handlers ======

---Reports a failure that the other side is not told of, or not all of it.
function policy.report(self, err, traceback, method)
  if self.on_error then return loop.call(self.on_error, err, traceback, method) end
  loop.on_error(err, traceback or errors.text(err), "the handler of " .. method)
end
local report = policy.report

-- Protocols that say how large a code may be say 32 bits, and so do most readers of the others.
local function code_of(self, err)
  local code = math.tointeger(err.code)
  if code and code >= -0x80000000 and code <= 0x7FFFFFFF then return code end
  return self.codes[err.kind] or OPERATION_FAILED
end

-- Whatever a handler gives back or raises as an error, as the protocol has it: code, message, data.
local function describe(self, err, is_raised)
  if type(err) == "table" and (err.message or err.code) then
    return code_of(self, err), errors.text(err.message or "an error without a message"), err.data
  elseif is_raised then
    return INTERNAL_ERROR, "Internal error: " .. errors.text(err)
  end
  return OPERATION_FAILED, errors.text(err)
end

-- Bytes that are not UTF-8 cannot be sent, in a text that is for people.
local function legible(text)
  return (text:gsub("[\x80-\xFF]+", function(bytes) return utf8.len(bytes) and bytes or "\u{FFFD}" end))
end

local function fail(self, id, method, err, traceback)
  local stream = self.stream
  local code, message, data = describe(self, err, traceback)
  if traceback and self.traceback and data == nil then data = { traceback = traceback } end
  local ok, problem, kind = stream:fail(id, code, message, data)
  if ok or kind == "closed" then return end
  local text = legible(message)
  if text == message or not stream:fail(id, code, text, data) then
    if not stream:fail(id, code, text) then
      stream:fail(id, INTERNAL_ERROR, "Internal error: an error that cannot be sent")
    end
  end
  report(self, problem, nil, method)
end

---A handler has returned nil and an error.
function policy.refuse(self, ctx, id, method, err)
  if id ~= nil then
    fail(self, id, method, err)
  elseif not ctx or err ~= ctx.stopped then
    report(self, err, nil, method)
  end
end

---A handler has raised. What a handler that was stopped raises is only the way it ended.
function policy.failed(self, ctx, id, method, err, traceback)
  local stopped = ctx and ctx.stopped
  traceback = errors.text(err) .. "\n" .. traceback
  if ctx and ctx.concluding then ctx.concluding() end
  if id ~= nil then fail(self, id, method, stopped or err, traceback) end
  if not stopped or err ~= stopped then report(self, err, traceback, method) end
end

---What a handler has returned cannot be sent.
function policy.unsent(self, id, method, problem, kind)
  if kind == "closed" then return end
  self.stream:fail(id, INTERNAL_ERROR, "Internal error: " .. problem)
  report(self, problem, nil, method)
end

-- An error that no handler has a part in. It is written in this turn.
local function answer_error(self, id, code, message)
  self.stream:fail(id, code, message)
  self.stream:write_soon()
end

-- }======

-- {====== The backlog ======

-- Messages that were read but cannot be handled yet are held, and worked off as handlers end. When the backlog is full,
-- reading pauses and the pipe pushes back, unless a call of our own waits: its answer has to get through.

---Tells the core whether requests may go straight to handlers, and whether it has to report what it does.
function policy.update(self)
  self.stream:hold((self.first or self.backlog_count > 0 or self.deaf) and true or false)
  self.stream:report((self.backlog_count > 0 or self.expecting or self.is_lingering) and true or false)
end

---Forgets all that is held.
function policy.clear_backlog(self)
  self.backlog, self.backlog_first, self.backlog_count, self.backlog_bytes = {}, 1, 0, 0
end

local function is_full(self) return self.backlog_count >= self.most_backlog or self.backlog_bytes >= MOST_BYTES end

---Holds the message that was received last.
function policy.keep(self, kind, id, what, payload)
  local n, size = self.backlog_count + 1, self.stream:size()
  self.backlog_count, self.backlog_bytes = n, self.backlog_bytes + size
  self.backlog[self.backlog_first + n - 1] = { kind, id, what, payload, size = size }
  policy.update(self)
end

local function release(self)
  local first = self.backlog_first
  local message = self.backlog[first]
  self.backlog[first] = nil
  self.backlog_count, self.backlog_bytes = self.backlog_count - 1, self.backlog_bytes - message.size
  self.backlog_first = self.backlog_count > 0 and first + 1 or 1
  policy.update(self)
  return message[2], message[3], message[4]
end

local function pause_if_full(self)
  if self.is_paused or not is_full(self) or self.stream:waiting() > 0 then return end
  self.is_paused = true
  self.stream:pause(true)
end

local function unpause(self)
  if not self.is_paused then return end
  self.is_paused = false
  self.stream:pause(false)
end

-- Notifications that are refused are reported once, until there is room again.
local function refuse_when_full(self, id, method)
  if id ~= nil then
    if self.stream:queued() > MOST_REFUSALS then return end
    answer_error(self, id, self.codes.full, "Too many requests at once")
  elseif not self.is_refusing then
    self.is_refusing = true
    local message = ("%d requests are at work and %d wait"):format(self.stream:running(), self.backlog_count)
    report(self, errors.new("full", message), nil, method)
  end
end

-- There may be room for it all the same: a handler may wait for the other side by now.
local function hold_or_refuse(self, kind, id, method, params)
  if is_full(self) and self.stream:waiting() > 0 then return refuse_when_full(self, id, method) end
  policy.keep(self, kind, id, method, params)
  if not self.deaf and self.stream:has_room() then self:go_on_soon() end
  pause_if_full(self)
end

-- }======

-- {====== Requests and notifications ======

-- By the first message it may become known what protocol this is, and that the message breaks its rules.
local function meet_first(self, id, method, params)
  local first = self.first
  self.first = false
  local ok, _, err = xpcall(first, function(raised)
    report(self, raised, debug.traceback(errors.text(raised), 2), "a message")
  end, self, method, params)
  policy.update(self)
  if ok and not err then return true end
  if err and (id ~= nil or self.answer_noise) then answer_error(self, id, err.code, err.message) end
  return false
end

local function handle(self, id, method, params)
  if self.first and not meet_first(self, id, method, params) then return end
  local handler = self.handlers[method] or self.other
  if handler then return self.stream:handle(id, method, params, handler) end
  if id ~= nil then answer_error(self, id, METHOD_NOT_FOUND, "Method not found: " .. method) end
end

---A request or notification that the core could not hand to its handler.
function policy.request(self, kind, id, method, params)
  if self.backlog_count == 0 and not self.deaf and self.stream:has_room() then
    return handle(self, id, method, params)
  end
  hold_or_refuse(self, kind, id, method, params)
end

-- }======

-- {====== Malformed input ======

local function is_answered(self, id, call, told)
  return not call and not told.is_answer and (id ~= nil or self.answer_noise)
end

-- An answer that is broken because the other side died in the middle of it fails for that reason, with all that is
-- known of the end, so the end is looked for first.
local function fail_spoiled(spoiled)
  if not spoiled.peer.is_ending then spoiled.peer.stream:settle(spoiled.call, nil, spoiled.err) end
end

---What has to be answered is held until the answers before it are read, and dropped if it cannot be held.
function policy.invalid(self, kind, id, call, told)
  local _, is_clogged = self.stream:running()
  if is_clogged and is_answered(self, id, call, told) then
    if not is_full(self) then policy.keep(self, kind, id, nil, told) end
    return pause_if_full(self)
  end
  self.noise = told.text
  if call then
    local err = errors.new("protocol", told.message, { noise = told.text })
    loop.soon(fail_spoiled, { peer = self, call = call, err = err })
  elseif is_answered(self, id, call, told) then
    answer_error(self, id, told.code, ERROR_NAMES[told.code] .. told.message)
  end
  if self.on_noise then loop.call(self.on_noise, told) end
end

-- }======

-- {====== Notifications that must not wait behind requests ======

-- Ids that a Lua value would not give back, or that belong to a batch, are compared as JSON.
local function is_id(id, given)
  return id == given or type(id) == "userdata" and tostring(id) == core.json.encode(given)
end

-- A cancelled request gets no answer where the protocol has it so, unless a batch may wait for it.
local function may_stay_unanswered(self, id) return self.cancellation.is_unanswered and type(id) ~= "userdata" end

local function cancel_held(self, id)
  for place = self.backlog_first, self.backlog_first + self.backlog_count - 1 do
    local message = self.backlog[place]
    if message[1] == "request" and is_id(message[2], id) then
      message[1], message[3], message[4] = "withdrawn", nil, nil
      if may_stay_unanswered(self, message[2]) then return end
      return answer_error(self, message[2], self.codes.cancelled, "Cancelled")
    end
  end
end

local function cancel_running(ctx)
  if ctx.is_firm then return end
  if may_stay_unanswered(ctx.peer, ctx.id) then ctx.id = nil end
  ctx:stop(loop.cancelled "Cancelled")
end

---@return true
function policy.cancel(self, params)
  params = plain(params)
  local id = nil
  if type(params) == "table" then id = self.cancellation.id(params) end
  if id == nil then return true end
  for _, ctx in ipairs(self.stream:requests()) do
    if is_id(ctx.id, id) then
      cancel_running(ctx)
      return true
    end
  end
  cancel_held(self, id)
  return true
end

local function tell_progress(self, token, ...)
  local listener = token ~= nil and self.listeners[token]
  if not listener then return false end
  loop.call(listener, ...)
  return true
end

---@return boolean whether a call was waiting for it
function policy.progress(self, params)
  if not next(self.listeners) then return false end
  params = plain(params)
  return type(params) == "table" and tell_progress(self, self.progress.report(params))
end

-- }======

-- {====== What changes a conversation ======

-- Works off what is held, as far as there is room.
local function work_off(self)
  while self.backlog_count > 0 do
    local kind = self.backlog[self.backlog_first][1]
    local is_call = kind == "request" or kind == "notification"
    local _, is_clogged = self.stream:running()
    if is_call and not self.stream:has_room() then return end
    if is_clogged and kind ~= "withdrawn" then return end
    local id, what, payload = release(self)
    if is_call then
      handle(self, id, what, payload)
    elseif kind ~= "withdrawn" then
      policy.invalid(self, kind, id, nil, payload)
    end
  end
  self.is_refusing = false
end

---Works off the backlog, and goes on reading.
function policy.go_on(self)
  self.is_going_on = false
  if self.ended then return end
  work_off(self)
  if not is_full(self) then unpause(self) end
  if self.expecting then self:review() end
end

---A call was made while messages are held: its answer has to get through.
function policy.calling(self)
  if self.backlog_count == 0 then return end
  unpause(self)
  self:go_on_soon()
end

---Reads what has come while a handler computes. Cancellations take effect; all else waits for its turn.
function policy.listen(self)
  if not is_full(self) and not self.stream:listen() and self.on_silence then self.on_silence() end
  if self.backlog_count > 0 then self:go_on_soon() end
  self.stream:write()
end

---Something was sent, or a handler has ended.
function policy.moved(self)
  if self.backlog_count > 0 then self:go_on_soon() end
  if self.expecting then self:review() end
  if self.is_lingering and not self.ended then self:check_lingering() end
end

---The descriptors cannot be watched.
function policy.broken(self, message, kind) self:finish(errors.new(kind, message)) end

function policy.ended(self, message, kind) self:end_of_input(errors.new(kind or "closed", message)) end

function policy.lost(self, message) self:lost_output(message) end

-- }======

return policy
