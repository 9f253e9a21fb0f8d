-- What JSON-RPC 2.0, and the dialect, say of a message by itself.

local json = require("pintle.core").json
local json_text = require "pintle.cli.json_text"

local envelope = {}

---@param value any
---@return boolean
function envelope.is_object(value) return type(value) == "table" and getmetatable(value) ~= json.array_mt end

-- {====== Ids ======

---What an id is told apart by: strings by what they say, numbers by how they are written.
---@param id any
---@param text string its JSON
---@return string
function envelope.key(id, text) return type(id) == "string" and '"' .. id or text end

---@param message table
---@param text string of the message
---@return string? key nil where it has none
function envelope.key_of(message, text)
  if message.id == nil then return nil end
  return envelope.key(message.id, text:sub(json_text.member(text, "id")))
end

-- }======

-- {====== Answers ======

local function check_error(err, tell)
  if not envelope.is_object(err) then return tell("fail", "error is not an object") end
  if math.type(err.code) ~= "integer" then tell("fail", "error.code is not an integer") end
  if type(err.message) ~= "string" then tell("fail", "error.message is not a string") end
end

local function check_both(message, tell, is_null_known)
  if message.error == json.null then
    return tell(is_null_known and "fail" or "warn", '"error":null stands beside a result')
  end
  if message.result == json.null then tell("warn", '"result":null stands beside an error')
  else tell("fail", "it has both a result and an error") end
  check_error(message.error, tell)
end

local function check_answer(message, tell, dialect)
  if message.result ~= nil and message.error ~= nil then
    check_both(message, tell, dialect.is_null_an_error)
  elseif message.error ~= nil then
    check_error(message.error, tell)
  elseif message.result == nil then
    tell("fail", "it has neither a method nor a result nor an error")
  end
  if message.id == nil then tell("fail", "an answer without an id") end
end

-- }======

-- {====== Requests and notifications ======

local function check_asked(message, tell)
  if type(message.method) ~= "string" then tell("fail", "its method is not a string") end
  local params = message.params
  if params ~= nil and params ~= json.null and type(params) ~= "table" then
    tell("fail", "its params are neither an object nor a list")
  end
  if message.result ~= nil or message.error ~= nil then tell("fail", "it has a method, and a result or an error") end
end

-- }======

local KNOWN = { jsonrpc = true, id = true, method = true, params = true, result = true, error = true }

local function check_members(message, tell, dialect)
  for name, value in pairs(dialect.extra or {}) do
    if message[name] ~= value then tell("fail", ('it has no "%s":%s'):format(name, json.encode(value))) end
  end
  if not dialect.is_exact then return end
  for name in pairs(message) do
    if not KNOWN[name] then tell("fail", ("it has a member %q, which hosts do not stand"):format(name)) end
  end
end

---@param message table an object
---@param dialect pintle.cli.check.dialect
---@param tell fun(level: "fail"|"warn", reason: string) told of each thing that is wrong
function envelope.check(message, dialect, tell)
  if message.jsonrpc ~= "2.0" then tell("fail", 'it has no "jsonrpc":"2.0"') end
  local id = message.id
  if id ~= nil and id ~= json.null and type(id) ~= "string" and math.type(id) ~= "integer" then
    tell("fail", "its id is neither a string nor an integer")
  end
  check_members(message, tell, dialect)
  if message.method ~= nil then check_asked(message, tell) else check_answer(message, tell, dialect) end
end

return envelope
