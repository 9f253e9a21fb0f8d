-- Rounding, of what a number shows: halves go away from zero.

local arithmetic = require "liquid.arithmetic"
local bigint = require "liquid.bigint"
local errors = require "liquid.errors"
local numbers = require "liquid.numbers"

local rounding = {}

local math_type, floor = math.type, math.floor
local add, multiply = arithmetic.add, arithmetic.multiply
local decimal, power, to_float, finite = arithmetic.decimal, arithmetic.power, arithmetic.to_float, arithmetic.finite

-- All floats below this are exact to the integer.
local EXACT = 1 << 53

-- An integer divided by a power of ten: "floor", "ceil", or "round" with halves away from zero.
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
  local order = arithmetic.compare(multiply(rest, 2), unit)
  local negative = arithmetic.compare(mantissa, 0) < 0
  if order > 0 or (order == 0 and not negative) then return add(quotient, 1) end
  return quotient
end

local units = { 10, 100, 1000, 10000 }

local function not_finite(value)
  local message = ("Computation results in '%s'"):format(numbers.float_text(value))
  if value ~= value then message = message .. " (Not a Number)" end
  return nil, errors.new("float_domain_error", message)
end

---To an integer: "floor", "ceil" or "round".
---@param value number|table
---@param mode string
---@return any value, table? err
function rounding.whole(value, mode)
  if numbers.is_decimal(value) then return scaled(value.mantissa, value.scale, mode) end
  if math_type(value) ~= "float" then return value end
  if not finite(value) then return not_finite(value) end
  if mode == "floor" and value > -EXACT and value < EXACT then return math.floor(value) end
  if mode == "ceil" and value > -EXACT and value < EXACT then return math.ceil(value) end
  local mantissa, scale = decimal(value)
  if scale == 0 then return mantissa end
  return scaled(mantissa, scale, mode)
end

-- Floats between these are rounded by what they are, unless that is close to a half, where what they show counts.
local SMALL, CLOSE = 1e9, 1e-4

local function rounded_simply(value, unit)
  if value > SMALL or value < -SMALL then return nil end
  local scaled_up = value * unit
  local nearest = floor(scaled_up + 0.5)
  local distance = scaled_up - nearest
  -- What becomes 0 keeps its sign, but not here.
  if nearest == 0 or distance > 0.5 - CLOSE or distance < CLOSE - 0.5 then return nil end
  return nearest / unit
end

---To so many digits behind the point; before it, an integer.
---@param value number|table
---@param places integer
---@return any value, table? err
function rounding.round(value, places)
  if bigint.is_too_long(value) then return arithmetic.too_long() end
  if math_type(value) == "float" and not finite(value) then
    if places > 0 then return value end
    return not_finite(value)
  end
  local unit = units[places]
  local simply = unit and math_type(value) == "float" and rounded_simply(value, unit)
  if simply then return simply end
  local mantissa, scale = decimal(value)
  if places >= scale and places > 0 then return arithmetic.result(value) end
  if scale - places > bigint.MAX_DIGITS then return 0 end
  local rounded = scaled(mantissa, scale - places, "round")
  if places < 0 then return multiply(rounded, power(-places)) end
  if math_type(value) == "integer" or bigint.is(value) then return rounded end
  return to_float(rounded, places)
end

return rounding
