-- Checking the members of received values.

local errors = require "pintle.error"
local json = require("pintle.core").json

local null = json.null

local INVALID_PARAMS = -32602

local members = {}

members.kind = json.kind

---A member; nil if it is null, which some programs send for a member that is left out.
---@param value any
---@return any
function members.given(value)
  if value == null then return nil end
  return value
end

---Checks the kind of a member. One that is left out, or null, passes.
---@param value any
---@param expected "boolean"|"number"|"string"|"array"|"object"
---@param name string the member's, for the message
---@return true?, pintle.error? err with the code of invalid params
function members.check(value, expected, name)
  if value == nil or value == null or type(value) == expected then return true end
  local kind = members.kind(value)
  if kind == expected then return true end
  local message = ("Invalid params: %s: %s expected, got %s"):format(name, expected, kind)
  return nil, errors.new("invalid", message, { code = INVALID_PARAMS })
end

return members
