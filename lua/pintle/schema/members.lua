-- Keywords for objects that go through all members.

local lazy = require "pintle.lazy"
local run = require "pintle.schema.run"
local values = require "pintle.schema.values"

local patterns = lazy "pintle.schema.patterns"
local words = lazy "pintle.schema.words"

local next = next
local fail, pay, within, site_of = run.fail, run.pay, run.within, run.site
local is_object = values.is_object

---@type table<string, fun(node: pintle.schema.node, context: pintle.schema.context): pintle.schema.check>
local members = {}

local function count_members(object)
  local count = 0
  for _ in next, object do count = count + 1 end
  return count
end

-- Counting takes as long as there are members.
local function paid_count(object, state, site)
  local count = count_members(object)
  pay(state, site, count // 16)
  return count
end

local function properties(count) return count == 1 and "1 property" or count .. " properties" end

function members.maxProperties(node)
  local most = node.schema.maxProperties
  local site = site_of("maxProperties", node.path, function(value)
    return ("expected at most %s, got %d"):format(properties(most), count_members(value))
  end)
  return function(value, state)
    return not is_object(value) or paid_count(value, state, site) <= most or fail(state, site, value)
  end
end

function members.minProperties(node)
  local least, applies = node.schema.minProperties, node.is_object
  local site = site_of("minProperties", node.path, function(value)
    return ("expected at least %s, got %d"):format(properties(least), count_members(value))
  end)
  return function(value, state)
    return not applies(value) or paid_count(value, state, site) >= least or fail(state, site, value)
  end
end

-- Members as they come; in order where a reason is looked for, so that it is always the same.
local function each(object, state)
  if not state.explain then return next, object end
  local keys, i = values.sorted_keys(object), 0
  return function()
    i = i + 1
    return keys[i], object[keys[i]]
  end
end

local function patterns_of(node, context, site)
  local matchers = {}
  for i, pattern in ipairs(values.sorted_names(node.children.patternProperties or {})) do
    matchers[i] = patterns.matcher(context, pattern, site)
  end
  return matchers
end

local function fits_matching(matchers, checks, name, member, state, seen)
  for i = 1, #matchers do
    if matchers[i](name, state) then
      if not checks[i](member, state) then return within(state, name) end
      if seen then seen[name] = true end
    end
  end
  return true
end

function members.patternProperties(node, context)
  local site = site_of("patternProperties", node.path)
  local matchers = patterns_of(node, context, site)
  local _, checks = context.named(node, node.children.patternProperties)
  return function(value, state, seen)
    if not is_object(value) then return true end
    for name, member in each(value, state) do
      pay(state, site, 1)
      if not fits_matching(matchers, checks, name, member, state, seen) then return false end
    end
    return true
  end
end

-- Whether a name is one that properties or patternProperties speak of.
local function speaker(node, context, site)
  local declared = node.children.properties or {}
  local matchers = patterns_of(node, context, site)
  return function(name, state)
    if declared[name] then return true end
    for i = 1, #matchers do
      if matchers[i](name, state) then return true end
    end
    return false
  end
end

-- Members that are left over, each of which the schema has to fit.
local function leftover(node, context, keyword, is_taken)
  local child = node.children[keyword]
  local check, forbidden = context.one(node, child), child.schema == false
  local site = site_of(keyword, node.path, function(name)
    return ("property %s is not allowed"):format(words.brief(name))
  end)
  return function(value, state, seen)
    for name, member in each(value, state) do
      pay(state, site, 1)
      if not is_taken(name, state, seen) then
        if forbidden then return fail(state, site, name) end
        if not check(member, state) then return within(state, name) end
      end
    end
    if seen then seen[0] = true end
    return true
  end
end

function members.additionalProperties(node, context)
  local is_taken = speaker(node, context, site_of("additionalProperties", node.path))
  local check = leftover(node, context, "additionalProperties", is_taken)
  return function(value, state, seen) return not is_object(value) or check(value, state, seen) end
end

function members.unevaluatedProperties(node, context)
  local function is_taken(name, _, seen) return seen[0] or seen[name] end
  local check = leftover(node, context, "unevaluatedProperties", is_taken)
  return function(value, state, seen) return not is_object(value) or check(value, state, seen) end
end

function members.propertyNames(node, context)
  local check = context.one(node, node.children.propertyNames)
  local site = site_of("propertyNames", node.path)
  return function(value, state)
    if not is_object(value) then return true end
    for name in each(value, state) do
      pay(state, site, 1)
      if not check(name, state) then
        local failure = state.failure
        if failure then failure.message = ("the name %s is wrong: %s"):format(words.brief(name), failure.message) end
        return false
      end
    end
    return true
  end
end

return members
