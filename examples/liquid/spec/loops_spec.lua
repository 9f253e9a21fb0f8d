local support = require "spec.support.engine"

local render = support.render

describe("for", function()
  it("iterates over lists, ranges, hashes and texts", function()
    support.all({
      ["{% for i in l %}{{ i }},{% endfor %}"] = "a,b,c,",
      ["{% for i in (3..1) %}x{% else %}none{% endfor %}"] = "none",
      ["{% for p in h %}{{ p[0] }}={{ p.last }};{% endfor %}"] = "z=1;y=2;",
      ["{% for c in 'abc' %}[{{ c }}]{% endfor %}"] = "[abc]",
      ["{% for i in nothing %}x{% endfor %}{% for i in 5 %}x{% endfor %}"] = "",
    }, { l = { "a", "b", "c" }, h = support.liquid.ordered({ z = 1, y = 2 }, { "z", "y" }) })
  end)

  it("has limit, offset, reversed and continue", function()
    support.all {
      ["{% for i in (1..6) limit: 2 offset: 1 %}{{ i }}{% endfor %}"] = "23",
      ["{% for i in (1..6) reversed limit: 2 %}{{ i }}{% endfor %}"] = "21",
      ["{% for i in (1..6) limit: 2 %}{{ i }}{% endfor %}-{% for i in (1..6) offset: continue %}{{ i }}{% endfor %}"] =
        "12-3456",
      ["{% for i in (1..3) offset: -2 %}{{ i }}{% endfor %}"] = "123",
      ["{% for i in (1..3) limit: nil %}{{ i }}{% endfor %}"] = "123",
      ["{% for i in (1..3) limit: 'x' %}{{ i }}{% endfor %}"] = "Liquid error (line 1): invalid integer",
    }
  end)

  it("sets forloop", function()
    support.all {
      ["{% for i in (1..3) %}{{ forloop.index }}{{ forloop.rindex0 }}{{ forloop.first }} {% endfor %}"] =
        "12true 21false 30false ",
      ["{% for i in (1..2) %}{{ forloop.last }}{{ forloop.index0 }}{{ forloop.rindex }}{% endfor %}"] =
        "false02true11",
      ["{% for i in (1..2) %}{% for j in (1..2) %}{{ forloop.parentloop.index }}{% endfor %}{% endfor %}"] = "1122",
      ["{% for i in (1..2) %}{{ forloop.name }}{{ forloop.length }}{% endfor %}{{ forloop }}"] = "i-(1..2)2i-(1..2)2",
    }
  end)

  it("has a forloop for the filters first and last", function()
    local source = "{% for i in (1..2) %}{{ forloop | first }}{{ forloop | last }} {% endfor %}"
    support.all { [source] = "truefalse falsetrue " }
  end)

  it("handles break and continue, also from captures and includes", function()
    support.all({
      ["{% for i in (1..5) %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}!"] = "12!",
      ["{% for i in (1..4) %}{% if i == 2 %}{% continue %}{% endif %}{{ i }}{% endfor %}"] = "134",
      ["{% for i in (1..4) %}{% include 'stop' %}{{ i }}{% endfor %}!"] = "1!",
      ["{% for i in (1..2) %}{% for j in (1..3) %}{% break %}{% endfor %}{{ i }}{% endfor %}"] = "12",
      ["a{% break %}b"] = "a",
    }, nil, { filesystem = { stop = "{% if i == 2 %}{% break %}{% endif %}" } })
  end)

  it("accepts numbers of any size, also as text", function()
    support.all({
      ["{% for i in (8..n) limit: 2 %}{{ i }}{% endfor %}"] = "89", ["{% for i in (n..8) %}{{ i }}{% endfor %}"] = "",
      ["{% tablerow i in (8..9) limit: n cols: 77777777777777777777 %}{{ i }}{% endtablerow %}"] =
        '<tr class="row1">\n<td class="col1">8</td><td class="col2">9</td></tr>\n',
    }, { n = "77777777777777777777" })
  end)

  it("handles one break or continue of several", function()
    support.all({
      ["{% for i in (1..3) %}{% for j in (1..2) %}{% include 'go' for l %}{% endfor %}-{% endfor %}!"] = "gggggggggggg",
      ["{% for i in (1..3) %}{% include 'last' for l %}{% endfor %}!"] = "ll",
      ["{% for i in (1..3) %}{% case i %}{% when 1, 1 %}c{% continue %}{% endcase %}{{ i }}{% endfor %}!"] = "cc3!",
      ["{% for i in (1..2) %}{% for j in (1..2) %}{% endfor %}{% include 'go' for l %}{% endfor %}{{ 1 }}!"] = "gggg",
      ["{% for i in (1..2) %}{% for j in (1..9999999999) %}{% endfor %}{% include 'go' for l %}{% endfor %}!"] = "gggg",
      ["{% tablerow i in (1..2) %}{% include 'last' for l %}{% endtablerow %}!"] =
        '<tr class="row1">\n<td class="col1">ll</td></tr>\n',
    }, { l = { 7, 8 } }, { filesystem = { go = "g{% continue %}", last = "l{% break %}" } })
  end)

  it("renders one output or tag while an earlier break or continue is pending", function()
    support.all({
      ["{% for i in (1..2) %}{% include 'part' for l %}{% endfor %}!"] = "<77<8!",
      ["{% for i in (1..2) %}{% case 1 %}{% when 1 %}{% break %}{% when 1 %}{% if i %}a{{ i }}b{% endif %}c"
        .. "{% endcase %}{% endfor %}!"] = "a1!",
    }, { l = { 7, 8 } }, { filesystem = { part = "<{{ part }}{{ part }}{% if part == 7 %}{% break %}{% endif %}>" } })
  end)

  it("has a scope of its own", function()
    assert.equal("12out", render("{% for i in (1..2) %}{{ i }}{% endfor %}{{ i }}", { i = "out" }))
  end)
end)

describe("tablerow", function()
  it("writes rows and cells", function()
    support.all {
      ["{% tablerow i in (1..3) cols:2 %}{{ i }}{% endtablerow %}"] =
        '<tr class="row1">\n<td class="col1">1</td><td class="col2">2</td></tr>\n'
        .. '<tr class="row2"><td class="col1">3</td></tr>\n',
      ["{% tablerow i in (1..9) limit:1 offset:4 %}{{ i }}{{ tablerowloop.col_last }}{% endtablerow %}"] =
        '<tr class="row1">\n<td class="col1">5true</td></tr>\n',
      ["{% tablerow i in (1..3) %}{{ i }}{% break %}{% endtablerow %}"] =
        '<tr class="row1">\n<td class="col1">1</td></tr>\n',
    }
  end)

  it("rejects unknown attributes", function()
    assert.matches("Invalid attribute 'step' in tablerow loop",
      support.refusal "{% tablerow i in l step: 1 %}{% endtablerow %}")
  end)
end)
