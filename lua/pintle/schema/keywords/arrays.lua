-- Keywords for arrays.

local run = require "pintle.schema.run"

local fail, pay, within, quietly, site_of = run.fail, run.pay, run.within, run.quietly, run.site

---@type table<string, fun(node: pintle.schema.node, context: pintle.schema.context): pintle.schema.check>
local arrays = {}

local function count_text(count) return count == 1 and "1 item" or count .. " items" end

function arrays.maxItems(node)
  local most, is_array = node.schema.maxItems, node.is_array
  local site = site_of("maxItems", node.path, function(value)
    return ("expected at most %s, got %d"):format(count_text(most), #value)
  end)
  return function(value, state) return not is_array(value) or #value <= most or fail(state, site, value) end
end

function arrays.minItems(node)
  local least, is_array = node.schema.minItems, node.is_array
  local site = site_of("minItems", node.path, function(value)
    return ("expected at least %s, got %d"):format(count_text(least), #value)
  end)
  return function(value, state) return not is_array(value) or #value >= least or fail(state, site, value) end
end

function arrays.prefixItems(node, context)
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

function arrays.items(node, context)
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
  return ("expected %s %s that fit%s the schema in contains"):format(bound, count_text(count), count == 1 and "s" or "")
end

function arrays.contains(node, context)
  local check = context.one(node, node.children.contains)
  local least, most, enough = contains_bounds(node)
  local is_array = node.is_array
  local few = site_of(node.schema.minContains and "minContains" or "contains", node.path, function()
    return contains_reason("at least", least)
  end)
  local many = site_of("maxContains", node.path, function() return contains_reason("at most", most) end)
  return function(value, state, seen)
    if not is_array(value) then return true end
    pay(state, few, #value)
    local count = count_fitting(check, value, state, seen, enough)
    if count < least then return fail(state, few, value) end
    return count <= most or fail(state, many, value)
  end
end

function arrays.unevaluatedItems(node, context)
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

return arrays
