-- Requests of the other side: which handler they go to, and what its result or error becomes.

local backlog = require "pintle.peer.backlog"
local errors = require "pintle.error"
local loop = require "pintle.loop"

require("pintle.core").protect()

local METHOD_NOT_FOUND, INTERNAL_ERROR, OPERATION_FAILED = -32601, -32603, -32000

local answers = {}

-- {====== What is sent ======

---Reports a failure that the other side is not told of, or not all of it.
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
function answers.refuse(self, ctx, id, method, err)
  if id ~= nil then
    fail(self, id, method, err)
  elseif not ctx or err ~= ctx.stopped then
    report(self, err, nil, method)
  end
end

---A handler has raised. What a handler that was stopped raises is only the way it ended.
function answers.failed(self, ctx, id, method, err, traceback)
  local stopped = ctx and ctx.stopped
  traceback = errors.text(err) .. "\n" .. traceback
  if ctx and ctx.concluding then ctx.concluding() end
  if id ~= nil then fail(self, id, method, stopped or err, traceback) end
  if not stopped or err ~= stopped then report(self, err, traceback, method) end
end

---What a handler has returned cannot be sent.
function answers.unsent(self, id, method, problem, kind)
  if kind == "closed" then return end
  self.stream:fail(id, INTERNAL_ERROR, "Internal error: " .. problem)
  report(self, problem, nil, method)
end

-- }======

-- {====== Who handles it ======

-- By the first message it may become known what protocol this is, and that the message breaks its rules.
local function meet_first(self, id, method, params)
  local first = self.first
  self.first = false
  local ok, _, err = xpcall(first, function(raised)
    report(self, raised, debug.traceback(errors.text(raised), 2), "a message")
  end, self, method, params)
  backlog.update(self)
  if ok and not err then return true end
  if err and (id ~= nil or self.answer_noise) then
    self.stream:fail(id, err.code, err.message)
    self.stream:write_soon()
  end
  return false
end

---Begins to handle a request, or a notification if it has no id.
function answers.handle(self, id, method, params)
  if self.first and not meet_first(self, id, method, params) then return end
  local handler = self.handlers[method] or self.other
  if handler then return self.stream:handle(id, method, params, handler) end
  if id ~= nil then
    self.stream:fail(id, METHOD_NOT_FOUND, "Method not found: " .. method)
    self.stream:write_soon()
  end
end

---A request or notification that the core could not hand to its handler.
function answers.request(self, kind, id, method, params)
  if self.backlog_count == 0 and not self.deaf and self.stream:has_room() then
    return answers.handle(self, id, method, params)
  end
  backlog.take(self, kind, id, method, params)
end

-- }======

return answers
