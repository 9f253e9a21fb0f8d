-- A peer of the core that a spec controls: it returns received messages one at a time, and runs no handlers. Its policy
-- records messages, and pauses the peer after each.
local core = require "pintle.core"

local loop = core.loop

local streams, methods, policy = {}, {}, {}
local metatable = { __index = methods, __name = "spec.stream" }

-- {====== What arrives ======

local function push(message)
  local arrived = message.stream.arrived
  arrived[#arrived + 1] = message
end

-- An answer sets an event, whose action is called in the next turn. Other messages also wait until then, so that all
-- stay in the order in which they were received.
local function record(self, kind, id, what, payload)
  self.stream:pause(true)
  loop.soon(push, { stream = self, kind, id, what, payload })
end

policy.request, policy.keep = record, record

function policy.invalid(self, kind, id, call, report)
  local waiter = call and self:abandon(call)
  record(self, kind, id, waiter, report)
end

function policy.remote_error(payload) return { payload = payload } end

function policy.ended(self, message, kind) self.ended = { message, kind } end

function policy.lost(self, message) self.lost = message end

function policy.unsent(self, _, _, message, kind) self.unsent = { message, kind } end

function policy.failure(_, kind, message) return { kind = kind, message = message } end

function policy.broken(_, message) error(message) end

local function record_answer(self, id, result, err)
  local waiter = self:abandon(id)
  if waiter == nil then return end
  local message = { stream = self, "result", id, waiter, result }
  if err == core.overdue then
    message[1] = "overdue"
  elseif err then
    message[1], message[4] = "error", err.payload
  end
  push(message)
end

-- The core only counts answers that no call waits for.
local function record_strays(self)
  local count = self.stream:stats().stray
  for _ = self.strays + 1, count do push { stream = self, "stray" } end
  self.strays = count
end

local function take_in(self)
  self.stream:pause(false)
  loop.step()
  self.stream:pause(true)
  loop.step()
  record_strays(self)
end

---The next message: kind, id, method or waiter, payload. False if there is none yet; nil, message, kind at the end.
function methods:receive()
  if not self.arrived[1] and not self.ended and self.stream:fds() then take_in(self) end
  local message = table.remove(self.arrived, 1)
  if message then return table.unpack(message, 1, 4) end
  if not self.stream:fds() then return nil, "the stream is closed", "closed" end
  if self.ended then return nil, table.unpack(self.ended) end
  return false
end

-- }======

-- {====== What is sent ======

---@return integer? id, string? message, string? kind
function methods:request(waiter, method, params, timeout)
  local answered = loop.event()
  local id, message, kind = self.stream:ask(answered, method, params, timeout or false)
  if not id then return nil, message, kind end
  self.waiters[id] = waiter
  answered:on_set(function() record_answer(self, id, answered:wait()) end)
  return id
end

---Cancels a call.
---@return any waiter nil if it does not wait
function methods:abandon(id)
  local waiter = self.waiters[id]
  self.waiters[id] = nil
  self.stream:complete_call(id)
  return waiter
end

function methods:notify(method, params)
  local ok, err = core.notify(self, method, params)
  if not ok then return nil, err.message, err.kind end
  return true
end

function methods:reply(id, result)
  self.unsent = nil
  self.stream:handle(id, "", nil, function() return result end)
  if self.unsent then return nil, table.unpack(self.unsent) end
  return true
end

function methods:fail(...)
  local ok, message, kind = self.stream:fail(...)
  self.stream:write_soon()
  return ok, message, kind
end

---Whether all queued bytes are written.
---@return boolean? done, string? message, string? kind
function methods:flush()
  self.lost = nil
  self.stream:write()
  if self.lost then return nil, self.lost, "closed" end
  return self.stream:queued() == 0
end

-- }======

function methods:close() self.stream:finish() end

metatable.__close = methods.close

for _, name in ipairs { "fds", "framing", "others", "queued", "close_output", "set_envelope", "stats", "waiting" } do
  methods[name] = function(self, ...) return self.stream[name](self.stream, ...) end
end

---@param options pintle.stream.options
function streams.open(options)
  local self = setmetatable({ arrived = {}, waiters = {}, strays = 0 }, metatable)
  local stream, message, kind, errno = core.peer(options, self, {
    policy = policy, handlers = {}, controls = {}, context = {}, requests = math.maxinteger,
  })
  if not stream then return nil, message, kind, errno end
  self.stream = stream
  stream:hold(true)
  stream:pause(true)
  return self
end

return streams
