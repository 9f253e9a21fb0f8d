local support = require "spec.support.engine"
local bigint = require "liquid.bigint"
local numbers = require "liquid.numbers"

local outputs = support.outputs

describe("floats", function()
  it("are printed as Ruby prints them", function()
    for text, value in pairs {
      ["1.0"] = 1.0, ["0.1"] = 0.1, ["-0.0"] = -0.0, ["100.0"] = 100.0, ["1.0e+16"] = 1e16, ["1.0e+15"] = 1e15,
      ["100000000000000.0"] = 1e14, ["3000000000000000.5"] = 3000000000000000.5, ["0.0001"] = 0.0001,
      ["1.0e-05"] = 0.00001, ["1.2345678901234568e+165"] = 1.2345678901234568e165, ["Infinity"] = math.huge,
      ["-Infinity"] = -math.huge, ["0.3333333333333333"] = 1 / 3, ["NaN"] = 0 / 0,
    } do
      assert.equal(text, numbers.float_text(value))
    end
  end)
end)

describe("arithmetic", function()
  it("is exact with decimals", function()
    outputs {
      ["0.1 | plus: 0.2"] = "0.3", ["1.1 | times: 1.1"] = "1.21", ["4.3 | minus: 2"] = "2.3",
      ["0.0725 | times: 100"] = "7.25",
      ["1.1 | divided_by: 0.1"] = "11.0", ["5.5 | modulo: 0.2"] = "0.1", ["'1' | plus: '1.0'"] = "2.0",
    }
  end)

  it("rounds halves away from zero", function()
    outputs {
      ["2.5 | round"] = "3", ["-2.5 | round"] = "-3", ["1.005 | round: 2"] = "1.01",
      ["12345.678 | round: -2"] = "12300",
      ["4.2 | ceil"] = "5", ["-4.2 | floor"] = "-5", ["'3.7' | round"] = "4", ["15 | round: -1"] = "20",
    }
  end)

  it("rounds integer quotients down, and fails with a divisor of 0", function()
    outputs {
      ["-7 | divided_by: 2"] = "-4", ["-7 | modulo: 3"] = "2", ["7 | divided_by: 2.0"] = "3.5",
      ["1 | divided_by: 0"] = "Liquid error (line 1): divided by 0",
      ["1 | modulo: 0"] = "Liquid error (line 1): divided by 0",
      ["1.0 | divided_by: 0"] = "Infinity",
    }
  end)

  it("treats values that are not numbers as 0", function()
    outputs { ["'abc' | plus: 1"] = "1", ["nil | times: 2"] = "0", ["'12abc' | plus: 1"] = "13", ["true | abs"] = "0" }
  end)

  it("limits the number of digits", function()
    outputs { ["5 | at_least: 7"] = "7", ["5 | at_most: 3.5"] = "3.5", ["-5 | abs"] = "5", ["'-1.5' | abs"] = "1.5" }
  end)
end)

describe("large integers", function()
  it("do not overflow", function()
    outputs {
      ["9223372036854775807 | plus: 1"] = "9223372036854775808",
      ["9223372036854775807 | times: 9223372036854775807"] = "85070591730234615847396907784232501249",
      ["85070591730234615847396907784232501249 | divided_by: 9223372036854775807"] = "9223372036854775807",
      ["-9223372036854775808 | minus: 1"] = "-9223372036854775809",
      ["-9223372036854775808 | abs"] = "9223372036854775808",
      ["18446744073709551616 | modulo: 10"] = "6", ["18446744073709551616 | minus: 18446744073709551615"] = "1",
    }
    assert.equal("y", support.render "{% if 18446744073709551616 > 1 %}y{% endif %}")
  end)

  it("are divided with quotients rounded down, with any signs", function()
    local a = bigint.parse "100000000000000000000"
    for divisor, expected in pairs { [7] = "14285714285714285714 2", [-7] = "-14285714285714285715 -5" } do
      local quotient, rest = bigint.divide(a, divisor)
      assert.equal(expected, support.render("{{ q }} {{ r }}", { q = quotient, r = rest }))
    end
  end)
end)

describe("integers in texts", function()
  it("are parsed strictly as positions", function()
    for text, expected in pairs { [" 12 "] = 12, ["1_000"] = 1000, ["0x1F"] = 31, ["-5"] = -5 } do
      assert.equal(expected, numbers.to_integer(text))
    end
    for _, text in ipairs { "", "1.5", "1__0", "12a", "1\0", "_1" } do
      local value, err = numbers.to_integer(text)
      assert.is_nil(value)
      assert.equal("invalid integer", err.message)
    end
  end)

  it("keep the sign of zero, and fail if there is no integer", function()
    support.outputs({
      ["-0.0 | divided_by: 1"] = "-0.0", ["'-0.0' | divided_by: -4"] = "0.0", ["-0.0 | minus: 0"] = "-0.0",
      ["0.0 | minus: 0.0"] = "0.0",
      ["0.5 | divided_by: 0 | ceil"] = "Liquid error (line 1): Computation results in 'Infinity'",
      ["-0.5 | divided_by: 0 | floor"] = "Liquid error (line 1): Computation results in '-Infinity'",
      ["0.0 | divided_by: 0.0 | round"] = "Liquid error (line 1): Computation results in 'NaN' (Not a Number)",
    }, {})
  end)
end)
