-- A schema in the order in which a person reads it, so that it is written the same way every time.

local json = require("pintle.core").json
local values = require "pintle.schema.values"

-- What is not here comes behind, by its name.
local KEYWORDS = {
  "$schema", "$id", "$ref", "$defs", "title", "type", "properties", "required", "additionalProperties", "items", "enum",
  "const", "default", "format", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems",
  "description",
}

local MAPS = {
  properties = true, patternProperties = true, dependentSchemas = true, ["$defs"] = true, definitions = true,
}
local SCHEMAS = {
  items = true, additionalProperties = true, contains = true, propertyNames = true, unevaluatedItems = true,
  unevaluatedProperties = true, ["not"] = true, ["if"] = true, ["then"] = true, ["else"] = true, contentSchema = true,
}
local LISTS_OF_SCHEMAS = { allOf = true, anyOf = true, oneOf = true, prefixItems = true }
local LISTS = { required = true, enum = true, examples = true }

local order

-- The names of a map: those of `first` that it has, then the others, sorted.
local function names_of(map, first)
  local names, taken, others = {}, {}, {}
  for _, name in ipairs(first) do
    if map[name] ~= nil and not taken[name] then names[#names + 1], taken[name] = name, true end
  end
  for name in pairs(map) do
    if type(name) == "string" and not taken[name] then others[#others + 1] = name end
  end
  table.sort(others)
  table.move(others, 1, #others, #names + 1, names)
  return names
end

local function ordered(map, first, convert)
  local names = names_of(map, first)
  local copy = {}
  for _, name in ipairs(names) do copy[name] = convert(map[name], name) end
  return setmetatable(copy, json.order(names))
end

local function list_of_schemas(list)
  local copy = json.array()
  for i, item in ipairs(list) do copy[i] = order(item) end
  return copy
end

local function list(items) return json.array(table.move(items, 1, #items, 1, {})) end

local function required_of(schema) return type(schema.required) == "table" and schema.required or {} end

local function member(value, keyword, schema)
  if type(value) ~= "table" then return value end
  if MAPS[keyword] then return ordered(value, keyword == "properties" and required_of(schema) or {}, order) end
  if SCHEMAS[keyword] then return order(value) end
  if LISTS_OF_SCHEMAS[keyword] then return list_of_schemas(value) end
  if LISTS[keyword] then return list(value) end
  if keyword == "default" and next(value) == nil and values.wants_array(schema) then return json.array() end
  return value
end

---A copy of a schema that is written in order: keywords as one reads them, and of the properties the required ones
---first. An empty list that belongs there is written as one.
---@param schema any
---@return any
function order(schema)
  if type(schema) ~= "table" then return schema end
  return ordered(schema, KEYWORDS, function(value, keyword) return member(value, keyword, schema) end)
end

return order
