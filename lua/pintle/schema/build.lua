-- Turns schemas that are linked into functions.

local lazy = require "pintle.lazy"
local run = require "pintle.schema.run"
local values = require "pintle.schema.values"

local applicators = lazy "pintle.schema.applicators"
local arrays = lazy "pintle.schema.arrays"
local assertions = lazy "pintle.schema.assertions"
local dependencies = lazy "pintle.schema.dependencies"
local members = lazy "pintle.schema.members"
local numbers = lazy "pintle.schema.numbers"
local objects = lazy "pintle.schema.objects"
local references = lazy "pintle.schema.references"
local strings = lazy "pintle.schema.strings"
local unevaluated = lazy "pintle.schema.unevaluated"

---What the keywords are built with.
---@class pintle.schema.context
---@field dynamic boolean whether the dynamic scope matters to anybody
---@field limits pintle.schema.limits
---@field either boolean whether a table without items and mark may be an array
---@field formats boolean whether `format` is an assertion everywhere
---@field patterns table<string, pintle.schema.regex> those that were met
---@field one fun(parent: pintle.schema.node, child: pintle.schema.node): pintle.schema.check
---@field all fun(parent: pintle.schema.node, children: pintle.schema.node[]): pintle.schema.check[]
---@field named fun(parent: pintle.schema.node, children: table<string, pintle.schema.node>?): string[],
---pintle.schema.check[] names in order, and the check of each

local build = {}

-- In this order: what costs little comes first, and what fails first is what is told.
local ORDER = {
  { assertions, "type enum const" },
  { numbers, "multipleOf minimum exclusiveMinimum maximum exclusiveMaximum" },
  { strings, "minLength maxLength pattern format" },
  { arrays, "minItems maxItems uniqueItems" },
  { members, "minProperties maxProperties" },
  { objects, "required" },
  { dependencies, "dependentRequired" },
  { members, "propertyNames" },
  { objects, "properties" },
  { members, "patternProperties additionalProperties" },
  { arrays, "prefixItems items contains" },
  { dependencies, "dependentSchemas dependencies" },
  { references, "$ref $dynamicRef" },
  { applicators, "allOf anyOf oneOf not if" },
}

local BUILDERS = {}
for _, row in ipairs(ORDER) do
  for keyword in row[2]:gmatch "%S+" do BUILDERS[#BUILDERS + 1] = { keyword = keyword, part = row[1] } end
end

local function checks_of(node, context)
  local checks, active = {}, node.resource.dialect.active
  for _, builder in ipairs(BUILDERS) do
    if node.schema[builder.keyword] ~= nil and active[builder.keyword] then
      checks[#checks + 1] = builder.part[builder.keyword](node, context)
    end
  end
  return checks
end

local function always() return true end

local function never(node)
  local site = run.site("false", node.path, function() return "no value is allowed here" end)
  site.path = node.path
  return function(value, state) return run.fail(state, site, value) end
end

local function in_turn(checks)
  local first, second = checks[1], checks[2]
  if #checks == 0 then return always end
  if #checks == 1 then return first end
  if #checks == 2 then
    return function(value, state, seen) return first(value, state, seen) and second(value, state, seen) end
  end
  return function(value, state, seen)
    for i = 1, #checks do
      if not checks[i](value, state, seen) then return false end
    end
    return true
  end
end

-- Schemas that hold others can be in one another without end.
local function bounded(node, check, limits)
  local most = limits.depth
  local site = { keyword = "$ref", path = node.path }
  return function(value, state, seen)
    local depth = state.depth + 1
    if depth > most then run.abort(site, "schemas are applied in one another more deeply than the limit allows") end
    state.depth = depth
    local fits = check(value, state, seen)
    state.depth = depth - 1
    return fits
  end
end

local function is_filled_object(value) return values.is_object(value) and next(value) ~= nil end

local function set_predicates(node, context)
  local lenient = context.either and values.wants_array(node.schema)
  node.is_array = lenient and values.is_list or values.is_array
  node.is_object = lenient and is_filled_object or values.is_object
end

local function check_of(node, context)
  if node.schema == true then return always end
  if node.schema == false then return never(node) end
  set_predicates(node, context)
  local check = in_turn(checks_of(node, context))
  if node.schema.unevaluatedItems ~= nil or node.schema.unevaluatedProperties ~= nil then
    check = unevaluated.around(node, context, check)
  end
  local is_leaf = next(node.children) == nil and not node.ref and not node.dynamic_ref
  return is_leaf and check or bounded(node, check, context.limits)
end

local function finish(node, context)
  if not node.check then node.check = check_of(node, context) end
  return node.check
end

local function add_ways(context)
  function context.one(parent, child)
    local check = finish(child, context)
    if not context.dynamic or child.resource == parent.resource then return check end
    return references.entering(child.resource, check)
  end

  function context.all(parent, children)
    local checks = {}
    for i, child in ipairs(children) do checks[i] = context.one(parent, child) end
    return checks
  end

  function context.named(parent, children)
    local names, checks = values.sorted_names(children or {}), {}
    for i, name in ipairs(names) do checks[i] = context.one(parent, children[name]) end
    return names, checks
  end
end

---@param context pintle.schema.context without its functions
---@param reached pintle.schema.node[] the root, and all that references lead to
---@return pintle.schema.check
function build.all(context, reached)
  add_ways(context)
  for _, node in ipairs(reached) do finish(node, context) end
  local root = reached[1]
  return context.dynamic and references.entering(root.resource, root.check) or root.check
end

return build
