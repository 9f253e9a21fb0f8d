-- JSON types of Lua values, sorted names, JSON pointers (RFC 6901).

local json = require("pintle.core").json

local type, getmetatable, next, math_type = type, getmetatable, next, math.type
local null, array_mt = json.null, json.array_mt

---@class pintle.schema.values
local values = { null = null, array_mt = array_mt }

---A table is an array if it is marked as one or has items. So an unmarked empty table is an object, as in the JSON
---codec.
---@param value any
---@return boolean
function values.is_array(value)
  return type(value) == "table" and (getmetatable(value) == array_mt or value[1] ~= nil)
end

---@param value any
---@return boolean
function values.is_object(value)
  return type(value) == "table" and value[1] == nil and getmetatable(value) ~= array_mt
end

---Whether it is an array or an empty table, which a Lua program may write for an empty array.
---@param value any
---@return boolean
function values.is_list(value)
  return type(value) == "table" and (getmetatable(value) == array_mt or value[1] ~= nil or next(value) == nil)
end

---Whether the `type` of a schema is this one, or a list with it.
---@param schema table
---@param name string
---@return boolean
function values.allows_type(schema, name)
  if type(schema.type) ~= "table" then return schema.type == name end
  for _, one in ipairs(schema.type) do
    if one == name then return true end
  end
  return false
end

---Whether the `type` of a schema allows arrays, but not objects.
---@param schema table
---@return boolean
function values.wants_array(schema)
  return values.allows_type(schema, "array") and not values.allows_type(schema, "object")
end

---@param value any
---@return boolean
function values.is_integer(value)
  local kind = math_type(value)
  return kind == "integer" or kind == "float" and value % 1 == 0
end

---@generic T: table
---@param original T
---@return T copy with the same members and metatable
function values.shallow_copy(original)
  local copy = {}
  for key, member in next, original do copy[key] = member end
  return setmetatable(copy, getmetatable(original))
end

---@param map table
---@return string[] names its keys that are strings, sorted
function values.sorted_names(map)
  local names = {}
  for name in next, map do
    if type(name) == "string" then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

local function compare_by_text(a, b) return tostring(a) < tostring(b) end

---@param map table
---@return any[] keys of any type, sorted by their text
function values.sorted_keys(map)
  local keys = {}
  for key in next, map do keys[#keys + 1] = key end
  table.sort(keys, compare_by_text)
  return keys
end

---@param token string|integer
---@return string escaped for a JSON pointer
function values.escape_token(token)
  return (tostring(token):gsub("~", "~0"):gsub("/", "~1"))
end

---@param pointer string "" or "/a/b"
---@return string[]? tokens nil if it is not a JSON pointer
function values.pointer_tokens(pointer)
  if pointer == "" then return {} end
  if pointer:sub(1, 1) ~= "/" or pointer:find "~[^01]" or pointer:find "~$" then return nil end
  local tokens = {}
  for token in pointer:gmatch "/([^/]*)" do
    tokens[#tokens + 1] = token:gsub("~1", "/"):gsub("~0", "~")
  end
  return tokens
end

return values
