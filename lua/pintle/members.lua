-- Members of what was received: what they are, and whether they are what they should be.

local errors = require "pintle.error"
local json = require("pintle.core").json

local null = json.null

local INVALID_PARAMS = -32602

local members = {}

members.kind = json.kind

---A member, or nil where it is null, which is what some write for nothing.
---@param value any
---@return any
function members.given(value)
  if value == null then return nil end
  return value
end

---Whether a member is of a kind. One that is left out, or null, is right.
---@param value any
---@param expected "boolean"|"number"|"string"|"array"|"object"
---@param name string of the member
---@return true?, pintle.error? err with the code of invalid params
function members.check(value, expected, name)
  if value == nil or value == null or type(value) == expected then return true end
  local kind = members.kind(value)
  if kind == expected then return true end
  local message = ("Invalid params: %s: %s expected, got %s"):format(name, expected, kind)
  return nil, errors.new("invalid", message, { code = INVALID_PARAMS })
end

return members
