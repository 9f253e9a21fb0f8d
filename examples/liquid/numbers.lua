-- Numbers as Liquid reads and prints them.

local bigint = require "liquid.bigint"
local errors = require "liquid.errors"
local values = require "liquid.values"

local numbers = {}

local format, find, match, byte, math_type = string.format, string.find, string.match, string.byte, math.type

---An integer or a float as it stands in a template.
---@param text string
---@return number|table
function numbers.literal(text)
  if text:find(".", 1, true) then return tonumber(text) end
  return bigint.parse(text)
end

---The fewest digits that read back as the same float.
---@param value number
---@return string
local function shortest(value)
  for digits = 15, 17 do
    local text = format("%." .. digits - 1 .. "e", value)
    if tonumber(text) == value then return text end
  end
end

---A float as an integer and how many of its digits are behind the point, where that is simple: 12.5 is 125 and 1.
---@param value number
---@return integer? mantissa, integer? scale
function numbers.decimal(value)
  local short = format("%.15g", value)
  local whole, fraction = match(short, "^(%-?%d+)%.?(%d*)$")
  if not whole or tonumber(short) ~= value then return nil end
  return math.tointeger(tonumber(whole .. fraction)), #fraction
end

---The digits of a float without a point, and where the point is: 12.5 is "125" and 2.
---@param value number finite
---@return string digits, integer point, boolean negative
function numbers.digits(value)
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
  local digits, point, negative = numbers.digits(value)
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

---The integer that a text begins with; 0 where it begins with none.
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

-- Digits without a sign, of another radix than ten.
local function in_radix(digits, radix)
  local value, unit = 0, radix
  for digit in digits:gmatch(".") do
    -- The first 15 digits fit, whatever the radix is.
    if math_type(value) == "integer" and value < 1 << 59 then
      value = value * unit + tonumber(digit, radix)
    else
      value = bigint.add(bigint.multiply(value, unit), tonumber(digit, radix))
    end
  end
  return value
end

-- A prefix tells the radix; a zero alone tells 8.
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

-- Integer("…") of Ruby: spaces around, a sign, a prefix, single underscores between digits, and nothing else. Of an
-- integer that is too large for 64 bits Ruby reads no further than to a NUL.
local function whole_text(text)
  local sign, digits, rest = match(text, "^%s*([+-]?)(%w[%w_]*)%s*(.*)$")
  if not digits then return nil end
  local value = digits_value(sign, digits)
  if rest == "" or not value then return value end
  if byte(rest) ~= 0 then return nil end
  local size = sign == "-" and bigint.negate(value) or value
  return bigint.compare(size, bigint.TWO_TO_64) >= 0 and value or nil
end

-- Positions and lengths beyond 64 bits are as good as the largest.
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

-- Every float has as many digits.
local FLOAT_DIGITS = 15

-- Decimals of more digits than a float has: an integer, and how many of its digits are behind the point.
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

-- The number that a text is; as much of it as is an integer, if it has no point.
local function from_text(text)
  local whole, fraction = match(text, "^[%s%z]*(%-?%d+)%.(%d+)[%s%z]*$")
  if not whole then return numbers.leading_integer(text) end
  if find(text, "\0", 1, true) then return errors.argument("string contains null byte") end
  return from_decimal(whole, fraction)
end

---A number for arithmetic, which may be a decimal; 0 for what is none.
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

return numbers
