-- Schemas of older drafts said in the keywords of 2020-12. Tools still write them, and a $ref may lead to one.

local values = require "pintle.schema.values"

---@class pintle.schema.historic
local historic = {}

local function copy(schema)
  local result = {}
  for keyword, value in next, schema do result[keyword] = value end
  return result
end

local function drop(schema, ...)
  for _, keyword in ipairs { ... } do schema[keyword] = nil end
end

-- Items by position and the rest of them were one keyword and a half.
local function modernize_items(schema)
  schema.prefixItems = nil
  if values.is_array(schema.items) then
    schema.prefixItems, schema.items = schema.items, schema.additionalItems
  end
  schema.additionalItems = nil
end

-- $recursiveRef is taken for the $ref that it is where nothing extends the schema.
local function modernize_2019(schema)
  local result = copy(schema)
  drop(result, "$dynamicAnchor")
  result["$dynamicRef"] = result["$recursiveRef"]
  modernize_items(result)
  return result
end

-- What stands beside a $ref meant nothing.
local function modernize_7(schema)
  if schema["$ref"] ~= nil then return { ["$ref"] = schema["$ref"], definitions = schema.definitions } end
  local result = copy(schema)
  drop(result, "$dynamicAnchor", "$dynamicRef", "$anchor", "$defs", "dependentSchemas", "dependentRequired",
    "minContains", "maxContains", "unevaluatedItems", "unevaluatedProperties")
  modernize_items(result)
  local anchor = type(result["$id"]) == "string" and result["$id"]:match "^#(.+)$"
  if anchor then result["$id"], result["$anchor"] = nil, anchor end
  return result
end

---By the URI of their meta-schema.
---@type table<string, fun(schema: table): table>
historic.drafts = {
  ["https://json-schema.org/draft/2019-09/schema"] = modernize_2019,
  ["http://json-schema.org/draft-07/schema"] = modernize_7,
  ["http://json-schema.org/draft-06/schema"] = modernize_7,
}

return historic
