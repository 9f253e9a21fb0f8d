-- One process of the plugin, from start to end, as a probe drives it. Every message of the plugin is checked for what
-- JSON-RPC 2.0 and the dialect require; violations are collected in `violations`, because they are wrong whatever the
-- probe is about.

local errors = require "pintle.error"
local json = require("pintle.core").json
local json_values = require "pintle.cli.json_values"
local jsonrpc = require "pintle.jsonrpc"
local pipes = require "pintle.cli.check.pipe"
local schema = require "pintle.schema"

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

-- {====== Schemas ======

-- Each schema is compiled once.
local compiled = setmetatable({}, { __mode = "k" })

---Checks a value against a JSON Schema.
---@param value any
---@param form table the schema
---@return string? problem
function sessions.schema_problem(value, form)
  compiled[form] = compiled[form] or assert(schema.compile(form))
  local ok, err = compiled[form](value)
  return not ok and tostring(err) or nil
end

---The first required argument of a schema of the plugin. It may not be a valid schema; another probe reports that.
---@param declared any
---@return string? name
function sessions.first_required(declared)
  local names = jsonrpc.is_object(declared) and declared.required
  local first = type(names) == "table" and names[1]
  return type(first) == "string" and first or nil
end

-- }======

-- {====== Failures: what a probe raises when the plugin does not pass it; the runner catches it ======

---@class pintle.cli.check.failure
---@field reason string
---@field level? "fail"|"warn"|"skip" overrides the level of the probe
---@field is_malformed? boolean whether an answer arrived that does not match its schema

local failure_metatable = { __name = "pintle.cli.check.failure" }

---@param value any
---@return boolean
function sessions.is_probe_failure(value) return getmetatable(value) == failure_metatable end

local function raise_probe_failure(reason, level, is_malformed)
  error(setmetatable({ reason = reason, level = level, is_malformed = is_malformed }, failure_metatable), 0)
end

---@param level "fail"|"warn"|"skip"
---@param format string
---@param ... any
function methods.fail_probe_with(_, level, format, ...) raise_probe_failure(format:format(...), level) end

---Fails with the level of the probe.
---@param format string
---@param ... any
function methods.fail_probe(_, format, ...) raise_probe_failure(format:format(...)) end

---@param format string
---@param ... any
function methods.warn_probe(_, format, ...) raise_probe_failure(format:format(...), "warn") end

---Skips the probe: it cannot be run with this plugin.
---@param format string
---@param ... any
function methods.skip_probe(_, format, ...) raise_probe_failure(format:format(...), "skip") end

---Fails if a value does not match its schema.
---@param value any
---@param form table a JSON Schema
---@param what string
function methods.check_schema(_, value, form, what)
  local problem = sessions.schema_problem(value, form)
  if problem then raise_probe_failure(("%s: %s"):format(what, problem), nil, true) end
end

-- }======

-- {====== Ids ======

---The key of an id: strings are compared by content, numbers by their notation.
---@param id any
---@param text string JSON of the id
---@return string
local function key_of_id(id, text) return type(id) == "string" and '"' .. id or text end

---@param message table
---@param text string JSON of the message
---@return string? key nil if it has no id
local function key_of_message(message, text)
  if message.id == nil then return nil end
  return key_of_id(message.id, text:sub(json_values.find_member(text, "id")))
end

-- }======

-- {====== Checking messages ======

-- {====== Answers ======

local function check_error_object(err, report)
  if not jsonrpc.is_object(err) then return report("fail", "error is not an object") end
  if math.type(err.code) ~= "integer" then report("fail", "error.code is not an integer") end
  if type(err.message) ~= "string" then report("fail", "error.message is not a string") end
end

local function check_result_and_error(message, report, is_null_known)
  if message.error == json.null then
    return report(is_null_known and "fail" or "warn", 'both "error":null and a result')
  end
  if message.result == json.null then report("warn", 'both "result":null and an error')
  else report("fail", "both a result and an error") end
  check_error_object(message.error, report)
end

local function check_answer(message, report, dialect)
  if message.result ~= nil and message.error ~= nil then
    check_result_and_error(message, report, dialect.is_null_an_error)
  elseif message.error ~= nil then
    check_error_object(message.error, report)
  elseif message.result == nil then
    report("fail", "neither a method nor a result nor an error")
  end
  if message.id == nil then report("fail", "an answer without an id") end
end

-- }======

-- {====== Requests and notifications ======

local function check_request(message, report)
  if type(message.method) ~= "string" then report("fail", "the method is not a string") end
  local params = message.params
  if params ~= nil and params ~= json.null and type(params) ~= "table" then
    report("fail", "the params are neither an object nor an array")
  end
  if message.result ~= nil or message.error ~= nil then report("fail", "both a method and a result or error") end
end

-- }======

local KNOWN_MEMBERS = { jsonrpc = true, id = true, method = true, params = true, result = true, error = true }

local function check_members(message, report, dialect)
  for name, value in pairs(dialect.extra or {}) do
    if message[name] ~= value then report("fail", ('no "%s":%s'):format(name, json.encode(value))) end
  end
  if not dialect.is_exact then return end
  for name in pairs(message) do
    if not KNOWN_MEMBERS[name] then report("fail", ("unknown member %q, which hosts reject"):format(name)) end
  end
end

---@param message table an object
---@param dialect pintle.cli.check.dialect
---@param report fun(level: "fail"|"warn", reason: string) called for each violation
local function check_message(message, dialect, report)
  if message.jsonrpc ~= "2.0" then report("fail", 'no "jsonrpc":"2.0"') end
  local id = message.id
  if id ~= nil and id ~= json.null and type(id) ~= "string" and math.type(id) ~= "integer" then
    report("fail", "the id is neither a string nor an integer")
  end
  check_members(message, report, dialect)
  if message.method ~= nil then check_request(message, report) else check_answer(message, report, dialect) end
end

-- }======

-- {====== Receiving ======

local function add_violation(self, rule, level, reason)
  self.violations[#self.violations + 1] = { rule = rule, level = level, reason = reason }
end

local function receive_answer(self, message, text)
  local key = key_of_message(message, text)
  if self.open[key] then
    self.open[key], self.answers[key] = nil, message
  elseif key == nil or message.id == json.null and message.error ~= nil then
    self.unasked[#self.unasked + 1] = message
  elseif self.answers[key] then
    add_violation(self, "answers", "fail", ("a second answer to the request %s"):format(json.encode(message.id)))
  else
    local problem = ("an answer with the id %s, which was not sent"):format(json.encode(message.id))
    add_violation(self, "answers", "fail", problem)
  end
end

-- A method that is not a string is reported as a violation of JSON-RPC already.
local function judge_call(self, judge, message)
  if not judge or type(message.method) ~= "string" then return end
  local problem, level = judge(message.method, message.params, self.context)
  if problem then add_violation(self, "traffic", level or "fail", problem) end
end

local function receive_request(self, message)
  local handler = self.handlers[message.method]
  local answer = { id = message.id }
  if handler then answer.result = handler(message.params)
  else answer.error = { code = -32601, message = "Method not found: " .. tostring(message.method) } end
  judge_call(self, self.context.dialect.judge_request, message)
  self.pending_replies[#self.pending_replies + 1] = answer
end

local function receive_notification(self, message)
  self.notifications[#self.notifications + 1] = { method = message.method, params = message.params }
  judge_call(self, self.context.dialect.judge_notification, message)
end

local function receive_message(self, message, text)
  if not jsonrpc.is_object(message) then
    return add_violation(self, "envelope", "fail", "a message that is not an object")
  end
  check_message(message, self.context.dialect, function(level, reason)
    add_violation(self, "envelope", level, reason)
  end)
  if message.method == nil then return receive_answer(self, message, text) end
  if message.id ~= nil then receive_request(self, message) else receive_notification(self, message) end
end

local function receive_batch(self, list, text)
  if not self.takes_unasked then add_violation(self, "envelope", "fail", "a batch, although none was sent") end
  for i, element in ipairs(json_values.split_elements(text)) do receive_message(self, list[i], element) end
end

local function check_line_length(self, text)
  local most = self.context.dialect.max_line
  if not most or #text < most then return end
  add_violation(self, "line-length", "warn", ("a line of %d bytes; hosts read no more than %d"):format(#text + 1, most))
end

---Takes the next piece of the plugin's output: classifies it, records violations, and queues answers to requests.
---@param self pintle.cli.check.session
---@param piece pintle.cli.check.piece
local function receive_piece(self, piece)
  check_line_length(self, piece.text)
  local value, message
  if piece.kind == "message" then value, message = json.decode(piece.text) end
  if message then piece = { kind = "noise", text = piece.text, problem = "not JSON: " .. message } end
  self.pipe:note("plugin", piece.kind, piece.text, piece.problem)
  if piece.kind == "noise" then
    local problem = ("stdout has something that is not a message: %s"):format(piece.problem)
    return add_violation(self, "stdout", "fail", problem)
  end
  if piece.problem then add_violation(self, "framing", "fail", piece.problem) end
  if getmetatable(value) == json.array_mt then return receive_batch(self, value, piece.text) end
  receive_message(self, value, piece.text)
end

-- }======

-- {====== Sending ======

local MEMBER_ORDER = json.order { "jsonrpc", "version", "id", "method", "params", "result", "error" }

-- Sorts the members, so that two runs send the same text.
local function with_sorted_members(value)
  if type(value) ~= "table" then return value end
  local copy, names = {}, {}
  for name, member in pairs(value) do
    copy[name] = with_sorted_members(member)
    names[#names + 1] = name
  end
  if getmetatable(value) or #copy > 0 then return setmetatable(copy, getmetatable(value)) end
  table.sort(names)
  return setmetatable(copy, json.order(names))
end

---The JSON of a message, with the members that every message of the dialect has.
---@param message table
---@return string
function methods:message_text(message)
  local whole = { jsonrpc = "2.0" }
  for name, value in pairs(self.context.dialect.extra or {}) do whole[name] = value end
  for name, value in pairs(message) do whole[name] = value end
  return json.encode(with_sorted_members(setmetatable(whole, MEMBER_ORDER)))
end

---A message with its frame.
---@param text string
---@return string
function methods:framed_message(text)
  local dialect = self.context.dialect
  if dialect.framing == "line" then return text .. "\n" end
  return ("%s%d\r\n\r\n%s"):format(dialect.header or "Content-Length: ", #text, text)
end

local function write_to_plugin(self, ...)
  local ok, message = self.pipe:write(...)
  if not ok then raise_probe_failure(message) end
end

---Sends a message.
---@param text string
function methods:send_message(text) write_to_plugin(self, self:framed_message(text), "message", text) end

---Sends bytes that are not one whole message.
---@param data string
function methods:write_bytes(data) write_to_plugin(self, data, "bytes") end

-- Requests of the plugin are answered before anything else is sent.
local function send_replies(self)
  local replies = self.pending_replies
  self.pending_replies = {}
  for _, answer in ipairs(replies) do self:send_message(self:message_text(answer)) end
end

local function next_request_id(self)
  self.last_id = self.last_id + 1
  return self.context.dialect.ids == "string" and tostring(self.last_id) or self.last_id
end

local function wrapped_params(self, params)
  local wrap = self.context.variant.wrap
  if wrap then return wrap(params) end
  return params
end

---Prepares a request without sending it.
---@param method string
---@param params any
---@param id? string|integer
---@return string text, string key of its answer
function methods:new_probe_request(method, params, id)
  id = id or next_request_id(self)
  local key = key_of_id(id, json.encode(id))
  self.open[key], self.methods[key] = true, method
  return self:message_text { id = id, method = method, params = wrapped_params(self, params) }, key
end

---@param method string
---@param params any
---@param id? string|integer
---@return string key of its answer
function methods:ask_plugin(method, params, id)
  local text, key = self:new_probe_request(method, params, id)
  self:send_message(text)
  return key
end

---@param method string
---@param params any
function methods:notify_plugin(method, params)
  self:send_message(self:message_text { method = method, params = params })
end

function methods:close_input() self.pipe:close_input() end

-- }======

-- {====== Waiting ======

-- Waits until the condition is true, or the plugin's output ends.
local function await_or_end(self, condition, seconds)
  return self.pipe:await(function()
    if #self.pending_replies > 0 then send_replies(self) end
    return condition() or self.pipe.is_over and "over"
  end, seconds)
end

---Sends a message with an id that must not be answered.
---@param message table
---@return string key of an answer, if there is one
function methods:send_unasked(message)
  local key = key_of_id(message.id, json.encode(message.id))
  self.open[key] = true
  self:send_message(self:message_text(message))
  return key
end

---@param key string
---@return table message
function methods:await_answer(key)
  local method = self.methods[key]
  local function unasked_error() return not self.takes_unasked and self.unasked[1] and self.unasked[1].error end
  await_or_end(self, function() return self.answers[key] or unasked_error() end)
  local message = self.answers[key]
  if message then return message end
  if unasked_error() then self:fail_probe("the answer to %s does not have its id", method) end
  if self.pipe.is_over then self:fail_probe("%s is not answered: %s", method, self.pipe:describe_end()) end
  return self:fail_probe("%s is not answered within %gs", method, self.pipe.timeout)
end

-- A string that looks like a number is shown as a string.
local function error_code_text(err)
  return type(err.code) == "string" and json.encode(err.code) or tostring(err.code)
end

local function describe_error(err)
  if type(err) ~= "table" then return json.encode(err) end
  return ("%s (code %s)"):format(tostring(err.message), error_code_text(err))
end

---The result of a request that has to succeed.
---@param key string of its answer
---@return any
function methods:await_result(key)
  local message = self:await_answer(key)
  if message.error ~= nil and message.error ~= json.null then
    self:fail_probe("%s is refused: %s", self.methods[key], describe_error(message.error))
  end
  return message.result
end

---@param method string
---@param params any
---@return any result
function methods:call_plugin(method, params) return self:await_result(self:ask_plugin(method, params)) end

local PROTOCOL_ERRORS = {
  [jsonrpc.PARSE_ERROR] = true, [jsonrpc.INVALID_REQUEST] = true, [jsonrpc.METHOD_NOT_FOUND] = true,
  [jsonrpc.INVALID_PARAMS] = true,
}

---Runs an operation. An error is allowed, because it can mean that the operation failed, but not a protocol error.
---@param method string
---@param params any
function methods:execute_in_plugin(method, params)
  local err = self:await_answer(self:ask_plugin(method, params)).error
  if type(err) == "table" and PROTOCOL_ERRORS[err.code] then
    self:fail_probe("%s is refused: %s", method, describe_error(err))
  end
end

---The error of a request that has to be refused, with one of the codes if there are any.
---@param key string of its answer
---@param ... integer
---@return table err
function methods:await_refusal(key, ...)
  local message, codes = self:await_answer(key), { ... }
  local err = message.error
  if not jsonrpc.is_object(err) then self:fail_probe("%s is not refused", self.methods[key]) end
  if #codes == 0 then return err end
  for _, code in ipairs(codes) do
    if err.code == code then return err end
  end
  return self:fail_probe("%s is refused with the code %s, not %s", self.methods[key], error_code_text(err),
    table.concat(codes, " or "))
end

---@param method string
---@param params any
---@param ... integer
---@return table err
function methods:expect_refusal(method, params, ...) return self:await_refusal(self:ask_plugin(method, params), ...) end

---Waits for the answer to an odd message: an error without an id, or an answer with this key. A question that is asked
---afterwards shows when there is none.
---@param key string
---@return table? message
function methods:await_error(key)
  local function found() return self.unasked[1] or self.answers[key] end
  await_or_end(self, found, math.min(GRACE, self.pipe.timeout))
  if not found() and not self.pipe.is_over then self:catch_up() end
  return found()
end

---Asks the question of the dialect: when its answer arrives, all earlier answers have arrived.
function methods:catch_up()
  local question = self.context.dialect.question
  return self:await_answer(self:ask_plugin(question.method, question.params))
end

---@return pintle.exit
function methods:await_exit()
  local exit = self.pipe:await_exit()
  if exit then return exit end
  return self:fail_probe("it has not exited within %gs", self.pipe.timeout)
end

---@param status integer
function methods:expect_exit_status(status)
  local exit = self:await_exit()
  if exit.code == status then return end
  self:fail_probe("it exited with %s, not with %d", errors.describe_exit(exit), status)
end

-- }======

---Ends the session: closes the input, and kills the plugin if it does not exit.
function methods:finish() self.pipe:finish() end

---@param ... string additional arguments
---@return string[]
local function command_with_arguments(command, ...)
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
    command = command_with_arguments(context.command, ...), env = context.env, via = context.via,
    timeout = context.timeout,
    framing = context.dialect.framing, on_piece = function(piece) receive_piece(self, piece) end,
  }
  if not self.pipe then return nil, err end
  return self
end

metatable.__close = function(self) self.pipe:close() end

return sessions
