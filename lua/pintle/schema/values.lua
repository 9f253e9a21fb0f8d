-- What a Lua value is in JSON.

local json = require("pintle.core").json

local type, getmetatable, next, math_type = type, getmetatable, next, math.type
local null, array_mt = json.null, json.array_mt

---@class pintle.schema.values
local values = { null = null, array_mt = array_mt }

---A table that is marked, or has items, is an array. So an empty one without the mark is an object, as it is for
---the codec.
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

---An array, or what a Lua program writes for one that is empty.
---@param value any
---@return boolean
function values.is_list(value)
  return type(value) == "table" and (getmetatable(value) == array_mt or value[1] ~= nil or next(value) == nil)
end

---Whether the type of a schema asks for an array, and not for an object.
---@param schema table
---@return boolean
function values.wants_array(schema)
  local kinds = type(schema.type) == "table" and schema.type or { schema.type }
  local wanted = {}
  for _, kind in ipairs(kinds) do wanted[kind] = true end
  return wanted.array and not wanted.object or false
end

---@param value any
---@return boolean
function values.is_integer(value)
  local kind = math_type(value)
  return kind == "integer" or kind == "float" and value % 1 == 0
end

---@param map table
---@return string[] names in order; names that are no strings are left out
function values.sorted_names(map)
  local names = {}
  for name in next, map do
    if type(name) == "string" then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

local function by_text(a, b) return tostring(a) < tostring(b) end

---@param map table
---@return any[] keys of any kind, in order
function values.sorted_keys(map)
  local keys = {}
  for key in next, map do keys[#keys + 1] = key end
  table.sort(keys, by_text)
  return keys
end

return values
