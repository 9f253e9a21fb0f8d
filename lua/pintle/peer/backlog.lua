-- Messages that were read but cannot be handled yet: held, and worked off as handlers end. When the backlog is full,
-- reading pauses and the pipe pushes back, unless a call of our own waits: its answer has to get through.

local core = require "pintle.core"
local errors = require "pintle.error"

core.protect()

local MOST_REFUSALS = 16 << 20 -- unread bytes past which not even a refusal is queued
local MOST_BYTES = 16 << 20 -- of messages that are held, as they came

local backlog = {}

---Tells the core whether requests may go straight to handlers, and whether it has to report what it does.
function backlog.update(self)
  self.stream:hold((self.first or self.backlog_count > 0 or self.deaf) and true or false)
  self.stream:report((self.backlog_count > 0 or self.expecting or self.is_lingering) and true or false)
end
local update = backlog.update

---@return boolean
function backlog.is_full(self) return self.backlog_count >= self.most_backlog or self.backlog_bytes >= MOST_BYTES end
local is_full = backlog.is_full

---Holds the message that was received last.
---@param kind string
function backlog.hold(self, kind, id, what, payload)
  local n, size = self.backlog_count + 1, self.stream:size()
  self.backlog_count, self.backlog_bytes = n, self.backlog_bytes + size
  self.backlog[self.backlog_first + n - 1] = { kind, id, what, payload, size = size }
  update(self)
end
local hold = backlog.hold

local function release(self)
  local first = self.backlog_first
  local message = self.backlog[first]
  self.backlog[first] = nil
  self.backlog_count, self.backlog_bytes = self.backlog_count - 1, self.backlog_bytes - message.size
  self.backlog_first = self.backlog_count > 0 and first + 1 or 1
  update(self)
  return message[1], message[2], message[3], message[4]
end

---Forgets all of it.
function backlog.clear(self)
  self.backlog, self.backlog_first, self.backlog_count, self.backlog_bytes = {}, 1, 0, 0
end

-- Notifications that are refused are reported once, until there is room again.
local function refuse(self, id, method)
  if id ~= nil then
    if self.stream:queued() > MOST_REFUSALS then return end
    self.stream:fail(id, self.codes.full, "Too many requests at once")
    self.stream:write_soon()
  elseif not self.is_refusing then
    self.is_refusing = true
    local message = ("%d requests are at work and %d wait"):format(self.stream:running(), self.backlog_count)
    self.report(self, errors.new("full", message), nil, method)
  end
end

---Holds a request or notification, or refuses it. There may be room for it all the same: a handler may wait for the
---other side by now.
function backlog.take(self, kind, id, method, params)
  if is_full(self) and self.stream:waiting() > 0 then return refuse(self, id, method) end
  hold(self, kind, id, method, params)
  if not self.deaf and self.stream:has_room() then self:go_on_soon() end
  backlog.pause(self)
end

---Holds malformed input that has to be answered until the answers before it are read. What cannot be held is dropped.
function backlog.take_invalid(self, kind, id, told)
  if not is_full(self) then hold(self, kind, id, nil, told) end
  backlog.pause(self)
end

---Stops reading if the backlog is full.
function backlog.pause(self)
  if self.is_paused or not is_full(self) or self.stream:waiting() > 0 then return end
  self.is_paused = true
  self.stream:pause(true)
end

---Goes on reading.
function backlog.unpause(self)
  if not self.is_paused then return end
  self.is_paused = false
  self.stream:pause(false)
end

-- Ids that a Lua value would not give back, or that belong to a batch, are compared as JSON.
local function is_id(id, given)
  return id == given or type(id) == "userdata" and tostring(id) == core.json.encode(given)
end

---Whether a request that was cancelled gets no answer: where the protocol has it so, unless a batch may wait for it.
---@return boolean
function backlog.may_stay_unanswered(self, id)
  return self.cancellation.is_unanswered and type(id) ~= "userdata"
end

---Cancels the request with this id if it is held.
function backlog.withdraw(self, id)
  for place = self.backlog_first, self.backlog_first + self.backlog_count - 1 do
    local message = self.backlog[place]
    if message[1] == "request" and is_id(message[2], id) then
      message[1], message[3], message[4] = "withdrawn", nil, nil
      if backlog.may_stay_unanswered(self, message[2]) then return end
      self.stream:fail(message[2], self.codes.cancelled, "Cancelled")
      return self.stream:write_soon()
    end
  end
end

---The context of the handler that is at work on this id.
---@return pintle.request?
function backlog.find_running(self, id)
  for _, ctx in ipairs(self.stream:requests()) do
    if is_id(ctx.id, id) then return ctx end
  end
end

---Works off what is held, as far as there is room: `handle` is for requests and notifications, `invalid` for the rest.
function backlog.work_off(self, handle, invalid)
  while self.backlog_count > 0 do
    local kind = self.backlog[self.backlog_first][1]
    local is_call = kind == "request" or kind == "notification"
    local _, is_clogged = self.stream:running()
    if is_call and not self.stream:has_room() then return end
    if is_clogged and kind ~= "withdrawn" then return end
    local _, id, what, payload = release(self)
    if is_call then
      handle(self, id, what, payload)
    elseif kind ~= "withdrawn" then
      invalid(self, kind, id, nil, payload)
    end
  end
  self.is_refusing = false
end

return backlog
