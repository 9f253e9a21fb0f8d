-- Numbers: parsing and printing them as Ruby does, and exact arithmetic with integers of any size and with decimals, so
-- that 0.1 plus 0.2 is 0.3.

local bigint = require "liquid.bigint"
local errors = require "liquid.errors"
local values = require "liquid.values"

local numbers = {}

local format, find, match, byte, math_type = string.format, string.find, string.match, string.byte, math.type

---An integer or a float in the source of a template.
---@param text string
---@return number|table
function numbers.literal(text)
  if text:find(".", 1, true) then return tonumber(text) end
  return bigint.parse(text)
end

---The shortest text that converts back to the same float.
---@param value number
---@return string
local function shortest(value)
  for digits = 15, 17 do
    local text = format("%." .. digits - 1 .. "e", value)
    if tonumber(text) == value then return text end
  end
end

---A float as an integer and the number of its digits after the point, if it has at most 15 digits: 12.5 is 125 and 1.
---@param value number
---@return integer? mantissa, integer? scale
local function short_decimal(value)
  local short = format("%.15g", value)
  local whole, fraction = match(short, "^(%-?%d+)%.?(%d*)$")
  if not whole or tonumber(short) ~= value then return nil end
  return math.tointeger(tonumber(whole .. fraction)), #fraction
end

---The digits of a float without the point, and the position of the point: 12.5 is "125" and 2.
---@param value number finite
---@return string digits, integer point, boolean negative
local function float_digits(value)
  local sign, first, rest, exponent = shortest(value):match("^(%-?)(%d)%.?(%d*)e([+-]%d+)$")
  local digits = (first .. rest):gsub("0+$", "")
  return digits == "" and "0" or digits, math.tointeger(tonumber(exponent)) + 1, sign == "-"
end

---A float as Ruby prints it: 1.0, 1.0e+20, 1.0e-05.
---@param value number
---@return string
function numbers.float_text(value)
  local short = format("%.15g", value)
  if not find(short, "[en]") and tonumber(short) == value and value ~= 0 then
    return find(short, ".", 1, true) and short or short .. ".0"
  end
  if value ~= value then return "NaN" end
  if value == math.huge then return "Infinity" end
  if value == -math.huge then return "-Infinity" end
  if value == 0 then return 1 / value < 0 and "-0.0" or "0.0" end
  local digits, point, negative = float_digits(value)
  local text
  if point > 15 and #digits <= point or point < -3 then
    local rest = digits:sub(2)
    text = format("%s.%se%s%02d", digits:sub(1, 1), rest == "" and "0" or rest, point > 0 and "+" or "-",
      math.abs(point - 1))
  elseif point <= 0 then
    text = "0." .. ("0"):rep(-point) .. digits
  elseif #digits <= point then
    text = digits .. ("0"):rep(point - #digits) .. ".0"
  else
    text = digits:sub(1, point) .. "." .. digits:sub(point + 1)
  end
  return negative and "-" .. text or text
end

---The integer at the begin of a text; 0 if there is none.
---@param text string
---@return integer|table
function numbers.leading_integer(text)
  local sign, digits = match(text, "^%s*([+-]?)(%d[%d_]*)")
  if digits == "0" then digits = match(text, "^%s*[+-]?0[dD](%d[%d_]*)") end
  if not digits then return 0 end
  digits = digits:gsub("__.*", ""):gsub("_", "")
  return bigint.parse(sign .. digits)
end

local radices = { x = 16, b = 2, o = 8, d = 10 }
local digits_of = { [16] = "^%x+$", [10] = "^%d+$", [8] = "^[0-7]+$", [2] = "^[01]+$" }

-- The value of digits in a radix other than 10.
local function in_radix(digits, radix)
  local value, unit = 0, radix
  for digit in digits:gmatch(".") do
    -- Larger values could overflow.
    if math_type(value) == "integer" and value < 1 << 59 then
      value = value * unit + tonumber(digit, radix)
    else
      value = bigint.add(bigint.multiply(value, unit), tonumber(digit, radix))
    end
  end
  return value
end

-- The radix by the prefix of an integer. A zero without a letter is the prefix of radix 8.
local function radix_of(digits)
  local letter, rest = match(digits, "^0([xXbBoOdD])(%w[%w_]*)$")
  if letter then return radices[letter:lower()], rest end
  if find(digits, "^0.") then return 8, digits end
  return 10, digits
end

local function digits_value(sign, digits)
  local radix, rest = radix_of(digits)
  if find(rest, "__", 1, true) or find(rest, "_$") then return nil end
  rest = rest:gsub("_", "")
  if #rest > bigint.MAX_DIGITS or not find(rest, digits_of[radix]) then return nil end
  if radix == 10 then return bigint.parse(sign .. rest) end
  local value = in_radix(rest, radix)
  return sign == "-" and bigint.negate(value) or value
end

-- Ruby's Integer(text): whitespace around, a sign, a prefix, single underscores between digits, and nothing else. In a
-- text with an integer of more than 64 bits, Ruby ignores a NUL and everything after it.
local function whole_text(text)
  local sign, digits, rest = match(text, "^%s*([+-]?)(%w[%w_]*)%s*(.*)$")
  if not digits then return nil end
  local value = digits_value(sign, digits)
  if rest == "" or not value then return value end
  if byte(rest) ~= 0 then return nil end
  local size = sign == "-" and bigint.negate(value) or value
  return bigint.compare(size, bigint.TWO_TO_64) >= 0 and value or nil
end

-- Positions and lengths are clamped to 64 bits.
local function clamped(value)
  if math_type(value) == "integer" then return value end
  return bigint.is_negative(value) and math.mininteger or math.maxinteger
end

local function invalid_integer() return errors.argument("invalid integer") end

---An integer, for positions, lengths and limits. A drop is converted to text first.
---@param value any
---@param ctx? liquid.context
---@return integer? value, table? err
function numbers.to_integer(value, ctx)
  if math_type(value) == "integer" then return value end
  if bigint.is(value) then return clamped(value) end
  local protocol = values.protocol(value)
  if protocol and protocol.to_s then
    local err
    value, err = protocol.to_s(value, ctx)
    if err then return nil, err end
  end
  if type(value) == "string" then
    value = whole_text(value)
    if not value then return invalid_integer() end
    return clamped(value)
  end
  if math_type(value) == "integer" then return value end
  return invalid_integer()
end

-- All decimals of so many digits can be floats.
local FLOAT_DIGITS = 15

-- A decimal with more digits than a float: an integer, and the number of its digits after the point.
local decimal_metatable = { __name = "liquid.decimal" }

---@param value any
---@return boolean
function numbers.is_decimal(value)
  return type(value) == "table" and getmetatable(value) == decimal_metatable
end

local function from_decimal(whole, fraction)
  local count = #whole + #fraction
  local mantissa = count > FLOAT_DIGITS and count <= bigint.MAX_DIGITS and bigint.parse(whole .. fraction) or 0
  if mantissa == 0 then return tonumber(whole .. "." .. fraction) end
  return setmetatable({ mantissa = mantissa, scale = #fraction }, decimal_metatable)
end

-- The number of a text: a decimal, or the integer at its begin.
local function from_text(text)
  local whole, fraction = match(text, "^[%s%z]*(%-?%d+)%.(%d+)[%s%z]*$")
  if not whole then return numbers.leading_integer(text) end
  if find(text, "\0", 1, true) then return errors.argument("string contains null byte") end
  return from_decimal(whole, fraction)
end

---A number for arithmetic, which may be a decimal; 0 for values that are not numbers.
---@param value any
---@param ctx? liquid.context
---@return any number, table? err
function numbers.to_number(value, ctx)
  if type(value) == "number" then return value end
  if type(value) == "string" then
    return from_text(value)
  end
  if bigint.is(value) then return value end
  local protocol = values.protocol(value)
  if protocol and protocol.number then return protocol.number(value, ctx) end
  return 0
end

-- {====== Arithmetic ======

local is_decimal = numbers.is_decimal

local HALF = 1 << 31
local EXACT = 1 << 53

-- Whether a number is neither infinite nor NaN.
local function finite(value) return value == value and value ~= math.huge and value ~= -math.huge end

local powers = { [0] = 1 }
for i = 1, 18 do powers[i] = powers[i - 1] * 10 end

local function power(exponent) return powers[exponent] or bigint.parse("1" .. ("0"):rep(exponent)) end

-- A number as an integer and the number of its digits after the point.
local function decimal(value)
  if is_decimal(value) then return value.mantissa, value.scale end
  if math_type(value) ~= "float" then return value, 0 end
  local mantissa, places = short_decimal(value)
  if mantissa then return mantissa, places end
  local digits, point, negative = float_digits(value)
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
    -- The sum overflowed if its sign differs from both signs.
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
  -- Both are exact as floats, so the quotient is the nearest float.
  if scale <= 18 and exact(mantissa) then return mantissa / powers[scale] end
  return tonumber(bigint.text(mantissa) .. "e-" .. scale) + 0.0
end

local function is_real(value) return math_type(value) == "float" or is_decimal(value) end

local function is_float(a, b) return is_real(a) or is_real(b) end

local function plain(value)
  if is_decimal(value) then return to_float(value.mantissa, value.scale) end
  return bigint.is(value) and bigint.to_float(value) or value
end

-- Converts two integers with scales to the same scale.
local function align(first, first_scale, second, second_scale)
  if first_scale < second_scale then
    first, first_scale = multiply(first, power(second_scale - first_scale)), second_scale
  elseif second_scale < first_scale then
    second = multiply(second, power(first_scale - second_scale))
  end
  return first, second, first_scale
end

-- Two numbers as integers with the same scale.
local function aligned(a, b)
  local first, first_scale = decimal(a)
  return align(first, first_scale, decimal(b))
end

local function all_finite(a, b) return finite(a) and finite(b) end

---The error of an integer with too many digits for arithmetic.
---@return nil, table err
function numbers.too_long()
  return errors.argument(("integer has more than %d digits"):format(bigint.MAX_DIGITS))
end

-- An operation that fails if an operand or the result has too many digits.
local function bounded(operation)
  return function(a, b)
    if bigint.is_too_long(a) or bigint.is_too_long(b) then return numbers.too_long() end
    local result, err = operation(a, b)
    if bigint.is_too_long(result) then return numbers.too_long() end
    return result, err
  end
end

---@param a number|table
---@param b number|table
---@return any sum, table? err
numbers.add = bounded(function(a, b)
  if not is_float(a, b) then return add(a, b) end
  if a == 0 and b == 0 or not all_finite(a, b) then return plain(a) + plain(b) end
  local first, second, scale = aligned(a, b)
  return to_float(add(first, second), scale)
end)

---The exact sum of many numbers. Only the result is converted to a float.
---@param list (number|table)[]
---@return any sum, table? err
function numbers.sum(list)
  local total, scale, endless, has_floats = 0, 0, nil, false
  for i = 1, #list do
    local value = list[i]
    if bigint.is_too_long(value) then return numbers.too_long() end
    has_floats = has_floats or is_real(value)
    if not finite(value) then
      endless = (endless or 0) + value
    else
      local part
      total, part, scale = align(total, scale, decimal(value))
      total = add(total, part)
    end
    if bigint.is_too_long(total) then return numbers.too_long() end
  end
  if not has_floats then return total end
  return endless or to_float(total, scale)
end

---@param a number|table
---@param b number|table
---@return any difference, table? err
numbers.subtract = bounded(function(a, b)
  if not is_float(a, b) then return add(a, negate(b)) end
  if a == 0 and b == 0 or not all_finite(a, b) then return plain(a) - plain(b) end
  local first, second, scale = aligned(a, b)
  return to_float(add(first, negate(second)), scale)
end)

---@param a number|table
---@param b number|table
---@return any product, table? err
numbers.multiply = bounded(function(a, b)
  if not is_float(a, b) then return multiply(a, b) end
  if not all_finite(a, b) then return plain(a) * plain(b) end
  local first, first_scale = decimal(a)
  local second, second_scale = decimal(b)
  -- Floats give a zero the right sign.
  if first == 0 or second == 0 then return plain(a) * plain(b) end
  return to_float(multiply(first, second), first_scale + second_scale)
end)

-- The nearest float to a quotient, computed from more digits than a float has.
local function long_quotient(first, second)
  local scale = math.max(0, #bigint.text(second) - #bigint.text(first) + 30)
  return to_float((bigint.divide(multiply(first, power(scale)), second)), scale)
end

local function divided_by_zero() return nil, errors.new("zero_division_error", "divided by 0") end

---@param a number|table
---@param b number|table
---@return any quotient, table? err
numbers.divide = bounded(function(a, b)
  if not is_float(a, b) then
    if b == 0 then return divided_by_zero() end
    if math_type(a) == "integer" and math_type(b) == "integer" and a ~= math.mininteger then return a // b end
    return (bigint.divide(a, b))
  end
  -- Floats give a zero the right sign.
  if a == 0 or b == 0 or not all_finite(a, b) then return plain(a) / plain(b) end
  local first, second = aligned(a, b)
  if exact(first) and exact(second) then return first / second end
  return long_quotient(first, second)
end)

---@param a number|table
---@param b number|table
---@return any remainder, table? err
numbers.modulo = bounded(function(a, b)
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

---The operations for two Lua integers.
numbers.integers = {
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
function numbers.absolute(a)
  if bigint.is(a) then return bigint.is_negative(a) and bigint.negate(a) or a end
  if is_decimal(a) then return math.abs(plain(a)) end
  if a == math.mininteger then return bigint.negate(a) end
  return math.abs(a)
end

-- The integer of a float that is compared with a large integer.
local function as_integer(value)
  if math_type(value) ~= "float" then return value end
  return bigint.from_float(value)
end

---A number as a value of a template: decimals are converted to floats.
---@param value number|table
---@return number|table
function numbers.result(value)
  return is_decimal(value) and plain(value) or value
end

---@param a number|table
---@param b number|table
---@return integer -1, 0 or 1
function numbers.compare(a, b)
  if (is_decimal(a) or is_decimal(b)) and all_finite(a, b) then
    local first, second = aligned(a, b)
    return bigint.compare(first, second)
  end
  if (bigint.is(a) or bigint.is(b)) and all_finite(a, b) then return bigint.compare(as_integer(a), as_integer(b)) end
  a, b = plain(a), plain(b)
  return a < b and -1 or a > b and 1 or 0
end

numbers.decimal, numbers.power, numbers.to_float, numbers.finite = decimal, power, to_float, finite

-- }======

return numbers
