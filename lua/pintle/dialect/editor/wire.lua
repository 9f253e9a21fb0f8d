-- What both sides know of the messages: the code of a failed operation, and the two integer types of the protocol.

local errors = require "pintle.error"
local jsonrpc = require "pintle.jsonrpc"

---@class pintle.editor.type
---@field name string
---@field least integer
---@field most integer

---@type table<string, pintle.editor.type>
local TYPES = {
  int = { name = "Int", least = -0x80000000, most = 0x7FFFFFFF },
  uint = { name = "UInt", least = 0, most = 0xFFFFFFFF },
  either = { name = "Int or UInt", least = -0x80000000, most = 0xFFFFFFFF },
}

local wire = {
  ---The error code of an operation that ran and failed, in contrast to one that could not be run. JSON-RPC leaves codes
  ---outside of its own range to applications.
  FAILED = 1,
}

local function is_in_editor_range(value, expected) return value >= expected.least and value <= expected.most end

---Whether a value is an integer from -2^31 to 2^31 - 1; it may be written as a float.
---@param value any
---@return boolean
function wire.is_int(value)
  return type(value) == "number" and value % 1 == 0 and is_in_editor_range(value, TYPES.int)
end

local function editor_schema_has_type(schema, name)
  if type(schema.type) ~= "table" then return schema.type == name end
  for _, one in ipairs(schema.type) do
    if one == name then return true end
  end
  return false
end

local function is_unsigned_editor_schema(schema)
  local least = schema.minimum or schema.exclusiveMinimum
  return type(least) == "number" and least >= 0
end

-- The type of an integer with this schema; nil if the schema allows any number.
local function editor_integer_type(schema)
  if type(schema) ~= "table" then return TYPES.either end
  if editor_schema_has_type(schema, "number") then return nil end
  if is_unsigned_editor_schema(schema) then return TYPES.uint end
  return editor_schema_has_type(schema, "integer") and TYPES.int or TYPES.either
end

-- The schema of a member or item, as far as it is found without references and applicators. Without one, an integer may
-- be of either type.
local function editor_member_schema(schema, name)
  if type(schema) ~= "table" then return nil end
  if math.type(name) == "integer" then
    local items = schema.prefixItems
    return type(items) == "table" and items[name] or schema.items
  end
  local properties = schema.properties
  return type(properties) == "table" and properties[name] or schema.additionalProperties
end

local function editor_json_pointer(path, name)
  if math.type(name) == "integer" then return ("%s/%d"):format(path, name - 1) end
  return ("%s/%s"):format(path, (name:gsub("~", "~0"):gsub("/", "~1")))
end

-- The first integer out of range: where it is, the number, and the type expected.
local function find_out_of_editor_range(value, schema, path)
  if type(value) == "number" then
    local expected = value % 1 == 0 and editor_integer_type(schema)
    if expected and not is_in_editor_range(value, expected) then return path, value, expected end
  elseif type(value) == "table" then
    for name, member in pairs(value) do
      local inner, pointer = editor_member_schema(schema, name), editor_json_pointer(path, name)
      local where, number, expected = find_out_of_editor_range(member, inner, pointer)
      if where then return where, number, expected end
    end
  end
end

---Checks that all integers in params are in the range of their type.
---@param method string
---@param params any
---@param schema any of the params; may be nil
---@return true?, pintle.error? err with the code of invalid params
function wire.check_integers(method, params, schema)
  local where, number, expected = find_out_of_editor_range(params, schema, "")
  if not where then return true end
  local message = ("Invalid params for %q: at %s: %s expected, %d to %d, got %s"):format(method, where, expected.name,
    expected.least, expected.most, math.tointeger(number) or ("%.17g"):format(number))
  return nil, errors.new("invalid", message, { code = jsonrpc.INVALID_PARAMS })
end

return wire
