-- Integers of any size, and positions and lengths at the edge of 64 bits. The expected results are those of Ruby.
local support = require "spec.support.engine"
local json = require("pintle.core").json
local pintle = require "pintle"

local bigint = require "liquid.bigint"

local function decode(text) return json.decode(text, nil, true, true) end

describe("an integer of more than 64 bits", function()
  local environment = decode [[{"n":12345678901234567890,"m":-98765432109876543210,"f":1.0e30,
    "list":[3,12345678901234567890,1.5,-12345678901234567890,12345678901234567891,9223372036854775807],
    "hash":{"a":12345678901234567890}}]]

  local expected = {
    ["n"] = "12345678901234567890",
    ["n | modulo: 7"] = "1",
    ["n | modulo: -7"] = "-6",
    ["n | plus: 1"] = "12345678901234567891",
    ["n | minus: n"] = "0",
    ["n | minus: 12345678901234567889"] = "1",
    ["n | times: n"] = "152415787532388367501905199875019052100",
    ["n | times: n | divided_by: n"] = "12345678901234567890",
    ["n | divided_by: -7"] = "-1763668414462081128",
    ["m | divided_by: n"] = "-9",
    ["m | modulo: n"] = "12345678001234567800",
    ["5 | divided_by: n"] = "0",
    ["-5 | divided_by: n"] = "-1",
    ["-5 | modulo: n"] = "12345678901234567885",
    ["n | divided_by: 0"] = "Liquid error (line 1): divided by 0",
    ["m | abs"] = "98765432109876543210",
    ["n | ceil"] = "12345678901234567890",
    ["n | floor"] = "12345678901234567890",
    ["n | round"] = "12345678901234567890",
    ["n | round: 2"] = "12345678901234567890",
    ["n | round: -3"] = "12345678901234568000",
    ["m | round: -19"] = "-100000000000000000000",
    ["n | at_least: 5"] = "12345678901234567890",
    ["n | at_most: 5"] = "5",
    ["1.5 | at_least: n"] = "12345678901234567890",
    ["n | at_most: f"] = "12345678901234567890",
    ["n | plus: 1.5"] = "1.2345678901234567e+19",
    ["n | divided_by: 7.0"] = "1.763668414462081e+18",
    ["n | times: 0.5"] = "6.172839450617284e+18",
    ["n | modulo: 0.7"] = "0.3",
    ["f | ceil"] = "1000000000000000000000000000000",
    ["n | size"] = "8",
    ["m | size"] = "9",
    ["n.size"] = "8",
    ["n.first"] = "",
    ["n | slice: 2, 3"] = "345",
    ["n | append: 'x'"] = "12345678901234567890x",
    ["n | default: 1"] = "12345678901234567890",
    ["list"] = "3123456789012345678901.5-12345678901234567890123456789012345678919223372036854775807",
    ["hash"] = '{"a"=>12345678901234567890}',
    ["list | sort | join: ' '"] = "-12345678901234567890 1.5 3 9223372036854775807 12345678901234567890 "
      .. "12345678901234567891",
    ["list | sum"] = "2.1569050938089345e+19",
    ["list | uniq | size"] = "6",
    ["list | map: 'x'"] = "Liquid error (line 1): cannot select the property 'x'",
    ["list[n]"] = "Liquid error (line 1): internal",
    ["'12345678901234567890' | plus: '1'"] = "12345678901234567891",
    ["'12345678901234567890.5' | floor"] = "12345678901234567890",
    ["'12345678901234567890.5' | round"] = "12345678901234567891",
    ["'-12345678901234567890.7' | ceil"] = "-12345678901234567890",
    ["'12345678901234567890.75' | modulo: 266"] = "260.75",
    ["'12345678901234567890.75' | plus: 402"] = "1.234567890123457e+19",
    ["'12345678901234567890.75' | divided_by: 328"] = "3.763926494278832e+16",
    ["'12345678901234567890.75' | at_least: n"] = "1.2345678901234567e+19",
    ["n | at_most: '12345678901234567890.75'"] = "12345678901234567890",
    ["'-12345678901234567890.75' | abs"] = "1.2345678901234567e+19",
    ["'0.12345678901234567890' | round: 18"] = "0.12345678901234568",
    ["17 | round: '0.99999999999999999999'"] = "17",
    ["12345678901234567890 | plus: 12345678901234567890"] = "24691357802469135780",
    ["(1..n)"] = "1..12345678901234567890",
  }
  for expression, output in pairs(expected) do
    it("is exact in " .. expression, function()
      assert.equal(output, support.render("{{ " .. expression .. " }}", environment))
    end)
  end

  it("is compared by value with numbers of any type", function()
    for condition, holds in pairs {
      ["n == 12345678901234567890"] = true, ["n == 12345678901234567891"] = false, ["n > 5.5"] = true,
      ["n < 12345678901234567891"] = true, ["m < n"] = true, ["m > -98765432109876543211"] = true, ["5 < m"] = false,
      ["100000000000000000000 == 100000000000000000000.0"] = true, ["n == 12345678901234567890.0"] = false,
      ["n == '12345678901234567890'"] = false, ["list contains n"] = true, ["list contains m"] = false,
      ["f > n"] = true, ["n != m"] = true,
    } do
      local shown = support.render("{% if " .. condition .. " %}true{% else %}false{% endif %}", environment)
      assert.equal(tostring(holds), shown, condition)
    end
    assert.equal("y", support.render("{% case n %}{% when 12345678901234567890 %}y{% endcase %}", environment))
  end)

  it("is named by its class in the error of a failed comparison", function()
    support.all({
      ["{% if 'a' < n %}x{% endif %}"] = "Liquid error (line 1): comparison of String with Integer failed",
      ["{% if 'a' < 4611686018427387904 %}x{% endif %}"] =
        "Liquid error (line 1): comparison of String with Integer failed",
      ["{% if 'a' < 4611686018427387903 %}x{% endif %}"] =
        "Liquid error (line 1): comparison of String with 4611686018427387903 failed",
    }, environment)
  end)

  it("can be the bounds of a range", function()
    support.all {
      ["{% for i in (9223372036854775806..9223372036854775809) %}{{ i }},{% endfor %}"] =
        "9223372036854775806,9223372036854775807,9223372036854775808,9223372036854775809,",
      ["{% for i in (9223372036854775806..9223372036854775809) reversed limit: 1 offset: 2 %}{{ i }}{% endfor %}"] =
        "9223372036854775808",
      ["{% for i in (1..12345678901234567890) limit: 2 %}{{ i }},{% endfor %}"] = "1,2,",
      ["{% tablerow i in (9223372036854775807..9223372036854775808) %}{{ i }}{% endtablerow %}"] =
        '<tr class="row1">\n<td class="col1">9223372036854775807</td><td class="col2">9223372036854775808</td></tr>\n',
      ["{% assign r = (1..12345678901234567890) %}{{ r.size }} {{ r.last }} {% if r contains 5 %}y{% endif %}"] =
        "12345678901234567890 12345678901234567890 y",
    }
  end)

  it("can be in the marker of a drop or a range", function()
    local marked = require("liquid.drops").replace_markers(decode [[{
      "d":{"_instantiate":"NumberDrop","params":{"value":12345678901234567890}},
      "r":{"_ruby_type":"Range","inspect":"","begin":1,"end":12345678901234567890},
      "x":{"_ruby_type":"Range","inspect":"","begin":-9223372036854775809,"end":-9223372036854775807,
        "exclude_end":true}}]])
    support.all({
      ["{{ d }} {{ d | plus: 1 }}"] = "12345678901234567890 12345678901234567891",
      ["{{ r }} {{ r.last }} {{ r | size }}"] = "1..12345678901234567890 12345678901234567890 12345678901234567890",
      ["{{ x }}"] = "-9223372036854775809...-9223372036854775807",
      ["{% for i in x %}{{ i }} {% endfor %}"] = "-9223372036854775809 -9223372036854775808 ",
    }, marked)
  end)

  it("fails in arithmetic with more than 4096 digits", function()
    local longest = ("9"):rep(bigint.MAX_DIGITS)
    local err = "Liquid error (line 1): integer has more than 4096 digits"
    support.outputs({
      ["n"] = longest .. "9", ["n | plus: 1"] = err,
      ["m | plus: 1"] = err, ["m | times: m"] = err, ["m | minus: m"] = "0",
      ["n | round: -1"] = err, ["n | floor"] = longest .. "9", ["n | modulo: 7"] = err,
    }, decode(('{"n":%s9,"m":%s}'):format(longest, longest)))
  end)

  it("counts as work, so that arithmetic with it is limited", function()
    local template = "{% for i in (1..1000000) %}{% assign x = n | times: n %}{% endfor %}"
    local output = support.render(template, decode(('{"n":%s}'):format(("7"):rep(2000))))
    assert.equal("Liquid error: Memory limits exceeded", output)
  end)
end)

describe("a length at the edge of 64 bits", function()
  local environment = decode [[{"min":-9223372036854775808,"max":9223372036854775807,"big":12345678901234567890,
    "small":-12345678901234567890,"list":[1,2,3]}]]
  local rows = '<tr class="row1">\n<td class="col1">1</td><td class="col2">2</td><td class="col3">3</td></tr>\n'
  for template, output in pairs {
    ["{{ 'abcdef' | truncate: min }}"] = "...", ["{{ 'abcdef' | truncate: small }}"] = "...",
    ["{{ 'abcdef' | truncate: max }}"] = "abcdef", ["{{ 'abcdef' | truncate: big }}"] = "abcdef",
    ["{{ 'a b c' | truncatewords: min }}"] = "a...", ["{{ 'a b c' | truncatewords: small }}"] = "a...",
    ["{{ 'a b c' | truncatewords: max }}"] = "a b c", ["{{ 'a b c' | truncatewords: big }}"] = "a b c",
    ["{{ 'abc' | slice: min, max }}"] = "", ["{{ 'abc' | slice: 1, max }}"] = "bc",
    ["{{ 'abc' | slice: 1, big }}"] = "bc", ["{{ 'abc' | slice: 1, min }}"] = "", ["{{ 'abc' | slice: big }}"] = "",
    ["{{ list | slice: 1, max | join }}"] = "2 3", ["{{ list | slice: -2, big | join }}"] = "2 3",
    ["{{ list | slice: small, 2 | join }}"] = "",
    ["{% for i in list limit: max offset: 1 %}{{ i }}{% endfor %}"] = "23",
    ["{% for i in list limit: big offset: max %}{{ i }}{% endfor %}"] = "",
    ["{% for i in list limit: max offset: small %}{{ i }}{% endfor %}"] = "",
    ["{% for i in list limit: min offset: min %}{{ i }}{% endfor %}"] = "",
    ["{% for i in list limit: 1 %}{% endfor %}{% for i in list limit: max offset: continue %}{{ i }}{% endfor %}"] =
      "23",
    ["{% tablerow i in list limit: max offset: min %}{% endtablerow %}"] = '<tr class="row1">\n</tr>\n',
    ["{% tablerow i in list cols: max %}{{ i }}{% endtablerow %}"] = rows,
    ["{% tablerow i in list cols: min %}{{ i }}{% endtablerow %}"] = rows,
    ["{% tablerow i in list cols: big limit: big %}{{ i }}{% endtablerow %}"] = rows,
    ["{% assign r = (min..max) %}{{ r.size }}"] = "18446744073709551616",
    ["{% for i in (min..max) reversed %}{{ i }}{% endfor %}"] = "Liquid error: Memory limits exceeded",
    ["{% for i in (max..min) %}{{ i }}{% else %}none{% endfor %}"] = "none",
    ["{% for i in (max..max) %}{{ i }}{% endfor %}"] = "9223372036854775807",
    ["{% for i in (min..max) limit: 1 offset: 1 %}{{ i }}{% endfor %}"] = "-9223372036854775807",
  } do
    it("does not wrap in " .. template, function() assert.equal(output, support.render(template, environment)) end)
  end
end)

describe("an integer in a text", function()
  -- The results of Ruby's Integer(); false if it raises an error.
  local strict = {
    ["1_0"] = 10, ["0x10"] = 16, ["010"] = 8, ["1__0"] = false, ["_1"] = false, ["1_"] = false, [" 10 "] = 10,
    ["\n10\t"] = 10, ["\v1\f"] = 1, ["+5"] = 5, ["-5"] = -5, ["- 5"] = false, ["--5"] = false, ["0_7"] = 7,
    ["0_8"] = false, ["0x_1"] = false, ["0x"] = false, ["0b11"] = 3, ["0b2"] = false, ["0o17"] = 15, ["0d10"] = 10,
    ["0D1_0"] = 10, ["0X1F"] = 31, ["-0x1f"] = -31, ["0x1_0"] = 16, ["1\0"] = false, ["\0001"] = false,
    ["0\0"] = false, [""] = false, [" "] = false, ["+"] = false, ["0__1"] = false, ["１"] = false,
    ["\u{A0}1"] = false, ["1e3"] = false, ["1.0"] = false, ["00"] = 0, ["0_"] = false, ["08"] = false,
    ["-010"] = -8, ["1 2"] = false, ["00_1"] = 1, ["0_0x1"] = false,
    ["12345678901234567890"] = math.maxinteger, ["0xFFFFFFFFFFFFFFFFFFFF"] = math.maxinteger,
    ["-0777777777777777777777777777"] = math.mininteger,
    -- In a text with more than 64 bits, a NUL and everything after it is ignored.
    ["18446744073709551616\0"] = math.maxinteger, ["18446744073709551616 \0x"] = math.maxinteger,
    ["-18446744073709551616\0"] = math.mininteger, ["18446744073709551615\0"] = false,
    ["00000000000000000000000000001\0"] = false, ["18446744073709551616_\0"] = false,
  }
  local numbers = require "liquid.numbers"
  for text, value in pairs(strict) do
    it(("is parsed strictly as a length: %q"):format(text), function()
      local read, err = numbers.to_integer(text)
      assert.equal(value or nil, read)
      if not value then assert.equal("invalid integer", err.message) end
    end)
  end

  it("is parsed as a number up to the first other character", function()
    for text, sum in pairs {
      ["1_0"] = "11", ["0d10"] = "11", ["0D1_0"] = "11", ["0x10"] = "1", ["010"] = "11", ["1__0"] = "2", ["_1"] = "1",
      [" 5 "] = "6", ["5\0"] = "6", ["1_0.5"] = "11", ["+1.5"] = "2", [".5"] = "1", ["1."] = "2", ["\n1.5\n"] = "2.5",
      ["1.5\n2"] = "2", ["0d"] = "1", ["0d_1"] = "1", ["00d1"] = "1", ["\u{A0}1.5"] = "1",
      [" 1.5\0"] = "Liquid error (line 1): string contains null byte",
    } do
      assert.equal(sum, support.render("{{ t | plus: 1 }}", { t = text }), text)
    end
  end)
end)

describe("the engine as a plugin", function()
  it("receives integers of any size", function()
    local host = pintle.host { dialect = "liquid", log = false }
    local engine = assert(host:start { command = { "script/server" } })
    local outcome = assert(engine:execute("render", {
      template = "{{ n }} {{ n | modulo: 7 }} {{ list | last }}",
      environment = decode '{"n":12345678901234567890,"list":[1,-98765432109876543210]}',
    }, { timeout = support.timeout }))
    host:stop()
    assert.equal("12345678901234567890 1 -98765432109876543210", outcome.message)
  end)
end)
