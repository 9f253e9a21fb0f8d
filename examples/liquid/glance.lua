-- Reads at a glance what most outputs are: a name, a member of it, and filters with nothing but literals behind them.
-- Whatever is not as simple as that is left to the reader, which also knows what is wrong with it.

local expressions = require "liquid.expressions"
local filters = require "liquid.filters"
local numbers = require "liquid.numbers"
local reader = require "liquid.reader"

local match, byte = string.match, string.byte

local PIPE, COLON, COMMA, SINGLE, DOUBLE = byte("|"), byte(":"), byte(","), byte("'"), byte('"')

-- A literal at a position: whether there is one, its value, and what is behind it.
local function argument(markup, at)
  local code = byte(markup, at)
  if code == SINGLE or code == DOUBLE then
    local text, after = match(markup, code == SINGLE and "^'([^']*)'%s*()" or '^"([^"]*)"%s*()', at)
    return text ~= nil, text, after
  end
  local digits, after = match(markup, "^(%-?%d+)%s*()", at)
  if not digits then return false end
  return true, numbers.literal(digits), after
end

-- One or two literals behind a colon: how many, their values, and what is behind them. Nothing if they are others.
local function arguments(markup, at)
  local found, first, after = argument(markup, match(markup, "^.%s*()", at))
  if not found then return nil end
  if byte(markup, after) ~= COMMA then return 1, first, nil, after end
  local second
  found, second, after = argument(markup, match(markup, "^.%s*()", after))
  if not found then return nil end
  return 2, first, second, after
end

local function filtered(evaluate, markup, at)
  local length = #markup
  while at <= length do
    local name, after = match(markup, "^|%s*([%a_][%w_-]*)%s*()", at)
    if not name or name == "contains" then return nil end
    local count, first, second = 0, nil, nil
    if byte(markup, after) == COLON then
      count, first, second, after = arguments(markup, after)
      if not count then return nil end
    end
    at = after
    if at <= length and byte(markup, at) ~= PIPE then return nil end
    evaluate = filters.apply_values(evaluate, name, count, first, second)
  end
  return evaluate
end

---A function for a markup, or nil if it takes a closer look.
---@param markup string
---@return (fun(ctx: liquid.context): any, table?)?
return function(markup)
  local name, at = match(markup, "^%s*([%a_][%w_-]*)%s*()")
  if not name or name == "contains" then return nil end
  local member, after = match(markup, "^%.([%a_][%w_-]*)%s*()", at)
  if member then return filtered(expressions.member(name, member), markup, after) end
  if reader.literals[name] then return nil end
  local code = byte(markup, at)
  if code and code ~= PIPE then return nil end
  return filtered(expressions.variable(name), markup, at)
end
