local support = require "spec.support.engine"

local refusal, render = support.refusal, support.render

describe("strict2 parsing", function()
  it("reports the expected token, the line and the markup", function()
    assert.equal('Liquid syntax error (line 2): Expected end_of_string but found id in "{{ a b }}"',
      refusal "\n{{ a b }}")
    assert.equal('Liquid syntax error (line 1): [:pipe, "|"] is not a valid expression in "| x"',
      refusal "{% if | x %}{% endif %}")
    assert.equal('Liquid syntax error (line 1): [:end_of_string] is not a valid expression in "a =="',
      refusal "{% if a == %}{% endif %}")
    assert.equal('Liquid syntax error (line 1): Unexpected character % in "{{ a % b }}"', refusal "{{ a % b }}")
  end)

  it("does not report the markup of when", function()
    assert.equal("Liquid syntax error (line 2): Expected end_of_string but found number",
      refusal "{% case a %}\n{% when 1 2 %}{% endcase %}")
    assert.equal("Liquid syntax error (line 1): Unexpected character &",
      refusal "{% case a %}{% when & %}{% endcase %}")
  end)

  it("counts lines in tags up to the markup", function()
    assert.matches("%(line 4%)", refusal "a\n{%\n\nif == %}{% endif %}")
    assert.matches("%(line 3%)", refusal "{% liquid\n assign a = 1\n assign b = |\n%}")
  end)

  it("counts lines on from a liquid tag for one more token, as the reference does", function()
    local wrong = "{{ 1 | divided_by: 0 }}"
    local lines = {
      ["{% liquid\n assign a = 1\n%}"] = 3,
      ["{% liquid\n assign a = 1 %}"] = 3,
      ["{% liquid assign a = 1 %}"] = 2,
      ["{% liquid\n assign a = 1\n\n\n%}"] = 3,
      ["{% liquid\n assign a = 1\n\n\n %}"] = 6,
      ["{% liquid\n\n%}"] = 3,
      ["{% liquid # a %}{% liquid # b %}"] = 3,
      ["{% liquid # a %} "] = 1,
      ["{% liquid # a %}{% if true %}"] = 1,
    }
    for before, line in pairs(lines) do
      local text = before .. wrong .. (before:find "if" and "{% endif %}" or "")
      assert.matches("%(line " .. line .. "%)", render(text), 1, false, text)
    end
    assert.matches("%(line 2%)", refusal "{% liquid # a %}{% if == %}{% endif %}")
    assert.matches("%(line 3%)", refusal "{% liquid # a %}{% liquid echo '}'\n echo == %}")
    assert.matches("%(line 2%): 'if' tag was never closed", refusal "{% if a %}{% liquid # a %}")
  end)

  it("reports errors of elsif on the first line of the block", function()
    assert.matches("%(line 2%): %[:end_of_string%]", refusal "\n{% if a %}\n{% elsif %}{% endif %}")
    assert.matches("%(line 1%)", refusal("{% unless a %}\n{% elsif | %}{% endunless %}", { error_mode = "strict" }))
    assert.matches("%(line 2%)", refusal("{% if a %}\n{% elsif %}{% endif %}", { error_mode = "lax" }))
  end)

  it("reports no line without line_numbers", function()
    assert.equal('Liquid syntax error: Unknown tag \'nope\'', refusal("{% nope %}", { line_numbers = false }))
  end)

  it("rejects brackets without a name", function()
    assert.matches("Bare bracket access is not allowed. Use self%['...'%] instead", refusal "{{ ['a'] }}")
    assert.equal("b", render("{{ self['a'] }}", { a = "b" }))
  end)

  it("accepts a comma after the last argument, and no argument after the colon", function()
    assert.equal("ab A", render "{{ 'a' | append: 'b', }} {{ 'a' | upcase: }}")
  end)

  it("reports misplaced tags and blocks without an end", function()
    assert.matches("'endfor' is not a valid delimiter for if tags. use endif", refusal "{% if a %}{% endfor %}")
    assert.matches("capture tag does not expect 'else' tag", refusal "{% capture a %}{% else %}{% endcapture %}")
    assert.matches("Unexpected outer 'else' tag", refusal "{% else %}")
    assert.matches("%(line 3%): 'for' tag was never closed", refusal "{% for a in b %}\n\n")
    assert.matches("%(line 4%): 'if' tag was never closed", refusal "{% liquid\n if a\n echo b\n%}\n\n\n")
    assert.matches("Variable '{{ a }' was not properly terminated with regexp: /\\}\\}/", refusal "{{ a }")
    assert.matches("Variable '{{ a {%%' was not properly terminated", refusal "{{ a {% b }} c")
    assert.matches("Variable '{{ a {%%' was not properly terminated", refusal "{{ a {% b")
    assert.matches("Tag '{%%' was not properly terminated", refusal "{% a")
  end)
end)

describe("strict parsing", function()
  local strict = { error_mode = "strict" }

  it("accepts brackets without a name", function()
    assert.equal("b", render("{{ ['a'] }}{{ [c] }}", { a = "b", c = "x" }, strict))
  end)

  it("parses some tags laxly, as the reference does", function()
    assert.equal("one", render("{% case 1 x %}{% when 1 y %}one{% endcase %}", nil, strict))
    assert.matches("Expected end_of_string but found id", refusal("{% if a b %}{% endif %}", strict))
  end)
end)

describe("lax parsing", function()
  local lax = { error_mode = "lax" }

  it("uses valid fragments", function()
    support.all({
      ["{{ 'hi there' | split$$$:' ' | first }}"] = "hi",
      ["{{ false a }}"] = "false",
      ["{{ 'a' || upcase }}"] = "A",
      ["{% if true && false %}yes{% endif %}"] = "yes",
      ["{% assign a = ('X' | downcase) %}{{ a }}"] = "",
      ["{% cycle 'a'  'b', 'c' %}"] = "a",
      ["{% for i in (1..3) limit:2 nonsense %}{{ i }}{% endfor %}"] = "12",
      ["{{ 0.....5 }}"] = "0.0",
    }, nil, lax)
  end)

  it("finds names and values as the patterns of the reference do", function()
    support.all({
      ["{% cycle g': 'a', 'b' %}"] = "", ["{% cycle 'g(: 'a', 'b' %}"] = "g(: ", ["{% cycle 'g'x: 'a', 'b' %}"] = "a",
      ["{% cycle n : 'a', 'b' %}"] = "a", ["{% capture q( %}x{% endcapture %}{{ q }}"] = "x",
      ["{% assign (q) = 1 %}{{ self['(q)'] }}"] = "1", ["{% assign ; q = 1 %}{{ q }}"] = "1", ["{{ -0. }}"] = "-0.0",
      ["{{ 1.2.3 }}"] = "1.2", ["{% if or %}a{% else %}b{% endif %}"] = "b",
      ["{% assign or = 1 %}{% if or or or %}a{% endif %}"] = "a",
      ["{% tablerow a.i in (1..1) %}{{ i }}{% endtablerow %}"] = '<tr class="row1">\n<td class="col1">1</td></tr>\n',
    }, {}, { error_mode = "lax" })
    for _, source in ipairs { "{% assign q( = 1 %}", "{% if a or %}{% endif %}", "{% if or a %}{% endif %}" } do
      assert.matches("Syntax Error in ", support.refusal(source, { error_mode = "lax" }), source)
    end
  end)

  it("reports an unknown operator when it is rendered", function()
    assert.equal("Liquid error (line 1): Unknown operator is", render("{% if 1 is 1 %}a{% endif %}", nil, lax))
    assert.equal("b", render("{% if false and 1 is 1 %}a{% else %}b{% endif %}", nil, lax))
  end)
end)

describe("compiling", function()
  it("raises an error for an invalid template or mode", function()
    assert.has_error(function() support.liquid.compile(nil) end, "a template must be a string, not a nil")
    assert.has_error(function() support.liquid.compile("", { error_mode = "loose" }) end,
      "error_mode must be strict2, strict or lax, not loose")
  end)

  it("returns a template that can be rendered several times", function()
    local template = support.liquid.compile "{% increment n %}{% cycle 'a', 'b' %}{% assign x = x | plus: 1 %}{{ x }}"
    for _ = 1, 3 do assert.equal("0a1", (template:render {})) end
  end)
end)
