-- Keywords for arrays and objects.

local lazy = require "pintle.lazy"
local run = require "pintle.schema.run"
local values = require "pintle.schema.values"

local errors = lazy "pintle.schema.errors"
local patterns = lazy "pintle.schema.pattern"

local next = next
local fail, pay, within, quietly, site_of = run.fail, run.pay, run.within, run.quietly, run.site
local is_object = values.is_object

---@type table<string, fun(node: pintle.schema.node, context: pintle.schema.context): pintle.schema.check>
local containers = {}

-- {====== Arrays ======

local function item_count(count) return count == 1 and "1 item" or count .. " items" end

function containers.maxItems(node)
  local most, is_array = node.schema.maxItems, node.is_array
  local site = site_of("maxItems", node.path, function(value)
    return ("expected at most %s, got %d"):format(item_count(most), #value)
  end)
  return function(value, state) return not is_array(value) or #value <= most or fail(state, site, value) end
end

function containers.minItems(node)
  local least, is_array = node.schema.minItems, node.is_array
  local site = site_of("minItems", node.path, function(value)
    return ("expected at least %s, got %d"):format(item_count(least), #value)
  end)
  return function(value, state) return not is_array(value) or #value >= least or fail(state, site, value) end
end

function containers.prefixItems(node, context)
  local checks = context.all(node, node.children.prefixItems)
  local is_array = node.is_array
  local site = site_of("prefixItems", node.path)
  return function(value, state, seen)
    if not is_array(value) then return true end
    local count = math.min(#checks, #value)
    pay(state, site, count)
    for i = 1, count do
      if not checks[i](value[i], state) then return within(state, i - 1) end
      if seen then seen[i] = true end
    end
    return true
  end
end

function containers.items(node, context)
  local check = context.one(node, node.children.items)
  local first = #(node.children.prefixItems or {}) + 1
  local is_array = node.is_array
  local site = site_of("items", node.path)
  return function(value, state, seen)
    if not is_array(value) then return true end
    local count = #value
    pay(state, site, count)
    for i = first, count do
      if not check(value[i], state) then return within(state, i - 1) end
    end
    if seen then seen[0] = true end
    return true
  end
end

-- Stops at `enough` fitting items, unless `seen` has to get all of them.
local function count_fitting(check, value, state, seen, enough)
  local count = 0
  for i = 1, #value do
    if quietly(state, check, value[i]) then
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
  return ("expected %s %s that fit%s the schema in contains"):format(bound, item_count(count), count == 1 and "s" or "")
end

-- Items that fit count as evaluated, but not in older drafts.
function containers.contains(node, context)
  local check = context.one(node, node.children.contains)
  local least, most, enough = contains_bounds(node)
  local is_array, evaluates = node.is_array, not node.resource.dialect.is_older
  local few = site_of(node.schema.minContains and "minContains" or "contains", node.path, function()
    return contains_reason("at least", least)
  end)
  local many = site_of("maxContains", node.path, function() return contains_reason("at most", most) end)
  return function(value, state, seen)
    if not is_array(value) then return true end
    pay(state, few, #value)
    local count = count_fitting(check, value, state, evaluates and seen, enough)
    if count < least then return fail(state, few, value) end
    return count <= most or fail(state, many, value)
  end
end

function containers.unevaluatedItems(node, context)
  local child = node.children.unevaluatedItems
  local check, forbidden = context.one(node, child), child.schema == false
  local is_array = node.is_array
  local site = site_of("unevaluatedItems", node.path, function(i) return ("item %d is not allowed"):format(i - 1) end)
  return function(value, state, seen)
    if not is_array(value) then return true end
    pay(state, site, #value)
    for i = 1, #value do
      if not (seen[0] or seen[i]) then
        if forbidden then return fail(state, site, i) end
        if not check(value[i], state) then return within(state, i - 1) end
      end
    end
    seen[0] = true
    return true
  end
end

-- }======

-- {====== Objects: members by their names ======

local function find_missing_property(value, names)
  for i = 1, #names do
    if value[names[i]] == nil then return names[i] end
  end
end

function containers.required(node)
  local names, applies = node.schema.required, node.is_object
  local site = site_of("required", node.path, function(value)
    return ("property %s is missing"):format(errors.quote(find_missing_property(value, names)))
  end)
  return function(value, state)
    if not applies(value) then return true end
    pay(state, site, #names // 16)
    return not find_missing_property(value, names) or fail(state, site, value)
  end
end

function containers.properties(node, context)
  local names, checks = context.named(node, node.children.properties)
  local count = #names
  local site = site_of("properties", node.path)
  return function(value, state, seen)
    if not is_object(value) then return true end
    pay(state, site, count)
    for i = 1, count do
      local member = value[names[i]]
      if member ~= nil then
        if not checks[i](member, state) then return within(state, names[i]) end
        if seen then seen[names[i]] = true end
      end
    end
    return true
  end
end

-- }======

-- {====== Objects: all members ======

local function count_members(object)
  local count = 0
  for _ in next, object do count = count + 1 end
  return count
end

-- Counting costs steps by the number of members.
local function count_and_pay(object, state, site)
  local count = count_members(object)
  pay(state, site, count // 16)
  return count
end

local function property_count(count) return count == 1 and "1 property" or count .. " properties" end

function containers.maxProperties(node)
  local most = node.schema.maxProperties
  local site = site_of("maxProperties", node.path, function(value)
    return ("expected at most %s, got %d"):format(property_count(most), count_members(value))
  end)
  return function(value, state)
    return not is_object(value) or count_and_pay(value, state, site) <= most or fail(state, site, value)
  end
end

function containers.minProperties(node)
  local least, applies = node.schema.minProperties, node.is_object
  local site = site_of("minProperties", node.path, function(value)
    return ("expected at least %s, got %d"):format(property_count(least), count_members(value))
  end)
  return function(value, state)
    return not applies(value) or count_and_pay(value, state, site) >= least or fail(state, site, value)
  end
end

-- Iterates over the members. If a reason is looked for they are sorted, so that the reason is always the same.
local function each_member(object, state)
  if not state.explain then return next, object end
  local keys, i = values.sorted_keys(object), 0
  return function()
    i = i + 1
    return keys[i], object[keys[i]]
  end
end

local function matchers_of(node, context, site)
  local matchers = {}
  for i, pattern in ipairs(values.sorted_names(node.children.patternProperties or {})) do
    matchers[i] = patterns.matcher(context, pattern, site)
  end
  return matchers
end

local function fits_patterns(matchers, checks, name, member, state, seen)
  for i = 1, #matchers do
    if matchers[i](name, state) then
      if not checks[i](member, state) then return within(state, name) end
      if seen then seen[name] = true end
    end
  end
  return true
end

function containers.patternProperties(node, context)
  local site = site_of("patternProperties", node.path)
  local matchers = matchers_of(node, context, site)
  local _, checks = context.named(node, node.children.patternProperties)
  return function(value, state, seen)
    if not is_object(value) then return true end
    for name, member in each_member(value, state) do
      pay(state, site, 1)
      if not fits_patterns(matchers, checks, name, member, state, seen) then return false end
    end
    return true
  end
end

-- Returns a test for names that properties or patternProperties cover.
local function coverage_test(node, context, site)
  local declared = node.children.properties or {}
  local matchers = matchers_of(node, context, site)
  return function(name, state)
    if declared[name] then return true end
    for i = 1, #matchers do
      if matchers[i](name, state) then return true end
    end
    return false
  end
end

-- The check of every member that is not covered: it must fit the schema of the keyword.
local function check_others(node, context, keyword, is_covered)
  local child = node.children[keyword]
  local check, forbidden = context.one(node, child), child.schema == false
  local site = site_of(keyword, node.path, function(name)
    return ("property %s is not allowed"):format(errors.brief(name))
  end)
  return function(value, state, seen)
    for name, member in each_member(value, state) do
      pay(state, site, 1)
      if not is_covered(name, state, seen) then
        if forbidden then return fail(state, site, name) end
        if not check(member, state) then return within(state, name) end
      end
    end
    if seen then seen[0] = true end
    return true
  end
end

function containers.additionalProperties(node, context)
  local is_covered = coverage_test(node, context, site_of("additionalProperties", node.path))
  local check = check_others(node, context, "additionalProperties", is_covered)
  return function(value, state, seen) return not is_object(value) or check(value, state, seen) end
end

function containers.unevaluatedProperties(node, context)
  local function is_covered(name, _, seen) return seen[0] or seen[name] end
  local check = check_others(node, context, "unevaluatedProperties", is_covered)
  return function(value, state, seen) return not is_object(value) or check(value, state, seen) end
end

function containers.propertyNames(node, context)
  local check = context.one(node, node.children.propertyNames)
  local site = site_of("propertyNames", node.path)
  return function(value, state)
    if not is_object(value) then return true end
    for name in each_member(value, state) do
      pay(state, site, 1)
      if not check(name, state) then
        local failure, reason = state.failure, "the property name %s is invalid: %s"
        if failure then failure.message = reason:format(errors.brief(name), failure.message) end
        return false
      end
    end
    return true
  end
end

-- }======

-- {====== Objects: members that depend on others ======

local function find_unmet_need(value, needs)
  for name, names in next, needs do
    local missing = value[name] ~= nil and find_missing_property(value, names)
    if missing then return name, missing end
  end
end

local function check_dependencies(node, keyword, needs)
  local site = site_of(keyword, node.path, function(value)
    local name, missing = find_unmet_need(value, needs)
    return ("property %s needs property %s, which is missing"):format(errors.quote(name), errors.quote(missing))
  end)
  local cost = 0
  for _, names in next, needs do cost = cost + 1 + #names // 16 end
  return function(value, state)
    if not is_object(value) then return true end
    pay(state, site, cost)
    return not find_unmet_need(value, needs) or fail(state, site, value)
  end
end

function containers.dependentRequired(node)
  return check_dependencies(node, "dependentRequired", node.schema.dependentRequired)
end

function containers.dependentSchemas(node, context, keyword)
  keyword = keyword or "dependentSchemas"
  local names, checks = context.named(node, node.children[keyword])
  local site = site_of(keyword, node.path)
  return function(value, state, seen)
    if not is_object(value) then return true end
    pay(state, site, #names)
    for i = 1, #names do
      if value[names[i]] ~= nil and not checks[i](value, state, seen) then return false end
    end
    return true
  end
end

-- In older drafts, one keyword for dependentSchemas and dependentRequired.
function containers.dependencies(node, context)
  local needs = {}
  for name, need in next, node.schema.dependencies do
    if values.is_array(need) then needs[name] = need end
  end
  local has_needs = check_dependencies(node, "dependencies", needs)
  local fits = containers.dependentSchemas(node, context, "dependencies")
  return function(value, state, seen) return has_needs(value, state) and fits(value, state, seen) end
end

-- }======

return containers
