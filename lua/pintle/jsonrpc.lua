-- JSON-RPC 2.0: the error codes, and errors and checks of received members.

local errors = require "pintle.error"
local json = require("pintle.core").json

local null, kind = json.null, json.kind

local jsonrpc = {
  PARSE_ERROR = -32700, INVALID_REQUEST = -32600, METHOD_NOT_FOUND = -32601, INVALID_PARAMS = -32602,
  INTERNAL_ERROR = -32603, SERVER_ERROR = -32000,
}

---@param value any
---@return boolean
function jsonrpc.is_object(value) return kind(value) == "object" end

---A member; nil if it is null, which some programs send for a member that is left out.
---@param value any
---@return any
function jsonrpc.given(value)
  if value == null then return nil end
  return value
end

---A string member that is not blank; nil if it is anything else.
---@param value any
---@return string?
function jsonrpc.text(value)
  if type(value) == "string" and value:find "%S" then return value end
end

---@param format string what is wrong
---@return nil, pintle.error err with the code of invalid params
function jsonrpc.invalid_params(format, ...)
  return nil, errors.new("invalid", "Invalid params: " .. format:format(...), { code = jsonrpc.INVALID_PARAMS })
end

---@return nil, pintle.error
function jsonrpc.protocol_error(format, ...) return nil, errors.new("protocol", format:format(...)) end

---Checks the JSON type of a member. One that is left out, or null, passes.
---@param value any
---@param expected "boolean"|"number"|"string"|"array"|"object"
---@param name string of the member, for the message
---@return true?, pintle.error? err with the code of invalid params
function jsonrpc.check(value, expected, name)
  if value == nil or value == null or type(value) == expected then return true end
  local got = kind(value)
  if got == expected then return true end
  return jsonrpc.invalid_params("%s: %s expected, got %s", name, expected, got)
end

return jsonrpc
