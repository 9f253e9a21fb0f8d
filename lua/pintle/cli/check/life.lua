-- One life of the plugin, from the start of a process to its end, as probes lead it. Whatever the plugin says is judged
-- on the way; what is wrong with it is kept in `offences`, for it is wrong whatever the probe is about.

local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"

local breach = require "pintle.cli.check.breach"
local envelope = require "pintle.cli.check.envelope"
local hear = require "pintle.cli.check.hearing"
local misfit = require "pintle.cli.check.misfit"
local pipes = require "pintle.cli.check.pipe"

-- Seconds for saying something to what is wrong, before the next question is asked.
local GRACE = 1

---@class pintle.cli.check.life
---@field context pintle.cli.check.context
---@field offences { rule: string, level: "fail"|"warn", reason: string }[]
---@field notifications { method: string, params: any }[] that the plugin has sent
---@field handlers table<string, fun(params: any): any> what requests of the plugin are answered by
---@field unasked table[] answers without an id, which is how they are told that what was sent cannot be read
---@field takes_unasked boolean whether they are waited for, and batches, too: something odd was sent
local methods = {}

local metatable = { __name = "pintle.cli.check.life", __index = methods }

local lives = {}

-- {====== What is sent ======

local ORDER = json.order { "jsonrpc", "version", "id", "method", "params", "result", "error" }

-- With the members in an order that is always the same, for whoever compares two runs.
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

---The JSON of a message: what it is given, and what every message has.
---@param message table
---@return string
function methods:text(message)
  local whole = { jsonrpc = "2.0" }
  for name, value in pairs(self.context.dialect.extra or {}) do whole[name] = value end
  for name, value in pairs(message) do whole[name] = value end
  return json.encode(in_order(setmetatable(whole, ORDER)))
end

---The bytes of a message.
---@param text string
---@return string
function methods:frame(text)
  local dialect = self.context.dialect
  if dialect.framing == "line" then return text .. "\n" end
  return ("%s%d\r\n\r\n%s"):format(dialect.header or "Content-Length: ", #text, text)
end

---Sends a message as it stands.
---@param text string
function methods:send(text) self.pipe:write(self:frame(text), "message", text) end

---Sends bytes that are no message, or not in one go.
---@param data string
function methods:write(data) self.pipe:write(data, "bytes") end

-- Requests of the plugin are answered before anything else is said.
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

---A request that is to be answered, without sending it.
---@param method string
---@param params any
---@param id? string|integer
---@return string text, string key of its answer
function methods:request(method, params, id)
  id = id or new_id(self)
  local key = envelope.key(id, json.encode(id))
  self.open[key], self.methods[key] = true, method
  return self:text { id = id, method = method, params = params_of(self, params) }, key
end

---@param method string
---@param params any
---@param id? string|integer
---@return string key of its answer
function methods:ask(method, params, id)
  local text, key = self:request(method, params, id)
  self:send(text)
  return key
end

---@param method string
---@param params any
function methods:tell(method, params) self:send(self:text { method = method, params = params }) end

function methods:close_input() self.pipe:close_input() end

-- }======

-- {====== Waiting ======

-- Until it is so, or the plugin says nothing more.
local function await(self, condition, seconds)
  return self.pipe:await(function()
    if #self.pending_replies > 0 then reply(self) end
    return condition() or self.pipe.is_over and "over"
  end, seconds)
end

---A message with an id that nobody should answer.
---@param message table
---@return string key of the answer that it gets all the same
function methods:send_unasked(message)
  local key = envelope.key(message.id, json.encode(message.id))
  self.open[key] = true
  self:send(self:text(message))
  return key
end

---@param key string
---@return table message
function methods:answer(key)
  local method = self.methods[key]
  local function complaint() return not self.takes_unasked and self.unasked[1] and self.unasked[1].error end
  await(self, function() return self.answers[key] or complaint() end)
  local message = self.answers[key]
  if message then return message end
  if complaint() then breach.raise("%s is answered, but not by its id", method) end
  if self.pipe.is_over then breach.raise("%s is not answered: %s", method, self.pipe:describe_end()) end
  return breach.raise("%s is not answered within %gs", method, self.pipe.timeout)
end

-- A text that looks like a number is none.
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
    breach.raise("%s is refused: %s", self.methods[key], describe(message.error))
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

---Runs an operation where one that fails is told by an error, too: it must not be one of the protocol's.
---@param method string
---@param params any
function methods:carry_out(method, params)
  local err = self:answer(self:ask(method, params)).error
  if type(err) == "table" and PROTOCOL_ERRORS[err.code] then
    breach.raise("%s is refused: %s", method, describe(err))
  end
end

---A request that has to be refused, with one of the codes if there are some.
---@param key string of its answer
---@param ... integer
---@return table err
function methods:refusal(key, ...)
  local message, codes = self:answer(key), { ... }
  local err = message.error
  if not envelope.is_object(err) then breach.raise("%s is not refused", self.methods[key]) end
  if #codes == 0 then return err end
  for _, code in ipairs(codes) do
    if err.code == code then return err end
  end
  return breach.raise("%s is refused with the code %s, not %s", self.methods[key], code_of(err),
    table.concat(codes, " or "))
end

---@param method string
---@param params any
---@param ... integer
---@return table err
function methods:refused(method, params, ...) return self:refusal(self:ask(method, params), ...) end

---What is said to something odd: an error that has no id, or an answer with this key. Where nothing is, that shows by
---the answer to a question that comes after it.
---@param key string
---@return table? message
function methods:complaint(key)
  local function found() return self.unasked[1] or self.answers[key] end
  await(self, found, math.min(GRACE, self.pipe.timeout))
  if not found() and not self.pipe.is_over then self:catch_up() end
  return found()
end

---Asks something that is answered in any case: when that has come, so has all that was due before.
function methods:catch_up()
  local question = self.context.dialect.question
  return self:answer(self:ask(question.method, question.params))
end

---@return pintle.exit
function methods:ended()
  local exit = self.pipe:await_exit()
  if exit then return exit end
  return breach.raise("it has not ended within %gs", self.pipe.timeout)
end

---@param status integer
function methods:ended_with(status)
  local exit = self:ended()
  if exit.code == status then return end
  breach.raise("it has ended with %s, not with %d", errors.describe_exit(exit), status)
end

-- }======

---@param value any
---@param form table a JSON Schema
---@param what string
function methods:fits(value, form, what) -- luacheck: ignore 212
  local problem = misfit(value, form)
  if problem then breach.form("%s: %s", what, problem) end
end

---Lets go of the plugin, politely as far as that goes.
function methods:finish() self.pipe:finish() end

---@param ... string arguments besides
---@return string[]
local function command_with(command, ...)
  local extra = { ... }
  return table.move(extra, 1, #extra, #command + 1, table.move(command, 1, #command, 1, {}))
end

---@param context pintle.cli.check.context
---@param ... string arguments beside those of the command
---@return pintle.cli.check.life?, pintle.error?
function lives.start(context, ...)
  local self = setmetatable({
    context = context, offences = {}, notifications = {}, handlers = {}, pending_replies = {}, open = {},
    answers = {}, unasked = {}, methods = {}, last_id = 0, takes_unasked = false,
  }, metatable)
  local err
  self.pipe, err = pipes.start {
    command = command_with(context.command, ...), env = context.env, timeout = context.timeout,
    framing = context.dialect.framing, on_piece = function(piece) hear(self, piece) end,
  }
  if not self.pipe then return nil, err end
  return self
end

metatable.__close = function(self) self.pipe:close() end

return lives
