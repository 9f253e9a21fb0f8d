local core = require "pintle.core"
local bits = require("spec.support.deep").bits

local decode, encode = core.json.decode, core.json.encode

local function assert_bits(expected, actual, why)
  if bits(expected) ~= bits(actual) then
    error(("%s: %.17g (%s) expected, got %.17g (%s)"):format(why, expected, math.type(expected), actual,
      math.type(actual)), 2)
  end
end

-- The nearest double, as C's strtod reads it.
local function nearest(text)
  return tonumber(text:find("[.eE]") and text or text .. "e0")
end

local function assert_reads(text)
  assert_bits(nearest(text), decode(text), text)
end

local function digits_of(text)
  return (text:gsub("^-", ""):gsub("[eE].*", ""):gsub("%.", ""):gsub("^0+", ""):gsub("0+$", ""))
end

-- No text with fewer digits reads back as x, and among those with as many digits this is the nearest to x.
local function assert_shortest(x)
  local text = encode(x)
  assert_bits(x, decode(text), text)
  assert_bits(x, nearest(text), text)
  local digits = digits_of(text)
  assert.is_true(#digits <= 17, text)
  local shorter = ("%." .. math.max(#digits - 1, 1) .. "g"):format(x)
  if #digits > 1 then assert.not_equal(x, tonumber(shorter), text) end
  local rounded = ("%." .. math.max(#digits, 1) .. "g"):format(x)
  if tonumber(rounded) == x then assert.equal(digits_of(rounded), digits, text) end
end

local function random_double()
  while true do
    local x = string.unpack("d", string.pack("i8", math.random(0)))
    if x == x and math.abs(x) ~= math.huge then return x end
  end
end

local function random_digits(n)
  local digits = { tostring(math.random(1, 9)) }
  for i = 2, n do digits[i] = tostring(math.random(0, 9)) end
  return table.concat(digits)
end

describe("an integer", function()
  it("is exact in all 64 bits", function()
    for _, text in ipairs {
      "0", "1", "-1", "9", "10", "99", "100", "9007199254740991", "9007199254740993", "-9007199254740993",
      "999999999999999999", "1000000000000000000", "9223372036854775806", "9223372036854775807",
      "-9223372036854775807", "-9223372036854775808",
    } do
      local value = decode(text)
      assert.equal("integer", math.type(value))
      assert.equal(text, ("%d"):format(value))
      assert.equal(text, encode(value))
    end
  end)

  it("of any number of digits is written as Lua writes it", function()
    local value = 1
    for _ = 1, 19 do
      for _, n in ipairs { value - 1, value, value + 1, -value + 1, -value, -value - 1 } do
        assert.equal(tostring(n), encode(n))
        assert_bits(n, decode(tostring(n)), n)
      end
      value = value * 10
    end
    for _ = 1, 2000 do
      local n = math.random(0) >> math.random(0, 63)
      assert.equal(tostring(n), encode(n))
      assert_bits(n, decode(encode(n)), n)
      assert_bits(-n, decode(encode(-n)), -n)
    end
  end)

  it("outside of 64 bits becomes the nearest float", function()
    for _, text in ipairs {
      "9223372036854775808", "-9223372036854775809", "9999999999999999999", "10000000000000000000",
      "18446744073709551615", "18446744073709551616", "-18446744073709551616", "123456789012345678901234567890",
      "1" .. ("0"):rep(300),
    } do
      local value = decode(text)
      assert.equal("float", math.type(value), text)
      assert_reads(text)
    end
  end)
end)

describe("a float", function()
  it("stays a float when it is whole", function()
    for text, value in pairs { ["1.0"] = 1.0, ["-1.0"] = -1.0, ["0.0"] = 0.0, ["100.0"] = 100.0, ["1e2"] = 100.0,
      ["1E+2"] = 100.0, ["0e0"] = 0.0, ["10e-1"] = 1.0 } do
      assert_bits(value, decode(text), text)
    end
    assert.equal("1.0", encode(1.0))
    assert.equal("0.0", encode(0.0))
    assert.equal("100.0", encode(1e2))
    assert.equal("-3.0", encode(-3.0))
  end)

  it("keeps the sign of zero", function()
    assert_bits(-0.0, decode("-0"), "-0")
    assert_bits(-0.0, decode("-0.0"), "-0.0")
    assert_bits(-0.0, decode("-0e5"), "-0e5")
    assert_bits(0.0, decode("0.0"), "0.0")
    assert_bits(0, decode("0"), "0")
    assert.equal("-0.0", encode(-0.0))
    assert_bits(-0.0, decode(encode(-0.0)), "again")
  end)

  it("is written in its shortest form", function()
    for text, x in pairs {
      ["0.1"] = 0.1, ["0.3"] = 0.3, ["0.30000000000000004"] = 0.1 + 0.2, ["1.5"] = 1.5, ["5e-324"] = 0x1p-1074,
      ["2.2250738585072014e-308"] = 0x1p-1022, ["1.7976931348623157e308"] = 0x1.fffffffffffffp1023,
      ["9007199254740992.0"] = 0x1p53, ["0.000123"] = 0.000123, ["1e100"] = 1e100, ["1e23"] = 1e23,
      ["-1.25e-7"] = -1.25e-7,
    } do
      assert.equal(text, encode(x))
    end
  end)

  it("comes back bit for bit, in its shortest form, whatever its bits", function()
    for _ = 1, 20000 do assert_shortest(random_double()) end
  end)

  it("comes back if it is a power of two or next to one", function()
    for exponent = -1074, 1023 do
      local x = 2.0 ^ exponent
      local n = string.unpack("<i8", string.pack("<d", x))
      for step = -2, 2 do
        local beside = string.unpack("<d", string.pack("<i8", math.max(n + step, 0)))
        assert_shortest(beside)
        assert_shortest(-beside)
      end
    end
  end)

  it("comes back if it is a power of ten or next to one", function()
    for exponent = -323, 308 do
      local n = string.unpack("<i8", string.pack("<d", tonumber("1e" .. exponent)))
      for step = -1, 1 do assert_shortest((string.unpack("<d", string.pack("<i8", n + step)))) end
    end
  end)

  it("comes back if it is subnormal", function()
    for _ = 1, 5000 do
      assert_shortest((string.unpack("d", string.pack("i8", math.random(0) >> math.random(12, 63)))))
    end
  end)

  it("of few digits keeps them", function()
    for _ = 1, 5000 do
      local text = ("%d.%02d"):format(math.random(-99999, 99999), math.random(0, 99))
      local x = tonumber(text)
      assert_shortest(x)
      assert_reads(text)
    end
  end)
end)

describe("a decimal", function()
  it("is read as the nearest float, whatever its length", function()
    for _ = 1, 20000 do
      local digits = random_digits(math.random(1, 40))
      local point = math.random(0, #digits - 1)
      local text = point == 0 and "0." .. digits or digits:sub(1, point) .. "." .. digits:sub(point + 1)
      assert_reads(text .. "e" .. math.random(-345, 260))
    end
  end)

  it("is read as the nearest float, with thousands of digits", function()
    for _, n in ipairs { 20, 100, 767, 768, 779, 780, 781, 800, 5000 } do
      local digits = random_digits(n)
      assert_reads("0." .. digits)
      assert_reads("-0." .. ("0"):rep(300) .. digits)
      assert_reads(digits .. "e-" .. n)
      assert_reads("1" .. ("0"):rep(n) .. "." .. ("0"):rep(n) .. "e-" .. n)
    end
  end)

  it("halfway between two floats is rounded to even, and just beside it to the nearer", function()
    for _ = 1, 500 do
      local half = (math.random(1 << 53, (1 << 54) - 1) | 1) << math.random(0, 8)
      assert_reads(half .. ".0")
      for _, zeros in ipairs { 0, 1, 20, 800 } do
        assert_reads(half .. "." .. ("0"):rep(zeros) .. "1")
        assert_reads((half - 1) .. "." .. ("9"):rep(zeros + 1))
      end
    end
  end)

  it("is rounded correctly near the smallest floats", function()
    local tiny = "2.4703282292062327208"
    for _, text in ipairs {
      tiny .. "e-324", tiny .. "299e-324", "2.47032822920623272e-324", "2.4703282292062328e-324", "4.9e-324",
      "7.4109846876186981e-324", "2.2250738585072011e-308", "2.2250738585072012e-308", "2.2250738585072014e-308",
      "1e-323", "1e-324", "1e-400", "-1e-400", "0.00000000000000000000000000000000000001e-300",
    } do
      assert_reads(text)
    end
  end)

  it("too small for a float is zero", function()
    assert_bits(0.0, decode("1e-400"), "1e-400")
    assert_bits(-0.0, decode("-1e-99999999999999999999"), "a huge negative exponent")
    assert_bits(0.0, decode("0e99999999999999999999"), "zero to a huge power")
  end)

  it("too large for a float is refused", function()
    for _, text in ipairs {
      "1e309", "-1e309", "1.7976931348623159e308", "1e400", "-1e400", "1e99999999999999999999", "1" .. ("0"):rep(309),
      "0.1e310", ("9"):rep(400),
    } do
      local value, message = decode(text)
      assert.is_nil(value, text)
      assert.equal("number too large at line 1, column 1", message)
    end
    assert_reads("1.7976931348623157e308")
    assert_reads("1.7976931348623158e308")
  end)

  it("may have its exponent in any form", function()
    for _, text in ipairs { "1e5", "1E5", "1e+5", "1e05", "1e-05", "1.0e5", "0.1e6", "123e-2", "1e00000000000001" } do
      assert_reads(text)
    end
  end)

  it("whose digits and exponent cancel out is exact", function()
    assert_reads("0." .. ("0"):rep(400) .. "1e401")
    assert_reads("1" .. ("0"):rep(400) .. "e-400")
    assert_reads("123456789012345678" .. ("0"):rep(500) .. "e-510")
  end)
end)

describe("text that only resembles a number", function()
  it("is refused", function()
    for _, text in ipairs {
      "-", "+1", "01", "-01", "00", "1.", "-1.", ".5", "-.5", "1e", "1e+", "1E-", "1.e5", "0x10", "1_000", "1;5",
      "Infinity", "-Infinity", "NaN", "nan", "inf", "--1", "1-", "1e5.5", "1f", "٣",
    } do
      assert.is_nil((decode(text)), text)
      assert.is_nil((decode("[" .. text .. "]")), text)
    end
  end)
end)

describe("the locale", function()
  it("has no effect on numbers", function()
    local before = os.setlocale(nil, "numeric")
    for _, name in ipairs { "de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", "fr_FR.utf8", "nl_NL.UTF-8" } do
      if os.setlocale(name, "numeric") then break end
    end
    local written, halfway = encode(1.5), "9007199254740993." .. ("0"):rep(800) .. "1"
    local read, hard = decode("1.5"), decode(halfway)
    os.setlocale(before, "numeric")
    assert.equal("1.5", written)
    assert.equal(1.5, read)
    assert_bits(nearest(halfway), hard, "halfway")
  end)
end)
