-- A schema with its members in a readable order, so that it is always written the same way.

local SUBSCHEMAS = require("pintle.schema.document").SUBSCHEMAS
local json = require("pintle.core").json
local names = require("pintle.options").names
local values = require "pintle.schema.values"

-- The first keywords of a schema. Others follow in alphabetical order.
local FIRST_KEYWORDS = {
  "$schema", "$id", "$ref", "$defs", "title", "type", "properties", "required", "additionalProperties", "items", "enum",
  "const", "default", "format", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems",
  "description",
}

local LISTS = names "required enum examples"

-- A copy of a map: the members in `first`, then the others in alphabetical order.
local function order_schema_members(map, first, convert)
  local sorted, copy = {}, {}
  local function add_ordered_member(name)
    if map[name] ~= nil and copy[name] == nil then sorted[#sorted + 1], copy[name] = name, convert(map[name], name) end
  end
  for _, name in ipairs(first) do add_ordered_member(name) end
  for _, name in ipairs(values.sorted_names(map)) do add_ordered_member(name) end
  return setmetatable(copy, json.order(sorted))
end

local function order_schema_list(list, convert)
  local copy = json.array()
  for i, item in ipairs(list) do copy[i] = convert and convert(item) or item end
  return copy
end

local order_schema

local function order_schema_keyword(value, keyword, owner)
  if type(value) ~= "table" then return value end
  local kind = SUBSCHEMAS[keyword]
  if kind == "map" then
    local first = keyword == "properties" and type(owner.required) == "table" and owner.required or {}
    return order_schema_members(value, first, order_schema)
  end
  if kind == "list" or kind == "schema" and values.is_array(value) then
    return order_schema_list(value, order_schema)
  end
  if kind == "schema" then return order_schema(value) end
  if LISTS[keyword] then return order_schema_list(value) end
  if keyword == "default" and next(value) == nil and values.wants_array(owner) then return json.array() end
  return value
end

---A copy of a schema whose keywords are in a readable order, with the required properties first. An empty table that
---has to be an array is written as one.
---@param given any
---@return any
function order_schema(given)
  if type(given) ~= "table" then return given end
  return order_schema_members(given, FIRST_KEYWORDS, function(value, keyword)
    return order_schema_keyword(value, keyword, given)
  end)
end

return order_schema
