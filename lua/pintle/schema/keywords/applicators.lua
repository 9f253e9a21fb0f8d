-- Keywords that apply other schemas to the same value: references, combinations, conditions; and the checks of
-- unevaluatedItems and unevaluatedProperties, which come after all of them.

local lazy = require "pintle.lazy"
local run = require "pintle.schema.run"

local containers = lazy "pintle.schema.keywords.containers"
local errors = lazy "pintle.schema.errors"

local fail, gather, pay, quietly, site_of = run.fail, run.gather, run.pay, run.quietly, run.site

---@type table<string, fun(node: pintle.schema.node, context: pintle.schema.context): pintle.schema.check>
local applicators = {}

-- What a branch has evaluated counts only if the value fits the branch.
local function check_quietly(check, value, state, seen, site)
  if not seen then return check(value, state) end
  local branch = {}
  if not check(value, state, branch) then return false end
  gather(state, site, seen, branch)
  return true
end

function applicators.allOf(node, context)
  local checks = context.all(node, node.children.allOf)
  local site = site_of("allOf", node.path)
  return function(value, state, seen)
    pay(state, site, #checks)
    for i = 1, #checks do
      if not checks[i](value, state, seen) then return false end
    end
    return true
  end
end

-- Records why a branch does not fit. Three reasons are enough.
local function add_reason(state, reasons)
  if #reasons < 3 then reasons[#reasons + 1] = errors.reason_of(state.failure) else reasons[4] = "..." end
  state.failure = nil
end

-- Tries branches until `enough` of them fit. Returns the indices of the first two that fit and, if the failure is to be
-- explained, the reasons of those that do not.
local function count_matches(checks, value, state, seen, enough, site)
  local first, second
  local reasons = state.explain and {}
  for i = 1, #checks do
    if check_quietly(checks[i], value, state, seen, site) then
      if first then second = i end
      first = first or i
      if enough == 1 and not seen or enough == 2 and second then break end
    elseif reasons then
      add_reason(state, reasons)
    end
  end
  return first, second, reasons
end

local function no_match_reason(checks, keyword)
  local reason = #checks == 1 and "it does not fit the schema" or ("it fits none of the %d schemas"):format(#checks)
  return function(reasons) return ("%s in %s: %s"):format(reason, keyword, table.concat(reasons, "; ")) end
end

function applicators.anyOf(node, context)
  local checks = context.all(node, node.children.anyOf)
  local none = site_of("anyOf", node.path, no_match_reason(checks, "anyOf"))
  return function(value, state, seen)
    pay(state, none, #checks)
    local first, _, reasons = count_matches(checks, value, state, seen, 1, none)
    return first ~= nil or fail(state, none, reasons)
  end
end

function applicators.oneOf(node, context)
  local checks = context.all(node, node.children.oneOf)
  local none = site_of("oneOf", node.path, no_match_reason(checks, "oneOf"))
  local several = site_of("oneOf", node.path, function(pair)
    return ("it fits schemas %d and %d in oneOf, and only one may fit"):format(pair[1] - 1, pair[2] - 1)
  end)
  return function(value, state, seen)
    pay(state, none, #checks)
    local first, second, reasons = count_matches(checks, value, state, seen, 2, none)
    if not first then return fail(state, none, reasons) end
    return not second or fail(state, several, state.explain and { first, second })
  end
end

applicators["not"] = function(node, context)
  local check = context.one(node, node.children["not"])
  local site = site_of("not", node.path, function() return 'it fits the schema in "not"' end)
  return function(value, state)
    pay(state, site, 1)
    return not quietly(state, check, value) or fail(state, site, value)
  end
end

local function accept_any() return true end

applicators["if"] = function(node, context)
  local children = node.children
  local check = context.one(node, children["if"])
  local fits_then = children["then"] and context.one(node, children["then"]) or accept_any
  local fits_else = children["else"] and context.one(node, children["else"]) or accept_any
  local site = site_of("if", node.path)
  local function check_condition(value, state, seen) return check_quietly(check, value, state, seen, site) end
  return function(value, state, seen)
    pay(state, site, 2)
    if quietly(state, check_condition, value, seen) then return fits_then(value, state, seen) end
    return fits_else(value, state, seen)
  end
end

-- {====== References ======

---A check that enters the resource first. The entered resources are the dynamic scope, in which $dynamicRef looks for
---the first one that has the anchor. So entering a resource again changes nothing.
---@param resource pintle.schema.resource
---@param check pintle.schema.check
---@return pintle.schema.check
function applicators.entering(resource, check)
  return function(value, state, seen)
    if state.inside[resource] then return check(value, state, seen) end
    local scope = state.scope
    local place = #scope + 1
    scope[place], state.inside[resource] = resource, true
    local fits = check(value, state, seen)
    scope[place], state.inside[resource] = nil, nil
    return fits
  end
end

-- Finds the first fault in a value that should be a schema, or in the schemas in it. Returns the reason, and the path
-- with the innermost token first. `count` is called for every schema, with the depth of its nesting.
local function find_schema_fault(schema, structure, count, depth)
  count(depth)
  local fault, reason = structure.find_fault(schema)
  if reason then return reason, { fault } end
  if type(schema) == "boolean" then return nil end
  local path
  structure.each_child(schema, function(child, keyword, key)
    if reason then return end
    reason, path = find_schema_fault(child, structure, count, depth + 1)
    if not reason then return end
    path[#path + 1] = math.type(key) == "integer" and key - 1 or key
    path[#path + 1] = keyword
  end)
  return reason, path
end

-- Stands for the meta-schema of a draft if it was not given.
local function check_as_schema(node, keyword, context)
  local structure, max_depth = node.structures[keyword], context.limits.depth
  local site = site_of(keyword, node.path, function(reason) return "it is not a valid schema: " .. reason end)
  return function(value, state)
    local reason, path = find_schema_fault(value, structure, function(depth)
      pay(state, site, 1)
      if depth > max_depth then run.abort(site, "schemas are nested more deeply than the limit allows") end
    end, 1)
    if not reason then return true end
    state:fail(site, reason)
    for _, token in ipairs(path) do state:within(token) end
    return false
  end
end

-- The check of the target may not be built yet.
local function check_later(target) return function(value, state, seen) return target.check(value, state, seen) end end

local function follow_reference(node, target, keyword, context)
  if not target then return check_as_schema(node, keyword, context) end
  local check = check_later(target)
  if not context.dynamic or target.resource == node.resource then return check end
  return applicators.entering(target.resource, check)
end

applicators["$ref"] = function(node, context) return follow_reference(node, node.ref, "$ref", context) end

local function find_outermost(scope, name)
  for i = 1, #scope do
    local target = scope[i].dynamic[name]
    if target then return target end
  end
end

applicators["$dynamicRef"] = function(node, context)
  local otherwise = follow_reference(node, node.dynamic_ref, "$dynamicRef", context)
  local name = node.dynamic_name
  if not name then return otherwise end
  local site = site_of("$dynamicRef", node.path)
  return function(value, state, seen)
    pay(state, site, #state.scope)
    local target = find_outermost(state.scope, name)
    if target then return target.check(value, state, seen) end
    return otherwise(value, state, seen)
  end
end

-- }======

-- {====== Unevaluated items and properties ======

local function unevaluated_checks(node, context)
  local active, schema = node.resource.dialect.active, node.schema
  local checks = {}
  if active.unevaluatedItems and schema.unevaluatedItems ~= nil then
    checks[1] = containers.unevaluatedItems(node, context)
  end
  if active.unevaluatedProperties and schema.unevaluatedProperties ~= nil then
    checks[#checks + 1] = containers.unevaluatedProperties(node, context)
  end
  return checks
end

---A check followed by unevaluatedItems and unevaluatedProperties, if the schema has them. They get what the check has
---evaluated, and outer schemas get what all of them have.
---@param node pintle.schema.node
---@param context pintle.schema.context
---@param check pintle.schema.check
---@return pintle.schema.check
function applicators.with_unevaluated(node, context, check)
  local checks = unevaluated_checks(node, context)
  if #checks == 0 then return check end
  local keyword = node.schema.unevaluatedProperties ~= nil and "unevaluatedProperties" or "unevaluatedItems"
  local site = site_of(keyword, node.path)
  return function(value, state, seen)
    if type(value) ~= "table" then return check(value, state) end
    local own = {}
    if not check(value, state, own) then return false end
    for i = 1, #checks do
      if not checks[i](value, state, own) then return false end
    end
    if seen then gather(state, site, seen, own) end
    return true
  end
end

-- }======

return applicators
