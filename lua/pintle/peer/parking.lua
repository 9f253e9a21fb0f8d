-- What was taken in but cannot be begun yet: parked, and worked off as handlers end. When that is full, too, reading
-- pauses and the pipe pushes back, unless a call of our own waits: its answer has to get through.

local answers = require "pintle.peer.answers"
local core = require "pintle.core"
local errors = require "pintle.error"
local loop = require "pintle.loop"

local encode = core.json.encode

local MOST_REFUSALS = 16 << 20 -- unread bytes past which not even that is said
local MOST_BYTES = 16 << 20 -- of messages that wait, as they came

local parking = {}

---Whether no more is to be kept.
---@return boolean
function parking.is_full(self) return self.parked_count >= self.most_parked or self.parked_bytes >= MOST_BYTES end
local is_full = parking.is_full

---Keeps the message that was received last.
---@param kind string
function parking.park(self, kind, id, what, payload)
  local n, size = self.parked_count + 1, self.stream:size()
  self.parked_count, self.parked_bytes = n, self.parked_bytes + size
  self.parked[self.parked_first + n - 1] = { kind, id, what, payload, size = size }
  self.is_free = false
  self.stream:admit(false)
end
local park = parking.park

local function unpark(self)
  local first = self.parked_first
  local message = self.parked[first]
  self.parked[first] = nil
  self.parked_count, self.parked_bytes = self.parked_count - 1, self.parked_bytes - message.size
  self.parked_first = self.parked_count > 0 and first + 1 or 1
  answers.update(self)
  return message[1], message[2], message[3], message[4]
end

-- What is refused has nobody to go to; once for all of them, until there is room again.
local function refuse(self, id, method)
  local err = errors.new("full", ("%d requests are at work and %d wait"):format(self.running_count, self.parked_count))
  if id ~= nil then
    if self.stream:queued() > MOST_REFUSALS then return end
    self.stream:fail(id, self.codes.full, "Too many requests at once")
    self:mark_dirty()
  elseif not self.is_refusing then
    self.is_refusing = true
    answers.report(self, err, nil, method)
  end
end

---Keeps a request or notification for later, or refuses it. There may be room for it all the same: who was at work may
---wait for the other side by now.
function parking.take(self, kind, id, method, params)
  if is_full(self) and self.stream:waiting() > 0 then return refuse(self, id, method) end
  park(self, kind, id, method, params)
  if not self.deaf and answers.has_room(self) then self:go_on_soon() end
  parking.pause(self)
end

---Keeps what is no message, and has to be answered, until the answers before it are read. What cannot be kept is
---passed over.
function parking.take_nonsense(self, kind, id, told)
  if not is_full(self) then park(self, kind, id, nil, told) end
  parking.pause(self)
end

---Stops reading if it has to be.
function parking.pause(self)
  if self.is_paused or not is_full(self) or self.stream:waiting() > 0 then return end
  self.is_paused = true
  self:watch()
end

---Goes on reading.
function parking.unpause(self)
  if not self.is_paused then return end
  self.is_paused = false
  self:watch()
  loop.soon(self.receive_on, self)
end

-- Ids that a Lua value would not give back, or that belong to a batch, are told by their text.
local function is_id(id, told) return id == told or type(id) == "userdata" and tostring(id) == encode(told) end

---Whether a request that was cancelled gets no answer: where the protocol has it so, unless a batch may wait for it.
---@return boolean
function parking.may_stay_unanswered(self, id)
  return self.cancellation.is_unanswered and type(id) ~= "userdata"
end

---Takes the request with this id off the list of those that wait.
function parking.withdraw(self, id)
  for place = self.parked_first, self.parked_first + self.parked_count - 1 do
    local message = self.parked[place]
    if message[1] == "request" and is_id(message[2], id) then
      message[1], message[3], message[4] = "withdrawn", nil, nil
      if parking.may_stay_unanswered(self, message[2]) then return end
      self.stream:fail(message[2], self.codes.cancelled, "Cancelled")
      return self:mark_dirty()
    end
  end
end

---The request with this id that is at work.
---@return pintle.request?
function parking.find_running(self, id)
  answers.note_serving(self)
  for i = 1, self.running_count do
    if is_id(self.running[i].id, id) then return self.running[i] end
  end
end

---Begins what was kept back, as far as there is room; `dispatch` is for what is neither request nor notification.
function parking.work_off(self, dispatch)
  while self.parked_count > 0 do
    local kind = self.parked[self.parked_first][1]
    local is_call = kind == "request" or kind == "notification"
    if is_call and not answers.has_room(self) then return end
    if self.is_clogged and kind ~= "withdrawn" then return end
    local _, id, what, payload = unpark(self)
    if is_call then
      answers.handle(self, id, what, payload)
    elseif kind ~= "withdrawn" then
      dispatch(self, kind, id, what, payload)
    end
  end
  self.is_refusing = false
end

return parking
