-- Whether a schema is well formed, judged keyword by keyword.

local lazy = require "pintle.lazy"
local values = require "pintle.schema.values"

local words = lazy "pintle.schema.words"

---@class pintle.schema.shape
local shape = {}

---How a keyword holds schemas: `schema` is one, `list` an array of them, `map` an object of them, and the members
---of `dependencies` are schemas or arrays of names.
shape.HOLDS = {
  additionalProperties = "schema", propertyNames = "schema", items = "schema", contains = "schema",
  ["not"] = "schema", ["if"] = "schema", ["then"] = "schema", ["else"] = "schema",
  unevaluatedItems = "schema", unevaluatedProperties = "schema", contentSchema = "schema",
  allOf = "list", anyOf = "list", oneOf = "list", prefixItems = "list",
  ["$defs"] = "map", definitions = "map", properties = "map", patternProperties = "map", dependentSchemas = "map",
  dependencies = "dependencies",
}

local function expects(expected, test)
  return function(value)
    if not test(value) then return ("expected %s, got %s"):format(expected, words.describe(value)) end
  end
end

local function is_schema(value) return type(value) == "boolean" or values.is_object(value) end
local function is_string(value) return type(value) == "string" end

local function matching(pattern)
  return function(value) return is_string(value) and value:find(pattern) ~= nil end
end

local function each(list, test)
  for _, item in ipairs(list) do
    if not test(item) then return false end
  end
  return true
end

local function are_different(names)
  local met = {}
  for _, name in ipairs(names) do
    if met[name] then return false end
    met[name] = true
  end
  return true
end

local function is_map(value)
  if not values.is_object(value) then return false end
  for name in next, value do
    if not is_string(name) then return false end
  end
  return true
end

local function is_map_of(test)
  return function(value)
    if not is_map(value) then return false end
    for _, member in next, value do
      if not test(member) then return false end
    end
    return true
  end
end

local function is_name_list(value)
  return values.is_list(value) and each(value, is_string) and are_different(value)
end

local TYPES = { array = true, boolean = true, integer = true, null = true, number = true, object = true, string = true }

local function is_type(value) return TYPES[value] == true end

local function is_type_list(value)
  return values.is_array(value) and #value > 0 and each(value, is_type) and are_different(value)
end

local function is_dependency(value) return is_schema(value) or is_name_list(value) end

local any_string = expects("a string", is_string)
local any_list = expects("an array", values.is_list)
local boolean = expects("a boolean", function(value) return type(value) == "boolean" end)
local number = expects("a number", function(value) return type(value) == "number" end)
local size = expects("an integer that is not negative", function(value)
  return values.is_integer(value) and value >= 0
end)
local anchor = expects("a name that begins with a letter or _ and goes on with those, digits, - and .",
  matching "^[%a_][-%w._]*$")

local SHAPES = {
  ["$id"] = expects("a URI without a fragment", matching "^[^#]*#?$"),
  ["$schema"] = any_string, ["$ref"] = any_string, ["$dynamicRef"] = any_string, ["$comment"] = any_string,
  ["$anchor"] = anchor, ["$dynamicAnchor"] = anchor,
  ["$vocabulary"] = expects("an object of booleans", is_map_of(function(value) return type(value) == "boolean" end)),
  type = expects(
    "one of array, boolean, integer, null, number, object or string, or an array of different ones of them",
    function(value) return is_type(value) or is_type_list(value) end),
  enum = any_list, examples = any_list,
  multipleOf = expects("a number above 0", function(value) return type(value) == "number" and value > 0 end),
  maximum = number, exclusiveMaximum = number, minimum = number, exclusiveMinimum = number,
  maxLength = size, minLength = size, maxItems = size, minItems = size, maxContains = size, minContains = size,
  maxProperties = size, minProperties = size,
  uniqueItems = boolean, deprecated = boolean, readOnly = boolean, writeOnly = boolean,
  pattern = any_string, title = any_string, description = any_string, format = any_string,
  contentEncoding = any_string, contentMediaType = any_string,
  required = expects("an array of different strings", is_name_list),
  dependentRequired = expects("an object of arrays of different strings", is_map_of(is_name_list)),
  dependencies = expects("an object of schemas and arrays of different strings", is_map_of(is_dependency)),
}

local BY_HOLDING = {
  schema = expects("a schema, which is an object or a boolean", is_schema),
  list = expects("an array of at least one schema", function(value) return values.is_array(value) and #value > 0 end),
  map = expects("an object of schemas", is_map),
}

for keyword, kind in pairs(shape.HOLDS) do
  SHAPES[keyword] = SHAPES[keyword] or BY_HOLDING[kind]
end

---What is wrong with a schema itself, whatever the schemas in it are.
---@param schema any
---@param active table<string, true> keywords that mean something
---@return string? keyword nil also where it is no schema at all
---@return string? reason nil if nothing is wrong
function shape.fault(schema, active)
  if not is_schema(schema) then return nil, BY_HOLDING.schema(schema) end
  if type(schema) == "boolean" then return nil, nil end
  for _, keyword in ipairs(values.sorted_keys(schema)) do
    if not is_string(keyword) then return nil, "keywords are strings, got " .. words.describe(keyword) end
    local judge = active[keyword] and SHAPES[keyword]
    local reason = judge and judge(schema[keyword])
    if reason then return keyword, reason end
  end
end

local function visit_all(map, keyword, visit)
  for _, name in ipairs(values.sorted_names(map)) do visit(map[name], keyword, name) end
end

local VISITS = {
  schema = function(child, keyword, visit) visit(child, keyword, nil) end,
  list = function(list, keyword, visit)
    for i, child in ipairs(list) do visit(child, keyword, i) end
  end,
  map = visit_all,
  dependencies = function(map, keyword, visit)
    visit_all(map, keyword, function(child, _, name)
      if is_schema(child) and not (type(child) == "table" and next(child) == nil) then visit(child, keyword, name) end
    end)
  end,
}

---Visits the schemas in a schema without fault, in order.
---@param schema table
---@param active table<string, true>
---@param visit fun(child: any, keyword: string, key: integer|string|nil)
function shape.each_child(schema, active, visit)
  for _, keyword in ipairs(values.sorted_names(schema)) do
    local kind = active[keyword] and shape.HOLDS[keyword]
    if kind then VISITS[kind](schema[keyword], keyword, visit) end
  end
end

return shape
