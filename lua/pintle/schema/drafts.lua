-- What `$schema` names: a draft of JSON Schema, or the vocabularies of a given meta-schema. Schemas of older drafts are
-- converted to the keywords of 2020-12: tools still write them, and a $ref may lead to one.

local document = require "pintle.schema.document"
local errors = require "pintle.schema.errors"
local references = require "pintle.schema.references"
local values = require "pintle.schema.values"

local is_array = values.is_array

---The keywords that a schema may use, as its `$schema` says.
---@class pintle.schema.dialect
---@field active table<string, true> the keywords that have a meaning
---@field formats boolean whether `format` is an assertion
---@field is_older? boolean whether it is a draft before 2020-12
---@field is_recursive? boolean whether it has $recursiveAnchor
---@field modernize? fun(schema: table): table converts a schema of an older draft to the keywords of 2020-12
---@field original_name? fun(schema: table, keyword: string): string the name that the keyword had in that draft

---@class pintle.schema.drafts
local drafts = {}

-- {====== Keywords ======

local function add_draft_keywords(set, text)
  for word in text:gmatch "%S+" do set[word] = true end
  return set
end

local function with_draft_keywords(set, text)
  local extended = {}
  for word in next, set do extended[word] = true end
  return add_draft_keywords(extended, text)
end

local COMMON = add_draft_keywords({}, [[$schema $ref title description default type enum format definitions
  multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern
  items additionalItems maxItems minItems uniqueItems properties patternProperties additionalProperties
  maxProperties minProperties required dependencies allOf anyOf oneOf not]])

local KEYWORDS_4 = with_draft_keywords(COMMON, "id")
local KEYWORDS_6 = with_draft_keywords(COMMON, "$id const contains propertyNames examples")
local KEYWORDS_7 = with_draft_keywords(KEYWORDS_6,
  "$comment if then else readOnly writeOnly contentEncoding contentMediaType")
local KEYWORDS_2019 = with_draft_keywords(KEYWORDS_7, [[
  $anchor $defs $vocabulary $recursiveRef $recursiveAnchor dependentSchemas dependentRequired minContains maxContains
  unevaluatedItems unevaluatedProperties contentSchema deprecated]])

-- }======

-- {====== Conversion to the keywords of 2020-12 ======

-- Keywords of other drafts have no meaning.
local function select_draft_keywords(schema, keywords)
  local selected = {}
  for keyword, value in next, schema do
    if keywords[keyword] then selected[keyword] = value end
  end
  return selected
end

-- Older drafts had an array in `items` for what is now `prefixItems`, and `additionalItems` for the other items.
local function convert_draft_items(schema)
  if is_array(schema.items) then
    schema.prefixItems, schema.items = #schema.items > 0 and schema.items or nil, schema.additionalItems
  end
  schema.additionalItems = nil
  return schema
end

-- An identifier was an anchor if it began with "#". Some generators write JSON pointers there, which name nothing.
local function convert_draft_id(schema, id)
  local anchor = type(id) == "string" and id:match "^#(.+)$"
  schema["$id"] = not anchor and id or nil
  schema["$anchor"] = anchor and anchor:find "^[%a_][-%w._]*$" and anchor or nil
  return schema
end

-- In draft 4 the exclusive bounds were booleans that changed the others.
local function convert_draft_bound(schema, inclusive, exclusive)
  local flag = schema[exclusive]
  if type(flag) ~= "boolean" then return end
  schema[exclusive] = nil
  if flag then schema[inclusive], schema[exclusive] = nil, schema[inclusive] end
end

-- Before 2019-09, keywords beside a $ref were ignored.
local function converter_before_2019(keywords, id_keyword)
  return function(schema)
    if schema["$ref"] ~= nil then return { ["$ref"] = schema["$ref"], definitions = schema.definitions } end
    return convert_draft_items(convert_draft_id(select_draft_keywords(schema, keywords), schema[id_keyword]))
  end
end

local convert_6 = converter_before_2019(KEYWORDS_6, "$id")
local convert_7 = converter_before_2019(KEYWORDS_7, "$id")
local convert_common_4 = converter_before_2019(KEYWORDS_4, "id")

local function convert_4(schema)
  local converted = convert_common_4(schema)
  if type(converted["$id"]) ~= "string" then converted["$id"] = nil end
  convert_draft_bound(converted, "minimum", "exclusiveMinimum")
  convert_draft_bound(converted, "maximum", "exclusiveMaximum")
  return converted
end

-- `$recursiveRef` is a dynamic reference to the anchor "", which `$recursiveAnchor` sets (references.add_names).
local function convert_2019(schema)
  local converted = convert_draft_items(select_draft_keywords(schema, KEYWORDS_2019))
  converted["$dynamicRef"] = schema["$recursiveRef"]
  return converted
end

-- The name that a keyword of 2020-12 has in a schema of an older draft.
local function original_keyword_name(schema, keyword)
  if keyword == "prefixItems" then return "items" end
  if keyword == "items" and is_array(schema.items) then return "additionalItems" end
  if keyword == "$dynamicRef" then return "$recursiveRef" end
  return keyword
end

-- }======

-- {====== Structure ======

-- The meta-schemas in short: the keywords of each draft, whose values have the form that they have in 2020-12, except
-- for these.

local function is_draft_schema(value) return type(value) == "boolean" or values.is_object(value) end

local function is_draft_schema_or_list(value) return is_draft_schema(value) or is_array(value) and #value > 0 end

local function is_keyword_of_type(name)
  return function(value) return type(value) == name end
end

local ITEMS = { is_draft_schema_or_list, "a schema or an array of at least one schema" }
local SCHEMA = { is_draft_schema, "a schema, which is an object or a boolean" }
local STRING = { is_keyword_of_type "string", "a string" }
local BOOLEAN = { is_keyword_of_type "boolean", "a boolean" }

local FORMS_7 = { items = ITEMS, additionalItems = SCHEMA, ["$id"] = STRING }
local FORMS_2019 = {
  items = ITEMS, additionalItems = SCHEMA, ["$recursiveRef"] = STRING, ["$recursiveAnchor"] = BOOLEAN,
}
local FORMS_4 = {
  items = ITEMS, additionalItems = SCHEMA, id = STRING, exclusiveMinimum = BOOLEAN, exclusiveMaximum = BOOLEAN,
  required = { function(value) return is_array(value) and #value > 0 end, "an array of at least one string" },
}

local function find_draft_fault(schema, forms)
  for _, keyword in ipairs(values.sorted_names(forms)) do
    local value, form = schema[keyword], forms[keyword]
    if value ~= nil and not form[1](value) then
      return keyword, ("expected %s, got %s"):format(form[2], errors.describe(value))
    end
  end
end

-- In every draft that is converted, `items` is a schema or an array of schemas.
local function visit_item_schemas(schema, visit)
  local items = schema.items
  if is_array(items) then
    for i, child in ipairs(items) do visit(child, "items", i) end
  elseif items ~= nil then
    visit(items, "items", nil)
  end
  if schema.additionalItems ~= nil then visit(schema.additionalItems, "additionalItems", nil) end
end

---What a schema of a draft looks like. It stands for the meta-schema of the draft.
---@class pintle.schema.structure
---@field find_fault fun(schema: any): string?, string? the wrong keyword, and the reason
---@field each_child fun(schema: table, visit: fun(child: any, keyword: string, key: integer|string|nil))

---@return pintle.schema.structure
local function new_draft_structure(keywords, forms)
  local usual = {}
  for keyword in next, keywords do usual[keyword] = not forms[keyword] or keyword == "required" or nil end
  return {
    find_fault = function(schema)
      local keyword, reason = document.find_fault(schema, usual)
      if reason or type(schema) == "boolean" then return keyword, reason end
      return find_draft_fault(schema, forms)
    end,
    each_child = function(schema, visit)
      document.each_child(schema, usual, visit)
      visit_item_schemas(schema, visit)
    end,
  }
end

local LATEST_STRUCTURE = {
  find_fault = function(schema) return document.find_fault(schema, document.STANDARD.active) end,
  each_child = function(schema, visit) document.each_child(schema, document.STANDARD.active, visit) end,
}

-- }======

-- {====== Drafts by name ======

local function older_draft(convert, keywords, forms)
  return {
    dialect = {
      active = document.STANDARD.active, formats = false, modernize = convert, original_name = original_keyword_name,
      is_older = true,
    },
    structure = new_draft_structure(keywords, forms),
  }
end

local DRAFTS = {
  ["2020-12"] = { dialect = document.STANDARD, structure = LATEST_STRUCTURE },
  ["2019-09"] = older_draft(convert_2019, KEYWORDS_2019, FORMS_2019),
  ["7"] = older_draft(convert_7, KEYWORDS_7, FORMS_7),
  ["6"] = older_draft(convert_6, KEYWORDS_6, FORMS_7),
  ["4"] = older_draft(convert_4, KEYWORDS_4, FORMS_4),
}
DRAFTS["2019-09"].dialect.is_recursive = true
DRAFTS["5"] = DRAFTS["4"] -- the same meta-schema
DRAFTS[""] = DRAFTS["2020-12"] -- http://json-schema.org/schema is the latest draft

-- Finds the draft by the URI of its meta-schema, without the fragment. Many programs write the URI of one draft in the
-- style of another: http for https, draft-2020-12, draft/07, or without the word draft.
local function find_draft(uri)
  local path = uri:match "^https?://json%-schema%.org/(.*)$"
  local name = path and (path == "schema" and "" or path:match "^(.+)/schema/?$")
  return name and DRAFTS[name:gsub("^draft[-/]?", ""):gsub("^0", "")]
end

---@param uri string of a meta-schema, without the fragment
---@return pintle.schema.structure? structure of the schemas that the meta-schema describes; nil if it is unknown
function drafts.structure_of(uri)
  local draft = find_draft(uri)
  return draft and draft.structure
end

-- }======

-- {====== Dialects by vocabularies ======

local VOCABULARY_PREFIX = "https://json-schema.org/draft/2020-12/vocab/"

-- The keywords of each vocabulary.
local VOCABULARIES = {
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

local function vocabulary_keywords(uri)
  local name = uri:sub(1, #VOCABULARY_PREFIX) == VOCABULARY_PREFIX and uri:sub(#VOCABULARY_PREFIX + 1)
  return VOCABULARIES[name]
end

local function add_vocabulary(dialect, uri)
  for keyword in vocabulary_keywords(uri):gmatch "%S+" do dialect.active[keyword] = true end
  if uri == VOCABULARY_PREFIX .. "format-assertion" then dialect.formats = true end
end

-- The dialect of a meta-schema with `$vocabulary`, which says by URI whether a vocabulary is required. The core
-- vocabulary is part of every dialect.
local function dialect_from_vocabularies(vocabularies, path)
  local dialect = { active = {}, formats = false }
  add_vocabulary(dialect, VOCABULARY_PREFIX .. "core")
  for _, uri in ipairs(values.sorted_names(vocabularies)) do
    if vocabulary_keywords(uri) then
      add_vocabulary(dialect, uri)
    elseif vocabularies[uri] == true then
      errors.reject(path, ("the vocabulary %s is required but unknown"):format(uri))
    end
  end
  return dialect
end

---The dialect that `$schema` names: 2020-12, an older draft, or the vocabularies of a given meta-schema.
---@param registry pintle.schema.registry
---@param name string the value of `$schema`
---@param path string of that keyword
---@return pintle.schema.dialect
function drafts.find_dialect(registry, name, path)
  local uri = references.resolve("", name)
  local draft = find_draft(uri)
  if draft then return draft.dialect end
  local meta_schema = references.find_document(registry, uri)
  if not values.is_object(meta_schema) then
    errors.reject(path, ("the meta-schema %s is not among the documents"):format(name))
  end
  local vocabularies = meta_schema["$vocabulary"]
  return values.is_object(vocabularies) and dialect_from_vocabularies(vocabularies, path) or document.STANDARD
end

-- }======

return drafts
