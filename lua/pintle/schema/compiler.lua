-- Builds the checks of a schema: functions that a validation runs. Also has the keyword `type`.

local lazy = require "pintle.lazy"
local run = require "pintle.schema.run"
local values = require "pintle.schema.values"

local applicators = lazy "pintle.schema.keywords.applicators"
local assertions = lazy "pintle.schema.keywords.assertions"
local containers = lazy "pintle.schema.keywords.containers"
local errors = lazy "pintle.schema.errors"

local type, next = type, next
local fail, null = run.fail, values.null

---Passed to the functions that build the check of a keyword.
---@class pintle.schema.context
---@field dynamic boolean whether any reference depends on the dynamic scope
---@field limits pintle.schema.limits
---@field either boolean whether an unmarked empty table may be an array
---@field formats boolean whether `format` is an assertion everywhere
---@field patterns table<string, pintle.schema.regex> the patterns compiled so far
---@field one fun(parent: pintle.schema.node, child: pintle.schema.node): pintle.schema.check
---@field all fun(parent: pintle.schema.node, children: pintle.schema.node[]): pintle.schema.check[]
---@field named fun(parent: pintle.schema.node, children: table<string, pintle.schema.node>?): string[],
---pintle.schema.check[] sorted names, and the check of each

local compiler = {}

-- {====== The keyword `type` ======

local TESTS = {
  string = function(value) return type(value) == "string" end,
  number = function(value) return type(value) == "number" end,
  boolean = function(value) return type(value) == "boolean" end,
  integer = values.is_integer,
  null = function(value) return value == null end,
}

local function type_test(node, name)
  if name == "array" then return node.is_array end
  if name == "object" then return node.is_object end
  return TESTS[name]
end

local function any_type_test(tests)
  return function(value)
    for i = 1, #tests do
      if tests[i](value) then return true end
    end
    return false
  end
end

-- A Lua program may have meant an unmarked empty table as an array.
local function type_reason(schema, names)
  local describe = run.expected(function() return errors.enumerate(names, "or") end)
  return function(value)
    local reason = describe(value)
    if values.allows_type(schema, "array") and errors.type_name(value) == "object" and next(value) == nil then
      return reason .. " (an empty table is an object unless it is marked as an array)"
    end
    return reason
  end
end

local types = {}

function types.type(node)
  local names = type(node.schema.type) == "table" and node.schema.type or { node.schema.type }
  local tests = {}
  for i, name in ipairs(names) do tests[i] = type_test(node, name) end
  local test = #tests == 1 and tests[1] or any_type_test(tests)
  local site = run.site("type", node.path, type_reason(node.schema, names))
  return function(value, state) return test(value) or fail(state, site, value) end
end

-- }======

-- The order of the checks: cheap ones come first. It decides which failure is reported if a value has several.
local ORDER = {
  { types, "type" },
  { assertions, "enum const multipleOf minimum exclusiveMinimum maximum exclusiveMaximum" },
  { assertions, "minLength maxLength pattern format" },
  { containers, "minItems maxItems" },
  { assertions, "uniqueItems" },
  { containers, "minProperties maxProperties required dependentRequired propertyNames properties" },
  { containers, "patternProperties additionalProperties prefixItems items contains dependentSchemas dependencies" },
  { applicators, "$ref $dynamicRef allOf anyOf oneOf not if" },
}

local BUILDERS = {}
for _, row in ipairs(ORDER) do
  for keyword in row[2]:gmatch "%S+" do BUILDERS[#BUILDERS + 1] = { keyword = keyword, part = row[1] } end
end

local function build_keyword_checks(node, context)
  local checks, active = {}, node.resource.dialect.active
  for _, builder in ipairs(BUILDERS) do
    if node.schema[builder.keyword] ~= nil and active[builder.keyword] then
      checks[#checks + 1] = builder.part[builder.keyword](node, context)
    end
  end
  return checks
end

local function accept_any() return true end

local function new_rejection(node)
  local site = run.site("false", node.path, function() return "no value is allowed here" end)
  site.path = node.path
  return function(value, state) return run.fail(state, site, value) end
end

local function check_all_of(checks)
  local first, second = checks[1], checks[2]
  if #checks == 0 then return accept_any end
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

-- Schemas that apply others can apply one another endlessly.
local function with_depth_limit(node, check, limits)
  local max_depth = limits.depth
  local site = { keyword = "$ref", path = node.path }
  return function(value, state, seen)
    local depth = state.depth + 1
    if depth > max_depth then run.abort(site, "schemas are applied more deeply than the limit allows") end
    state.depth = depth
    local fits = check(value, state, seen)
    state.depth = depth - 1
    return fits
  end
end

local function is_nonempty_object(value) return values.is_object(value) and next(value) ~= nil end

local function set_predicates(node, context)
  local lenient = context.either and values.wants_array(node.schema)
  node.is_array = lenient and values.is_list or values.is_array
  node.is_object = lenient and is_nonempty_object or values.is_object
end

local function build_check(node, context)
  if node.schema == true then return accept_any end
  if node.schema == false then return new_rejection(node) end
  set_predicates(node, context)
  local check = check_all_of(build_keyword_checks(node, context))
  if node.schema.unevaluatedItems ~= nil or node.schema.unevaluatedProperties ~= nil then
    check = applicators.with_unevaluated(node, context, check)
  end
  local is_leaf = next(node.children) == nil and not node.ref and not node.dynamic_ref
  return is_leaf and check or with_depth_limit(node, check, context.limits)
end

local function build_check_once(node, context)
  if not node.check then node.check = build_check(node, context) end
  return node.check
end

local function add_functions(context)
  function context.one(parent, child)
    local check = build_check_once(child, context)
    if not context.dynamic or child.resource == parent.resource then return check end
    return applicators.entering(child.resource, check)
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
---@param reached pintle.schema.node[] the root, and all targets of references
---@return pintle.schema.check
function compiler.build(context, reached)
  add_functions(context)
  for _, node in ipairs(reached) do build_check_once(node, context) end
  local root = reached[1]
  return context.dynamic and applicators.entering(root.resource, root.check) or root.check
end

return compiler
