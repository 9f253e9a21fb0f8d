local support = require "spec.support.engine"

local array, null = support.liquid.array, support.liquid.null

describe("expressions", function()
  it("read members of hashes, lists, texts and ranges", function()
    support.outputs({
      ["h.a.b"] = "1", ["h['a']['b']"] = "1", ["h[k].b"] = "1", ["h.missing.b"] = "",
      ["l[0]"] = "x", ["l[-1]"] = "z", ["l[9]"] = "", ["l.first"] = "x", ["l.last"] = "z", ["l.size"] = "3",
      ["s.size"] = "3", ["s.first"] = "ä", ["s.last"] = "c", ["s[0]"] = "",
      ["h.size"] = "1", ["h.first"] = "a{\"b\"=>1}", ["n.size"] = "8", ["f.size"] = "",
    }, { h = { a = { b = 1 } }, k = "a", l = { "x", "y", "z" }, s = "äbc", n = 5, f = 1.5 })
  end)

  it("treat brackets in quotes as brackets, as the reference does", function()
    support.outputs({
      ["h['[k]']"] = "whole", ["h['a]b']"] = "of a", ["h['[k']"] = "of k", ["']'"] = "]",
    }, { h = { ["[k]"] = "whole", ["a]b"] = "never", ["1"] = { b = "of a" }, ["2"] = "of k" }, a = "1", k = "2" })
  end)

  it("read a member rather than the command of the same name", function()
    support.outputs({ ["h.size"] = "big", ["h.first"] = "1st" }, { h = { size = "big", first = "1st" } })
  end)

  it("have literals, which are names if members follow", function()
    support.outputs({
      ["nil"] = "", ["true"] = "true", ["empty"] = "", ["'a'"] = "a", ["\"b\""] = "b", ["-1"] = "-1", ["1.50"] = "1.5",
      ["(1..3)"] = "1..3", ["(a..b)"] = "2..3", ["blank.x"] = "y", ["99999999999999999999"] = "99999999999999999999",
    }, { a = 2, b = "3", blank = { x = "y" } })
  end)

  it("read variables through self", function()
    support.all({
      ["{{ self.a }}{{ self['a'] }}{{ self[k] }}{{ self }}"] = "111Liquid::SelfDrop",
      ["{% assign self = 5 %}{{ self }}"] = "5",
      ["{% for a in (7..7) %}{{ self.a }}{% endfor %}"] = "7",
      ["{% if self contains 'a' %}y{% else %}n{% endif %}"] = "n",
    }, { a = 1, k = "a" })
  end)

  it("treat null as nil", function()
    support.outputs({ ["h.a"] = "", ["h.a.b"] = "", ["l[1]"] = "", ["l"] = "12" },
      { h = { a = null }, l = array { 1, null, 2 } })
  end)

  it("report undefined variables only with strict_variables", function()
    local options = { strict_variables = true, strict_errors = true }
    assert.equal("Liquid error (line 1): undefined variable x", support.render("{{ x }}", {}, options))
    assert.equal("Liquid error (line 1): undefined variable b", support.render("{{ a.b }}", { a = {} }, options))
    assert.equal("ok", support.render("{{ a }}", { a = "ok" }, options))
    local _, failures = support.liquid.compile("{{ x }}!"):render({}, { strict_variables = true })
    assert.equal(1, #failures)
  end)
end)

describe("comparisons", function()
  local function holds(condition, environment)
    return support.render("{% if " .. condition .. " %}y{% else %}n{% endif %}", environment)
  end

  it("compare values of all types for equality", function()
    local data = { l = { 1, { 2 } }, m = { 1, { 2 } }, h = { a = 1 }, i = { a = 1 }, j = { a = 2 } }
    for condition, expected in pairs {
      ["1 == 1.0"] = "y", ["1 == '1'"] = "n", ["l == m"] = "y", ["h == i"] = "y", ["h == j"] = "n", ["h <> j"] = "y",
      ["nil == false"] = "n", ["(1..2) == (1..2)"] = "y", ["x == nil"] = "y", ["l contains 1"] = "y",
      ["'abc' contains 'b'"] = "y", ["h contains 'a'"] = "y", ["nil contains 'a'"] = "n", ["nil < 1"] = "n",
      ["'a' < 'b'"] = "y", ["1.5 >= 1"] = "y",
    } do
      assert.equal(expected, holds(condition, data), condition)
    end
  end)

  it("compare with empty and blank", function()
    local values = { text = "", space = " \n", list = array {}, hash = {}, no = false, zero = 0, full = { 1 } }
    local empty = { text = "y", space = "n", list = "y", hash = "y", no = "n", zero = "n", full = "n", nothing = "n" }
    local blank = { text = "y", space = "y", list = "y", hash = "y", no = "y", zero = "n", full = "n", nothing = "y" }
    for name, expected in pairs(empty) do assert.equal(expected, holds(name .. " == empty", values), name) end
    for name, expected in pairs(blank) do assert.equal(expected, holds("blank == " .. name, values), name) end
  end)
end)

describe("ranges", function()
  it("cannot have ranges and booleans as bounds", function()
    for _, mode in ipairs { "strict2", "lax" } do
      for bound, source in pairs { ["(1..2)"] = "\n{{ ((1..2)..3) }}", ["true"] = "\n{% assign x = (1..true) %}" } do
        assert.matches("Liquid syntax error (line 2): Invalid expression type '" .. bound .. "' in range expression",
          support.refusal(source, { error_mode = mode }), 1, true)
      end
    end
  end)

  it("are checked after the syntax of the whole expression", function()
    assert.matches('[:dot, "."] is not a valid expression', support.refusal "{{ a[(true..1)].b[.] }}", 1, true)
    assert.matches("Invalid expression type 'true'", support.refusal "{{ a[(true..1)] b }}", 1, true)
  end)

  it("are split at the last two dots and at whitespace, even in quotes", function()
    support.outputs({
      ["(1..(2..3))"] = "0..0", ["(1..h['x..y'])"] = "0..0", ["('x..y'..3)"] = "0..3", ["('a b'..3)"] = "",
    }, { h = { ["x..y"] = 5 } })
  end)

  it("are split at the last two dots in lax mode", function()
    support.outputs({
      ["(1..2..3)"] = "1..3", ["(1 .. 3)"] = "1..3", ["(1.9..i)"] = "Liquid error (line 1): invalid integer",
    }, { i = 3 }, { error_mode = "lax" })
  end)
end)
