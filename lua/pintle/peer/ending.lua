-- How a conversation ends.

local errors = require "pintle.error"
local lazy = require "pintle.lazy"
local loop = require "pintle.loop"

local tasks = lazy "pintle.task"

local CLOSING = 1 -- seconds to send what is queued when it is closed
local LAST_WORDS = 1 -- seconds in which the reason may be found why nobody reads what is sent

---@class pintle.peer.ending
local methods = {}

-- {====== Losing one half ======

---Nothing will be heard any more: every call that waits, and every later one, ends with `err`. Handlers go on.
---@param err pintle.error
function methods:deafen(err)
  self.deaf = self.deaf or err
  self.is_free = false
  self.stream:admit(false)
  for _, waiter in self.stream.orphan, self.stream do loop.wake(waiter, nil, err) end
  local spoiled = self.spoiled or {}
  self.spoiled = false
  for _, pair in ipairs(spoiled) do loop.wake(pair[1], nil, err) end
end

local function finish_lingering(self) self:finish(self.deaf) end

-- What was asked before is answered.
local function linger(self, err)
  self:deafen(err)
  self.is_lingering, self.is_attended = true, true
  self.lingering = loop.after(self.linger, finish_lingering, self)
  self:mark_dirty()
end

---@private called after something was sent: it is over once all is answered and the answers are out
function methods:check_lingering()
  self:note_serving()
  if self.running_count > 0 or self.parked_count > 0 or not self.lost and self.stream:queued() > 0 then return end
  finish_lingering(self)
end

---@private
function methods:end_of_input(err)
  if self.ended or self.is_ending then return end
  self.is_ending = true
  local input = self.stream:fds()
  if input then loop.unwatch(input, self) end
  if self.explain then return self.explain(self, err) end
  linger(self, err)
end

local function stop_requests(self, err)
  self:note_serving()
  for i = self.running_count, 1, -1 do self.running[i]:stop(err) end
end

-- Who has nobody left to serve may have somewhere to go from here.
local function give_up_output(self)
  self.losing = nil
  if self.ended then return end
  if self.deserted then return self:deserted(self.lost) end
  self:deafen(self.lost)
end

---@private Nobody reads what is sent, so answers are for nobody. What calls fail for may be told soon, by the end of
---the input or of a program.
function methods:lose_output(err)
  if self.lost then return end
  self.lost = err
  self.is_blocked = false
  self:shut_output()
  stop_requests(self, err)
  self.losing = loop.after(LAST_WORDS, give_up_output, self)
  self:review()
end

---@private what a call is told that was refused
function methods:explain_refusal(err)
  if err.kind == "closed" and self.lost and not self.deaf then self:join(LAST_WORDS) end
  return self.ended or err
end

---@private
function methods:shut_output()
  local input, output = self.stream:fds()
  if output and output ~= input then loop.unwatch(output, self) end
  self.stream:close_output()
  if not self.ended then self:watch() end
end

---The other side sees the end of its input; what it still says is taken.
function methods:close_output()
  self:drain(CLOSING)
  if not self.ended then self:shut_output() end
end

-- }======

-- {====== The end ======

local function forget_timers(self)
  for _, name in ipairs { "alarm", "lingering", "losing", "burying" } do
    if self[name] then loop.forget(self[name]) end
    self[name] = nil
  end
end

---Ends the conversation: every call that waits, and every wait of a handler, ends with `err`.
---@param err pintle.error
function methods:finish(err)
  if self.ended then return end
  self.ended = err
  local input, output = self.stream:fds()
  if input then loop.unwatch(input, self) end
  if output then loop.unwatch(output, self) end
  forget_timers(self)
  self.deaf = err
  self:deafen(err)
  self.stream:close()
  self.parked, self.parked_first, self.parked_count, self.parked_bytes = {}, 1, 0, 0
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
---is fine, also from `on_close`. It goes on by itself if the one who closes is cancelled meanwhile.
function methods:close()
  if not self.closing then self.closing = tasks.start(close, self) end
  if self.closing ~= loop.current() then self.closing:await() end
end

-- }======

return methods
