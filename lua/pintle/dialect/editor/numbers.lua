-- The two types of numbers that the document has. An integer is one of them: which, its schema tells, if it has any.

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

local numbers = {}

local function is_within(value, expected) return value >= expected.least and value <= expected.most end

---Whether it is an integer from -2^31 to 2^31 - 1, however it is written.
---@param value any
---@return boolean
function numbers.is_int(value) return type(value) == "number" and value % 1 == 0 and is_within(value, TYPES.int) end

local function says(schema, name)
  if type(schema.type) ~= "table" then return schema.type == name end
  for _, one in ipairs(schema.type) do
    if one == name then return true end
  end
  return false
end

local function is_never_negative(schema)
  local least = schema.minimum or schema.exclusiveMinimum
  return type(least) == "number" and least >= 0
end

-- The type that an integer with this schema has; nil where the schema lets it be any number.
local function type_by(schema)
  if type(schema) ~= "table" then return TYPES.either end
  if says(schema, "number") then return nil end
  if is_never_negative(schema) then return TYPES.uint end
  return says(schema, "integer") and TYPES.int or TYPES.either
end

-- The schema of a member or item, where it is easily told; nil else, and then it may be either type.
local function schema_of(schema, name)
  if type(schema) ~= "table" then return nil end
  if math.type(name) == "integer" then
    local items = schema.prefixItems
    return type(items) == "table" and items[name] or schema.items
  end
  local properties = schema.properties
  return type(properties) == "table" and properties[name] or schema.additionalProperties
end

local function pointer(path, name)
  if math.type(name) == "integer" then return ("%s/%d"):format(path, name - 1) end
  return ("%s/%s"):format(path, (name:gsub("~", "~0"):gsub("/", "~1")))
end

-- The first number that does not fit: where it is, the number, and its type.
local function misfit(value, schema, path)
  if type(value) == "number" then
    local expected = value % 1 == 0 and type_by(schema)
    if expected and not is_within(value, expected) then return path, value, expected end
  elseif type(value) == "table" then
    for name, member in pairs(value) do
      local where, number, expected = misfit(member, schema_of(schema, name), pointer(path, name))
      if where then return where, number, expected end
    end
  end
end

---Whether all integers in some arguments are of the types that the document has.
---@param method string
---@param params any
---@param schema any of the params, if there is any
---@return true?, pintle.error? err with the code of invalid params
function numbers.check(method, params, schema)
  local where, number, expected = misfit(params, schema, "")
  if not where then return true end
  local message = ("Invalid params for %q: at %s: %s expected, %d to %d, got %s"):format(method, where, expected.name,
    expected.least, expected.most, math.tointeger(number) or ("%.17g"):format(number))
  return nil, errors.new("invalid", message, { code = jsonrpc.INVALID_PARAMS })
end

return numbers
