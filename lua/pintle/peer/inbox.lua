-- What comes in: told apart and handed on.

local answers = require "pintle.peer.answers"
local core = require "pintle.core"
local errors = require "pintle.error"
local lazy = require "pintle.lazy"
local loop = require "pintle.loop"

local calls = lazy "pintle.peer.calls"
local parking = lazy "pintle.peer.parking"

local give, handle = loop.resume, answers.handle
local attend, deliver = core.stream_methods.attend, core.stream_methods.deliver

local ERROR_NAMES = { [-32700] = "Parse error: ", [-32600] = "Invalid Request: " }
local ROUNDS = 32 -- messages, or lots of them, that are taken in before others have their turn

local inbox = {}

-- {====== One message ======

-- What was received as text, where the peer was opened for that.
local function plain(payload)
  if type(payload) ~= "userdata" then return payload end
  return (core.json.decode(payload))
end

local function remote_error(payload)
  payload = plain(payload)
  if type(payload) ~= "table" then
    return errors.new("protocol", "an error that is no object: " .. tostring(payload))
  end
  local code, message = math.tointeger(payload.code), payload.message
  return errors.new("remote", type(message) == "string" and message or "an error without a message",
    { code = code, data = payload.data })
end

local function cancel(self, params)
  local id = self.cancellation.id(params)
  if id == nil then return end
  local req = parking.find_running(self, id)
  if not req then return parking.withdraw(self, id) end
  if req.is_firm then return end
  if parking.may_stay_unanswered(self, req.id) then req.id = nil end
  req:stop(loop.cancelled "Cancelled")
end

local function is_cancellation(self, method) return self.cancellation and method == self.cancellation.method end

-- What must not wait behind requests; true if this was such a thing.
local function control(self, method, params)
  if is_cancellation(self, method) then
    params = plain(params)
    if type(params) == "table" then cancel(self, params) end
    return true
  elseif method == self.progress.method and next(self.listeners) then
    params = plain(params)
    return type(params) == "table" and calls.tell_progress(self, self.progress.report(params))
  end
  return false
end

local function is_answered(self, id, waiter, told)
  return not waiter and not told.is_answer and (id ~= nil or self.answer_noise)
end

local function make_of_nonsense(self, kind, id, waiter, told)
  if kind == "stray" then return end
  if self.is_clogged and is_answered(self, id, waiter, told) then return parking.take_nonsense(self, kind, id, told) end
  self.noise = told.text
  if waiter then
    local err = errors.new("protocol", told.message, { noise = told.text })
    self.spoiled = self.spoiled or {}
    table.insert(self.spoiled, { waiter, err })
  elseif is_answered(self, id, waiter, told) then
    self.stream:fail(id, told.code, ERROR_NAMES[told.code] .. told.message)
    self:mark_dirty()
  end
  if self.on_noise then loop.call(self.on_noise, told) end
end

-- Those that come next need not be seen here.
local function begin(self, id, method, params)
  handle(self, id, method, params)
  if self.is_free and self.handlers[method] and not self.ended then answers.go_on_serving(self) end
end

local function dispatch(self, kind, id, what, payload)
  if kind == "result" then
    give(what, payload)
  elseif kind == "error" then
    give(what, nil, remote_error(payload))
  elseif kind == "resumed" then
    answers.note_serving(self)
    loop.settle(id, what, payload)
  elseif kind == "request" then
    if self.is_free then begin(self, id, what, payload) else parking.take(self, kind, id, what, payload) end
  elseif kind == "notification" then
    if control(self, what, payload) then return end
    if self.is_free then handle(self, nil, what, payload) else parking.take(self, kind, nil, what, payload) end
  else
    make_of_nonsense(self, kind, id, what, payload)
  end
end

-- }======

-- {====== Many in a row ======

-- An answer that is broken because the other side died in the middle of it fails for that reason, with all that is
-- known of the end: so it is looked whether the end is there, too.
local function give_spoiled(self)
  local spoiled = self.spoiled
  self.spoiled = false
  for _, pair in ipairs(spoiled) do give(pair[1], nil, pair[2]) end
end

-- The program at the other end is gone, so what is not there now will not come. A stream that has just read all there
-- was says so once before it asks again.
local function look_for_rest(self, found)
  self.looks = found and 0 or self.looks + 1
  if self.looks < 2 then return loop.soon(self.receive_on, self) end
  self:end_of_input(errors.new("closed", "the program at the other end is gone"))
end

-- What is left to do when there is no more, or enough.
local function conclude(self, kind, id, what, more, found)
  if kind == nil then
    self:end_of_input(errors.new(what or "closed", id))
  elseif more then
    loop.soon(self.receive_on, self)
  elseif self.is_orphaned then
    look_for_rest(self, found)
  elseif self.parked_count > 0 then
    parking.pause(self)
  end
end

-- Sees to a message, and to all that are behind it; then answers are sent. Whether there was anything.
local function take(self, reader, kind, id, what, payload, more, has_answers)
  local left, found, is_unsent = ROUNDS, kind or id, has_answers
  while true do
    if kind then dispatch(self, kind, id, what, payload) end
    left = left - 1
    if not more or left == 0 or self.ended or self.is_paused then break end
    kind, id, what, payload, more, has_answers = deliver(self.stream)
    is_unsent = is_unsent or has_answers
  end
  loop.reader = reader
  if is_unsent and not self.is_dirty then self:flush() end
  if self.spoiled and kind ~= nil then give_spoiled(self) end
  if kind == nil or more or self.is_orphaned or self.parked_count > 0 then
    conclude(self, kind, id, what, more, found)
  end
  return found and true or false
end

-- Who was the reader before. A handler that somebody turns the loop in is taken note of.
local function become_reader(self)
  local reader = loop.reader
  loop.reader = self
  answers.note_serving(self)
  return reader
end

---Takes in what is there.
---@param spin? number seconds to go on asking for, if an answer is due
---@return boolean found whether there was anything
function inbox.receive(self, spin) return take(self, become_reader(self), deliver(self.stream, spin)) end

-- Whether there was anything, and whether there is something for others.
local function take_and_tell(self, reader, kind, id, what, payload, more, has_answers, others)
  return take(self, reader, kind, id, what, payload, more, has_answers), others
end

---Waits for it, and takes in what comes, until there is something to do for the loop.
---@param timeout? number
---@param beside? pintle.poller
---@return boolean found, boolean others
---@private
function inbox.attend(self, timeout, beside)
  return take_and_tell(self, become_reader(self), attend(self.stream, timeout, beside))
end

---Goes on with what somebody else has taken from the stream: what `stream:deliver` returned.
---@private
function inbox.take_over(self, ...)
  if not self.ended then take(self, become_reader(self), ...) end
end

---@param message table the same, and the peer
---@private
function inbox.take_on(message) inbox.take_over(message.peer, table.unpack(message, 1, 6)) end

---The same in the next turn, if there is still reason to.
---@private
function inbox.receive_on(self)
  if not self.ended and not self.is_paused then inbox.receive(self) end
end

-- }======

-- {====== While a handler computes ======

---Takes in what has come while a handler computes. Cancelling is acted on; all else waits for its turn, also the end:
---who wants to know of that at once is told here, each time.
---@private
function inbox.listen_in(self)
  local stream = self.stream
  answers.note_serving(self)
  while not parking.is_full(self) do
    local kind, id, what, payload = stream:receive()
    if kind == nil and self.on_silence then self.on_silence() end
    if not kind then break end
    if kind == "result" then
      loop.wake(what, payload)
    elseif kind == "error" then
      loop.wake(what, nil, remote_error(payload))
    elseif kind == "notification" and is_cancellation(self, what) then
      control(self, what, payload)
    else
      parking.park(self, kind, id, what, payload)
    end
  end
  if self.parked_count > 0 then self:go_on_soon() end
  if self.is_dirty then self:flush() end
end

-- }======

---Begins what was kept back, as far as there is room.
function inbox.go_on(self)
  self.is_going_on = false
  if self.ended then return end
  parking.work_off(self, dispatch)
  if not parking.is_full(self) then parking.unpause(self) end
  if self.expecting then self:review() end
end

return inbox
