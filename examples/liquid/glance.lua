-- Reads at a glance what most markup is: a name, its members, literals, and filters with nothing but literals behind
-- them. Whatever is not as simple as that is left to the reader, which also knows what is wrong with it.

local expressions = require "liquid.expressions"
local filters = require "liquid.filters"
local numbers = require "liquid.numbers"
local reader = require "liquid.reader"

local glance = {}

local match, byte = string.match, string.byte
local literals, apply_values = reader.literals, filters.apply_values
local member, member_of = expressions.member, expressions.member_of

local PIPE, COMMA, SINGLE, DOUBLE = byte("|,'\"", 1, -1)

-- A name. Most letters are small, and Lua is faster at finding them in a range than in a class.
local NAME = "([%a_][a-z_%w-]*)"
local VARIABLE = "^%s*" .. NAME .. "%s*()"
local MEMBER = "^%s*" .. NAME .. "%." .. NAME .. "(%.?)%s*()"
local FURTHER_MEMBER = "^" .. NAME .. "(%.?)%s*()"
local KEY = "^,%s*" .. NAME .. "%s*:%s*()"
local FILTER = "^|%s*" .. NAME .. "%s*():?%s*()"

---A literal at a position: quoted text, or an integer.
---@param markup string
---@param at integer
---@return boolean found, any value
---@return integer? after what is behind it, and the space there
local function literal(markup, at)
  local code = byte(markup, at)
  if code == SINGLE or code == DOUBLE then
    local text, after = match(markup, code == SINGLE and "^'([^']*)'%s*()" or '^"([^"]*)"%s*()', at)
    return text ~= nil, text, after
  end
  local digits, after = match(markup, "^(%-?%d+)%s*()", at)
  if not digits then return false end
  return true, numbers.literal(digits), after
end
glance.literal = literal

local function variable(markup, at)
  local name, after = match(markup, VARIABLE, at)
  if not name or name == "contains" or literals[name] then return nil end
  return expressions.variable(name), after
end

---A name with or without members, from a position on; space before it is passed over.
---@param markup string
---@param at integer
---@return (fun(ctx: liquid.context): any, table?)? evaluate nil if it is anything else
---@return integer? after what is behind it, and the space there
local function path(markup, at)
  local name, key, dot, after = match(markup, MEMBER, at)
  if not name then return variable(markup, at) end
  if name == "contains" then return nil end
  local evaluate = member(name, key)
  while dot == "." do
    key, dot, after = match(markup, FURTHER_MEMBER, after)
    if not key then return nil end
    evaluate = member_of(evaluate, key)
  end
  return evaluate, after
end
glance.path = path

---A path or a literal at a position.
---@param markup string
---@param at integer
---@return (fun(ctx: liquid.context): any, table?)? evaluate nil if it is anything else
---@return integer? after what is behind it, and the space there
function glance.operand(markup, at)
  local evaluate, after = path(markup, at)
  if evaluate then return evaluate, after end
  local found, value
  found, value, after = literal(markup, at)
  if found then return expressions.literal(value), after end
end

---An argument with a name, and the comma before it.
---@param markup string
---@param at integer
---@return string? name nil if it is anything else
---@return (fun(ctx: liquid.context): any, table?)? evaluate
---@return integer? after what is behind it, and the space there
function glance.argument(markup, at)
  local name, value_at = match(markup, KEY, at)
  if not name or name == "contains" then return nil end
  local evaluate, after = glance.operand(markup, value_at)
  if evaluate then return name, evaluate, after end
end

-- One or two literals: how many, their values, and what is behind them. Nothing if they are others.
local function arguments(markup, at)
  local found, first, after = literal(markup, at)
  if not found then return nil end
  if byte(markup, after) ~= COMMA then return 1, first, nil, after end
  local second
  found, second, after = literal(markup, match(markup, "^.%s*()", after))
  if not found then return nil end
  return 2, first, second, after
end

local none = {}

-- An expression that goes through the filter at a position, and what is behind that; nil if it takes a closer look.
local function filtered(evaluate, markup, at)
  local name, after, behind_colon = match(markup, FILTER, at)
  if not name or name == "contains" then return nil end
  if behind_colon == after then return apply_values(evaluate, name, 0), after end
  local count, first, second
  count, first, second, after = arguments(markup, behind_colon)
  if count then return apply_values(evaluate, name, count, first, second), after end
  local argument
  argument, after = path(markup, behind_colon)
  if argument then return filters.apply(evaluate, name, { argument }, none), after end
end

---The function for an output, if it can be told at a glance.
---@param markup string
---@return (fun(ctx: liquid.context): any, table?)?
function glance.output(markup)
  local evaluate, at = path(markup, 1)
  local length = #markup
  while evaluate and at <= length do
    evaluate, at = filtered(evaluate, markup, at)
    if evaluate and at <= length and byte(markup, at) ~= PIPE then return nil end
  end
  return evaluate
end

return glance
