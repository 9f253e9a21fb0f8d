-- A schema with its members in a readable order, so that it is always written the same way.

local json = require("pintle.core").json
local names = require("pintle.options").names
local values = require "pintle.schema.values"

-- The first keywords of a schema. Others follow in alphabetical order.
local KEYWORDS = {
  "$schema", "$id", "$ref", "$defs", "title", "type", "properties", "required", "additionalProperties", "items", "enum",
  "const", "default", "format", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems",
  "description",
}

-- Keywords by the form of their values.
local MAPS = names "properties patternProperties dependentSchemas $defs definitions"
local SCHEMAS = names [[items additionalProperties contains propertyNames unevaluatedItems unevaluatedProperties not if
  then else contentSchema]]
local LISTS_OF_SCHEMAS = names "allOf anyOf oneOf prefixItems"
local LISTS = names "required enum examples"

-- A copy of a map: the members in `first`, then the others in alphabetical order.
local function order_keywords(map, first, convert)
  local sorted, others, copy = {}, {}, {}
  for _, name in ipairs(first) do
    if map[name] ~= nil and copy[name] == nil then sorted[#sorted + 1], copy[name] = name, convert(map[name], name) end
  end
  for name in pairs(map) do
    if type(name) == "string" and copy[name] == nil then others[#others + 1] = name end
  end
  table.sort(others)
  for _, name in ipairs(others) do sorted[#sorted + 1], copy[name] = name, convert(map[name], name) end
  return setmetatable(copy, json.order(sorted))
end

local order_schema

local function order_keyword_value(value, keyword, schema)
  if type(value) ~= "table" then return value end
  if MAPS[keyword] then
    local first = keyword == "properties" and type(schema.required) == "table" and schema.required or {}
    return order_keywords(value, first, order_schema)
  end
  if SCHEMAS[keyword] then return order_schema(value) end
  if LISTS[keyword] or LISTS_OF_SCHEMAS[keyword] then
    local copy = json.array()
    for i, item in ipairs(value) do copy[i] = LISTS[keyword] and item or order_schema(item) end
    return copy
  end
  if keyword == "default" and next(value) == nil and values.wants_array(schema) then return json.array() end
  return value
end

---A copy of a schema whose keywords are in a readable order, with the required properties first. An empty table that
---has to be an array is written as one.
---@param schema any
---@return any
function order_schema(schema)
  if type(schema) ~= "table" then return schema end
  return order_keywords(schema, KEYWORDS, function(value, keyword)
    return order_keyword_value(value, keyword, schema)
  end)
end

return order_schema
