-- The types of config entries, and the type for a schema. A value without a type in a release is sent as JSON text in
-- a string.

local json = require("pintle.core").json
local manifests = require "pintle.manifest"

local kind = json.kind

---@class pintle.reginald.form
---@field type string
---@field is_json boolean? whether the string holds JSON text

local types = {
  ---Appended to the usage of a flag, for users and for our own host: its text is JSON, or the flag is required. The
  ---protocol has no other place for that.
  JSON_MARK = "(JSON)", REQUIRED_MARK = "(required)",
}

-- {====== Schemas ======

local KINDS = { boolean = "boolean", string = "string", number = "number", table = "table" }

local function kind_of_values(list)
  local found
  for _, value in ipairs(list) do
    local own = math.type(value) == "integer" and "integer" or KINDS[type(value)]
    if found and own ~= found then return nil end
    found = own
  end
  return found
end

-- The type in a schema. Null is ignored: an optional value is left out instead.
local function kind_of_schema(schema)
  local given = schema.type
  if type(given) ~= "table" then
    return given or type(schema.enum) == "table" and kind_of_values(schema.enum) or nil
  end
  local found
  for _, name in ipairs(given) do
    if name ~= "null" and found then return nil end
    if name ~= "null" then found = name end
  end
  return found
end

local function scalar_type(schema)
  if type(schema) ~= "table" then return nil end
  local own = kind_of_schema(schema)
  if own == "boolean" then return "bool" end
  if own == "integer" then return "int" end
  if own == "string" then return schema.format == "path" and "path" or "string" end
end

local function list_type(schema)
  if type(schema) ~= "table" or kind_of_schema(schema) ~= "array" then return nil end
  local item = scalar_type(schema.items)
  return item and item .. "List"
end

---The form of values of a schema in a release.
---@param schema table|boolean
---@param release pintle.reginald.release
---@return pintle.reginald.form
function types.form(schema, release)
  local name = scalar_type(schema) or list_type(schema)
  if name == "path" and not release.types.path then name = "string" end
  if name and release.types[name] then return { type = name } end
  return { type = "string", is_json = true }
end

-- }======

-- {====== Values ======

local ZEROS = { bool = false, int = 0, string = "", path = "" }

---The value that means "not set".
---@param name string of a type
---@return any
function types.zero(name)
  local zero = ZEROS[name]
  if zero == nil then return json.array() end
  return zero
end

---@param name string of a type
---@param value any
---@return boolean
function types.is_zero(name, value)
  if type(value) == "table" then return next(value) == nil end
  return value == ZEROS[name]
end

local READ = {
  bool = function(value) return type(value) == "boolean", value end,
  int = function(value)
    local number = type(value) == "number" and math.tointeger(value)
    return number and true or false, number
  end,
  string = function(value) return type(value) == "string", value end,
}
READ.path = READ.string

local function read_list(item, value)
  if kind(value) ~= "array" and not (kind(value) == "object" and next(value) == nil) then return false end
  local list = json.array()
  for i, member in ipairs(value) do
    local ok, read = READ[item](member)
    if not ok then return false end
    list[i] = read
  end
  return true, list
end

local function list_item_type(name)
  local item = name:match "^(%l+)List$"
  return READ[item] and item
end

---@param name string
---@return boolean
function types.is_known(name) return READ[name] ~= nil or list_item_type(name) ~= nil end

---Reads a received value as one of a type.
---@param name string of a type
---@param value any
---@return boolean ok, any value
function types.read(name, value)
  if READ[name] then return READ[name](value) end
  local item = list_item_type(name)
  if item then return read_list(item, value) end
  return false
end

-- Strings and paths are interchangeable.
local function type_family(name) return (name:gsub("^path", "string")) end

---@param one string
---@param other string
---@return boolean
function types.are_compatible(one, other) return type_family(one) == type_family(other) end

---The name of a value's type in messages: that of the config entry, or else that of JSON.
---@param value any
---@return string
function types.describe(value)
  if math.type(value) == "integer" then return "int" end
  return type(value) == "boolean" and "bool" or kind(value)
end

---The type of a value without a declared type, and the value in the form it is sent in.
---@param value any
---@return string name, any value
function types.guess(value)
  if type(value) == "boolean" then return "bool", value end
  if math.type(value) == "integer" then return "int", value end
  if type(value) == "string" then return "string", value end
  return "string", json.encode(value)
end

-- }======

---Checks values that are not the arguments of a declared operation, and fills in defaults: the config of a plugin, or
---incomplete arguments.
---@param schema table|boolean
---@param values table
---@param name? string of the values in messages; default: "config"
---@return table?, pintle.error?
function types.check(schema, values, name)
  name = name or "config"
  local holder, err = manifests.read { name = name, version = false, operations = { [name] = { params = schema } } }
  if not holder then return nil, err end
  return holder:check(name, values)
end

return types
