-- Schema documents: whether each schema in them is well formed, and a registry of all schemas by their place.

local lazy = require "pintle.lazy"
local values = require "pintle.schema.values"

local drafts = lazy "pintle.schema.drafts"
local errors = lazy "pintle.schema.errors"
local references = lazy "pintle.schema.references"

---@class pintle.schema.document
local document = {}

---The meta-schema of draft 2020-12.
document.META_SCHEMA = "https://json-schema.org/draft/2020-12/schema"

---The dialect of draft 2020-12, in which every known keyword is active.
---@type pintle.schema.dialect
document.STANDARD = {
  active = setmetatable({}, { __index = function() return true end }),
  formats = false,
}

-- {====== Well-formed schemas ======

---How a keyword contains schemas: `schema` is one, `list` an array of them, `map` an object of them, and the members
---of `dependencies` are schemas or arrays of names.
document.SUBSCHEMAS = {
  additionalProperties = "schema", propertyNames = "schema", items = "schema", contains = "schema",
  ["not"] = "schema", ["if"] = "schema", ["then"] = "schema", ["else"] = "schema",
  unevaluatedItems = "schema", unevaluatedProperties = "schema", contentSchema = "schema",
  allOf = "list", anyOf = "list", oneOf = "list", prefixItems = "list",
  ["$defs"] = "map", definitions = "map", properties = "map", patternProperties = "map", dependentSchemas = "map",
  dependencies = "dependencies",
}

local function new_syntax_rule(expected, test)
  return function(value)
    if not test(value) then return ("expected %s, got %s"):format(expected, errors.describe(value)) end
  end
end

local function is_document_schema(value) return type(value) == "boolean" or values.is_object(value) end
local function is_string(value) return type(value) == "string" end

local function is_boolean(value) return type(value) == "boolean" end

local function string_matcher(pattern)
  return function(value) return is_string(value) and value:find(pattern) ~= nil end
end

local function all_items_pass(list, test)
  for _, item in ipairs(list) do
    if not test(item) then return false end
  end
  return true
end

local function are_unique_names(names)
  local seen = {}
  for _, name in ipairs(names) do
    if seen[name] then return false end
    seen[name] = true
  end
  return true
end

local function is_keyword_map(value)
  if not values.is_object(value) then return false end
  for name in next, value do
    if not is_string(name) then return false end
  end
  return true
end

local function is_keyword_map_of(test)
  return function(value)
    if not is_keyword_map(value) then return false end
    for _, member in next, value do
      if not test(member) then return false end
    end
    return true
  end
end

local function is_name_list(value)
  return values.is_list(value) and all_items_pass(value, is_string) and are_unique_names(value)
end

local TYPES = { array = true, boolean = true, integer = true, null = true, number = true, object = true, string = true }

local function is_type_name(value) return TYPES[value] == true end

local function is_type_list(value)
  return values.is_array(value) and #value > 0 and all_items_pass(value, is_type_name) and are_unique_names(value)
end

local function is_dependency(value) return is_document_schema(value) or is_name_list(value) end

local any_string = new_syntax_rule("a string", is_string)
local any_list = new_syntax_rule("an array", values.is_list)
local boolean = new_syntax_rule("a boolean", function(value) return type(value) == "boolean" end)
local number = new_syntax_rule("a number", function(value) return type(value) == "number" end)
local size = new_syntax_rule("a non-negative integer", function(value)
  return values.is_integer(value) and value >= 0
end)
local anchor = new_syntax_rule("a name of letters, digits, _, - and . that begins with a letter or _",
  string_matcher "^[%a_][-%w._]*$")

local SYNTAX = {
  ["$id"] = new_syntax_rule("a URI without a fragment", string_matcher "^[^#]*#?$"),
  ["$schema"] = any_string, ["$ref"] = any_string, ["$dynamicRef"] = any_string, ["$comment"] = any_string,
  ["$anchor"] = anchor, ["$dynamicAnchor"] = anchor,
  ["$vocabulary"] = new_syntax_rule("an object of booleans", is_keyword_map_of(is_boolean)),
  type = new_syntax_rule(
    "one of array, boolean, integer, null, number, object or string, or an array of unique ones of them",
    function(value) return is_type_name(value) or is_type_list(value) end),
  enum = any_list, examples = any_list,
  multipleOf = new_syntax_rule("a number above 0", function(value) return type(value) == "number" and value > 0 end),
  maximum = number, exclusiveMaximum = number, minimum = number, exclusiveMinimum = number,
  maxLength = size, minLength = size, maxItems = size, minItems = size, maxContains = size, minContains = size,
  maxProperties = size, minProperties = size,
  uniqueItems = boolean, deprecated = boolean, readOnly = boolean, writeOnly = boolean,
  pattern = any_string, title = any_string, description = any_string, format = any_string,
  contentEncoding = any_string, contentMediaType = any_string,
  required = new_syntax_rule("an array of unique strings", is_name_list),
  dependentRequired = new_syntax_rule("an object of arrays of unique strings", is_keyword_map_of(is_name_list)),
  dependencies = new_syntax_rule("an object of schemas and arrays of unique strings", is_keyword_map_of(is_dependency)),
}

local SUBSCHEMA_SYNTAX = {
  schema = new_syntax_rule("a schema, which is an object or a boolean", is_document_schema),
  list = new_syntax_rule("an array of at least one schema", function(value)
    return values.is_array(value) and #value > 0
  end),
  map = new_syntax_rule("an object of schemas", is_keyword_map),
}

for keyword, kind in pairs(document.SUBSCHEMAS) do
  SYNTAX[keyword] = SYNTAX[keyword] or SUBSCHEMA_SYNTAX[kind]
end

---Checks a schema, but not the schemas in it.
---@param schema any
---@param active table<string, true> keywords that have a meaning
---@return string? keyword the wrong one; nil also if the value is no schema at all
---@return string? reason nil if nothing is wrong
function document.find_fault(schema, active)
  if not is_document_schema(schema) then return nil, SUBSCHEMA_SYNTAX.schema(schema) end
  if type(schema) == "boolean" then return nil, nil end
  for _, keyword in ipairs(values.sorted_keys(schema)) do
    if not is_string(keyword) then return nil, "keywords must be strings, got " .. errors.describe(keyword) end
    local find_reason = active[keyword] and SYNTAX[keyword]
    local reason = find_reason and find_reason(schema[keyword])
    if reason then return keyword, reason end
  end
end

local function visit_subschema_map(map, keyword, visit)
  for _, name in ipairs(values.sorted_names(map)) do visit(map[name], keyword, name) end
end

local VISITS = {
  schema = function(child, keyword, visit) visit(child, keyword, nil) end,
  list = function(list, keyword, visit)
    for i, child in ipairs(list) do visit(child, keyword, i) end
  end,
  map = visit_subschema_map,
  dependencies = function(map, keyword, visit)
    visit_subschema_map(map, keyword, function(child, _, name)
      local is_empty = type(child) == "table" and next(child) == nil
      if is_document_schema(child) and not is_empty then visit(child, keyword, name) end
    end)
  end,
}

---Visits the schemas in a well-formed schema, in the order of their keywords.
---@param schema table
---@param active table<string, true>
---@param visit fun(child: any, keyword: string, key: integer|string|nil)
function document.each_child(schema, active, visit)
  for _, keyword in ipairs(values.sorted_names(schema)) do
    local kind = active[keyword] and document.SUBSCHEMAS[keyword]
    if kind then VISITS[kind](schema[keyword], keyword, visit) end
  end
end

-- }======

-- {====== The registry ======

---A document as it was given.
---@class pintle.schema.document.given
---@field prefix string what the paths of its schemas begin with
---@field nodes table<string, pintle.schema.node> by JSON pointer

---A schema with a URI of its own, and the schemas in it that have none.
---@class pintle.schema.resource
---@field uri string
---@field document pintle.schema.document.given
---@field dialect pintle.schema.dialect
---@field root pintle.schema.node
---@field anchors table<string, pintle.schema.node>
---@field dynamic table<string, pintle.schema.node> the dynamic ones of the anchors

---A schema in its place.
---@class pintle.schema.node
---@field raw table|boolean as it was given
---@field schema table|boolean in the keywords of 2020-12
---@field pointer string JSON pointer in its document
---@field path string the pointer as messages show it, with the prefix of the document
---@field depth integer how many schemas it is in
---@field resource pintle.schema.resource
---@field children table<string, any> keyword -> node, list of nodes, or nodes by name
---@field ref? pintle.schema.node target of $ref
---@field dynamic_ref? pintle.schema.node target of $dynamicRef, unless the dynamic scope has another
---@field structures? table<string, pintle.schema.structure> by keyword that refers to a meta-schema
---@field dynamic_name? string the anchor to look for in the dynamic scope
---@field check? pintle.schema.check

---@class pintle.schema.registry
---@field documents table<string, any> as they were given
---@field resources table<string, pintle.schema.resource> by URI
---@field keywords table<string, true> all keywords in all schemas
---@field limits pintle.schema.limits
---@field count integer of schemas
local registry = {}
local registry_mt = { __index = registry }

---@param documents table<string, any>
---@param limits pintle.schema.limits
---@return pintle.schema.registry
function document.new_registry(documents, limits)
  return setmetatable({ documents = documents, resources = {}, keywords = {}, limits = limits, count = 0 }, registry_mt)
end

---The dialect that a schema asks for.
---@param schema any
---@param otherwise pintle.schema.dialect
---@param path string
---@return pintle.schema.dialect
function registry:dialect_of(schema, otherwise, path)
  local uri = type(schema) == "table" and schema["$schema"]
  if type(uri) ~= "string" then return otherwise end
  if uri == document.META_SCHEMA then return document.STANDARD end
  return drafts.find_dialect(self, uri, path .. "/$schema")
end

local function modernize_schema(schema, dialect)
  return type(schema) == "table" and dialect.modernize and dialect.modernize(schema) or schema
end

-- The resource that a schema belongs to: a new one if it has a URI of its own, otherwise its parent's.
local function resource_of_schema(self, raw, parent, path)
  local schema = modernize_schema(raw, parent.dialect)
  local id = type(schema) == "table" and schema["$id"]
  if type(id) ~= "string" then return parent end
  return references.new_resource(self, id, raw, parent, path)
end

-- A keyword as it is written in the schema that was given.
local function keyword_token(dialect, raw, keyword)
  return values.escape_token(dialect.original_name and dialect.original_name(raw, keyword) or keyword)
end

local function reject_schema_fault(schema, dialect, path, raw)
  local keyword, reason = document.find_fault(schema, dialect.active)
  if reason then errors.reject(keyword and path .. "/" .. keyword_token(dialect, raw, keyword) or path, reason) end
end

local function enforce_document_limits(self, depth, path)
  if #path > self.limits.path then
    errors.reject(errors.quote(path), ("the path to it is longer than %d bytes"):format(self.limits.path))
  end
  self.count = self.count + 1
  if self.count > self.limits.schemas then
    errors.reject(path, ("there are more than %d schemas"):format(self.limits.schemas))
  end
  if depth > self.limits.nesting then
    errors.reject(path, ("schemas are nested more than %d deep"):format(self.limits.nesting))
  end
end

local function add_subschemas(self, node)
  local children = node.children
  document.each_child(node.schema, node.resource.dialect.active, function(child, keyword, key)
    local at = node.pointer .. "/" .. keyword_token(node.resource.dialect, node.raw, keyword)
    if key == nil then
      children[keyword] = self:add_schema(child, node.resource, at, node.depth + 1)
      return
    end
    children[keyword] = children[keyword] or {}
    local token = math.type(key) == "integer" and key - 1 or key
    at = at .. "/" .. values.escape_token(token)
    children[keyword][key] = self:add_schema(child, node.resource, at, node.depth + 1)
  end)
end

-- Copies a schema, so that later changes of the given tables have no effect.
local function copy_document_schema(self, schema)
  if type(schema) ~= "table" then return schema end
  local copied = {}
  for keyword, value in next, schema do
    self.keywords[keyword] = true
    if values.is_array(value) then value = setmetatable(table.move(value, 1, #value, 1, {}), getmetatable(value)) end
    copied[keyword] = value
  end
  return copied
end

---Adds a schema, and the schemas in it.
---@param raw any
---@param parent pintle.schema.resource
---@param at string JSON pointer to it
---@param depth integer
---@return pintle.schema.node
function registry:add_schema(raw, parent, at, depth)
  local path = parent.document.prefix .. at
  enforce_document_limits(self, depth, path)
  local resource = resource_of_schema(self, raw, parent, path)
  local schema = modernize_schema(raw, resource.dialect)
  reject_schema_fault(schema, resource.dialect, path, raw)
  schema = copy_document_schema(self, schema)
  local node = {
    raw = raw, schema = schema, pointer = at, path = path, depth = depth, resource = resource, children = {},
  }
  parent.document.nodes[at] = node
  resource.root = resource.root or node
  if type(schema) == "table" then
    if schema["$id"] or schema["$anchor"] or schema["$dynamicAnchor"] then references.add_names(self, node, parent) end
    add_subschemas(self, node)
  end
  return node
end

---@param uri string the one it was found by
---@param schema any
---@param prefix string
---@return pintle.schema.node root
function registry:add_document(uri, schema, prefix)
  local resource = {
    document = { prefix = prefix, nodes = {} }, uri = uri, anchors = {}, dynamic = {},
    dialect = self:dialect_of(schema, document.STANDARD, prefix),
  }
  local root = self:add_schema(schema, resource, "", 1)
  if not self.resources[uri] then self.resources[uri] = root.resource end
  return root
end

-- }======

return document
