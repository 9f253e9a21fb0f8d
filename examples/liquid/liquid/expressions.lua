-- Compiles expressions into functions of the context, which return a value, or nil and an error.

local collections = require "liquid.collections"
local errors = require "liquid.errors"
local values = require "liquid.values"

local expressions = {}

local null, materialize = values.null, values.materialize
local get = collections.get
local ORDERED, metatable_of = values.ORDERED, values.metatable_of
local type = type

local function undefined(name)
  return nil, errors.new("undefined_variable", "undefined variable " .. tostring(name))
end

-- The value of an undefined variable. `self` is an object with the variables in scope.
local function absent(ctx, name)
  if name == "self" then return ctx:self() end
  if ctx.strict_variables then return undefined(name) end
  return nil
end

---A literal.
---@param value any
---@return fun(ctx: liquid.context): any
function expressions.literal(value)
  return function() return value end
end

---@param name string
---@return fun(ctx: liquid.context): any, table?
function expressions.variable(name)
  return function(ctx)
    local value = ctx.scope[name]
    if value == null then return nil end
    if value == nil then return absent(ctx, name) end
    return value
  end
end

-- A variable whose name is an expression.
local function named_by(name)
  return function(ctx)
    local key, err = name(ctx)
    if err then return nil, err end
    key = materialize(key, ctx)
    local value
    if key ~= nil then value = ctx.scope[key] end
    if value == null then return nil end
    if value == nil then return absent(ctx, key) end
    return value
  end
end

-- A member whose name is reserved: collections.get knows whether the object hides it.
local function guarded_member_of(base, key)
  return function(ctx)
    local object, err = base(ctx)
    if err then return nil, err end
    local value, failure, missing = get(object, key, true, ctx)
    if missing and ctx.strict_variables then return undefined(key) end
    return value, failure
  end
end

---@param base fun(ctx: liquid.context): any, table?
---@param key string
---@return fun(ctx: liquid.context): any, table?
function expressions.member_of(base, key)
  if values.is_reserved(key) then return guarded_member_of(base, key) end
  return function(ctx)
    local object, err = base(ctx)
    local metatable = metatable_of(object)
    if metatable then
      -- The fast path: most objects are hashes decoded from JSON that have the member.
      if metatable.__name == ORDERED then
        local value = object[key]
        if value ~= nil and value ~= null then return value end
      end
    elseif type(object) == "table" then
      local value = object[key]
      if value ~= nil and value ~= null then return value end
    elseif err then
      return nil, err
    end
    local value, failure, missing = get(object, key, true, ctx)
    if missing and ctx.strict_variables then return undefined(key) end
    return value, failure
  end
end

---A member of a variable, as most expressions are: `expressions.member_of` with the variable written out.
---@param name string
---@param key string
---@return fun(ctx: liquid.context): any, table?
function expressions.member(name, key)
  if values.is_reserved(key) then return guarded_member_of(expressions.variable(name), key) end
  return function(ctx)
    local object = ctx.scope[name]
    local metatable = metatable_of(object)
    if metatable then
      if metatable.__name == ORDERED then
        local value = object[key]
        if value ~= nil and value ~= null then return value end
      end
    elseif type(object) == "table" then
      local value = object[key]
      if value ~= nil and value ~= null then return value end
    elseif object == nil then
      local err
      object, err = absent(ctx, name)
      if err then return nil, err end
    end
    local value, err, missing = get(object, key, true, ctx)
    if missing and ctx.strict_variables then return undefined(key) end
    return value, err
  end
end

local function item(base, index)
  return function(ctx)
    local object, err = base(ctx)
    if err then return nil, err end
    local key
    key, err = index(ctx)
    if err then return nil, err end
    local kind = type(key)
    if kind ~= "number" and kind ~= "string" then
      key, err = materialize(key, ctx)
      if err then return nil, err end
    end
    local value, failure, missing = get(object, key, false, ctx)
    if missing and ctx.strict_variables then return undefined(key) end
    return value, failure
  end
end

---A variable and the members that are looked up in it.
---@param name string|function a function if the name is an expression
---@param steps (string|function)[] names after dots, and functions of expressions in brackets
---@return fun(ctx: liquid.context): any, table?
function expressions.path(name, steps)
  local first
  local from = 1
  if type(name) == "function" then
    first = named_by(name)
  elseif type(steps[1]) == "string" then
    first, from = expressions.member(name, steps[1]), 2
  else
    first = expressions.variable(name)
  end
  for i = from, #steps do
    local step = steps[i]
    first = (type(step) == "string" and expressions.member_of or item)(first, step)
  end
  return first
end

---@param first fun(ctx: liquid.context): any, table?
---@param last fun(ctx: liquid.context): any, table?
---@return fun(ctx: liquid.context): table?, table?
function expressions.range(first, last)
  return function(ctx)
    local from, err = first(ctx)
    if err then return nil, err end
    local to
    to, err = last(ctx)
    if err then return nil, err end
    return collections.range_between(from, to, ctx)
  end
end

return expressions
