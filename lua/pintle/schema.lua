-- JSON Schema, draft 2020-12: a schema is compiled once, into functions that check values.

local document = require "pintle.schema.document"
local json = require("pintle.core").json
local lazy = require "pintle.lazy"
local shallow_copy = require("pintle.schema.values").shallow_copy

local errors = lazy "pintle.schema.errors"
local option_checks = lazy "pintle.options"
local references = lazy "pintle.schema.references"
local validation = lazy "pintle.schema.validation"

local type, next, kind_of = type, next, json.kind

---@class pintle.schema
local schema = {}

---@class pintle.schema.options
---@field documents? table<string, any> schemas that may be referred to, by URI; nothing is ever fetched
---@field base? string the URI of the schema itself, if it has no $id
---@field formats? boolean whether `format` is an assertion; default: only if the meta-schema of the schema is among the
---documents and has the vocabulary for it
---@field unmarked_empty? "object"|"either" what an empty table is that is not marked as an array: an object, as for
---the codec (default), or also an array if `type` allows arrays and no objects
---@field limits? pintle.schema.limits
local OPTIONS = {
  documents = "table", base = "string", formats = "boolean", unmarked_empty = "string", limits = "table",
}

---Limits, since neither schemas nor values are trusted.
---@class pintle.schema.limits
---@field nesting? integer nesting of schemas in the documents; default: 200
---@field schemas? integer schemas in all documents together; default: 20000
---@field path? integer bytes of the path to a schema; default: 4096
---@field pattern? integer bytes of a pattern; default: 8192
---@field depth? integer nesting of schemas during a validation, references included; default: 8000
---@field steps? integer steps of one validation, about one for each schema applied; default: 10000000
---@field match? integer backtracking of one match of a pattern; default: 1000000
local LIMITS = {
  nesting = 200, schemas = 20000, path = 4096, pattern = 8192, depth = 8000, steps = 10000000, match = 1000000,
}

-- {====== Flat schemas ======

-- Most schemas of arguments are flat: an object of strings, numbers and booleans. For those, one short function accepts
-- nearly every valid value. All other values go through the checks of the keywords.

local FLAT_KEYWORDS = {
  ["$schema"] = true, title = true, description = true, default = true, examples = true, type = true, required = true,
  properties = true,
}

-- The function that returns the type of a value, by the types of flat schemas.
local TYPE_FUNCTIONS = { string = type, boolean = type, integer = math.type, number = type }

-- Returns nil if a property is not that simple.
local function read_flat_properties(properties)
  local names, type_functions, types, default_values = {}, {}, {}, {}
  for name, property in next, properties do
    local type_of, i = type(property) == "table" and TYPE_FUNCTIONS[property.type], #names + 1
    if not type_of then return nil end
    local expected, default = property.type, property.default
    if default ~= nil and type_of(default) ~= expected then return nil end
    names[i], type_functions[i], types[i], default_values[name] = name, type_of, expected, default
  end
  return names, type_functions, types, default_values
end

local function new_flat_completer(names, type_functions, types, is_required, default_values)
  local count = #names
  return function(value)
    if kind_of(value) ~= "object" then return nil end
    local full = value
    for i = 1, count do
      local name = names[i]
      local member = value[name]
      if member == nil then
        local default = default_values[name]
        if is_required[name] then return nil end
        if default ~= nil then
          if full == value then full = shallow_copy(value) end
          full[name] = default
        end
      elseif type_functions[i](member) ~= types[i] then
        return nil
      end
    end
    return full
  end
end

-- For a flat schema, a function that returns a valid value with its defaults, or nil if it cannot tell. For any other
-- schema nil. `keywords` is the set of all keywords in it.
local function flat_completer(root_schema, keywords)
  for keyword in next, keywords do
    if not FLAT_KEYWORDS[keyword] then return nil end
  end
  if type(root_schema) ~= "table" or root_schema.type ~= "object" then return nil end
  local properties, is_required = root_schema.properties or {}, {}
  local names, type_functions, types, default_values = read_flat_properties(properties)
  if not names or keywords["$schema"] and next(default_values) then return nil end
  for _, name in ipairs(root_schema.required or {}) do
    if properties[name] == nil or default_values[name] ~= nil then return nil end
    is_required[name] = true
  end
  return new_flat_completer(names, type_functions, types, is_required, default_values)
end

-- }======

---A compiled schema. Calling it is the same as `validate`.
---@class pintle.schema.validator
---@overload fun(value: any, stop: pintle.schema.stop?): true?, pintle.schema.error?
local methods = {}
local validator_mt = { __name = "pintle.schema.validator", __index = methods }

-- Builds the checks. That is put off until the first value that needs them.
local function build_checks(self)
  self.run = validation.new_run()
  self.check = validation.build_checks(self.context, self.reached)
end

---@param value any
---@param stop? pintle.schema.stop
---@return true? valid, pintle.schema.error? err the first failure
function methods:validate(value, stop)
  if self.complete and self.complete(value) then return true end
  if not self.check then build_checks(self) end
  return self.run:validate(self.check, value, self.limits, stop)
end

validator_mt.__call = methods.validate

---Fills in the `default` of missing properties, at any depth, through properties, items, prefixItems, allOf and $ref.
---A null is not missing. The value given is not changed: parts of it are copied where needed.
---@param value any nil counts as missing
---@param stop? pintle.schema.stop
---@return any value, pintle.schema.error? err with nil, if a limit is exceeded
function methods:defaults(value, stop)
  if not self.has_defaults then return value end
  self.fill_in = self.fill_in or validation.new_filler(self.root, self.limits)
  return self.fill_in(value, stop)
end

-- Invalid patterns and unknown formats are only found by building the checks.
local function must_build_checks(keywords, options)
  return keywords.pattern or keywords.patternProperties or keywords.format and (options.formats or keywords["$schema"])
end

local function compile_schema(root_schema, options, limits)
  local registry = document.new_registry(options.documents or {}, limits)
  local uri = options.base and references.resolve("", options.base) or ""
  local root = registry:add_document(uri, root_schema, "")
  local reached, dynamic, keywords = { root }, false, registry.keywords
  if keywords["$ref"] or keywords["$dynamicRef"] then reached, dynamic = references.link(registry, root) end
  local self = setmetatable({
    root = root, reached = reached, limits = limits, has_defaults = keywords.default,
    complete = flat_completer(root_schema, keywords),
    context = {
      dynamic = dynamic, limits = limits, either = options.unmarked_empty == "either", formats = options.formats,
      patterns = {},
    },
  }, validator_mt)
  if must_build_checks(keywords, options) then build_checks(self) end
  return self
end

-- Raises at the level of the caller's caller.
local function check_schema_options(options)
  option_checks.check_types("schema", options, OPTIONS, 3)
  for uri in pairs(options.documents or {}) do
    if type(uri) ~= "string" then error("schema: documents: the keys are URIs, got a " .. type(uri), 3) end
  end
  local empty = options.unmarked_empty
  if empty and empty ~= "object" and empty ~= "either" then
    error('schema: unmarked_empty: "object" or "either" expected', 3)
  end
end

-- Raises at the level of the caller's caller.
local function merge_schema_limits(changes)
  local limits = {}
  for name, value in pairs(LIMITS) do limits[name] = value end
  for name, value in pairs(changes or {}) do
    if not LIMITS[name] then error(("schema: there is no limit %q"):format(tostring(name)), 3) end
    if math.type(value) ~= "integer" or value < 1 then
      error(("schema: limit %s: an integer above 0 expected"):format(name), 3)
    end
    limits[name] = value
  end
  return limits
end

---@param root_schema any a table or a boolean
---@param options? pintle.schema.options
---@return pintle.schema.validator? validate, string? message where the schema is wrong, and why
function schema.compile(root_schema, options)
  local limits = LIMITS
  if options then
    check_schema_options(options)
    limits = merge_schema_limits(options.limits)
  end
  local ok, result = pcall(compile_schema, root_schema, options or {}, limits)
  if ok then return result end
  return nil, errors.rejection_message(result)
end

return schema
