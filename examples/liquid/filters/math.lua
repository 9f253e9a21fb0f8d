-- Filters of numbers.

local arithmetic = require "liquid.arithmetic"
local bigint = require "liquid.bigint"
local errors = require "liquid.errors"
local limits = require "liquid.limits"
local numbers = require "liquid.numbers"
local rounding = require "liquid.rounding"

local integers = arithmetic.integers
local to_number, math_type = numbers.to_number, math.type

-- How many digits a number has, at the most.
local function length(number)
  if type(number) ~= "table" then return 20 end
  return #bigint.text(numbers.is_decimal(number) and number.mantissa or number)
end

-- A filter of two numbers; integers, which most are, have a way of their own.
local function reckoning(operation, of_integers)
  return function(ctx, input, operand)
    if of_integers and math_type(input) == "integer" and math_type(operand) == "integer" then
      return of_integers(input, operand)
    end
    local a, err = to_number(input, ctx)
    if err then return nil, err end
    local b
    b, err = to_number(operand, ctx)
    if err then return nil, err end
    if type(a) == "table" or type(b) == "table" then limits.work(ctx, length(a) * length(b)) end
    return operation(a, b)
  end
end

local function whole(mode)
  return function(ctx, input)
    local value, err = to_number(input, ctx)
    if err then return nil, err end
    return rounding.whole(value, mode)
  end
end

local function absolute(ctx, input)
  local value, err = to_number(input, ctx)
  if err then return nil, err end
  return arithmetic.absolute(value)
end

-- Ruby's round takes its places as an int of C.
local MIN_PLACES, MAX_PLACES = -(1 << 31), (1 << 31) - 1

local function round(ctx, input, places)
  local value, err = to_number(input, ctx)
  if err then return nil, err end
  local digits
  digits, err = to_number(places, ctx)
  if err then return nil, err end
  digits = arithmetic.result(digits)
  if math_type(digits) == "float" then digits = math.tointeger(digits < 0 and -(-digits // 1) or digits // 1) end
  if math_type(digits) ~= "integer" or digits < MIN_PLACES or digits > MAX_PLACES then
    return nil, errors.new("internal_error", "internal")
  end
  if digits == 0 then return rounding.whole(value, "round") end
  return rounding.round(value, digits)
end

local function at_least(a, b)
  return arithmetic.result(arithmetic.compare(b, a) > 0 and b or a)
end

local function at_most(a, b)
  return arithmetic.result(arithmetic.compare(b, a) < 0 and b or a)
end

return function(define)
  define("abs", 0, 0, absolute)
  define("plus", 1, 1, reckoning(arithmetic.add, integers.add))
  define("minus", 1, 1, reckoning(arithmetic.subtract, integers.subtract))
  define("times", 1, 1, reckoning(arithmetic.multiply, integers.multiply))
  define("divided_by", 1, 1, reckoning(arithmetic.divide, integers.divide))
  define("modulo", 1, 1, reckoning(arithmetic.modulo, integers.modulo))
  define("ceil", 0, 0, whole("ceil"))
  define("floor", 0, 0, whole("floor"))
  define("round", 0, 1, round, { 0 })
  define("at_least", 1, 1, reckoning(at_least))
  define("at_most", 1, 1, reckoning(at_most))
end
