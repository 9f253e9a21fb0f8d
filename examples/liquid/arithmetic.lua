-- Reckoning as the reference does it: integers of any size, and decimals that are exact, so that 0.1 and 0.2 are 0.3.

local bigint = require "liquid.bigint"
local errors = require "liquid.errors"
local numbers = require "liquid.numbers"

local arithmetic = {}

local math_type, is_decimal = math.type, numbers.is_decimal
local HALF = 1 << 31
local EXACT = 1 << 53

-- Integers of any size are.
local function finite(value) return value == value and value ~= math.huge and value ~= -math.huge end

local powers = { [0] = 1 }
for i = 1, 18 do powers[i] = powers[i - 1] * 10 end

local function power(exponent) return powers[exponent] or bigint.parse("1" .. ("0"):rep(exponent)) end

-- A number as an integer and how many of its digits are behind the point.
local function decimal(value)
  if is_decimal(value) then return value.mantissa, value.scale end
  if math_type(value) ~= "float" then return value, 0 end
  local mantissa, places = numbers.decimal(value)
  if mantissa then return mantissa, places end
  local digits, point, negative = numbers.digits(value)
  local scale = #digits - point
  if scale < 0 then digits, scale = digits .. ("0"):rep(-scale), 0 end
  return bigint.parse((negative and "-" or "") .. digits), scale
end

local function multiply(a, b)
  if math_type(a) == "integer" and math_type(b) == "integer"
    and a > -HALF and a < HALF and b > -HALF and b < HALF then
    return a * b
  end
  return bigint.multiply(a, b)
end

local function add(a, b)
  if math_type(a) == "integer" and math_type(b) == "integer" then
    local sum = a + b
    -- It overflowed if both signs differ from that of the sum.
    if (a ~ sum) & (b ~ sum) >= 0 then return sum end
  end
  return bigint.add(a, b)
end

local function negate(a)
  if math_type(a) == "integer" and a ~= math.mininteger then return -a end
  return bigint.negate(a)
end

local function exact(a) return math_type(a) == "integer" and a > -EXACT and a < EXACT end

local function to_float(mantissa, scale)
  -- Both are exact as floats then, and so the quotient is the nearest.
  if scale <= 18 and exact(mantissa) then return mantissa / powers[scale] end
  return tonumber(bigint.text(mantissa) .. "e-" .. scale) + 0.0
end

local function is_real(value) return math_type(value) == "float" or is_decimal(value) end

local function is_float(a, b) return is_real(a) or is_real(b) end

local function plain(value)
  if is_decimal(value) then return to_float(value.mantissa, value.scale) end
  return bigint.is(value) and bigint.to_float(value) or value
end

-- Two integers of the same scale.
local function align(first, first_scale, second, second_scale)
  if first_scale < second_scale then
    first, first_scale = multiply(first, power(second_scale - first_scale)), second_scale
  elseif second_scale < first_scale then
    second = multiply(second, power(first_scale - second_scale))
  end
  return first, second, first_scale
end

-- Both as integers of the same scale.
local function aligned(a, b)
  local first, first_scale = decimal(a)
  return align(first, first_scale, decimal(b))
end

local function all_finite(a, b) return finite(a) and finite(b) end

---The error of an integer that is too long for arithmetic.
---@return nil, table err
function arithmetic.too_long()
  return errors.argument(("integer has more than %d digits"):format(bigint.MAX_DIGITS))
end

-- An operation on numbers that are not too long, whose result is not either.
local function bounded(operation)
  return function(a, b)
    if bigint.is_too_long(a) or bigint.is_too_long(b) then return arithmetic.too_long() end
    local result, err = operation(a, b)
    if bigint.is_too_long(result) then return arithmetic.too_long() end
    return result, err
  end
end

---@param a number|table
---@param b number|table
---@return any sum, table? err
arithmetic.add = bounded(function(a, b)
  if not is_float(a, b) then return add(a, b) end
  if a == 0 and b == 0 or not all_finite(a, b) then return plain(a) + plain(b) end
  local first, second, scale = aligned(a, b)
  return to_float(add(first, second), scale)
end)

---The sum of many numbers. It becomes a float only in the end, so that nothing is lost on the way.
---@param list (number|table)[]
---@return any sum, table? err
function arithmetic.sum(list)
  local total, scale, endless, has_floats = 0, 0, nil, false
  for i = 1, #list do
    local value = list[i]
    if bigint.is_too_long(value) then return arithmetic.too_long() end
    has_floats = has_floats or is_real(value)
    if not finite(value) then
      endless = (endless or 0) + value
    else
      local part
      total, part, scale = align(total, scale, decimal(value))
      total = add(total, part)
    end
    if bigint.is_too_long(total) then return arithmetic.too_long() end
  end
  if not has_floats then return total end
  return endless or to_float(total, scale)
end

---@param a number|table
---@param b number|table
---@return any difference, table? err
arithmetic.subtract = bounded(function(a, b)
  if not is_float(a, b) then return add(a, negate(b)) end
  if a == 0 and b == 0 or not all_finite(a, b) then return plain(a) - plain(b) end
  local first, second, scale = aligned(a, b)
  return to_float(add(first, negate(second)), scale)
end)

---@param a number|table
---@param b number|table
---@return any product, table? err
arithmetic.multiply = bounded(function(a, b)
  if not is_float(a, b) then return multiply(a, b) end
  if not all_finite(a, b) then return plain(a) * plain(b) end
  local first, first_scale = decimal(a)
  local second, second_scale = decimal(b)
  -- A zero keeps the sign that the product would have.
  if first == 0 or second == 0 then return plain(a) * plain(b) end
  return to_float(multiply(first, second), first_scale + second_scale)
end)

-- The nearest float to a quotient: from more of its digits than a float has.
local function long_quotient(first, second)
  local scale = math.max(0, #bigint.text(second) - #bigint.text(first) + 30)
  return to_float((bigint.divide(multiply(first, power(scale)), second)), scale)
end

local function divided_by_zero() return nil, errors.new("zero_division_error", "divided by 0") end

---@param a number|table
---@param b number|table
---@return any quotient, table? err
arithmetic.divide = bounded(function(a, b)
  if not is_float(a, b) then
    if b == 0 then return divided_by_zero() end
    if math_type(a) == "integer" and math_type(b) == "integer" and a ~= math.mininteger then return a // b end
    return (bigint.divide(a, b))
  end
  -- A zero keeps its sign.
  if a == 0 or b == 0 or not all_finite(a, b) then return plain(a) / plain(b) end
  local first, second = aligned(a, b)
  if exact(first) and exact(second) then return first / second end
  return long_quotient(first, second)
end)

---@param a number|table
---@param b number|table
---@return any remainder, table? err
arithmetic.modulo = bounded(function(a, b)
  if not is_float(a, b) then
    if b == 0 then return divided_by_zero() end
    if math_type(a) == "integer" and math_type(b) == "integer" then return a % b end
    local _, rest = bigint.divide(a, b)
    return rest
  end
  if b == 0 then return divided_by_zero() end
  if not all_finite(a, b) then return plain(a) % plain(b) end
  local first, second, scale = aligned(a, b)
  if math_type(first) == "integer" and math_type(second) == "integer" then return to_float(first % second, scale) end
  local _, rest = bigint.divide(first, second)
  return to_float(rest, scale)
end)

---The same of two integers of Lua.
arithmetic.integers = {
  add = function(a, b)
    local sum = a + b
    if (a ~ sum) & (b ~ sum) >= 0 then return sum end
    return bigint.add(a, b)
  end,
  subtract = function(a, b)
    local difference = a - b
    if (a ~ b) & (a ~ difference) >= 0 then return difference end
    return bigint.add(a, bigint.negate(b))
  end,
  multiply = multiply,
  divide = function(a, b)
    if b == 0 then return divided_by_zero() end
    if a == math.mininteger then return (bigint.divide(a, b)) end
    return a // b
  end,
  modulo = function(a, b)
    if b == 0 then return divided_by_zero() end
    return a % b
  end,
}

---@param a number|table
---@return number|table
function arithmetic.absolute(a)
  if bigint.is(a) then return bigint.is_negative(a) and bigint.negate(a) or a end
  if is_decimal(a) then return math.abs(plain(a)) end
  if a == math.mininteger then return bigint.negate(a) end
  return math.abs(a)
end

-- A float of that size is an integer.
local function as_integer(value)
  if math_type(value) ~= "float" then return value end
  return bigint.from_float(value)
end

---A number as a value of a template: a decimal is a float.
---@param value number|table
---@return number|table
function arithmetic.result(value)
  return is_decimal(value) and plain(value) or value
end

---@param a number|table
---@param b number|table
---@return integer -1, 0 or 1
function arithmetic.compare(a, b)
  if (is_decimal(a) or is_decimal(b)) and all_finite(a, b) then
    local first, second = aligned(a, b)
    return bigint.compare(first, second)
  end
  if (bigint.is(a) or bigint.is(b)) and all_finite(a, b) then return bigint.compare(as_integer(a), as_integer(b)) end
  a, b = plain(a), plain(b)
  return a < b and -1 or a > b and 1 or 0
end

arithmetic.decimal, arithmetic.power, arithmetic.to_float, arithmetic.finite = decimal, power, to_float, finite

return arithmetic
