-- Numbers as Liquid reads and prints them.

local bigint = require "liquid.bigint"
local errors = require "liquid.errors"
local values = require "liquid.values"

local numbers = {}

local format, find, match, math_type = string.format, string.find, string.match, math.type

---An integer or a float as it stands in a template.
---@param text string
---@return number|table
function numbers.literal(text)
  if text:find(".", 1, true) then return tonumber(text) end
  return bigint.small(text) or bigint.parse(text)
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
  local sign, digits = text:match("^%s*([+-]?)(%d[%d_]*)")
  if not digits then return 0 end
  digits = digits:gsub("__.*", ""):gsub("_", "")
  return bigint.small(sign .. digits) or bigint.parse(sign .. digits)
end

local radices = { x = 16, X = 16, b = 2, B = 2, o = 8, O = 8 }

-- Of an integer that is too large for 64 bits Ruby reads no further than to a NUL.
local function beyond_64_bits(text)
  local sign, digits = text:match("^%s*([+-]?)0*(%d[%d_]*)%z")
  if not digits then return nil end
  local bare = digits:gsub("_", "")
  if #bare < 20 or #bare == 20 and bare <= "18446744073709551615" then return nil end
  return sign, digits
end

-- Integer("…") of Ruby: spaces around, a sign, a prefix, single underscores between digits, and nothing else.
local function whole_text(text)
  local sign, digits = text:match("^%s*([+-]?)([%w_]+)%s*$")
  if not digits then sign, digits = beyond_64_bits(text) end
  if not digits or digits:find("__", 1, true) or digits:find("^_") or digits:find("_$") then return nil end
  digits = digits:gsub("_", "")
  local radix = digits:match("^0([xXbBoO])%w")
  if radix then
    local value = tonumber(digits:sub(3), radices[radix])
    return value and (sign == "-" and -value or value)
  end
  if digits:find("%D") then return nil end
  if digits:find("^0%d") then return tonumber(digits, 8) and (sign == "-" and -1 or 1) * tonumber(digits, 8) end
  return bigint.small(sign .. digits) or bigint.parse(sign .. digits)
end

-- Positions and lengths beyond 64 bits are as good as the largest.
local function clamped(value)
  if math_type(value) == "integer" then return value end
  if bigint.is(value) then return value.negative and math.mininteger or math.maxinteger end
  return value < 0 and math.mininteger or math.maxinteger
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
  -- An integer that JSON could only bring as a float.
  if math_type(value) == "float" and math.abs(value) >= 0x1p63 and value == value then return clamped(value) end
  if math_type(value) == "integer" then return value end
  return invalid_integer()
end

---A number to reckon with; 0 for what is none.
---@param value any
---@param ctx? liquid.context
---@return any number, table? err
function numbers.to_number(value, ctx)
  if type(value) == "number" then return value end
  if type(value) == "string" then
    local decimal = value:match("^%s*(%-?%d+%.%d+)%s*$")
    if decimal then return tonumber(decimal) end
    return numbers.leading_integer(value)
  end
  if bigint.is(value) then return value end
  local protocol = values.protocol(value)
  if protocol and protocol.number then return protocol.number(value, ctx) end
  return 0
end

return numbers
