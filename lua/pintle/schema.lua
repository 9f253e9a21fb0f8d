-- JSON Schema, draft 2020-12: a schema is compiled once, into functions that check values.

local lazy = require "pintle.lazy"
local flat_completer = require "pintle.schema.flat"
local libraries = require "pintle.schema.library"
local refusal = require "pintle.schema.refusal"

local build = lazy "pintle.schema.build"
local defaults = lazy "pintle.schema.defaults"
local link = lazy "pintle.schema.link"
local options = lazy "pintle.schema.options"
local run = lazy "pintle.schema.run"
local uris = lazy "pintle.schema.uri"

---@class pintle.schema
local schema = {}

---Bounds: neither schemas nor values are trusted.
---@class pintle.schema.limits
---@field nesting? integer nesting of schemas as they are written: 200
---@field schemas? integer schemas in all documents together: 20000
---@field path? integer bytes of the path to a schema: 4096
---@field pattern? integer bytes of a pattern: 8192
---@field depth? integer nesting of schemas as they are applied, references included: 8000
---@field steps? integer steps of one validation, about one for each schema applied: 10000000
---@field match? integer backtracking of one match of a pattern: 1000000
local LIMITS = {
  nesting = 200, schemas = 20000, path = 4096, pattern = 8192, depth = 8000, steps = 10000000, match = 1000000,
}

---A compiled schema. Calling it is the same as `validate`.
---@class pintle.schema.validator
---@overload fun(value: any, stop: pintle.schema.stop?): true?, pintle.schema.error?
local methods = {}
local validator_mt = { __name = "pintle.schema.validator", __index = methods }

-- Makes the checks, for the first value.
local function prepare(self)
  self.run = run.new()
  self.check = build.all(self.context, self.reached)
end

---@param value any
---@param stop? pintle.schema.stop
---@return true? valid, pintle.schema.error? err the first failure
function methods:validate(value, stop)
  if self.complete and self.complete(value) then return true end
  if not self.check then prepare(self) end
  return self.run:validate(self.check, value, self.limits, stop)
end

validator_mt.__call = methods.validate

---Fills in the `default` of missing properties, at any depth, through properties, items, prefixItems, allOf and $ref.
---Nulls stay. The value given is not changed: parts of it are copied where needed.
---@param value any nil is missing, too
---@param stop? pintle.schema.stop
---@return any value, pintle.schema.error? err with nil, if a limit is exceeded
function methods:defaults(value, stop)
  if not self.has_defaults then return value end
  self.fill_in = self.fill_in or defaults.filler(self.root, self.limits)
  return self.fill_in(value, stop)
end

-- The checks find wrong patterns and formats.
local function is_doubtful(keywords, given)
  return keywords.pattern or keywords.patternProperties or keywords.format and (given.formats or keywords["$schema"])
end

local function compile(document, given, limits)
  local library = libraries.new(given.documents or {}, limits)
  local root = library:add(given.base and uris.resolve("", given.base) or "", document, "")
  local reached, dynamic, keywords = { root }, false, library.keywords
  if keywords["$ref"] or keywords["$dynamicRef"] then reached, dynamic = link.reach(library, root) end
  local self = setmetatable({
    root = root, reached = reached, limits = limits, has_defaults = keywords.default,
    complete = flat_completer(document, keywords),
    context = {
      dynamic = dynamic, limits = limits, either = given.unmarked_empty == "either", formats = given.formats,
      patterns = {},
    },
  }, validator_mt)
  if is_doubtful(keywords, given) then prepare(self) end
  return self
end

---@param document any a schema: a table, or a boolean
---@param given? pintle.schema.options
---@return pintle.schema.validator? validate, string? message where the schema is wrong, and why
function schema.compile(document, given)
  if not given then return refusal.catch(compile, document, {}, LIMITS) end
  options.check(given)
  return refusal.catch(compile, document, given, options.limits(LIMITS, given.limits))
end

return schema
