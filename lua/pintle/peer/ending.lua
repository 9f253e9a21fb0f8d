-- How a conversation ends, and waiting until something has become true of it.

local backlog = require "pintle.peer.backlog"
local errors = require "pintle.error"
local loop = require "pintle.loop"
local tasks = require "pintle.task"

require("pintle.core").protect()

local CLOSING = 1 -- seconds to send what is queued when it is closed
local LAST_WORDS = 1 -- seconds to find the reason why the output is closed

---@class pintle.peer.ending
local methods = {}

-- {====== Waiting until something has become true ======

---@private called when something has changed
function methods:review()
  local expecting = self.expecting or {}
  for event, condition in pairs(expecting) do
    if condition(self) then
      expecting[event] = nil
      event:set(true)
    end
  end
  if not next(expecting) then self.expecting = false end
  if self.ended and self.over then self.over:set(true) end
  backlog.update(self)
end

local function expect(self, condition, seconds, message)
  if condition(self) then return true end
  local event = loop.event()
  self.expecting = self.expecting or {}
  self.expecting[event] = condition
  backlog.update(self)
  local ok, err = event:wait(seconds, seconds and errors.new("timeout", message))
  if self.expecting then self.expecting[event] = nil end
  return ok, err
end

---Waits for the end of the conversation. The core need not report anything for that: `finish` ends the wait.
---@param timeout? number seconds
---@return true?, pintle.error? err of the kind "timeout" if it goes on
function methods:join(timeout)
  if self.ended then return true end
  self.over = self.over or loop.event()
  return self.over:wait(timeout, timeout and errors.new("timeout", "the conversation has not ended in time"))
end

---Waits until nothing is being handled, or held to be handled later.
---@param timeout? number seconds
---@param asking? pintle.request the request that asks, which does not count
---@return true?, pintle.error? err of the kind "timeout" if there is still something to do
function methods:idle(timeout, asking)
  local own = asking and 1 or 0
  local function is_idle() return self.stream:running() <= own and self.backlog_count == 0 end
  return expect(self, is_idle, timeout, "there is still something to do")
end

local function is_settled(self) return self.ended or self.lost or self.stream:queued() == 0 end

---Waits until everything that was queued has been sent.
---@param timeout? number seconds
---@return boolean whether it has
function methods:drain(timeout)
  if not self.ended then self.stream:write() end
  expect(self, is_settled, timeout, "not everything was sent in time")
  return self.stream:queued() == 0
end

-- }======

-- {====== Losing one half ======

---No answer will come any more: every call that waits, and every later one, ends with `err`. Handlers go on.
---@param err pintle.error
function methods:deafen(err)
  self.deaf = self.deaf or err
  backlog.update(self)
  self.stream:deafen(err)
end

local function finish_lingering(self) self:finish(self.deaf) end

-- What was asked before is answered.
local function linger(self, err)
  self:deafen(err)
  self.lingering = self.lingering or loop.after(self.linger, finish_lingering, self)
  self.is_lingering = true
  backlog.update(self)
  self.stream:write_soon()
end

-- It is over once all is answered and the answers are out.
local function check_lingering(self)
  local is_sent = self.lost or self.stream:queued() == 0
  if self.stream:running() == 0 and self.backlog_count == 0 and is_sent then finish_lingering(self) end
end

---@private something was sent, or a handler has ended
function methods:moved()
  if self.backlog_count > 0 then self:go_on_soon() end
  if self.expecting then self:review() end
  if self.is_lingering and not self.ended then check_lingering(self) end
end

---@private Called again if memory was short for it.
function methods:end_of_input(err)
  if self.ended or self.is_ending then return end
  if self.explain then
    self.is_ending = true
    return self.explain(self, err)
  end
  linger(self, err)
  self.is_ending = true
end

local function stop_requests(self, err)
  for _, ctx in ipairs(self.stream:requests()) do ctx:stop(err) end
end

-- A plugin whose host is gone ends by `deserted`.
local function give_up_output(self)
  self.losing = nil
  if self.ended then return end
  if self.deserted then return self:deserted(self.lost) end
  self:deafen(self.lost)
end

---The other side has closed its input, so no answer reaches it. The reason may be known soon, by the end of our input
---or of the program.
---@private
function methods:lost_output(message)
  if self.lost or self.ended then return end
  local err = errors.new("closed", message)
  self.lost = err
  self.stream:shut()
  stop_requests(self, err)
  self.losing = loop.after(LAST_WORDS, give_up_output, self)
  self:review()
end

---@private the error of a call that could not be made
function methods:explain_refusal(err)
  if err.kind == "closed" and self.lost and not self.deaf then self:join(LAST_WORDS) end
  return self.ended or err
end

---The other side sees the end of its input; what it still says is taken.
function methods:close_output()
  self:drain(CLOSING)
  if not self.ended then self.stream:shut() end
end

-- }======

-- {====== The end ======

local function forget_timers(self)
  for _, name in ipairs { "lingering", "losing", "burying" } do
    if self[name] then loop.forget(self[name]) end
    self[name] = nil
  end
end

---Ends the conversation: every call that waits, and every wait of a handler, ends with `err`.
---@param err pintle.error
function methods:finish(err)
  if self.ended then return end
  self.ended = err
  forget_timers(self)
  self.deaf = err
  self:deafen(err)
  self.stream:finish()
  backlog.clear(self)
  stop_requests(self, err)
  loop.soon(self.review, self)
  if self.on_close then loop.call(self.on_close, err) end
end

local function close(self)
  if self.stop then return self:stop() end
  self:drain(CLOSING)
  self:finish(errors.new("closed", "the conversation was closed on this side"))
end

---Ends the conversation: what is queued is sent first, and a program that was started for it is stopped. Closing twice
---is fine, also from `on_close`. Closing goes on if the task that closes is cancelled.
function methods:close()
  if not self.closing then self.closing = tasks.start(close, self) end
  if self.closing ~= loop.current() then self.closing:await() end
end

-- }======

return methods
