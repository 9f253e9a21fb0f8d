-- One process of the plugin, from start to end, as a probe drives it. Every message of the plugin is checked;
-- violations are collected in `violations`, because they are wrong whatever the probe is about.

local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"

local messages = require "pintle.cli.check.message"
local pipes = require "pintle.cli.check.pipe"

-- Seconds to wait for an answer to an invalid message, before the next question is asked.
local GRACE = 1

---@class pintle.cli.check.session
---@field context pintle.cli.check.context
---@field violations { rule: string, level: "fail"|"warn", reason: string }[]
---@field notifications { method: string, params: any }[] notifications of the plugin
---@field handlers table<string, fun(params: any): any> handlers for requests of the plugin
---@field unasked table[] errors without an id, which report an unreadable message
---@field takes_unasked boolean whether such errors, and batches, are expected because an odd message was sent
local methods = {}

local metatable = { __name = "pintle.cli.check.session", __index = methods }

local sessions = {}

-- {====== Failures: what a probe raises when the plugin does not pass it; the runner catches it ======

---@class pintle.cli.check.failure
---@field reason string
---@field level? "fail"|"warn"|"skip" overrides the level of the probe
---@field is_malformed? boolean whether an answer arrived that does not match its schema

local failure_metatable = { __name = "pintle.cli.check.failure" }

---@param value any
---@return boolean
function sessions.is_failure(value) return getmetatable(value) == failure_metatable end

local function raise_failure(reason, level, is_malformed)
  error(setmetatable({ reason = reason, level = level, is_malformed = is_malformed }, failure_metatable), 0)
end

---@param level "fail"|"warn"|"skip"
---@param format string
---@param ... any
function methods.fail_with(_, level, format, ...) raise_failure(format:format(...), level) end

---Fails with the level of the probe.
---@param format string
---@param ... any
function methods.fail(_, format, ...) raise_failure(format:format(...)) end

---@param format string
---@param ... any
function methods.warn(_, format, ...) raise_failure(format:format(...), "warn") end

---Skips the probe: it cannot be run with this plugin.
---@param format string
---@param ... any
function methods.skip(_, format, ...) raise_failure(format:format(...), "skip") end

---Fails if a value does not match its schema.
---@param value any
---@param form table a JSON Schema
---@param what string
function methods.check_schema(_, value, form, what)
  local problem = messages.schema_problem(value, form)
  if problem then raise_failure(("%s: %s"):format(what, problem), nil, true) end
end

-- }======

-- {====== Sending ======

local ORDER = json.order { "jsonrpc", "version", "id", "method", "params", "result", "error" }

-- Sorts the members, so that two runs send the same text.
local function in_order(value)
  if type(value) ~= "table" then return value end
  local copy, names = {}, {}
  for name, member in pairs(value) do
    copy[name] = in_order(member)
    names[#names + 1] = name
  end
  if getmetatable(value) or #copy > 0 then return setmetatable(copy, getmetatable(value)) end
  table.sort(names)
  return setmetatable(copy, json.order(names))
end

---The JSON of a message, with the members that every message of the dialect has.
---@param message table
---@return string
function methods:text(message)
  local whole = { jsonrpc = "2.0" }
  for name, value in pairs(self.context.dialect.extra or {}) do whole[name] = value end
  for name, value in pairs(message) do whole[name] = value end
  return json.encode(in_order(setmetatable(whole, ORDER)))
end

---A message with its frame.
---@param text string
---@return string
function methods:frame(text)
  local dialect = self.context.dialect
  if dialect.framing == "line" then return text .. "\n" end
  return ("%s%d\r\n\r\n%s"):format(dialect.header or "Content-Length: ", #text, text)
end

local function write_in_time(self, ...)
  local ok, message = self.pipe:write(...)
  if not ok then raise_failure(message) end
end

---Sends a message.
---@param text string
function methods:send(text) write_in_time(self, self:frame(text), "message", text) end

---Sends bytes that are not one whole message.
---@param data string
function methods:write(data) write_in_time(self, data, "bytes") end

-- Requests of the plugin are answered before anything else is sent.
local function reply(self)
  local replies = self.pending_replies
  self.pending_replies = {}
  for _, answer in ipairs(replies) do self:send(self:text(answer)) end
end

local function new_id(self)
  self.last_id = self.last_id + 1
  return self.context.dialect.ids == "string" and tostring(self.last_id) or self.last_id
end

local function params_of(self, params)
  local wrap = self.context.variant.wrap
  if wrap then return wrap(params) end
  return params
end

---Prepares a request without sending it.
---@param method string
---@param params any
---@param id? string|integer
---@return string text, string key of its answer
function methods:new_request(method, params, id)
  id = id or new_id(self)
  local key = messages.key(id, json.encode(id))
  self.open[key], self.methods[key] = true, method
  return self:text { id = id, method = method, params = params_of(self, params) }, key
end

---@param method string
---@param params any
---@param id? string|integer
---@return string key of its answer
function methods:ask(method, params, id)
  local text, key = self:new_request(method, params, id)
  self:send(text)
  return key
end

---@param method string
---@param params any
function methods:notify(method, params) self:send(self:text { method = method, params = params }) end

function methods:close_input() self.pipe:close_input() end

-- }======

-- {====== Waiting ======

-- Waits until the condition is true, or the plugin's output ends.
local function await(self, condition, seconds)
  return self.pipe:await(function()
    if #self.pending_replies > 0 then reply(self) end
    return condition() or self.pipe.is_over and "over"
  end, seconds)
end

---Sends a message with an id that must not be answered.
---@param message table
---@return string key of an answer, if there is one
function methods:send_unasked(message)
  local key = messages.key(message.id, json.encode(message.id))
  self.open[key] = true
  self:send(self:text(message))
  return key
end

---@param key string
---@return table message
function methods:answer(key)
  local method = self.methods[key]
  local function unasked_error() return not self.takes_unasked and self.unasked[1] and self.unasked[1].error end
  await(self, function() return self.answers[key] or unasked_error() end)
  local message = self.answers[key]
  if message then return message end
  if unasked_error() then self:fail("the answer to %s does not have its id", method) end
  if self.pipe.is_over then self:fail("%s is not answered: %s", method, self.pipe:describe_end()) end
  return self:fail("%s is not answered within %gs", method, self.pipe.timeout)
end

-- A string that looks like a number is shown as a string.
local function code_of(err) return type(err.code) == "string" and json.encode(err.code) or tostring(err.code) end

local function describe(err)
  if type(err) ~= "table" then return json.encode(err) end
  return ("%s (code %s)"):format(tostring(err.message), code_of(err))
end

---The result of a request that has to succeed.
---@param key string of its answer
---@return any
function methods:result(key)
  local message = self:answer(key)
  if message.error ~= nil and message.error ~= json.null then
    self:fail("%s is refused: %s", self.methods[key], describe(message.error))
  end
  return message.result
end

---@param method string
---@param params any
---@return any result
function methods:call(method, params) return self:result(self:ask(method, params)) end

local PROTOCOL_ERRORS = {
  [jsonrpc.PARSE_ERROR] = true, [jsonrpc.INVALID_REQUEST] = true, [jsonrpc.METHOD_NOT_FOUND] = true,
  [jsonrpc.INVALID_PARAMS] = true,
}

---Runs an operation. An error is allowed, because it can mean that the operation failed, but not a protocol error.
---@param method string
---@param params any
function methods:execute(method, params)
  local err = self:answer(self:ask(method, params)).error
  if type(err) == "table" and PROTOCOL_ERRORS[err.code] then
    self:fail("%s is refused: %s", method, describe(err))
  end
end

---The error of a request that has to be refused, with one of the codes if there are any.
---@param key string of its answer
---@param ... integer
---@return table err
function methods:refusal(key, ...)
  local message, codes = self:answer(key), { ... }
  local err = message.error
  if not messages.is_object(err) then self:fail("%s is not refused", self.methods[key]) end
  if #codes == 0 then return err end
  for _, code in ipairs(codes) do
    if err.code == code then return err end
  end
  return self:fail("%s is refused with the code %s, not %s", self.methods[key], code_of(err),
    table.concat(codes, " or "))
end

---@param method string
---@param params any
---@param ... integer
---@return table err
function methods:refused(method, params, ...) return self:refusal(self:ask(method, params), ...) end

---Waits for the answer to an odd message: an error without an id, or an answer with this key. A question that is asked
---afterwards shows when there is none.
---@param key string
---@return table? message
function methods:await_error(key)
  local function found() return self.unasked[1] or self.answers[key] end
  await(self, found, math.min(GRACE, self.pipe.timeout))
  if not found() and not self.pipe.is_over then self:catch_up() end
  return found()
end

---Asks the question of the dialect: when its answer arrives, all earlier answers have arrived.
function methods:catch_up()
  local question = self.context.dialect.question
  return self:answer(self:ask(question.method, question.params))
end

---@return pintle.exit
function methods:ended()
  local exit = self.pipe:await_exit()
  if exit then return exit end
  return self:fail("it has not exited within %gs", self.pipe.timeout)
end

---@param status integer
function methods:ended_with(status)
  local exit = self:ended()
  if exit.code == status then return end
  self:fail("it exited with %s, not with %d", errors.describe_exit(exit), status)
end

-- }======

---Ends the session: closes the input, and kills the plugin if it does not exit.
function methods:finish() self.pipe:finish() end

---@param ... string additional arguments
---@return string[]
local function command_with(command, ...)
  local extra = { ... }
  return table.move(extra, 1, #extra, #command + 1, table.move(command, 1, #command, 1, {}))
end

---@param context pintle.cli.check.context
---@param ... string additional arguments of the plugin
---@return pintle.cli.check.session?, pintle.error?
function sessions.start(context, ...)
  local self = setmetatable({
    context = context, violations = {}, notifications = {}, handlers = {}, pending_replies = {}, open = {},
    answers = {}, unasked = {}, methods = {}, last_id = 0, takes_unasked = false,
  }, metatable)
  local err
  self.pipe, err = pipes.start {
    command = command_with(context.command, ...), env = context.env, timeout = context.timeout,
    framing = context.dialect.framing, on_piece = function(piece) messages.receive(self, piece) end,
  }
  if not self.pipe then return nil, err end
  return self
end

metatable.__close = function(self) self.pipe:close() end

return sessions
