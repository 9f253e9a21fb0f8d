-- The dialect of a schema: the keywords that have a meaning in it. `$schema` names the meta-schema, which is that of an
-- older draft or a document with `$vocabulary`.

local document = require "pintle.schema.document"
local errors = require "pintle.schema.errors"
local references = require "pintle.schema.references"
local values = require "pintle.schema.values"

local dialect = {}

-- {====== Older drafts ======

-- Schemas of older drafts are converted to the keywords of 2020-12. Tools still write them, and a $ref may lead to one.

local function copy(schema)
  local result = {}
  for keyword, value in next, schema do result[keyword] = value end
  return result
end

local function drop(schema, ...)
  for _, keyword in ipairs { ... } do schema[keyword] = nil end
end

-- Older drafts had an array in `items` for what is now `prefixItems`, and `additionalItems` for the other items.
local function modernize_items(schema)
  schema.prefixItems = nil
  if values.is_array(schema.items) then
    schema.prefixItems, schema.items = schema.items, schema.additionalItems
  end
  schema.additionalItems = nil
end

-- $recursiveRef is treated as a plain reference, which it is unless another schema extends this one.
local function modernize_2019(schema)
  local result = copy(schema)
  drop(result, "$dynamicAnchor")
  result["$dynamicRef"] = result["$recursiveRef"]
  modernize_items(result)
  return result
end

-- Keywords beside a $ref were ignored.
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

-- By the URI of the meta-schema.
local OLDER_DRAFTS = {
  ["https://json-schema.org/draft/2019-09/schema"] = modernize_2019,
  ["http://json-schema.org/draft-07/schema"] = modernize_7,
  ["http://json-schema.org/draft-06/schema"] = modernize_7,
}

-- }======

-- {====== Vocabularies ======

local PREFIX = "https://json-schema.org/draft/2020-12/vocab/"

local KEYWORDS = {
  core = [[$id $schema $ref $anchor $dynamicRef $dynamicAnchor $vocabulary $comment $defs definitions]],
  applicator = [[prefixItems items contains additionalProperties properties patternProperties dependentSchemas
    dependencies propertyNames if then else allOf anyOf oneOf not]],
  unevaluated = [[unevaluatedItems unevaluatedProperties]],
  validation = [[type const enum multipleOf maximum exclusiveMaximum minimum exclusiveMinimum
    maxLength minLength pattern maxItems minItems uniqueItems maxContains minContains
    maxProperties minProperties required dependentRequired]],
  ["meta-data"] = [[title description default deprecated readOnly writeOnly examples]],
  ["format-annotation"] = [[format]],
  ["format-assertion"] = [[format]],
  content = [[contentEncoding contentMediaType contentSchema]],
}

local function keywords_of(uri)
  local name = uri:sub(1, #PREFIX) == PREFIX and uri:sub(#PREFIX + 1)
  return KEYWORDS[name]
end

local function add_vocabulary(to, uri)
  for keyword in keywords_of(uri):gmatch "%S+" do to.active[keyword] = true end
  if uri == PREFIX .. "format-assertion" then to.formats = true end
end

-- The dialect of a meta-schema with `$vocabulary`, which says by URI whether a vocabulary is required. The core
-- vocabulary is part of every dialect.
local function from_vocabularies(vocabularies, path)
  local made = { active = {}, formats = false }
  add_vocabulary(made, PREFIX .. "core")
  for _, uri in ipairs(values.sorted_names(vocabularies)) do
    if keywords_of(uri) then
      add_vocabulary(made, uri)
    elseif vocabularies[uri] == true then
      errors.reject(path, ("the vocabulary %s is required but unknown"):format(uri))
    end
  end
  return made
end

-- }======

---@param registry pintle.schema.registry
---@param name string the value of `$schema`
---@param path string of that keyword
---@return pintle.schema.dialect
function dialect.find(registry, name, path)
  local standard = document.STANDARD
  local uri = references.resolve("", name)
  if uri == document.META_SCHEMA then return standard end
  if OLDER_DRAFTS[uri] then return { active = standard.active, formats = false, modernize = OLDER_DRAFTS[uri] } end
  local meta_schema = references.find_document(registry, uri)
  if not values.is_object(meta_schema) then
    errors.reject(path, ("the meta-schema %s is not among the documents"):format(name))
  end
  local vocabularies = meta_schema["$vocabulary"]
  return values.is_object(vocabularies) and from_vocabularies(vocabularies, path) or standard
end

return dialect
