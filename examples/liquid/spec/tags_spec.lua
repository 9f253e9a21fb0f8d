local support = require "spec.support.engine"

local render = support.render

describe("if, unless and case", function()
  it("select a body", function()
    support.all {
      ["{% if 1 > 2 %}a{% elsif 2 > 1 %}b{% else %}c{% endif %}"] = "b",
      ["{% unless false %}a{% else %}b{% endunless %}"] = "a",
      ["{% unless true %}a{% elsif true %}b{% endunless %}"] = "b",
      ["{% case 2 %}{% when 1 %}a{% when 2, 3 %}b{% when 2 or 4 %}c{% else %}d{% endcase %}"] = "bc",
      ["{% case 9 %}gone{% when 1 %}a{% else %}d{% endcase %}"] = "d",
      ["{% case '' %}{% when empty %}e{% endcase %}"] = "e",
    }
  end)

  it("join conditions from right to left", function()
    support.all {
      ["{% if true or false and false %}a{% else %}b{% endif %}"] = "a",
      ["{% if false and true or true %}a{% else %}b{% endif %}"] = "b",
    }
  end)

  it("report failed comparisons, unless the tag is blank", function()
    assert.equal("Liquid error (line 1): comparison of Integer with String failed",
      render "{% if 1 > 'a' %}x{% endif %}")
    assert.equal("Liquid error (line 1): comparison of String with 1 failed", render "{% if 'a' > 1 %}x{% endif %}")
    assert.equal("", render "{% if 1 > 'a' %} {% endif %}")
  end)

  it("write no whitespace if all tags in them are blank", function()
    support.all {
      ["{% if true %} {% tablerow i in (1..1) %} {% endtablerow %} {% endif %}"] =
        '<tr class="row1">\n<td class="col1"> </td></tr>\n',
      ["{% if true %} {% doc %}a{% enddoc %} {% endif %}|"] = "  |",
      ["{% if true %} {% doc %}{% enddoc %} {% endif %}|"] = "|",
      ["{% if true %} {% comment %}a{% endcomment %} {% # b %} {% endif %}|"] = "|",
      ["{% if true %} {% raw %}{% endraw %} {% endif %}|"] = "|",
    }
  end)

  it("write no whitespace if they contain nothing else", function()
    assert.equal("[]", render "[{% case 1 %} {% when 1 %} {% endcase %}]")
    assert.equal("[ ]", render "[{% case 1 %}x{% when 1 %} {% endcase %}]")
    assert.equal("[7]", render "[{% if true %}\n  {% assign a = 7 %}\n{% endif %}{{ a }}]")
  end)
end)

describe("assign, capture, increment and decrement", function()
  it("set variables", function()
    support.all {
      ["{% assign a = 'x' | upcase %}{{ a }}"] = "X",
      ["{% capture a %}<{{ 1 }}>{% endcapture %}{{ a }}"] = "<1>",
      ["{% increment a %}{% increment a %}{{ a }}{% decrement a %}{% decrement b %}"] = "0121-1",
      ["{% assign a = 1 %}{% increment a %}{{ a }}"] = "01",
    }
  end)

  it("hide a value of the environment with nil", function()
    assert.equal("[]", render("{% assign a = nil %}[{{ a }}]", { a = 1 }))
  end)

  it("do not change the environment", function()
    local data = { n = 5 }
    assert.equal("0 5", render("{% increment n %} {{ m }}{% assign m = 1 %}5", data))
    assert.same({ n = 5 }, data)
  end)
end)

describe("cycle and ifchanged", function()
  it("write values in turn, and changes only", function()
    support.all({
      ["{% for i in (1..4) %}{% cycle 'a', 'b' %}{% endfor %}"] = "abab",
      ["{% cycle 'a', 'b' %}{% cycle 'a', 'b' %}"] = "ab",
      ["{% cycle 'x': 1, 2 %}{% cycle 'y': 1, 2 %}{% cycle 'x': 1, 2 %}"] = "112",
      ["{% assign v = 1 %}{% cycle v, 2 %}{% cycle v, 2 %}"] = "11",
      ["{% assign v = 1 %}{% cycle (0..v), 2 %}|{% cycle (0 .. v), 2 %}|{% cycle (0..v), 3 %}"] = "0..1|2|0..1",
      ["{% for i in l %}{% ifchanged %}{{ i }}{% endifchanged %}{% endfor %}"] = "121",
    }, { l = { 1, 1, 2, 2, 1 } })
  end)
end)

describe("raw, comment, doc and #", function()
  it("do not render their content", function()
    support.all {
      ["{% raw %}{{ a }}{% b %}{{ {% endraw %}"] = "{{ a }}{% b %}{{ ",
      ["a{% comment %}{% if %}{{ x {% comment %}{% endcomment %}b"] = "ab",
      ["a{% doc %} {{ x }} {% enddoc %}b"] = "ab",
      ["a{% # nothing\n # more %}b"] = "ab",
      ["{% liquid\n # a\n comment\n if\n endcomment\n echo 1\n%}"] = "1",
    }
  end)

  it("report errors in their own syntax", function()
    assert.matches("Syntax Error in 'raw' %- Valid syntax: raw", support.refusal "{% raw x %}{% endraw %}")
    assert.matches("Valid syntax: {%% doc %%}{%% enddoc %%}", support.refusal "{% doc x %}{% enddoc %}")
    assert.matches("Nested doc tags are not allowed", support.refusal "{% doc %}{% doc %}{% enddoc %}")
    assert.matches("Each line of comments must be prefixed", support.refusal "{% # a\nb %}")
    assert.matches("'raw' tag was never closed", support.refusal "{% comment %}{% raw %}{% endcomment %}")
  end)

  it("end at the last tag with a name in a token", function()
    support.all {
      ["{% raw %}a{% {% endraw {% %}b"] = "a{% b",
      ["{% doc %}{% {{ {%- enddoc {% ! -%} b"] = "b",
    }
  end)

  it("are reported at their begin if they have no end", function()
    assert.matches("%(line 2%): 'raw' tag was never closed", support.refusal "\n{% raw %}\n\n")
    assert.matches("%(line 2%): 'comment' tag was never closed", support.refusal "\n{% comment %}\n\n")
    assert.matches("%(line 2%): 'doc' tag was never closed", support.refusal "\n{% doc %}\n\n")
    assert.matches("%(line 1%): 'raw' tag was never closed", support.refusal "{% comment %}\n{% raw %}\n")
    assert.matches("%(line 1%): .*Nested doc", support.refusal "{% doc %}\n{% doc %}{% enddoc %}")
  end)

  it("do not end in a liquid tag, except comments", function()
    assert.matches("%(line 2%): 'doc' tag was never closed", support.refusal "{% liquid\n doc\n enddoc\n%}")
    assert.matches("%(line 2%): 'raw' tag was never closed", support.refusal "{% liquid\n raw\n endraw\n%}")
  end)
end)

describe("the liquid tag", function()
  it("has a tag on every line", function()
    assert.equal("12x", render "{% liquid\n for i in (1..2)\n  echo i\n endfor\n if true\n echo 'x'\n endif\n%}")
    assert.matches("'endif' is not a valid delimiter for liquid tags. use %%}", support.refusal "{% liquid\n endif\n%}")
  end)
end)

describe("a dash in a delimiter", function()
  it("removes the whitespace on its side", function()
    support.all {
      ["a \n {{- 1 -}} \t b"] = "a1b",
      ["a {%- if true -%} x {%- endif -%} b"] = "axb",
      ["a {% raw -%} x {%- endraw %} b"] = "a  x  b",
    }
  end)

  it("removes whitespace only up to the next tag", function()
    assert.equal("a ", render "a {% comment %}{% endcomment %}{%- assign x = 1 -%}")
    assert.equal("a 1", render "a {% liquid assign x = 1 %}{{- x }}")
  end)

  it("removes whitespace before a liquid tag without lines", function()
    assert.equal("a1b", render "a {% liquid %}{% liquid\n\n%}{{- 1 }}b")
    assert.equal("x1", render "{% if true %}x {% liquid %}{{- 1 }}{% endif %}")
  end)

  it("renders the next when that matches after a break up to its first output, as the reference does", function()
    assert.equal("ac1|", support.render("{% for i in (1..2) %}{% case 1 %}{% when 1 %}a{% break %}b"
      .. "{% when 1 %}c{{ i }}d{{ i }}{% else %}e{% endcase %}f{% endfor %}|", {}))
  end)
end)
