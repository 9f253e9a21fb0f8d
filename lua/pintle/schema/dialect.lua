-- Which keywords a schema may use, as its `$schema` says.

local lazy = require "pintle.lazy"
local refusal = require "pintle.schema.refusal"
local values = require "pintle.schema.values"

local historic = lazy "pintle.schema.historic"
local uris = lazy "pintle.schema.uri"
local vocabulary = lazy "pintle.schema.vocabulary"

---@class pintle.schema.dialect
---@field active table<string, true> the keywords that mean something
---@field formats boolean whether `format` is an assertion
---@field modernize? fun(schema: table): table an older draft's schema in the keywords of 2020-12
local dialect = {}

---That of draft 2020-12: whatever means something anywhere means it there.
---@type pintle.schema.dialect
dialect.STANDARD = {
  active = setmetatable({}, { __index = function() return true end }),
  formats = false,
}
dialect.URI = "https://json-schema.org/draft/2020-12/schema"

local function of_older_draft(modernize)
  return { active = dialect.STANDARD.active, formats = false, modernize = modernize }
end

---@param name string what `$schema` says
---@param find fun(uri: string): any gives the document that has the URI
---@param path string where it says so
---@return pintle.schema.dialect
function dialect.named(name, find, path)
  if name == dialect.URI then return dialect.STANDARD end
  local uri = uris.resolve("", name)
  if uri == dialect.URI then return dialect.STANDARD end
  if historic.drafts[uri] then return of_older_draft(historic.drafts[uri]) end
  local document = find(uri)
  if values.is_object(document) then
    local vocabularies = document["$vocabulary"]
    return values.is_object(vocabularies) and vocabulary.dialect(vocabularies, path) or dialect.STANDARD
  end
  return refusal.raise(path, ("the meta-schema %s is not among the documents"):format(name))
end

return dialect
