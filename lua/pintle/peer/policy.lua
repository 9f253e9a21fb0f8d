-- The decisions about a conversation, which the core leaves to Lua: errors, requests that wait, malformed input,
-- cancellations and the end. The core calls the functions that `pintle.peer.policy` in `_meta/core.lua` lists. The
-- others are for `pintle.peer` alone.

local core = require "pintle.core"
local errors = require "pintle.error"
local loop = require "pintle.loop"

core.protect()

local METHOD_NOT_FOUND, INTERNAL_ERROR, OPERATION_FAILED = -32601, -32603, -32000
local ERROR_NAMES = { [-32700] = "Parse error: ", [-32600] = "Invalid Request: " }

local MOST_REFUSALS = 16 << 20 -- unread bytes past which not even a refusal is queued
local MOST_BACKLOG_BYTES = 16 << 20 -- bytes of messages in the backlog
local LAST_WORDS = 1 -- seconds to find the reason why the output is closed

---@type pintle.peer.policy
local policy = {}

-- {====== Calls to the other side ======

local function send_cancellation(self, id, reason)
  local cancellation = self.cancellation
  if cancellation and not self.ended then self:notify(cancellation.method, cancellation.params(id, reason)) end
end

---A call has missed its deadline.
---@return pintle.error
function policy.overdue(self, id, method, timeout)
  send_cancellation(self, id, "timeout")
  local scale = timeout < 1 and 1000 or 100
  local message = ("no answer to %q within %gs"):format(method, math.floor(timeout * scale + 0.5) / scale)
  if self.name then message = self.name .. ": " .. message end
  return errors.new("timeout", message, { elapsed = timeout, noise = self.noise })
end

---The task that made a call was stopped.
function policy.withdrawn(self, id, err) send_cancellation(self, id, err.message) end

---The error of a notification, or of a call, that could not be sent.
---@return pintle.error
function policy.failure(self, kind, message)
  return kind == "closed" and (self.ended or self.call_error or self.lost) or errors.new(kind, message)
end

---The same for a call of the core. If the output is closed, it first waits a moment for the reason.
---@return pintle.error
function policy.refused(self, kind, message)
  local err = policy.failure(self, kind, message)
  if err.kind == "closed" and self.lost and not self.call_error then self:join(LAST_WORDS) end
  return self.ended or err
end

---Raises if the value is not a timeout.
---@param level integer the level to blame, as the caller of this function would pass it to `error`
function policy.check_timeout(timeout, level)
  if timeout and (type(timeout) ~= "number" or timeout ~= timeout or timeout < 0) then
    error("timeout: seconds expected, or false for none", level + 1)
  end
end

---Reads the options of a call. The errors blame the caller's caller.
---@return number|false timeout, any params, integer? token of its progress
function policy.read_options(self, params, given)
  if type(given) ~= "table" then error("options: table expected, got " .. type(given), 3) end
  for name in pairs(given) do
    if name ~= "timeout" and name ~= "on_progress" then error(("no option %q"):format(tostring(name)), 3) end
  end
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

---Makes a call with more options than a timeout. The core calls this function for the user.
---@return any result, pintle.error?
function policy.call(self, method, params, given)
  local timeout, sent, token = policy.read_options(self, params, given)
  local result, err = self:call(method, sent, timeout ~= self.timeout and { timeout = timeout } or nil)
  if token then self.listeners[token] = nil end
  return result, err
end

-- A peer with the option `raw` receives payloads as text.
local function decode_payload(payload)
  if type(payload) ~= "userdata" then return payload end
  return (core.json.decode(payload))
end

---The error of a response.
function policy.remote_error(payload)
  payload = decode_payload(payload)
  if type(payload) ~= "table" then
    return errors.new("protocol", "an error that is no object: " .. tostring(payload))
  end
  local message = type(payload.message) == "string" and payload.message or "an error without a message"
  return errors.new("remote", message, { code = math.tointeger(payload.code), data = payload.data })
end

-- }======

-- {====== Errors of handlers ======

-- Reports a failure that the other side does not see, or not in full.
local function report_handler_error(self, err, traceback, method)
  if self.on_error then return loop.call(self.on_error, err, traceback, method) end
  loop.on_error(err, traceback or errors.text(err), "the handler of " .. method)
end

-- Protocols that bound codes, and most programs that read them, allow 32 bits.
local function error_response_code(self, err)
  local code = math.tointeger(err.code)
  if code and code >= -0x80000000 and code <= 0x7FFFFFFF then return code end
  return self.codes[err.kind] or OPERATION_FAILED
end

-- The error that a handler has returned or raised, as the protocol has it: code, message, data.
local function error_response_members(self, err, is_raised)
  if type(err) == "table" and (err.message or err.code) then
    return error_response_code(self, err), errors.text(err.message or "an error without a message"), err.data
  elseif is_raised then
    return INTERNAL_ERROR, "Internal error: " .. errors.text(err)
  end
  return OPERATION_FAILED, errors.text(err)
end

-- Bytes that are not UTF-8 cannot be sent.
local function replace_invalid_utf8(text)
  return (text:gsub("[\x80-\xFF]+", function(bytes) return utf8.len(bytes) and bytes or "\u{FFFD}" end))
end

local function send_error_response(self, id, method, err, traceback)
  local stream = self.stream
  local code, message, data = error_response_members(self, err, traceback)
  if traceback and self.traceback and data == nil then data = { traceback = traceback } end
  local ok, problem, kind = stream:fail(id, code, message, data)
  if ok or kind == "closed" then return end
  local text = replace_invalid_utf8(message)
  local is_sent = text ~= message and stream:fail(id, code, text, data) or stream:fail(id, code, text)
  if not is_sent then stream:fail(id, INTERNAL_ERROR, "Internal error: an error that cannot be sent") end
  report_handler_error(self, problem, nil, method)
end

---A handler has returned nil and an error.
function policy.refuse(self, ctx, id, method, err)
  if id ~= nil then
    send_error_response(self, id, method, err)
  elseif not ctx or err ~= ctx.stopped then
    report_handler_error(self, err, nil, method)
  end
end

---A handler has raised. The error with which it was stopped is not reported.
function policy.failed(self, ctx, id, method, err, traceback)
  local stopped = ctx and ctx.stopped
  traceback = errors.text(err) .. "\n" .. traceback
  if ctx and ctx.on_finish then ctx.on_finish() end
  if id ~= nil then send_error_response(self, id, method, stopped or err, traceback) end
  if not stopped or err ~= stopped then report_handler_error(self, err, traceback, method) end
end

---The result of a handler cannot be sent.
function policy.unsent(self, id, method, problem, kind)
  if kind == "closed" then return end
  self.stream:fail(id, INTERNAL_ERROR, "Internal error: " .. problem)
  report_handler_error(self, problem, nil, method)
end

-- Answers a request without a handler. The answer is written in this turn.
local function send_refusal(self, id, code, message)
  self.stream:fail(id, code, message)
  self.stream:write_soon()
end

-- }======

-- {====== Waiting for a condition ======

---Sets whether the core passes requests to handlers itself, and whether it calls `policy.after_activity`.
function policy.update_stream(self)
  local has_backlog = self.backlog_count > 0
  self.stream:hold((self.first_handler or has_backlog or self.call_error) and true or false)
  self.stream:watch_activity((has_backlog or self.conditions or self.linger_timer) and true or false)
end

-- Ends the waits whose condition is true now.
local function end_fulfilled_waits(self)
  local conditions = self.conditions
  if not conditions then return end
  for event, condition in pairs(conditions) do
    if condition(self) then
      conditions[event] = nil
      event:set(true)
    end
  end
  if not next(conditions) then self.conditions = false end
  policy.update_stream(self)
end

---Waits until the condition is true. It is checked after each write and after each handler.
---@param condition fun(self: pintle.peer): any
---@param seconds? number
---@param message string of the error after the timeout
---@return true?, pintle.error?
function policy.wait_until(self, condition, seconds, message)
  if condition(self) then return true end
  local event = loop.event()
  self.conditions = self.conditions or {}
  self.conditions[event] = condition
  policy.update_stream(self)
  local ok, err = event:wait(seconds, seconds and errors.new("timeout", message))
  if self.conditions then self.conditions[event] = nil end
  return ok, err
end

-- }======

-- {====== The backlog ======

-- Messages that were read but cannot be handled yet wait in the backlog, and are handled as handlers end. When the
-- backlog is full, reading pauses, so that the pipe fills up and slows the other side down; but not while a call of our
-- own waits for its answer.

---Drops all messages in the backlog.
function policy.clear_backlog(self)
  self.backlog, self.backlog_first, self.backlog_count, self.backlog_bytes = {}, 1, 0, 0
end

local function is_backlog_full(self)
  return self.backlog_count >= self.most_backlog or self.backlog_bytes >= MOST_BACKLOG_BYTES
end

---Adds the message that was received last. The core calls it for a message that `stream:receive_only` has read, because
---no handler may be started while another one computes.
function policy.keep(self, kind, id, what, payload)
  local n, size = self.backlog_count + 1, self.stream:size()
  self.backlog_count, self.backlog_bytes = n, self.backlog_bytes + size
  self.backlog[self.backlog_first + n - 1] = { kind, id, what, payload, size = size }
  policy.update_stream(self)
end

-- Takes the first message out.
local function take_from_backlog(self)
  local first = self.backlog_first
  local message = self.backlog[first]
  self.backlog[first] = nil
  self.backlog_count, self.backlog_bytes = self.backlog_count - 1, self.backlog_bytes - message.size
  self.backlog_first = self.backlog_count > 0 and first + 1 or 1
  policy.update_stream(self)
  return message[2], message[3], message[4]
end

local function pause_reading_if_full(self)
  if self.is_paused or not is_backlog_full(self) or self.stream:waiting() > 0 then return end
  self.is_paused = true
  self.stream:pause(true)
end

local function resume_reading(self)
  if not self.is_paused then return end
  self.is_paused = false
  self.stream:pause(false)
end

-- Handles the backlog in the next turn.
local function handle_backlog_soon(self)
  if self.is_backlog_scheduled or self.backlog_count == 0 then return end
  self.is_backlog_scheduled = true
  loop.soon(policy.handle_backlog, self)
end

-- Notifications that are refused are reported once, until the backlog is empty again.
local function refuse_request(self, id, method)
  if id ~= nil then
    if self.stream:queued() > MOST_REFUSALS then return end
    send_refusal(self, id, self.codes.full, "Too many requests at once")
  elseif not self.is_refusal_reported then
    self.is_refusal_reported = true
    local message = ("%d requests are at work and %d wait"):format(self.stream:running(), self.backlog_count)
    report_handler_error(self, errors.new("full", message), nil, method)
  end
end

-- There may be room for it already, because a running handler has begun to wait for the other side.
local function hold_or_refuse_request(self, kind, id, method, params)
  if is_backlog_full(self) and self.stream:waiting() > 0 then return refuse_request(self, id, method) end
  policy.keep(self, kind, id, method, params)
  if not self.call_error and self.stream:has_room() then handle_backlog_soon(self) end
  pause_reading_if_full(self)
end

-- }======

-- {====== Requests and notifications ======

-- The first message may show which protocol it is, and violate its rules.
local function handle_first_message(self, id, method, params)
  local first = self.first_handler
  self.first_handler = false
  local ok, _, err = xpcall(first, function(raised)
    report_handler_error(self, raised, debug.traceback(errors.text(raised), 2), "a message")
  end, self, method, params)
  policy.update_stream(self)
  if ok and not err then return true end
  if err and (id ~= nil or self.answer_noise) then send_refusal(self, id, err.code, err.message) end
  return false
end

local function handle_request(self, id, method, params)
  if self.first_handler and not handle_first_message(self, id, method, params) then return end
  local handler = self.handlers[method] or self.unknown_handler
  if handler then return self.stream:handle(id, method, params, handler) end
  if id ~= nil then send_refusal(self, id, METHOD_NOT_FOUND, "Method not found: " .. method) end
end

---A message that the core did not pass to a handler: there is no handler, requests are held, or the limit of running
---handlers is reached.
function policy.request(self, kind, id, method, params)
  if self.backlog_count == 0 and not self.call_error and self.stream:has_room() then
    return handle_request(self, id, method, params)
  end
  hold_or_refuse_request(self, kind, id, method, params)
end

-- }======

-- {====== Malformed input ======

-- The other side may have died in the middle of an answer. Then the call fails with that reason instead, which
-- `policy.ended` is looking for.
local function fail_spoiled_call(spoiled)
  if not spoiled.peer.is_ending then spoiled.peer.stream:complete_call(spoiled.call, nil, spoiled.err) end
end

---Malformed input; `call` is the id of our call that it would have answered, which still waits. Input that has to be
---answered waits until the other side has read earlier answers, and is dropped if the backlog is full.
function policy.invalid(self, kind, id, call, noise_report)
  local is_answered = not call and not noise_report.is_answer and (id ~= nil or self.answer_noise)
  local _, is_clogged = self.stream:running()
  if is_clogged and is_answered then
    if not is_backlog_full(self) then policy.keep(self, kind, id, nil, noise_report) end
    return pause_reading_if_full(self)
  end
  self.noise = noise_report.text
  if call then
    local err = errors.new("protocol", noise_report.message, { noise = noise_report.text })
    loop.soon(fail_spoiled_call, { peer = self, call = call, err = err })
  elseif is_answered then
    send_refusal(self, id, noise_report.code, ERROR_NAMES[noise_report.code] .. noise_report.message)
  end
  if self.on_noise then loop.call(self.on_noise, noise_report) end
end

-- }======

-- {====== Notifications that must not wait behind requests ======

-- Ids that a Lua value cannot represent, or that belong to a batch, are compared as JSON text.
local function is_same_request_id(id, given)
  return id == given or type(id) == "userdata" and tostring(id) == core.json.encode(given)
end

-- In some protocols a cancelled request gets no answer. In a batch it always gets one.
local function may_stay_unanswered(self, id) return self.cancellation.is_unanswered and type(id) ~= "userdata" end

local function cancel_in_backlog(self, id)
  for place = self.backlog_first, self.backlog_first + self.backlog_count - 1 do
    local message = self.backlog[place]
    if message[1] == "request" and is_same_request_id(message[2], id) then
      message[1], message[3], message[4] = "withdrawn", nil, nil
      if may_stay_unanswered(self, message[2]) then return end
      return send_refusal(self, message[2], self.codes.cancelled, "Cancelled")
    end
  end
end

local function cancel_request(ctx)
  if ctx.is_uncancellable then return end
  if may_stay_unanswered(ctx.peer, ctx.id) then ctx.id = nil end
  ctx:stop(loop.cancelled "Cancelled")
end

local function cancel_by_id(self, id)
  for _, ctx in ipairs(self.stream:requests()) do
    if is_same_request_id(ctx.id, id) then return cancel_request(ctx) end
  end
  cancel_in_backlog(self, id)
end

---@return true
function policy.cancel(self, params)
  params = decode_payload(params)
  local id = nil
  if type(params) == "table" then id = self.cancellation.id(params) end
  if id ~= nil then cancel_by_id(self, id) end
  return true
end

local function call_progress_listener(self, token, ...)
  local listener = token ~= nil and self.listeners[token]
  if not listener then return false end
  loop.call(listener, ...)
  return true
end

---@return boolean whether a call was waiting for it
function policy.progress(self, params)
  if not next(self.listeners) then return false end
  params = decode_payload(params)
  return type(params) == "table" and call_progress_listener(self, self.progress.report(params))
end

-- }======

-- {====== The end ======

---Ends every pending and every later call with `err`, because no answer can arrive any more. Handlers continue.
---@param err pintle.error
function policy.fail_calls(self, err)
  self.call_error = self.call_error or err
  policy.update_stream(self)
  self.stream:fail_calls(err)
end

local function stop_running_requests(self, err)
  for _, ctx in ipairs(self.stream:requests()) do ctx:stop(err) end
end

local function cancel_peer_timers(self)
  for _, name in ipairs { "linger_timer", "lost_timer", "exit_timer" } do
    if self[name] then loop.cancel(self[name]) end
    self[name] = nil
  end
end

---Ends the conversation: every pending call, and every wait of a handler, ends with `err`.
---@param err pintle.error
function policy.finish(self, err)
  if self.ended then return end
  self.ended, self.call_error = err, err
  cancel_peer_timers(self)
  policy.clear_backlog(self)
  policy.fail_calls(self, err)
  self.stream:finish()
  stop_running_requests(self, err)
  end_fulfilled_waits(self)
  if self.end_event then self.end_event:set(true) end
  if self.on_close then loop.call(self.on_close, err) end
end

local function finish_lingering_peer(self) policy.finish(self, self.call_error) end

-- The input has ended: the conversation ends when all requests are answered and the answers are written.
local function check_lingering(self)
  local is_sent = self.lost or self.stream:queued() == 0
  if self.stream:running() == 0 and self.backlog_count == 0 and is_sent then finish_lingering_peer(self) end
end

local function start_lingering(self, err)
  policy.fail_calls(self, err)
  self.linger_timer = self.linger_timer or loop.after(self.linger, finish_lingering_peer, self)
  policy.update_stream(self)
  self.stream:write_soon()
end

---The input has ended, or reading has failed; the kind is "full" if there was not enough memory for a message. Called
---again if memory was short for the function itself.
function policy.ended(self, message, kind)
  if self.ended or self.is_ending then return end
  local err = errors.new(kind or "closed", message)
  if self.explain then
    self.is_ending = true
    return self.explain(self, err)
  end
  start_lingering(self, err)
  self.is_ending = true
  if self.lost then check_lingering(self) end
end

-- A plugin whose host has ended is ended by `deserted`.
local function give_up_lost_output(self)
  self.lost_timer = nil
  if self.ended then return end
  if self.deserted then return self:deserted(self.lost) end
  policy.fail_calls(self, self.lost)
end

---The other side has closed its input, so no answer reaches it. The end of our input, or of the program, may give the
---reason soon.
function policy.lost(self, message)
  if self.lost or self.ended then return end
  local err = errors.new("closed", message)
  self.lost = err
  self.stream:close_output()
  stop_running_requests(self, err)
  self.lost_timer = loop.after(LAST_WORDS, give_up_lost_output, self)
  end_fulfilled_waits(self)
  if self.linger_timer then check_lingering(self) end
end

---The descriptors cannot be watched.
function policy.broken(self, message, kind) policy.finish(self, errors.new(kind, message)) end

-- }======

-- {====== Going on ======

-- Handles the messages in the backlog while there is room.
local function handle_messages_in_backlog(self)
  while self.backlog_count > 0 do
    local kind = self.backlog[self.backlog_first][1]
    if kind ~= "withdrawn" and not self.stream:has_room() then return end
    local id, what, payload = take_from_backlog(self)
    if kind == "request" or kind == "notification" then
      handle_request(self, id, what, payload)
    elseif kind ~= "withdrawn" then
      policy.invalid(self, kind, id, nil, payload)
    end
  end
  self.is_refusal_reported = false
end

---Handles the backlog, and resumes reading.
function policy.handle_backlog(self)
  self.is_backlog_scheduled = false
  if self.ended then return end
  handle_messages_in_backlog(self)
  if not is_backlog_full(self) then resume_reading(self) end
  end_fulfilled_waits(self)
end

---A call was made while requests are held or reading is paused: its answer has to be read.
function policy.calling(self)
  if self.backlog_count > 0 then resume_reading(self) end
  handle_backlog_soon(self)
end

---Reads while a handler computes. Cancellations take effect; other messages wait in the backlog.
function policy.receive_while_busy(self)
  if not is_backlog_full(self) and not self.stream:receive_only() and self.on_silence then self.on_silence() end
  handle_backlog_soon(self)
  self.stream:write()
end

---Called after each write and after each handler, while `stream:watch_activity` is on.
function policy.after_activity(self)
  handle_backlog_soon(self)
  end_fulfilled_waits(self)
  if self.linger_timer and not self.ended then check_lingering(self) end
end

-- }======

return policy
