-- Keywords for objects that look for members by their names.

local lazy = require "pintle.lazy"
local run = require "pintle.schema.run"
local values = require "pintle.schema.values"

local words = lazy "pintle.schema.words"

local fail, pay, within, site_of = run.fail, run.pay, run.within, run.site
local is_object = values.is_object

---@type table<string, fun(node: pintle.schema.node, context: pintle.schema.context): pintle.schema.check>
local objects = {}

local function first_missing(value, names)
  for i = 1, #names do
    if value[names[i]] == nil then return names[i] end
  end
end

function objects.required(node)
  local names, applies = node.schema.required, node.is_object
  local site = site_of("required", node.path, function(value)
    return ("property %s is missing"):format(words.quote(first_missing(value, names)))
  end)
  return function(value, state)
    if not applies(value) then return true end
    pay(state, site, #names // 16)
    return not first_missing(value, names) or fail(state, site, value)
  end
end

function objects.properties(node, context)
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

return objects
