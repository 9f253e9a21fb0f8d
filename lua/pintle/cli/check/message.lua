-- Messages of a plugin: what JSON-RPC 2.0 and the dialect require of each, and what each one is.

local json = require("pintle.core").json
local json_text = require "pintle.cli.json_text"
local schema = require "pintle.schema"

local messages = {}

---@param value any
---@return boolean
function messages.is_object(value) return type(value) == "table" and getmetatable(value) ~= json.array_mt end

-- {====== Ids ======

---The key of an id: strings are compared by content, numbers by their notation.
---@param id any
---@param text string JSON of the id
---@return string
function messages.key(id, text) return type(id) == "string" and '"' .. id or text end

---@param message table
---@param text string JSON of the message
---@return string? key nil if it has no id
function messages.key_of(message, text)
  if message.id == nil then return nil end
  return messages.key(message.id, text:sub(json_text.member(text, "id")))
end

-- }======

-- {====== Answers ======

local function check_error(err, report)
  if not messages.is_object(err) then return report("fail", "error is not an object") end
  if math.type(err.code) ~= "integer" then report("fail", "error.code is not an integer") end
  if type(err.message) ~= "string" then report("fail", "error.message is not a string") end
end

local function check_both(message, report, is_null_known)
  if message.error == json.null then
    return report(is_null_known and "fail" or "warn", 'both "error":null and a result')
  end
  if message.result == json.null then report("warn", 'both "result":null and an error')
  else report("fail", "both a result and an error") end
  check_error(message.error, report)
end

local function check_answer(message, report, dialect)
  if message.result ~= nil and message.error ~= nil then
    check_both(message, report, dialect.is_null_an_error)
  elseif message.error ~= nil then
    check_error(message.error, report)
  elseif message.result == nil then
    report("fail", "neither a method nor a result nor an error")
  end
  if message.id == nil then report("fail", "an answer without an id") end
end

-- }======

-- {====== Requests and notifications ======

local function check_call(message, report)
  if type(message.method) ~= "string" then report("fail", "the method is not a string") end
  local params = message.params
  if params ~= nil and params ~= json.null and type(params) ~= "table" then
    report("fail", "the params are neither an object nor an array")
  end
  if message.result ~= nil or message.error ~= nil then report("fail", "both a method and a result or error") end
end

-- }======

local KNOWN = { jsonrpc = true, id = true, method = true, params = true, result = true, error = true }

local function check_members(message, report, dialect)
  for name, value in pairs(dialect.extra or {}) do
    if message[name] ~= value then report("fail", ('no "%s":%s'):format(name, json.encode(value))) end
  end
  if not dialect.is_exact then return end
  for name in pairs(message) do
    if not KNOWN[name] then report("fail", ("unknown member %q, which hosts reject"):format(name)) end
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
  if message.method ~= nil then check_call(message, report) else check_answer(message, report, dialect) end
end

-- {====== Schemas ======

-- Each schema is compiled once.
local compiled = setmetatable({}, { __mode = "k" })

---Checks a value against a JSON Schema.
---@param value any
---@param form table the schema
---@return string? problem
function messages.schema_problem(value, form)
  compiled[form] = compiled[form] or assert(schema.compile(form))
  local ok, err = compiled[form](value)
  return not ok and tostring(err) or nil
end

---The first required argument of a schema of the plugin. It may not be a valid schema; another probe reports that.
---@param declared any
---@return string? name
function messages.first_required(declared)
  local names = messages.is_object(declared) and declared.required
  local first = type(names) == "table" and names[1]
  return type(first) == "string" and first or nil
end

-- }======

-- {====== Receiving ======

local function add_violation(self, rule, level, reason)
  self.violations[#self.violations + 1] = { rule = rule, level = level, reason = reason }
end

local function receive_answer(self, message, text)
  local key = messages.key_of(message, text)
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
  if not messages.is_object(message) then
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
  for i, element in ipairs(json_text.elements(text)) do receive_message(self, list[i], element) end
end

local function check_length(self, text)
  local most = self.context.dialect.max_line
  if not most or #text < most then return end
  add_violation(self, "line-length", "warn", ("a line of %d bytes; hosts read no more than %d"):format(#text + 1, most))
end

---Takes the next piece of the plugin's output: classifies it, records violations, and queues answers to requests.
---@param self pintle.cli.check.session
---@param piece pintle.cli.check.piece
function messages.receive(self, piece)
  check_length(self, piece.text)
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

return messages
