-- Integers of more than 64 bits: parsing, printing, comparing and arithmetic.
--
-- Such an integer is a table whose first item is its decimal text, as in pintle's JSON codec. Arithmetic uses a sign
-- and groups of seven digits, the lowest first. A result that fits into a Lua integer is a Lua integer.

local values = require "liquid.values"

local bigint = {}

local BASE, WIDTH = 10000000, 7
local format, sub = string.format, string.sub

local has_pintle, core = pcall(require, "pintle.core")
local metatable = has_pintle and core.json.bigint_mt
  or { __name = "liquid.bigint", __tostring = function(number) return number[1] end }

---Arithmetic with more digits is an error. Such integers can still be printed and compared.
bigint.MAX_DIGITS = 4096

---@param value any
---@return boolean
function bigint.is(value)
  return getmetatable(value) == metatable
end

---Whether an integer has too many digits for arithmetic.
---@param value any
---@return boolean
function bigint.is_too_long(value)
  return type(value) == "table" and getmetatable(value) == metatable and #value[1] > bigint.MAX_DIGITS
end

local function trim(groups)
  for i = #groups, 2, -1 do
    if groups[i] ~= 0 then break end
    groups[i] = nil
  end
  return groups
end

---The Lua integer of a decimal text; nil if it does not fit.
---@param text string
---@return integer?
function bigint.small(text)
  local value = tonumber(text)
  return math.type(value) == "integer" and value or nil
end

---Parses decimal digits with an optional sign.
---@param text string
---@return integer|table
function bigint.parse(text)
  local small = bigint.small(text)
  if small then return small end
  local sign, digits = text:match("^([+-]?)0*(%d+)$")
  digits = (sign == "-" and "-" or "") .. digits
  return bigint.small(digits) or setmetatable({ digits }, metatable)
end

-- {====== Groups ======

local function groups_of_text(text)
  local groups = { negative = sub(text, 1, 1) == "-" }
  local count, first = 0, groups.negative and 2 or 1
  for last = #text, first, -WIDTH do
    count = count + 1
    groups[count] = tonumber(sub(text, math.max(first, last - WIDTH + 1), last))
  end
  return groups
end

local function groups_of(value)
  if type(value) ~= "table" then return groups_of_text(format("%d", value)) end
  local groups = value.groups
  if not groups then
    groups = groups_of_text(value[1])
    value.groups = groups
  end
  return groups
end

-- The integer with these groups.
local function from_groups(groups, negative)
  local count = #groups
  if count == 1 then return negative and -groups[1] or groups[1] end
  local parts = { negative and "-" or "", tostring(groups[count]) }
  for i = count - 1, 1, -1 do parts[#parts + 1] = format("%07d", groups[i]) end
  local text = table.concat(parts)
  local small = count <= 3 and bigint.small(text)
  if small then return small end
  groups.negative = negative
  return setmetatable({ text, groups = groups }, metatable)
end

local function compare_sizes(a, b)
  if #a ~= #b then return #a < #b and -1 or 1 end
  for i = #a, 1, -1 do
    if a[i] ~= b[i] then return a[i] < b[i] and -1 or 1 end
  end
  return 0
end

local function add_sizes(a, b)
  local sum, carry = {}, 0
  for i = 1, math.max(#a, #b) do
    local digit = (a[i] or 0) + (b[i] or 0) + carry
    sum[i], carry = digit % BASE, digit // BASE
  end
  if carry > 0 then sum[#sum + 1] = carry end
  return sum
end

-- The difference of two sizes. `a` is the larger one.
local function subtract_sizes(a, b)
  local difference, borrow = {}, 0
  for i = 1, #a do
    local digit = a[i] - (b[i] or 0) - borrow
    borrow = digit < 0 and 1 or 0
    difference[i] = digit % BASE
  end
  return trim(difference)
end

local function multiply_sizes(a, b)
  local product = {}
  for i = 1, #a + #b do product[i] = 0 end
  for i = 1, #a do
    local carry, factor = 0, a[i]
    for j = 1, #b do
      local digit = product[i + j - 1] + factor * b[j] + carry
      product[i + j - 1], carry = digit % BASE, digit // BASE
    end
    product[i + #b] = carry
  end
  return trim(product)
end

local function divide_by_group(a, divisor)
  local quotient, rest = {}, 0
  for i = #a, 1, -1 do
    rest = rest * BASE + a[i]
    quotient[i], rest = rest // divisor, rest % divisor
  end
  return trim(quotient), { rest }
end

-- Subtracts `digit` times the divisor from the groups of `rest` that begin at `at`. Returns whether that is negative.
local function subtract_multiple(rest, divisor, digit, at)
  local borrow = 0
  for i = 1, #divisor do
    local value = rest[at + i - 1] - digit * divisor[i] - borrow
    rest[at + i - 1], borrow = value % BASE, -(value // BASE)
  end
  local value = rest[at + #divisor] - borrow
  rest[at + #divisor] = value % BASE
  return value < 0
end

local function add_back(rest, divisor, at)
  local carry = 0
  for i = 1, #divisor do
    local value = rest[at + i - 1] + divisor[i] + carry
    rest[at + i - 1], carry = value % BASE, value // BASE
  end
  rest[at + #divisor] = (rest[at + #divisor] + carry) % BASE
end

-- Estimates a digit of the quotient from the highest groups of `rest` and the divisor. It is at most two too large.
local function estimate_digit(rest, divisor, at)
  local size = #divisor
  local head = rest[at + size] * BASE + rest[at + size - 1]
  local digit = math.min(head // divisor[size], BASE - 1)
  local left = head - digit * divisor[size]
  while left < BASE and digit * divisor[size - 1] > left * BASE + rest[at + size - 2] do
    digit, left = digit - 1, left + divisor[size]
  end
  return digit
end

-- Long division: Knuth, The Art of Computer Programming, section 4.3.1, algorithm D.
local function divide_sizes(a, b)
  if compare_sizes(a, b) < 0 then return { 0 }, a end
  if #b == 1 then return divide_by_group(a, b[1]) end
  local scale = { BASE // (b[#b] + 1) }
  local rest, divisor = multiply_sizes(a, scale), multiply_sizes(b, scale)
  for i = #rest + 1, #a + 1 do rest[i] = 0 end
  local quotient = {}
  for at = #a - #b + 1, 1, -1 do
    local digit = estimate_digit(rest, divisor, at)
    if subtract_multiple(rest, divisor, digit, at) then
      digit = digit - 1
      add_back(rest, divisor, at)
    end
    quotient[at] = digit
  end
  return trim(quotient), (divide_by_group(trim(rest), scale[1]))
end

-- }======

---@param a integer|table
---@param b integer|table
---@return integer|table
function bigint.add(a, b)
  a, b = groups_of(a), groups_of(b)
  if a.negative == b.negative then return from_groups(add_sizes(a, b), a.negative) end
  local order = compare_sizes(a, b)
  if order == 0 then return 0 end
  if order > 0 then return from_groups(subtract_sizes(a, b), a.negative) end
  return from_groups(subtract_sizes(b, a), b.negative)
end

---@param a integer|table
---@return integer|table
function bigint.negate(a)
  local text = bigint.text(a)
  return bigint.parse(sub(text, 1, 1) == "-" and sub(text, 2) or "-" .. text)
end

---@param a integer|table
---@param b integer|table
---@return integer|table
function bigint.multiply(a, b)
  a, b = groups_of(a), groups_of(b)
  return from_groups(multiply_sizes(a, b), a.negative ~= b.negative)
end

---Floor division, as in Ruby.
---@param a integer|table
---@param b integer|table not 0
---@return integer|table quotient, integer|table remainder with the sign of the divisor
function bigint.divide(a, b)
  local dividend, divisor = groups_of(a), groups_of(b)
  local negative = dividend.negative ~= divisor.negative
  local quotient, rest = divide_sizes(dividend, divisor)
  -- The remainder may be the table of the dividend, whose sign must not change.
  rest = from_groups(table.move(rest, 1, #rest, 1, {}), dividend.negative)
  quotient = from_groups(quotient, negative)
  if negative and rest ~= 0 then return bigint.add(quotient, -1), bigint.add(rest, b) end
  return quotient, rest
end

---@param a integer|table
---@return boolean
function bigint.is_negative(a)
  if type(a) ~= "table" then return a < 0 end
  return sub(a[1], 1, 1) == "-"
end

---@param a integer|table
---@param b integer|table
---@return integer -1, 0 or 1
function bigint.compare(a, b)
  local negative = bigint.is_negative(a)
  if negative ~= bigint.is_negative(b) then return negative and -1 or 1 end
  a, b = bigint.text(a), bigint.text(b)
  if a == b then return 0 end
  local is_smaller = #a < #b or #a == #b and a < b
  return is_smaller ~= negative and -1 or 1
end

---@param value integer|table
---@return string
function bigint.text(value)
  if type(value) == "table" then return value[1] end
  return format("%d", value)
end

---@param a table
---@return number
function bigint.to_float(a)
  return tonumber(a[1] .. ".0")
end

---A float without its fraction.
---@param value number finite
---@return integer|table
function bigint.from_float(value)
  return bigint.parse((format("%.0f", value < 0 and math.ceil(value) or math.floor(value))))
end

---The number of bytes that Ruby needs for an integer.
---@param a table
---@return integer
function bigint.bytes(a)
  local rest = bigint.parse((a[1]:gsub("^%-", "")))
  -- An approximation, because dividing such an integer takes too long.
  if bigint.is_too_long(rest) then return #rest[1] * math.log(10, 256) // 1 | 0 end
  local bytes = 0
  while bigint.is(rest) do
    rest, bytes = bigint.divide(rest, 1 << 32), bytes + 4
  end
  while rest > 0 do
    rest, bytes = rest >> 8, bytes + 1
  end
  return math.max(bytes, 8)
end

bigint.TWO_TO_64 = bigint.parse("18446744073709551616")

values.register(metatable, {
  kind = "bigint",
  to_s = function(number) return number[1] end,
  get = function(number, key, _, command)
    if key == "size" and command then return bigint.bytes(number) end
    return nil, nil, true
  end,
  equal = function(a, b) return bigint.is(b) and a[1] == b[1] end,
})

return bigint
