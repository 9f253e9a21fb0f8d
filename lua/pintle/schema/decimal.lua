-- Whether a number is a multiple of another, judged by their decimals: 0.3 is one of 0.1, whatever the bits say.

---@class pintle.schema.decimal
local decimal = {}

local function shortest(number)
  for digits = 15, 17 do
    local text = ("%%.%de"):format(digits - 1):format(number)
    if tonumber(text) == number then return text end
  end
end

-- number = mantissa * 10^exponent, the mantissa an integer >= 0 that does not end in 0
local function split(number)
  if math.type(number) == "integer" then
    local digits, zeros = tostring(number):match "^-?(%d-)(0*)$"
    return tonumber(digits), #zeros
  end
  local whole, fraction, exponent = shortest(number):match "^-?(%d)%p(%d+)e([-+]%d+)$"
  fraction = fraction:gsub("0+$", "")
  return tonumber(whole .. fraction), tonumber(exponent) - #fraction
end

-- (a + b) % modulus, of numbers whose sum may not fit
local function add(a, b, modulus)
  local room = modulus - b
  return a >= room and a - room or a + b
end

local function times_ten(number, modulus)
  local two = add(number, number, modulus)
  local four = add(two, two, modulus)
  return add(add(four, four, modulus), two, modulus)
end

local function divides(mantissa, exponent, number)
  if number == 0 then return true end
  local digits, power = split(number)
  if power < exponent then return false end
  local rest = digits % mantissa
  for _ = 1, power - exponent do
    if rest == 0 then return true end
    rest = times_ten(rest, mantissa)
  end
  return rest == 0
end

---@param divisor number above 0
---@return fun(number: number): boolean is_multiple
function decimal.multiples_of(divisor)
  local integer = math.tointeger(divisor)
  local mantissa, exponent = split(divisor)
  return function(number)
    local whole = integer and math.tointeger(number)
    if whole then return whole % integer == 0 end
    if number - number ~= 0 then return false end
    if number == math.mininteger then number = number + 0.0 end
    return divides(mantissa, exponent, number)
  end
end

return decimal
