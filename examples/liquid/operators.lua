-- Comparisons: what ==, <, contains and the other operators make of two operands, and what a single one is.

local comparison = require "liquid.comparison"
local errors = require "liquid.errors"
local expressions = require "liquid.expressions"
local lax = require "liquid.lax"
local values = require "liquid.values"

local operators = {}

local materialize = values.materialize
local equal, order, contains = comparison.equal, comparison.order, comparison.contains
local type = type

-- empty and blank are questions put to the other side.
local questions = {
  empty = { ask = comparison.is_empty, evaluate = expressions.literal("") },
  blank = { ask = comparison.is_blank, evaluate = expressions.literal("") },
}

---An operand of a comparison.
---@class liquid.operand
---@field evaluate fun(ctx: liquid.context): any, table?
---@field ask? fun(value: any): boolean

---@param evaluate fun(ctx: liquid.context): any, table?
---@return liquid.operand
function operators.operand(evaluate)
  return { evaluate = evaluate }
end

---What an operand is, where its words may be questions.
---@param tokens liquid.reader
---@return liquid.operand
function operators.read_operand(tokens)
  local question = tokens:look("id") and questions[tokens.words[tokens.at]]
  if question and not tokens:look("dot", 1) and not tokens:look("open_square", 1) then
    tokens.at = tokens.at + 1
    return question
  end
  return { evaluate = (tokens:expression()) }
end

---@param text string
---@return liquid.operand
function operators.lax_operand(text)
  return questions[text] or { evaluate = (lax.expression(text)) }
end

-- Both sides, each as what it stands for.
local function both(left, right, test)
  left, right = left.evaluate, right.evaluate
  return function(ctx)
    local a, err = left(ctx)
    if err then return nil, err end
    local b
    b, err = right(ctx)
    if err then return nil, err end
    if type(a) == "table" then a, err = materialize(a, ctx) end
    if err then return nil, err end
    if type(b) == "table" then b, err = materialize(b, ctx) end
    if err then return nil, err end
    return test(a, b, ctx)
  end
end

local function asked(question, operand)
  local ask, evaluate = question.ask, operand.evaluate
  return function(ctx)
    local value, err = evaluate(ctx)
    if err then return nil, err end
    value, err = materialize(value, ctx)
    if err then return nil, err end
    return ask(value)
  end
end

local function never() return false end

local function same(a, b)
  if type(a) == "table" or type(b) == "table" then return equal(a, b) end
  return a == b
end

local function is_equal(left, right)
  -- A question put to a question has no answer.
  if left.ask and right.ask then return never end
  if left.ask then return asked(left, right) end
  if right.ask then return asked(right, left) end
  return both(left, right, same)
end

local function negated(test)
  return function(ctx)
    local result, err = test(ctx)
    if err then return nil, err end
    return not result
  end
end

local function neither() return false end

local function ordered(accept)
  local function test(a, b)
    local result, err = order(a, b)
    if err then return nil, err end
    return result ~= nil and accept(result)
  end
  return function(left, right)
    return both(left, right, (left.ask or right.ask) and neither or test)
  end
end

-- A text contains the words empty and blank: as text they are nothing.
local function text_only(a, b, ctx) return type(a) == "string" and contains(a, b, ctx) end

local known = {
  ["=="] = is_equal,
  ["!="] = function(left, right) return negated(is_equal(left, right)) end,
  ["<"] = ordered(function(result) return result < 0 end),
  [">"] = ordered(function(result) return result > 0 end),
  ["<="] = ordered(function(result) return result <= 0 end),
  [">="] = ordered(function(result) return result >= 0 end),
  contains = function(left, right)
    return both(left, right, left.ask and neither or right.ask and text_only or contains)
  end,
}
known["<>"] = known["!="]

local function always() return true end

---A test of a value alone, which is true unless it is nil or false.
---@param evaluate fun(ctx: liquid.context): any, table?
---@return fun(ctx: liquid.context): boolean?, table?
function operators.truth(evaluate)
  return function(ctx)
    local value, err = evaluate(ctx)
    if value == nil then
      if err then return nil, err end
      return false
    end
    if type(value) ~= "table" then return value ~= false end
    value, err = materialize(value, ctx)
    if err then return nil, err end
    return value ~= nil and value ~= false
  end
end

local function unknown_operator(operator)
  return function() return errors.argument("Unknown operator " .. operator) end
end

local nothing = { evaluate = expressions.literal(nil) }

---@param operator? string
---@return boolean
function operators.is_known(operator)
  return known[operator] ~= nil
end

---A test of two operands, or of one.
---@param left liquid.operand
---@param operator? string
---@param right? liquid.operand
---@return fun(ctx: liquid.context): boolean?, table?
function operators.comparison(left, operator, right)
  -- The words empty and blank are objects, and so they are true.
  if not operator then return left.ask and always or operators.truth(left.evaluate) end
  local make = known[operator]
  if make then return make(left, right or nothing) end
  return both(left, right or nothing, unknown_operator(operator))
end

return operators
