-- Keywords that apply other schemas: references, combinations, conditions, items, properties; and the checks of
-- unevaluatedItems and unevaluatedProperties, which come after all of them.

local lazy = require "pintle.lazy"
local validation = require "pintle.schema.validation"
local values = require "pintle.schema.values"

local assertions = lazy "pintle.schema.assertions"
local errors = lazy "pintle.schema.errors"
local patterns = lazy "pintle.schema.pattern"

local next = next
local fail_keyword, fail_within, pay_steps = validation.fail_keyword, validation.fail_within, validation.pay_steps
local check_quietly, gather_seen, new_site = validation.check_quietly, validation.gather_seen, validation.new_site
local is_object = values.is_object

---@type table<string, fun(node: pintle.schema.node, context: pintle.schema.context): pintle.schema.check>
local applicators = {}

-- What a branch has evaluated counts only if the value fits the branch.
local function check_branch(check, value, state, seen, site)
  if not seen then return check(value, state) end
  local branch = {}
  if not check(value, state, branch) then return false end
  gather_seen(state, site, seen, branch)
  return true
end

function applicators.allOf(node, context)
  local checks = context.all(node, node.children.allOf)
  local site = new_site("allOf", node.path)
  return function(value, state, seen)
    pay_steps(state, site, #checks)
    for i = 1, #checks do
      if not checks[i](value, state, seen) then return false end
    end
    return true
  end
end

-- Records why a branch does not fit. Three reasons are enough.
local function add_branch_reason(state, reasons)
  if #reasons < 3 then reasons[#reasons + 1] = errors.reason_of(state.failure) else reasons[4] = "..." end
  state.failure = nil
end

-- Tries branches until `enough` of them fit. Returns the indices of the first two that fit and, if the failure is to be
-- explained, the reasons of those that do not.
local function count_matching_branches(checks, value, state, seen, enough, site)
  local first, second
  local reasons = state.explain and {}
  for i = 1, #checks do
    if check_branch(checks[i], value, state, seen, site) then
      if first then second = i end
      first = first or i
      if enough == 1 and not seen or enough == 2 and second then break end
    elseif reasons then
      add_branch_reason(state, reasons)
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
  local none = new_site("anyOf", node.path, no_match_reason(checks, "anyOf"))
  return function(value, state, seen)
    pay_steps(state, none, #checks)
    local first, _, reasons = count_matching_branches(checks, value, state, seen, 1, none)
    return first ~= nil or fail_keyword(state, none, reasons)
  end
end

function applicators.oneOf(node, context)
  local checks = context.all(node, node.children.oneOf)
  local none = new_site("oneOf", node.path, no_match_reason(checks, "oneOf"))
  local several = new_site("oneOf", node.path, function(pair)
    return ("it fits schemas %d and %d in oneOf, and only one may fit"):format(pair[1] - 1, pair[2] - 1)
  end)
  return function(value, state, seen)
    pay_steps(state, none, #checks)
    local first, second, reasons = count_matching_branches(checks, value, state, seen, 2, none)
    if not first then return fail_keyword(state, none, reasons) end
    return not second or fail_keyword(state, several, state.explain and { first, second })
  end
end

applicators["not"] = function(node, context)
  local check = context.one(node, node.children["not"])
  local site = new_site("not", node.path, function() return 'it fits the schema in "not"' end)
  return function(value, state)
    pay_steps(state, site, 1)
    return not check_quietly(state, check, value) or fail_keyword(state, site, value)
  end
end

local function accept_any_property_value() return true end

applicators["if"] = function(node, context)
  local children = node.children
  local check = context.one(node, children["if"])
  local fits_then = children["then"] and context.one(node, children["then"]) or accept_any_property_value
  local fits_else = children["else"] and context.one(node, children["else"]) or accept_any_property_value
  local site = new_site("if", node.path)
  local function check_condition(value, state, seen) return check_branch(check, value, state, seen, site) end
  return function(value, state, seen)
    pay_steps(state, site, 2)
    if check_quietly(state, check_condition, value, seen) then return fits_then(value, state, seen) end
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
  local site = new_site(keyword, node.path, function(reason) return "it is not a valid schema: " .. reason end)
  return function(value, state)
    local reason, path = find_schema_fault(value, structure, function(depth)
      pay_steps(state, site, 1)
      if depth > max_depth then validation.abort(site, "schemas are nested more deeply than the limit allows") end
    end, 1)
    if not reason then return true end
    fail_keyword(state, site, reason)
    for _, token in ipairs(path) do fail_within(state, token) end
    return false
  end
end

-- The check of the target may not be built yet.
local function check_target_later(target)
  return function(value, state, seen) return target.check(value, state, seen) end
end

local function reference_check(node, target, keyword, context)
  if not target then return check_as_schema(node, keyword, context) end
  local check = check_target_later(target)
  if not context.dynamic or target.resource == node.resource then return check end
  return applicators.entering(target.resource, check)
end

applicators["$ref"] = function(node, context) return reference_check(node, node.ref, "$ref", context) end

local function find_outermost_anchor(scope, name)
  for i = 1, #scope do
    local target = scope[i].dynamic[name]
    if target then return target end
  end
end

applicators["$dynamicRef"] = function(node, context)
  local otherwise = reference_check(node, node.dynamic_ref, "$dynamicRef", context)
  local name = node.dynamic_name
  if not name then return otherwise end
  local site = new_site("$dynamicRef", node.path)
  return function(value, state, seen)
    pay_steps(state, site, #state.scope)
    local target = find_outermost_anchor(state.scope, name)
    if target then return target.check(value, state, seen) end
    return otherwise(value, state, seen)
  end
end

-- }======

-- {====== Items ======

function applicators.prefixItems(node, context)
  local checks = context.all(node, node.children.prefixItems)
  local is_array = node.is_array
  local site = new_site("prefixItems", node.path)
  return function(value, state, seen)
    if not is_array(value) then return true end
    local count = math.min(#checks, #value)
    pay_steps(state, site, count)
    for i = 1, count do
      if not checks[i](value[i], state) then return fail_within(state, i - 1) end
      if seen then seen[i] = true end
    end
    return true
  end
end

function applicators.items(node, context)
  local check = context.one(node, node.children.items)
  local first = #(node.children.prefixItems or {}) + 1
  local is_array = node.is_array
  local site = new_site("items", node.path)
  return function(value, state, seen)
    if not is_array(value) then return true end
    local count = #value
    pay_steps(state, site, count)
    for i = first, count do
      if not check(value[i], state) then return fail_within(state, i - 1) end
    end
    if seen then seen[0] = true end
    return true
  end
end

-- Stops at `enough` fitting items, unless `seen` has to get all of them.
local function count_fitting_items(check, value, state, seen, enough)
  local count = 0
  for i = 1, #value do
    if check_quietly(state, check, value[i]) then
      count = count + 1
      if seen then seen[i] = true elseif count >= enough then break end
    end
  end
  return count
end

local function contains_bounds(node)
  local active, schema = node.resource.dialect.active, node.schema
  local least = active.minContains and schema.minContains or 1
  local most = active.maxContains and schema.maxContains or math.huge
  return least, most, most == math.huge and least or most + 1
end

local function contains_reason(bound, count)
  local items = count == 1 and "1 item that fits" or count .. " items that fit"
  return ("expected %s %s the schema in contains"):format(bound, items)
end

-- Items that fit count as evaluated, but not in older drafts.
function applicators.contains(node, context)
  local check = context.one(node, node.children.contains)
  local least, most, enough = contains_bounds(node)
  local is_array, evaluates = node.is_array, not node.resource.dialect.is_older
  local few = new_site(node.schema.minContains and "minContains" or "contains", node.path, function()
    return contains_reason("at least", least)
  end)
  local many = new_site("maxContains", node.path, function() return contains_reason("at most", most) end)
  return function(value, state, seen)
    if not is_array(value) then return true end
    pay_steps(state, few, #value)
    local count = count_fitting_items(check, value, state, evaluates and seen, enough)
    if count < least then return fail_keyword(state, few, value) end
    return count <= most or fail_keyword(state, many, value)
  end
end

function applicators.unevaluatedItems(node, context)
  local child = node.children.unevaluatedItems
  local check, forbidden = context.one(node, child), child.schema == false
  local is_array = node.is_array
  local site = new_site("unevaluatedItems", node.path, function(i) return ("item %d is not allowed"):format(i - 1) end)
  return function(value, state, seen)
    if not is_array(value) then return true end
    pay_steps(state, site, #value)
    for i = 1, #value do
      if not (seen[0] or seen[i]) then
        if forbidden then return fail_keyword(state, site, i) end
        if not check(value[i], state) then return fail_within(state, i - 1) end
      end
    end
    seen[0] = true
    return true
  end
end

-- }======

-- {====== Properties ======

function applicators.properties(node, context)
  local names, checks = context.named(node, node.children.properties)
  local count = #names
  local site = new_site("properties", node.path)
  return function(value, state, seen)
    if not is_object(value) then return true end
    pay_steps(state, site, count)
    for i = 1, count do
      local member = value[names[i]]
      if member ~= nil then
        if not checks[i](member, state) then return fail_within(state, names[i]) end
        if seen then seen[names[i]] = true end
      end
    end
    return true
  end
end

-- Iterates over the members. If a reason is looked for they are sorted, so that the reason is always the same.
local function each_property(object, state)
  if not state.explain then return next, object end
  local keys, i = values.sorted_keys(object), 0
  return function()
    i = i + 1
    return keys[i], object[keys[i]]
  end
end

local function property_pattern_matchers(node, context, site)
  local matchers = {}
  for i, pattern in ipairs(values.sorted_names(node.children.patternProperties or {})) do
    matchers[i] = patterns.matcher(context, pattern, site)
  end
  return matchers
end

local function fits_property_patterns(matchers, checks, name, member, state, seen)
  for i = 1, #matchers do
    if matchers[i](name, state) then
      if not checks[i](member, state) then return fail_within(state, name) end
      if seen then seen[name] = true end
    end
  end
  return true
end

function applicators.patternProperties(node, context)
  local site = new_site("patternProperties", node.path)
  local matchers = property_pattern_matchers(node, context, site)
  local _, checks = context.named(node, node.children.patternProperties)
  return function(value, state, seen)
    if not is_object(value) then return true end
    for name, member in each_property(value, state) do
      pay_steps(state, site, 1)
      if not fits_property_patterns(matchers, checks, name, member, state, seen) then return false end
    end
    return true
  end
end

-- Returns a test for names that properties or patternProperties cover.
local function property_coverage_test(node, context, site)
  local declared = node.children.properties or {}
  local matchers = property_pattern_matchers(node, context, site)
  return function(name, state)
    if declared[name] then return true end
    for i = 1, #matchers do
      if matchers[i](name, state) then return true end
    end
    return false
  end
end

-- The check of every member that is not covered: it must fit the schema of the keyword.
local function check_uncovered_members(node, context, keyword, is_property_covered)
  local child = node.children[keyword]
  local check, forbidden = context.one(node, child), child.schema == false
  local site = new_site(keyword, node.path, function(name)
    return ("property %s is not allowed"):format(errors.brief(name))
  end)
  return function(value, state, seen)
    for name, member in each_property(value, state) do
      pay_steps(state, site, 1)
      if not is_property_covered(name, state, seen) then
        if forbidden then return fail_keyword(state, site, name) end
        if not check(member, state) then return fail_within(state, name) end
      end
    end
    if seen then seen[0] = true end
    return true
  end
end

function applicators.additionalProperties(node, context)
  local is_property_covered = property_coverage_test(node, context, new_site("additionalProperties", node.path))
  local check = check_uncovered_members(node, context, "additionalProperties", is_property_covered)
  return function(value, state, seen) return not is_object(value) or check(value, state, seen) end
end

function applicators.unevaluatedProperties(node, context)
  local function is_property_covered(name, _, seen) return seen[0] or seen[name] end
  local check = check_uncovered_members(node, context, "unevaluatedProperties", is_property_covered)
  return function(value, state, seen) return not is_object(value) or check(value, state, seen) end
end

function applicators.propertyNames(node, context)
  local check = context.one(node, node.children.propertyNames)
  local site = new_site("propertyNames", node.path)
  return function(value, state)
    if not is_object(value) then return true end
    for name in each_property(value, state) do
      pay_steps(state, site, 1)
      if not check(name, state) then
        local failure, reason = state.failure, "the property name %s is invalid: %s"
        if failure then failure.message = reason:format(errors.brief(name), failure.message) end
        return false
      end
    end
    return true
  end
end

function applicators.dependentSchemas(node, context, keyword)
  keyword = keyword or "dependentSchemas"
  local names, checks = context.named(node, node.children[keyword])
  local site = new_site(keyword, node.path)
  return function(value, state, seen)
    if not is_object(value) then return true end
    pay_steps(state, site, #names)
    for i = 1, #names do
      if value[names[i]] ~= nil and not checks[i](value, state, seen) then return false end
    end
    return true
  end
end

-- In older drafts, one keyword for dependentSchemas and dependentRequired.
function applicators.dependencies(node, context)
  local needs = {}
  for name, need in next, node.schema.dependencies do
    if values.is_array(need) then needs[name] = need end
  end
  local has_needs = assertions.dependentRequired(node, context, "dependencies", needs)
  local fits = applicators.dependentSchemas(node, context, "dependencies")
  return function(value, state, seen) return has_needs(value, state) and fits(value, state, seen) end
end

-- }======

-- {====== Unevaluated items and properties ======

local function unevaluated_checks(node, context)
  local active, schema = node.resource.dialect.active, node.schema
  local checks = {}
  if active.unevaluatedItems and schema.unevaluatedItems ~= nil then
    checks[1] = applicators.unevaluatedItems(node, context)
  end
  if active.unevaluatedProperties and schema.unevaluatedProperties ~= nil then
    checks[#checks + 1] = applicators.unevaluatedProperties(node, context)
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
  local site = new_site(keyword, node.path)
  return function(value, state, seen)
    if type(value) ~= "table" then return check(value, state) end
    local own = {}
    if not check(value, state, own) then return false end
    for i = 1, #checks do
      if not checks[i](value, state, own) then return false end
    end
    if seen then gather_seen(state, site, seen, own) end
    return true
  end
end

-- }======

return applicators
