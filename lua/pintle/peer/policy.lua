-- The decisions about a conversation, which the core leaves to Lua. The core calls these functions by their names: see
-- `pintle.peer.policy` in `_meta/core.lua`.

local answers = require "pintle.peer.answers"
local backlog = require "pintle.peer.backlog"
local calls = require "pintle.peer.calls"
local core = require "pintle.core"
local ending = require "pintle.peer.ending"
local errors = require "pintle.error"
local loop = require "pintle.loop"

core.protect()

local ERROR_NAMES = { [-32700] = "Parse error: ", [-32600] = "Invalid Request: " }

---@type pintle.peer.policy
local policy = {
  request = answers.request, refuse = answers.refuse, failed = answers.failed, unsent = answers.unsent,
  keep = backlog.hold,
  call = calls.call_with_options, refused = calls.refused, failure = calls.failure, overdue = calls.overdue,
  withdrawn = calls.withdrawn,
  lost = ending.lost_output, moved = ending.moved,
}

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

-- {====== Malformed input ======

local function is_answered(self, id, call, told)
  return not call and not told.is_answer and (id ~= nil or self.answer_noise)
end

-- An answer that is broken because the other side died in the middle of it fails for that reason, with all that is
-- known of the end, so the end is looked for first.
local function fail_spoiled(spoiled)
  if not spoiled.peer.is_ending then spoiled.peer.stream:settle(spoiled.call, nil, spoiled.err) end
end

function policy.invalid(self, kind, id, call, told)
  local _, is_clogged = self.stream:running()
  if is_clogged and is_answered(self, id, call, told) then return backlog.take_invalid(self, kind, id, told) end
  self.noise = told.text
  if call then
    local err = errors.new("protocol", told.message, { noise = told.text })
    loop.soon(fail_spoiled, { peer = self, call = call, err = err })
  elseif is_answered(self, id, call, told) then
    self.stream:fail(id, told.code, ERROR_NAMES[told.code] .. told.message)
    self.stream:write_soon()
  end
  if self.on_noise then loop.call(self.on_noise, told) end
end

-- }======

-- {====== Notifications that must not wait behind requests ======

local function cancel(self, params)
  local id = self.cancellation.id(params)
  if id == nil then return end
  local ctx = backlog.find_running(self, id)
  if not ctx then return backlog.withdraw(self, id) end
  if ctx.is_firm then return end
  if backlog.may_stay_unanswered(self, ctx.id) then ctx.id = nil end
  ctx:stop(loop.cancelled "Cancelled")
end

---@return true
function policy.cancel(self, params)
  params = plain(params)
  if type(params) == "table" then cancel(self, params) end
  return true
end

---@return boolean whether a call was waiting for it
function policy.progress(self, params)
  if not next(self.listeners) then return false end
  params = plain(params)
  return type(params) == "table" and calls.tell_progress(self, self.progress.report(params))
end

-- }======

---The descriptors cannot be watched.
function policy.broken(self, message, kind) self:finish(errors.new(kind, message)) end

function policy.ended(self, message, kind) self:end_of_input(errors.new(kind or "closed", message)) end

---Works off the backlog, as far as there is room.
function policy.go_on(self)
  self.is_going_on = false
  if self.ended then return end
  backlog.work_off(self, answers.handle, policy.invalid)
  if not backlog.is_full(self) then backlog.unpause(self) end
  if self.expecting then self:review() end
end

---A call was made while messages are held: its answer has to get through.
function policy.calling(self)
  if self.backlog_count == 0 then return end
  backlog.unpause(self)
  self:go_on_soon()
end

---Reads what has come while a handler computes. Cancellations take effect; all else waits for its turn.
function policy.listen(self)
  if not backlog.is_full(self) and not self.stream:listen() and self.on_silence then self.on_silence() end
  if self.backlog_count > 0 then self:go_on_soon() end
  self.stream:write()
end

return policy
