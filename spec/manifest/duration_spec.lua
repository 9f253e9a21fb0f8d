local duration = require "pintle.duration"

local MICRO, GREEK_MU = "\u{B5}s", "\u{3BC}s"

describe("a duration", function()
  it("is read to the nanosecond", function()
    for text, nanoseconds in pairs {
      ["0"] = 0, ["+0"] = 0, ["-0"] = 0, ["0s"] = 0, ["7s"] = 7000000000, ["+7s"] = 7000000000, ["-7s"] = -7000000000,
      ["1h30m"] = 5400000000000, ["30m1h"] = 5400000000000, ["1m1m"] = 120000000000, ["1.5s"] = 1500000000,
      [".5s"] = 500000000, ["-.25s"] = -250000000, ["1.s"] = 1000000000, ["100ms"] = 100000000, ["2us"] = 2000,
      ["2" .. MICRO] = 2000, ["2" .. GREEK_MU] = 2000, ["9ns"] = 9, ["1.9ns"] = 1, ["0.001" .. MICRO] = 1,
      ["2h3m4s5ms6us7ns"] = 7384005006007, ["1.0000000000000000000000001h"] = 3600000000000,
      ["0.3333333333333333333h"] = 1200000000000, ["9007199254740993ns"] = 9007199254740993,
    } do
      assert.equal(nanoseconds / 1e9, duration.parse(text), text)
    end
  end)

  it("may use all 64 bits of nanoseconds", function()
    assert.equal(math.maxinteger / 1e9, duration.parse "9223372036854775807ns")
    assert.equal(math.maxinteger / 1e9, duration.parse "2562047h47m16.854775807s")
    assert.equal(math.maxinteger / 1e9, duration.parse "9223372036854775.807us")
    assert.equal(math.mininteger / 1e9, duration.parse "-9223372036854775808ns")
    assert.equal(math.mininteger / 1e9, duration.parse "-2562047h47m16.854775808s")
  end)

  it("is refused beyond 64 bits", function()
    for _, text in ipairs {
      "9223372036854775808ns", "-9223372036854775809ns", "18446744073709551617ns", "99999999999999999999999ns",
      "9223372036854775.808us", "9223372036854775808h", "-9223372036854775808us", "2562048h", "-2562048h",
      "9223372036s854ms775us808ns", "5124095h34m33.709551616s",
    } do
      local value, message = duration.parse(text)
      assert.is_nil(value, text)
      assert.matches("is too long", message, 1, true)
    end
  end)

  it("is refused with a message that names the mistake", function()
    for text, message in pairs {
      [""] = 'duration "" is empty',
      ["-"] = 'duration "-" has nothing after its sign',
      ["3000"] = 'duration "3000" has a number without a unit, such as s or ms',
      ["1h2"] = 'duration "1h2" has a number without a unit, such as s or ms',
      ["1.2.3s"] = 'duration "1.2.3s" has a number without a unit, such as s or ms',
      ["00"] = 'duration "00" has a number without a unit, such as s or ms',
      ["."] = 'duration "." has a point without digits',
      ["-.s"] = 'duration "-.s" has a point without digits',
      ["s"] = 'duration "s" has something else where a number is due',
      ["-+1s"] = 'duration "-+1s" has something else where a number is due',
      [" 1s"] = 'duration " 1s" has something else where a number is due',
      ["1d"] = 'duration "1d" has the unknown unit "d"; it has to be ns, us, ms, s, m or h',
      ["1 s"] = 'duration "1 s" has the unknown unit " s"; it has to be ns, us, ms, s, m or h',
      ["1S"] = 'duration "1S" has the unknown unit "S"; it has to be ns, us, ms, s, m or h',
      ["1h-2m"] = 'duration "1h-2m" has the unknown unit "h-"; it has to be ns, us, ms, s, m or h',
      ["1s\n"] = [[duration "1s\x0a" has the unknown unit "s\x0a"; it has to be ns, us, ms, s, m or h]],
      ["\xff"] = [[duration "\xff" has something else where a number is due]],
    } do
      assert.same({ n = 2, nil, message }, table.pack(duration.parse(text)))
    end
  end)

  it("is quoted briefly in the message if it is long", function()
    local _, message = duration.parse(("1h"):rep(100000) .. "1")
    assert.truthy(#message < 200)
  end)

  it("is parsed to seconds", function()
    assert.equal(5400, duration.parse "1h30m")
    assert.equal(1.5, duration.parse "1.5s")
    assert.equal(-0.1, duration.parse "-100ms")
    assert.equal(0, duration.parse "0")
  end)

  it("is read from strings only", function()
    assert.has_error(function() duration.parse(5) end, "a duration is read from a string, got number")
    assert.has_error(function() duration.parse(nil) end, "a duration is read from a string, got nil")
  end)
end)

describe("seconds", function()
  it("are written as Go does", function()
    for text, seconds in pairs {
      ["0s"] = 0, ["1ns"] = 1e-9, ["999ns"] = 999e-9, ["1" .. MICRO] = 1e-6, ["1.1" .. MICRO] = 1.1e-6,
      ["100ms"] = 0.1, ["2.2ms"] = 2.2e-3, ["1s"] = 1, ["1.5s"] = 1.5, ["1.000000001s"] = 1.000000001, ["10s"] = 10,
      ["1m0s"] = 60, ["1m0.05s"] = 60.05, ["1h0m0s"] = 3600, ["1h30m0s"] = 5400, ["100h0m1s"] = 360001,
      ["-1.5s"] = -1.5, ["-1ns"] = -1e-9, ["-2h0m0s"] = -7200, ["2562047h47m16s"] = 9223372036,
    } do
      assert.equal(text, duration.format(seconds))
      assert.equal(text, duration.format(seconds + 0.0))
    end
  end)

  it("are rounded to the nanosecond", function()
    assert.equal("0s", duration.format(4e-10))
    assert.equal("0s", duration.format(-0.0))
    assert.equal("1ns", duration.format(6e-10))
    assert.equal("1s", duration.format(0.9999999999))
    assert.equal("1m0s", duration.format(59.9999999999))
  end)

  it("can be read back", function()
    math.randomseed(7)
    for _ = 1, 2000 do
      local nanoseconds = math.random(0) >> math.random(12, 63)
      local text = duration.format(nanoseconds / 1e9)
      assert.equal(nanoseconds / 1e9, duration.parse(text), text)
    end
  end)

  it("are refused if Go has no such duration", function()
    for _, seconds in ipairs { math.huge, -math.huge, 0 / 0, 9223372037, -1e300, math.maxinteger, math.mininteger } do
      assert.has_error(function() duration.format(seconds) end)
    end
    assert.has_error(function() duration.format "1s" end, "seconds are a number, got string")
  end)
end)

describe("a span of time given by a user", function()
  it("is a number of seconds or a duration", function()
    assert.equal(5, duration.seconds(5))
    assert.equal(0, duration.seconds(0))
    assert.equal(0.25, duration.seconds(0.25))
    assert.equal(90, duration.seconds "1m30s")
    assert.equal(0, duration.seconds "0")
  end)

  it("is refused if it is not a valid time", function()
    for value, message in pairs {
      [-1] = "a span of time cannot be negative, got -1",
      ["-1s"] = "a span of time cannot be negative, got -1s",
      [math.huge] = "a span of time has to end, got inf",
      ["5"] = 'duration "5" has a number without a unit, such as s or ms',
      [true] = 'seconds or a duration such as "1m30s" are needed, got boolean',
    } do
      assert.same({ n = 2, nil, message }, table.pack(duration.seconds(value)))
    end
    assert.is_nil(duration.seconds(0 / 0))
    assert.is_nil(duration.seconds(nil))
  end)
end)
