-- The standard filters by name, and expressions that apply a filter.

local errors = require "liquid.errors"
local values = require "liquid.values"

local filters = {}

local null, unpack = values.null, table.unpack

---@class liquid.filter
---@field call fun(ctx: liquid.context, input: any, ...): any, table?
---@field least integer the minimum number of arguments
---@field most number the maximum number of arguments
---@field defaults any[] values of missing arguments

---The standard filters.
---@type table<string, liquid.filter>
local standard = {}
filters.standard = standard

local function define(name, least, most, call, defaults)
  standard[name] = { call = call, least = least, most = most, defaults = defaults or {} }
end

for _, family in ipairs { "strings", "math", "arrays", "dates" } do
  require("liquid.filters." .. family)(define)
end

---A filter made of a function of the program, which takes any number of arguments.
---@param call fun(input: any, ...): any, any
---@return liquid.filter
function filters.custom(call)
  return {
    least = 0, most = math.huge, defaults = {},
    call = function(_, input, ...)
      local value, failure = call(input, ...)
      if value == nil and failure ~= nil then return nil, errors.of_object(failure) end
      return values.plain(value)
    end,
  }
end

-- Ruby counts the input among the arguments.
local function wrong_count(filter, given)
  local expected = filter.least == filter.most and filter.least + 1
    or filter.least + 1 .. ".." .. filter.most + 1
  return errors.argument("wrong number of arguments (given " .. given + 1 .. ", expected " .. expected .. ")")
end

-- An unknown filter returns its input, or fails if filters are strict.
local function unknown(evaluate, name)
  return function(ctx)
    local value, err = evaluate(ctx)
    if err then return nil, err end
    if ctx.strict_filters then return nil, errors.new("undefined_filter", "undefined filter " .. name) end
    return value
  end
end

local function failing(evaluate, filter, given)
  return function(ctx)
    local _, err = evaluate(ctx)
    if err then return nil, err end
    return wrong_count(filter, given)
  end
end

-- Named arguments are passed as one hash after the others. The last argument of a name counts.
local function named_arguments(named)
  local names, seen = {}, {}
  for _, argument in ipairs(named) do
    local name = argument[1]
    if not seen[name] then names[#names + 1] = name end
    seen[name] = true
  end
  return function(ctx)
    local hash = {}
    for _, argument in ipairs(named) do
      local value, err = argument[2](ctx)
      if err then return nil, err end
      if value == nil then value = null end
      hash[argument[1]] = value
    end
    return values.ordered(hash, names)
  end
end

-- An expression whose filter does not use its arguments. They are evaluated nevertheless, because they can fail.
local function with_unused(evaluate, arguments)
  if #arguments == 0 then return evaluate end
  return function(ctx)
    local value, err = evaluate(ctx)
    if err then return nil, err end
    for i = 1, #arguments do
      local _, failure = arguments[i](ctx)
      if failure then return nil, failure end
    end
    return value
  end
end

local function with_values(evaluate, call, first, second)
  if second ~= nil then
    return function(ctx)
      local value, err = evaluate(ctx)
      if err then return nil, err end
      return call(ctx, value, first, second)
    end
  elseif first ~= nil then
    return function(ctx)
      local value, err = evaluate(ctx)
      if err then return nil, err end
      return call(ctx, value, first)
    end
  end
  return function(ctx)
    local value, err = evaluate(ctx)
    if err then return nil, err end
    return call(ctx, value)
  end
end

local function with_one(evaluate, filter, argument)
  local call, second = filter.call, filter.defaults[2]
  return function(ctx)
    local value, err = evaluate(ctx)
    if err then return nil, err end
    local first
    first, err = argument(ctx)
    if err then return nil, err end
    return call(ctx, value, first, second)
  end
end

-- The standard filters have at most three arguments.
local MAX_STANDARD = 3

local function with_many(evaluate, filter, arguments)
  local call, count = filter.call, #arguments
  return function(ctx)
    local value, err = evaluate(ctx)
    if err then return nil, err end
    local given = {}
    for i = 1, count do
      given[i], err = arguments[i](ctx)
      if err then return nil, err end
    end
    if count > MAX_STANDARD then return call(ctx, value, unpack(given, 1, count)) end
    return call(ctx, value, given[1], given[2], given[3])
  end
end

---An expression that applies a filter whose arguments, at most two, are literals.
---@param known table<string, liquid.filter> the filters of the template
---@param evaluate fun(ctx: liquid.context): any, table?
---@param name string
---@param count integer the number of arguments
---@param first any
---@param second any
---@return fun(ctx: liquid.context): any, table?
function filters.apply_values(known, evaluate, name, count, first, second)
  local filter = known[name]
  if not filter then return unknown(evaluate, name) end
  if count < filter.least or count > filter.most then return failing(evaluate, filter, count) end
  if count < 1 then first = filter.defaults[1] end
  if count < 2 then second = filter.defaults[2] end
  return with_values(evaluate, filter.call, first, second)
end

---An expression that applies a filter.
---@param known table<string, liquid.filter> the filters of the template
---@param evaluate fun(ctx: liquid.context): any, table?
---@param name string
---@param positional function[]
---@param named table[] pairs of a name and a function
---@return fun(ctx: liquid.context): any, table?
function filters.apply(known, evaluate, name, positional, named)
  if #named > 0 then positional[#positional + 1] = named_arguments(named) end
  local filter, count = known[name], #positional
  if not filter then return unknown(with_unused(evaluate, positional), name) end
  if count < filter.least or count > filter.most then
    return failing(with_unused(evaluate, positional), filter, count)
  end
  if count == 0 then return with_values(evaluate, filter.call, filter.defaults[1], filter.defaults[2]) end
  if count == 1 then return with_one(evaluate, filter, positional[1]) end
  return with_many(evaluate, filter, positional)
end

return filters
