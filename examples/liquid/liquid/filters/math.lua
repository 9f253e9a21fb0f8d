-- Filters of numbers, and rounding.

local bigint = require "liquid.bigint"
local context = require "liquid.context"
local errors = require "liquid.errors"
local numbers = require "liquid.numbers"

local math_type, floor = math.type, math.floor
local integers, to_number = numbers.integers, numbers.to_number

-- {====== Rounding ======

local add, multiply = numbers.add, numbers.multiply
local decimal, power, to_float, finite = numbers.decimal, numbers.power, numbers.to_float, numbers.finite

-- Integers below this are exact as floats.
local EXACT = 1 << 53

-- Divides an integer by a power of ten. The mode is "floor", "ceil", or "round", which rounds halves away from zero.
local function scaled(mantissa, scale, mode)
  local unit = power(scale)
  local quotient, rest
  if math_type(mantissa) == "integer" and math_type(unit) == "integer" then
    quotient, rest = mantissa // unit, mantissa % unit
  else
    quotient, rest = bigint.divide(mantissa, unit)
  end
  if rest == 0 or mode == "floor" then return quotient end
  if mode == "ceil" then return add(quotient, 1) end
  local order = numbers.compare(multiply(rest, 2), unit)
  local negative = numbers.compare(mantissa, 0) < 0
  if order > 0 or (order == 0 and not negative) then return add(quotient, 1) end
  return quotient
end

local units = { 10, 100, 1000, 10000 }

local function not_finite(value)
  local message = ("Computation results in '%s'"):format(numbers.float_text(value))
  if value ~= value then message = message .. " (Not a Number)" end
  return nil, errors.new("float_domain_error", message)
end

---Rounds to an integer. The mode is "floor", "ceil" or "round".
---@param value number|table
---@param mode string
---@return any value, table? err
local function round_to_integer(value, mode)
  if numbers.is_decimal(value) then return scaled(value.mantissa, value.scale, mode) end
  if math_type(value) ~= "float" then return value end
  if not finite(value) then return not_finite(value) end
  if mode == "floor" and value > -EXACT and value < EXACT then return math.floor(value) end
  if mode == "ceil" and value > -EXACT and value < EXACT then return math.ceil(value) end
  local mantissa, scale = decimal(value)
  if scale == 0 then return mantissa end
  return scaled(mantissa, scale, mode)
end

-- Floats up to this size are rounded as floats, unless they are close to a half: then their decimal digits decide.
local SMALL, CLOSE = 1e9, 1e-4

local function rounded_simply(value, unit)
  if value > SMALL or value < -SMALL then return nil end
  local scaled_up = value * unit
  local nearest = floor(scaled_up + 0.5)
  local distance = scaled_up - nearest
  -- A result of 0 must keep its sign, which is done elsewhere.
  if nearest == 0 or distance > 0.5 - CLOSE or distance < CLOSE - 0.5 then return nil end
  return nearest / unit
end

---Rounds to a number of digits after the point. The result is an integer if that is negative.
---@param value number|table
---@param places integer
---@return any value, table? err
local function round_to_places(value, places)
  if bigint.is_too_long(value) then return numbers.too_long() end
  if math_type(value) == "float" and not finite(value) then
    if places > 0 then return value end
    return not_finite(value)
  end
  local unit = units[places]
  local simply = unit and math_type(value) == "float" and rounded_simply(value, unit)
  if simply then return simply end
  local mantissa, scale = decimal(value)
  if places >= scale and places > 0 then return numbers.result(value) end
  if scale - places > bigint.MAX_DIGITS then return 0 end
  local rounded = scaled(mantissa, scale - places, "round")
  if places < 0 then return multiply(rounded, power(-places)) end
  if math_type(value) == "integer" or bigint.is(value) then return rounded end
  return to_float(rounded, places)
end

-- }======

-- The maximum number of digits of a number.
local function length(number)
  if type(number) ~= "table" then return 20 end
  return #bigint.text(numbers.is_decimal(number) and number.mantissa or number)
end

-- A filter of two numbers, with a fast path for integers.
local function arithmetic_filter(operation, of_integers)
  return function(ctx, input, operand)
    if of_integers and math_type(input) == "integer" and math_type(operand) == "integer" then
      return of_integers(input, operand)
    end
    local a, err = to_number(input, ctx)
    if err then return nil, err end
    local b
    b, err = to_number(operand, ctx)
    if err then return nil, err end
    if type(a) == "table" or type(b) == "table" then context.count_work(ctx, length(a) * length(b)) end
    return operation(a, b)
  end
end

local function whole(mode)
  return function(ctx, input)
    local value, err = to_number(input, ctx)
    if err then return nil, err end
    return round_to_integer(value, mode)
  end
end

local function absolute(ctx, input)
  local value, err = to_number(input, ctx)
  if err then return nil, err end
  return numbers.absolute(value)
end

-- Ruby's round needs a number of places that fits into an int of C.
local MIN_PLACES, MAX_PLACES = -(1 << 31), (1 << 31) - 1

local function round(ctx, input, places)
  local value, err = to_number(input, ctx)
  if err then return nil, err end
  local digits
  digits, err = to_number(places, ctx)
  if err then return nil, err end
  digits = numbers.result(digits)
  if math_type(digits) == "float" then digits = math.tointeger(digits < 0 and -(-digits // 1) or digits // 1) end
  if math_type(digits) ~= "integer" or digits < MIN_PLACES or digits > MAX_PLACES then
    return nil, errors.new("internal_error", "internal")
  end
  if digits == 0 then return round_to_integer(value, "round") end
  return round_to_places(value, digits)
end

local function at_least(a, b)
  return numbers.result(numbers.compare(b, a) > 0 and b or a)
end

local function at_most(a, b)
  return numbers.result(numbers.compare(b, a) < 0 and b or a)
end

return function(define)
  define("abs", 0, 0, absolute)
  define("plus", 1, 1, arithmetic_filter(numbers.add, integers.add))
  define("minus", 1, 1, arithmetic_filter(numbers.subtract, integers.subtract))
  define("times", 1, 1, arithmetic_filter(numbers.multiply, integers.multiply))
  define("divided_by", 1, 1, arithmetic_filter(numbers.divide, integers.divide))
  define("modulo", 1, 1, arithmetic_filter(numbers.modulo, integers.modulo))
  define("ceil", 0, 0, whole("ceil"))
  define("floor", 0, 0, whole("floor"))
  define("round", 0, 1, round, { 0 })
  define("at_least", 1, 1, arithmetic_filter(at_least))
  define("at_most", 1, 1, arithmetic_filter(at_most))
end
