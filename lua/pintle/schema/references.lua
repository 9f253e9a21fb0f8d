-- $ref and $dynamicRef, and the resources that are entered through them.

local dialects = require "pintle.schema.dialect"
local run = require "pintle.schema.run"
local shape = require "pintle.schema.shape"

local pay, site_of = run.pay, run.site

---@class pintle.schema.references
local references = {}

---The dynamic scope, in which $dynamicRef looks for anchors, is the resources that were entered on the way. The first
---that has the anchor counts, so entering one again changes nothing.
---@param resource pintle.schema.resource
---@param check pintle.schema.check
---@return pintle.schema.check
function references.entering(resource, check)
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

-- The first fault in a value that is to be a schema, and in all the schemas in it; and the path to it, innermost first.
-- `count` is called for every schema in it.
local function first_fault(schema, active, count)
  count()
  local fault, reason = shape.fault(schema, active)
  if reason then return reason, { fault } end
  if type(schema) == "boolean" then return nil end
  local path
  shape.each_child(schema, active, function(child, keyword, key)
    if reason then return end
    reason, path = first_fault(child, active, count)
    if not reason then return end
    path[#path + 1] = math.type(key) == "integer" and key - 1 or key
    path[#path + 1] = keyword
  end)
  return reason, path
end

-- The meta-schema that nobody gave: the value is judged as schemas are when they are compiled.
local function judge(node, keyword)
  local site = site_of(keyword, node.path, function(reason) return "it is no valid schema: " .. reason end)
  return function(value, state)
    local reason, path = first_fault(value, dialects.STANDARD.active, function() pay(state, site, 1) end)
    if not reason then return true end
    state:fail(site, reason)
    for _, token in ipairs(path) do state:within(token) end
    return false
  end
end

-- The target may not be built yet, or be the one that is under way.
local function deferred(target) return function(value, state, seen) return target.check(value, state, seen) end end

local function static(node, target, keyword, context)
  if not target then return judge(node, keyword) end
  local check = deferred(target)
  if not context.dynamic or target.resource == node.resource then return check end
  return references.entering(target.resource, check)
end

references["$ref"] = function(node, context) return static(node, node.ref, "$ref", context) end

local function outermost(scope, name)
  for i = 1, #scope do
    local target = scope[i].dynamic[name]
    if target then return target end
  end
end

references["$dynamicRef"] = function(node, context)
  local otherwise = static(node, node.dynamic_ref, "$dynamicRef", context)
  local name = node.dynamic_name
  if not name then return otherwise end
  local site = site_of("$dynamicRef", node.path)
  return function(value, state, seen)
    pay(state, site, #state.scope)
    local target = outermost(state.scope, name)
    if target then return target.check(value, state, seen) end
    return otherwise(value, state, seen)
  end
end

return references
