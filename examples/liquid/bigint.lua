-- Integers of more than 64 bits, as far as templates come upon them: adding, multiplying, dividing, printing.
--
-- A sign and digits in groups of seven, the lowest first. What fits into an integer of Lua is given back as one.

local values = require "liquid.values"

local bigint = {}

local BASE, WIDTH = 10000000, 7
local metatable = { __name = "liquid.bigint" }

---@param value any
---@return boolean
function bigint.is(value)
  return getmetatable(value) == metatable
end

local function trim(groups)
  for i = #groups, 2, -1 do
    if groups[i] ~= 0 then break end
    groups[i] = nil
  end
  return groups
end

local function text_of(number)
  local parts, count = { number.negative and "-" or "" }, #number
  parts[2] = tostring(number[count])
  for i = count - 1, 1, -1 do parts[#parts + 1] = string.format("%07d", number[i]) end
  return table.concat(parts)
end

---The integer of Lua that digits are, nil if they are too many for one.
---@param text string
---@return integer?
function bigint.small(text)
  local value = tonumber(text)
  return math.type(value) == "integer" and value or nil
end

-- An integer of Lua where it fits.
local function normal(number)
  if #number > 3 then return number end
  return bigint.small(text_of(number)) or number
end

---Reads decimal digits, with a sign before them or without.
---@param text string
---@return integer|table
function bigint.parse(text)
  local sign, digits = text:match("^([+-]?)0*(%d+)$")
  local groups = { negative = sign == "-" }
  for last = #digits, 1, -WIDTH do
    groups[#groups + 1] = math.tointeger(tonumber(digits:sub(math.max(1, last - WIDTH + 1), last)))
  end
  return normal(setmetatable(groups, metatable))
end

local function big(value)
  if bigint.is(value) then return value end
  local groups, text = { negative = value < 0 }, string.format("%d", value):gsub("^%-", "")
  for last = #text, 1, -WIDTH do
    groups[#groups + 1] = math.tointeger(tonumber(text:sub(math.max(1, last - WIDTH + 1), last)))
  end
  return setmetatable(groups, metatable)
end

local function compare_size(a, b)
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

-- a is the larger.
local function subtract_sizes(a, b)
  local difference, borrow = {}, 0
  for i = 1, #a do
    local digit = a[i] - (b[i] or 0) - borrow
    borrow = digit < 0 and 1 or 0
    difference[i] = digit % BASE
  end
  return trim(difference)
end

local function signed(groups, negative)
  groups.negative = negative
  return normal(setmetatable(groups, metatable))
end

---@param a integer|table
---@param b integer|table
---@return integer|table
function bigint.add(a, b)
  a, b = big(a), big(b)
  if a.negative == b.negative then return signed(add_sizes(a, b), a.negative) end
  local order = compare_size(a, b)
  if order == 0 then return 0 end
  if order > 0 then return signed(subtract_sizes(a, b), a.negative) end
  return signed(subtract_sizes(b, a), b.negative)
end

---@param a integer|table
---@return integer|table
function bigint.negate(a)
  a = big(a)
  return signed(table.move(a, 1, #a, 1, {}), not a.negative)
end

---@param a integer|table
---@param b integer|table
---@return integer|table
function bigint.multiply(a, b)
  a, b = big(a), big(b)
  local product = {}
  for i = 1, #a + #b do product[i] = 0 end
  for i = 1, #a do
    local carry = 0
    for j = 1, #b do
      local digit = product[i + j - 1] + a[i] * b[j] + carry
      product[i + j - 1], carry = digit % BASE, digit // BASE
    end
    product[i + #b] = product[i + #b] + carry
  end
  return signed(trim(product), a.negative ~= b.negative)
end

---@param a integer|table
---@param b integer|table
---@return integer -1, 0 or 1
function bigint.compare(a, b)
  a, b = big(a), big(b)
  if a.negative ~= b.negative then return a.negative and -1 or 1 end
  local order = compare_size(a, b)
  return a.negative and -order or order
end

-- The largest digit whose product with the divisor still fits, found by halving.
local function digit_for(rest, divisor)
  local low, high = 0, BASE - 1
  while low < high do
    local middle = (low + high + 1) // 2
    if bigint.compare(bigint.multiply(divisor, middle), rest) <= 0 then low = middle else high = middle - 1 end
  end
  return low
end

---Floor division, as Ruby's.
---@param a integer|table
---@param b integer|table not 0
---@return integer|table quotient, integer|table remainder of the divisor's sign
function bigint.divide(a, b)
  local dividend, divisor = big(a), big(b)
  local size = divisor.negative and bigint.negate(divisor) or b
  local quotient, rest = {}, 0
  for i = #dividend, 1, -1 do
    rest = bigint.add(bigint.multiply(rest, BASE), dividend[i])
    local digit = digit_for(rest, size)
    quotient[i] = digit
    rest = bigint.add(rest, bigint.negate(bigint.multiply(size, digit)))
  end
  local negative = dividend.negative ~= divisor.negative
  quotient = signed(trim(quotient), negative)
  if dividend.negative then rest = bigint.negate(rest) end
  if negative and rest ~= 0 then return bigint.add(quotient, -1), bigint.add(rest, b) end
  return quotient, rest
end

bigint.text = text_of

---@param a table
---@return number
function bigint.to_float(a)
  return tonumber(text_of(a)) + 0.0
end

values.register(metatable, {
  kind = "bigint",
  to_s = text_of,
  get = function(_, key, _, command)
    if key == "size" and command then return 16 end
    return nil, nil, true
  end,
  equal = function(a, b) return bigint.is(b) and bigint.compare(a, b) == 0 end,
})

return bigint
