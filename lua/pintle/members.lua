-- Members of what was received: what they are, and whether they are what they should be.

local errors = require "pintle.error"
local json = require("pintle.core").json

local null, array_mt = json.null, json.array_mt

local INVALID_PARAMS = -32602

local members = {}

---What JSON calls it.
---@param value any
---@return "null"|"boolean"|"number"|"string"|"array"|"object"
function members.kind(value)
  local kind = type(value)
  if kind == "table" then
    local is_list = value[1] ~= nil or getmetatable(value) == array_mt
    return is_list and "array" or "object"
  end
  return value == null and "null" or kind
end

---A member, or nil where it is null, which is what some write for nothing.
---@param value any
---@return any
function members.given(value)
  if value ~= null then return value end
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
