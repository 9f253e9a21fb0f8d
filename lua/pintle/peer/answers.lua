-- Being asked: who handles what, and what a handler's result or error becomes.

local core = require "pintle.core"
local errors = require "pintle.error"
local loop = require "pintle.loop"
local request = require "pintle.request"

local owners, yielder = loop.owners, core.yielder
local request_metatable = request.metatable

local METHOD_NOT_FOUND, INTERNAL_ERROR, OPERATION_FAILED = -32601, -32603, -32000

local answers = {}

-- {====== Those that wait ======

---Whether one more may be at work. Those that wait for the other side are not: if they were counted, two that call each
---other back would be stuck at the bound.
function answers.has_room(self)
  return self.running_count - self.stream:waiting() < self.most_requests and not self.is_clogged
end
local has_room = answers.has_room

---Says whether the next request can be begun at once.
function answers.update(self)
  self.is_free = self.parked_count == 0 and not self.deaf and has_room(self)
  self.stream:admit(self.is_free)
end
local update = answers.update

---A request is taken note of only once it waits, or somebody looks for it: most are answered before.
---@private
function answers.note_serving(self)
  local req = self.serving or self.stream:dismiss()
  if not req then return end
  self.serving = false
  local n = self.running_count + 1
  self.running_count, self.running[n], req.place = n, req, n
  update(self)
end

local function remove_running(self, req)
  local n, running = self.running_count, self.running
  local moved = running[n]
  running[req.place], moved.place = moved, req.place
  running[n] = nil
  self.running_count = n - 1
  update(self)
  if self.parked_count > 0 then self:go_on_soon() end
  if self.expecting then self:review() end
end

-- It is over.
local function let_go(self, req)
  if req.place then
    remove_running(self, req)
  elseif self.serving == req then
    self.serving = false
  end
  if req.timer then loop.forget(req.timer) end
end

-- }======

-- {====== What is sent ======

---Tells of what has nobody else to go to.
function answers.report(self, err, traceback, method)
  if self.on_error then return loop.call(self.on_error, err, traceback, method) end
  loop.on_error(err, traceback or errors.text(err), "the handler of " .. method)
end
local report = answers.report

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

-- What cannot be sent of a text that is for people: the bytes that are no UTF-8.
local function legible(text)
  return (text:gsub("[\x80-\xFF]+", function(bytes) return utf8.len(bytes) and bytes or "\u{FFFD}" end))
end

local function fail(self, req, err, traceback)
  local id, stream = req.id, self.stream
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
  report(self, problem, nil, req.method)
end

local function reply_failed(self, req, problem, kind)
  if kind == "closed" then return end
  self.stream:fail(req.id, INTERNAL_ERROR, "Internal error: " .. problem)
  report(self, problem, nil, req.method)
end

---Sends what a handler has returned.
---@private
function answers.answer(self, req, result, err)
  if req.place or req.timer then let_go(self, req) else self.serving = false end
  local id = req.id
  if result ~= nil or err == nil then
    if id == nil then return self.is_lingering and self:mark_dirty() end
    local ok, problem, kind = self.stream:reply(id, result)
    if not ok then reply_failed(self, req, problem, kind) end
  elseif id ~= nil then
    fail(self, req, err)
  elseif err ~= req.stopped then
    report(self, err, nil, req.method)
  end
  if not self.is_dirty then self:mark_dirty() end
end

local answer = answers.answer

---Called by a request whose handler raised. What a handler that was stopped raises is only the way it ended.
---@private
function answers.failed(self, req, err, traceback)
  let_go(self, req)
  if req.id ~= nil then fail(self, req, req.stopped or err, traceback) end
  self:mark_dirty()
  if not req.stopped or err ~= req.stopped then report(self, err, traceback, req.method) end
end

-- }======

-- {====== Handling ======

-- By the first message it may become known what protocol this is, and that the message is not right by its rules.
local function meet_first(self, id, method, params)
  local first = self.first
  self.first = false
  local _, err = first(self, method, params)
  if not err then return true end
  if id ~= nil or self.answer_noise then
    self.stream:fail(id, err.code, err.message)
    self:mark_dirty()
  end
  return false
end

-- In the running thread, which may have to wait.
local function serve(self, id, method, params)
  if self.first and not meet_first(self, id, method, params) then return end
  local handler = self.handlers[method] or self.other
  if handler then
    local req = setmetatable({ peer = self, id = id, method = method }, request_metatable)
    local thread = yielder()
    self.serving, req.thread, owners[thread] = req, thread, req
    answer(self, req, handler(params, req))
  elseif id ~= nil then
    self.stream:fail(id, METHOD_NOT_FOUND, "Method not found: " .. method)
    if not self.is_dirty then self:mark_dirty() end
  end
end

---Handles a request, or a notification if it has no id, in a thread of its own.
function answers.handle(self, id, method, params)
  answers.note_serving(self)
  loop.start(self.reader, serve, self, id, method, params)
  answers.note_serving(self)
end

---From now on the stream handles requests by itself, in a thread that it goes on with for as long as handlers do not
---wait. What it cannot do comes here all the same: methods that have no handler of their own, and whatever is not free.
function answers.go_on_serving(self)
  local stream = self.stream
  loop.start(self.reader, stream.serve, stream, self, owners, request_metatable, answer)
end

-- }======

return answers
