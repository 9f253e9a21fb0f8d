-- The powers of ten behind the reading and writing of floats, against integers of any size; see spec/support/powers.c.

-- A natural number is a list of its digits to the base 2^24, the lowest first.
local BITS = 24
local MASK = (1 << BITS) - 1

local function from_hex(hex)
  local n = {}
  for last = #hex, 1, -6 do n[#n + 1] = tonumber(hex:sub(math.max(last - 5, 1), last), 16) end
  return n
end

local function multiply(a, b)
  local product = {}
  for i = 1, #a + #b do product[i] = 0 end
  for i = 1, #a do
    local carry = 0
    for j = 1, #b do
      local sum = product[i + j - 1] + a[i] * b[j] + carry
      product[i + j - 1], carry = sum & MASK, sum >> BITS
    end
    product[i + #b] = carry
  end
  while product[#product] == 0 do product[#product] = nil end
  return product
end

local function power_of_two(exponent)
  local n = {}
  for i = 1, exponent // BITS do n[i] = 0 end
  n[#n + 1] = 1 << exponent % BITS
  return n
end

local function add(n, small)
  local sum = { table.unpack(n) }
  for i = 1, #sum do
    small = small + sum[i]
    sum[i], small = small & MASK, small >> BITS
  end
  sum[#sum + 1] = small ~= 0 and small or nil
  return sum
end

local function bit_length(n)
  local length = (#n - 1) * BITS
  local last = n[#n]
  while last > 0 do last, length = last >> 1, length + 1 end
  return length
end

local function is_less(a, b)
  if #a ~= #b then return #a < #b end
  for i = #a, 1, -1 do
    if a[i] ~= b[i] then return a[i] < b[i] end
  end
  return false
end

-- power * 2^shift <= 10^k < (power + 1) * 2^shift
local function is_cut_off(power, ten)
  local shift = bit_length(ten) - 128
  local scale = power_of_two(math.abs(shift))
  if shift < 0 then return not is_less(power, multiply(ten, scale)) and not is_less(multiply(ten, scale), power) end
  return not is_less(ten, multiply(power, scale)) and is_less(ten, multiply(add(power, 1), scale))
end

-- (power - 1) * 10^-k < 2^shift <= power * 10^-k
local function is_rounded_up(power, ten)
  local one = power_of_two(bit_length(ten) + 127)
  return is_less(multiply(add(power, -1), ten), one) and not is_less(multiply(power, ten), one)
end

describe("a power of ten", function()
  it("has its first 128 bits right for every exponent", function()
    local program <const> = os.tmpname()
    finally(function() os.remove(program) end)
    assert.is_true(os.execute(("${CC:-cc} -std=c11 -O1 -o %s spec/support/powers.c -lm"):format(program)))
    local powers = {}
    for line in io.popen(program):lines() do
      local k, hex = line:match("^(%S+) (%x+)$")
      powers[tonumber(k)] = from_hex(hex)
    end
    local ten = { 1 }
    for k = 0, 342 do
      if k <= 324 then
        assert.equal(128, bit_length(powers[k]), k)
        assert.is_true(is_cut_off(powers[k], ten), k)
      end
      if k > 0 then
        assert.equal(128, bit_length(powers[-k]), -k)
        assert.is_true(is_rounded_up(powers[-k], ten), -k)
      end
      ten = multiply(ten, { 10 })
    end
  end)
end)
