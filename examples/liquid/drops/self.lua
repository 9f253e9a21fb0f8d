-- `self`: the variables in scope as an object, so that one can be named by an expression: self[name].

local values = require "liquid.values"

local self_drop = {}

local metatable = { __name = "liquid.self" }
local null = values.null

---@param ctx liquid.context
---@return table
function self_drop.new(ctx)
  return setmetatable({ ctx = ctx }, metatable)
end

-- The scope is asked for when something is looked up: an object kept in a variable sees what the context then has.
local function get(drop, key)
  local value
  if type(key) == "string" then value = drop.ctx.scope[key] end
  if value == null then return nil end
  if value == nil and key == "self" then return drop end
  return value, nil, value == nil
end

-- It has no `contains`: in the reference the operator is false for every drop that is not enumerable.
values.register(metatable, {
  kind = "self", shows_all = true,
  get = get,
  to_s = function() return "Liquid::SelfDrop" end,
  equal = function(a, b) return getmetatable(b) == metatable and a.ctx == b.ctx end,
})

return self_drop
