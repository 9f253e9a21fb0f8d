-- What a config entry can hold, and what a schema becomes there. What no type of a release can hold goes as JSON text
-- in a string.

local json = require("pintle.core").json

local kind = json.kind

---@class pintle.reginald.form
---@field type string
---@field is_json boolean? whether the string holds JSON text

local types = {}

-- {====== Of schemas ======

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

-- The type of a schema; one that may be null as well may be left out instead.
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

local function scalar(schema)
  if type(schema) ~= "table" then return nil end
  local own = kind_of_schema(schema)
  if own == "boolean" then return "bool" end
  if own == "integer" then return "int" end
  if own == "string" then return schema.format == "path" and "path" or "string" end
end

local function list_type(schema)
  if type(schema) ~= "table" or kind_of_schema(schema) ~= "array" then return nil end
  local item = scalar(schema.items)
  return item and item .. "List"
end

---How a release holds what a schema describes.
---@param schema table|boolean
---@param release pintle.reginald.release
---@return pintle.reginald.form
function types.of(schema, release)
  local name = scalar(schema) or list_type(schema)
  if name == "path" and not release.types.path then name = "string" end
  if name and release.types[name] then return { type = name } end
  return { type = "string", is_json = true }
end

-- }======

-- {====== Of values ======

local ZEROS = { bool = false, int = 0, string = "", path = "" }

---What stands for nothing.
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

local function item_of(name)
  local item = name:match "^(%l+)List$"
  return READ[item] and item
end

---@param name string
---@return boolean
function types.is_known(name) return READ[name] ~= nil or item_of(name) ~= nil end

---A value that was received as one of a type.
---@param name string of a type
---@param value any
---@return boolean ok, any value
function types.read(name, value)
  if READ[name] then return READ[name](value) end
  local item = item_of(name)
  if item then return read_list(item, value) end
  return false
end

-- A string may be a path, and the other way round.
local function family(name) return (name:gsub("^path", "string")) end

---@param one string
---@param other string
---@return boolean
function types.fit(one, other) return family(one) == family(other) end

---What a value is called in a complaint: its type as far as it is one, else what JSON calls it.
---@param value any
---@return string
function types.name(value)
  if math.type(value) == "integer" then return "int" end
  return type(value) == "boolean" and "bool" or kind(value)
end

---The type of a value that nothing is known about, and the value as it is sent then.
---@param value any
---@return string name, any value
function types.guess(value)
  if type(value) == "boolean" then return "bool", value end
  if math.type(value) == "integer" then return "int", value end
  if type(value) == "string" then return "string", value end
  return "string", json.encode(value)
end

-- }======

return types
