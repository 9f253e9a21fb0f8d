-- The keywords of draft 2020-12 by their vocabularies.

local refusal = require "pintle.schema.refusal"
local values = require "pintle.schema.values"

local PREFIX = "https://json-schema.org/draft/2020-12/vocab/"

---@class pintle.schema.vocabulary
local vocabulary = {}

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

local function add(dialect, uri)
  for keyword in keywords_of(uri):gmatch "%S+" do dialect.active[keyword] = true end
  if uri == PREFIX .. "format-assertion" then dialect.formats = true end
end

---The dialect that a meta-schema makes by what it says of vocabularies. The core is a part of every one.
---@param vocabularies table<string, boolean> by URI, whether they have to be known
---@param path string where it is asked for
---@return pintle.schema.dialect
function vocabulary.dialect(vocabularies, path)
  local dialect = { active = {}, formats = false }
  add(dialect, PREFIX .. "core")
  for _, uri in ipairs(values.sorted_names(vocabularies)) do
    if keywords_of(uri) then
      add(dialect, uri)
    elseif vocabularies[uri] == true then
      refusal.raise(path, ("the vocabulary %s is required and not known"):format(uri))
    end
  end
  return dialect
end

return vocabulary
