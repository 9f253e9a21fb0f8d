-- Keywords for objects by which one member needs others.

local run = require "pintle.schema.run"
local values = require "pintle.schema.values"
local words = require "pintle.schema.words"

local next = next
local fail, pay, site_of = run.fail, run.pay, run.site
local is_object = values.is_object

---@type table<string, fun(node: pintle.schema.node, context: pintle.schema.context): pintle.schema.check>
local dependencies = {}

local function first_missing(value, names)
  for i = 1, #names do
    if value[names[i]] == nil then return names[i] end
  end
end

local function first_unmet(value, needs)
  for name, names in next, needs do
    local missing = value[name] ~= nil and first_missing(value, names)
    if missing then return name, missing end
  end
end

local function needing(node, keyword, needs)
  local site = site_of(keyword, node.path, function(value)
    local name, missing = first_unmet(value, needs)
    return ("property %s needs property %s, which is missing"):format(words.quote(name), words.quote(missing))
  end)
  local cost = 0
  for _, names in next, needs do cost = cost + 1 + #names // 16 end
  return function(value, state)
    if not is_object(value) then return true end
    pay(state, site, cost)
    return not first_unmet(value, needs) or fail(state, site, value)
  end
end

function dependencies.dependentRequired(node)
  return needing(node, "dependentRequired", node.schema.dependentRequired)
end

function dependencies.dependentSchemas(node, context, keyword)
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

-- What dependentSchemas and dependentRequired were before they were two.
function dependencies.dependencies(node, context)
  local needs = {}
  for name, need in next, node.schema.dependencies do
    if values.is_array(need) then needs[name] = need end
  end
  local has_names = needing(node, "dependencies", needs)
  local fits = dependencies.dependentSchemas(node, context, "dependencies")
  return function(value, state, seen) return has_names(value, state) and fits(value, state, seen) end
end

return dependencies
