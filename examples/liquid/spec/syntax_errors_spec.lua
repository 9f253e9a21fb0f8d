-- The markup in syntax errors, by tag and mode.
local support = require "spec.support.engine"
local pintle = require "pintle"

local MODES = { "strict2", "strict", "lax" }

-- The text after the message, in the order of MODES: "" if there is none, false if the template compiles.
local endings = {
  ["{% assign x = 1_0 %}"] = { ' in "x = 1_0"', ' in "x = 1_0"', false },
  ["{%- assign   x  = 1_0   -%}"] = { ' in "x  = 1_0"', ' in "x  = 1_0"', false },
  ["{% assign %}"] = { ' in ""', ' in ""', "" },
  ["{% assign x %}"] = { ' in "x"', ' in "x"', "" },
  ["{% assign x = (false..3) %}"] = { ' in "x = (false..3)"', ' in "x = (false..3)"', "" },
  ["{% assign x ] = 1 %}"] = { ' in "x ] = 1"', false, false },
  ["{% liquid assign x = 1_0 %}"] = { ' in "x = 1_0"', ' in "x = 1_0"', false },
  ["{% capture 'q' %}{% endcapture %}"] = { ' in "\'q\'"', false, false },
  ["{% capture %}{% endcapture %}"] = { ' in ""', ' in ""', "" },
  ["{% cycle %}"] = { ' in ""', ' in ""', "" },
  ["{% cycle 1 2 %}"] = { ' in "1 2"', false, false },
  ["{% cycle (false..2) %}"] = { ' in "(false..2)"', ' in "(false..2)"', "" },
  ["{% case %}{% endcase %}"] = { ' in ""', ' in ""', "" },
  ["{% case (false..2) %}{% endcase %}"] = { ' in "(false..2)"', ' in "(false..2)"', "" },
  ["{% case 1 %}{% when %}{% endcase %}"] = { "", "", "" },
  ["{% case 1 %}{% when 1 & %}{% endcase %}"] = { "", false, false },
  ["{% case 1 %}{% else x %}{% endcase %}"] = { "", "", "" },
  ["{% render %}"] = { ' in ""', ' in ""', "" },
  ["{% render x %}"] = { ' in "x"', ' in "x"', "" },
  ["{% include %}"] = { ' in ""', ' in ""', "" },
  ["{% include 'a' & %}"] = { ' in "\'a\' &"', false, false },
  ["{% tablerow %}{% endtablerow %}"] = { ' in ""', ' in ""', "" },
  ["{% tablerow x in y foo:1 %}{% endtablerow %}"] = { ' in "x in y foo:1"', false, false },
  ["{% for %}{% endfor %}"] = { ' in ""', ' in ""', "" },
  ["{% for x of y %}{% endfor %}"] = { ' in "x of y"', ' in "x of y"', "" },
  ["{% if %}{% endif %}"] = { ' in ""', ' in ""', "" },
  ["{% if 1 & 2 %}{% endif %}"] = { ' in "1 & 2"', ' in "1 & 2"', false },
  ["{% if true %}{% elsif %}{% endif %}"] = { ' in ""', ' in ""', "" },
  ["{% unless 1 & %}{% endunless %}"] = { ' in "1 &"', ' in "1 &"', false },
  ["{% increment %}"] = { ' in ""', false, false },
  ["{% decrement 'x' %}"] = { ' in "\'x\'"', false, false },
  ["{% echo 1_0 %}"] = { ' in "{{1_0 }}"', ' in "{{1_0 }}"', false },
  ["{{ 1_0 }}"] = { ' in "{{ 1_0 }}"', ' in "{{ 1_0 }}"', false },
  ["{% assign x = 1 %}{{ 1_0 }}"] = { ' in "{{ 1_0 }}"', ' in "{{ 1_0 }}"', false },
  ["{% capture x %}{% if %}{% endcapture %}"] = { ' in ""', ' in ""', "" },
  ["{% capture x %}{% foo %}{% endcapture %}"] = { "", "", "" },
  ["{% raw x %}{% endraw %}"] = { "", "", "" },
  ["{% foo bar %}"] = { "", "", "" },
}

local function ending(source, mode)
  local template, err = support.liquid.compile(source, { error_mode = mode })
  if template then return false end
  local sentence, begins = support.errors.sentence(err), "Liquid syntax error (line 1): " .. err.message
  assert.equal(begins, sentence:sub(1, #begins))
  return sentence:sub(#begins + 1)
end

describe("a syntax error", function()
  for source, expected in pairs(endings) do
    it("shows its markup: " .. source, function()
      for i, mode in ipairs(MODES) do assert.equal(expected[i], ending(source, mode), mode) end
    end)
  end

  it("of capture shows the quoted name in strict2 mode", function()
    assert.equal("Liquid syntax error (line 1): Expected id but found string in \"'q'\"",
      support.refusal "{% capture 'q' %}{% endcapture %}")
    assert.equal("x", support.render("{% capture 'q' %}x{% endcapture %}{{ q }}", {}, { error_mode = "strict" }))
  end)

  it("in a partial shows its markup, also in the list of errors", function()
    local host = pintle.host { dialect = "liquid", log = false }
    local engine = assert(host:start { command = { "script/server" } })
    local outcome = assert(engine:execute("render", {
      template = "{% render 'bad' %}", filesystem = { bad = "\n{{ x y }}" },
    }, { timeout = support.timeout }))
    host:stop()
    local message = 'Expected end_of_string but found id in "{{ x y }}"'
    assert.equal("Liquid syntax error (bad line 2): " .. message, outcome.message)
    assert.same({ { type = "syntax_error", message = message, line = 2 } }, outcome.result.errors)
  end)
end)

describe("a second else", function()
  -- The source after it belongs to the body around the loop.
  for source, expected in pairs {
    ["{% for x in (1..2) %}a{% else %}b{% else %}c{% endfor %}"] = "Liquid syntax error (line 1): Unknown tag 'endfor'",
    ["{% for x in (1..2) %}a{% else %}b{% else %}c"] = "aac",
    ["{% for x in none %}a{% else %}b{% else %}c"] = "c",
    ["{% if true %}{% for x in (1..2) %}a{% else %}b{% else %}c{% endfor %}{% endif %}"] =
      "Liquid syntax error (line 1): 'endfor' is not a valid delimiter for if tags. use endif",
    ["{% for y in (1..2) %}{% for x in (1..2) %}a{% else %}b{% else %}c{% endfor %}d"] = "aacaacd",
    ["{% for x in (1..2) %}a{% else %}b{% else %}c{% else %}d"] =
      "Liquid syntax error (line 1): Unexpected outer 'else' tag",
    ["{% for x in (1..2) %} {% else %} {% else %}c"] = "c",
    ["{% for x in (1..2) %} {% else %}b{% else %}c"] = "  c",
    ["{% liquid\nfor x in (1..2)\necho x\nelse\necho 'b'\nelse\necho 'c' %}d"] = "12cd",
    ["{% if false %}a{% else %}b{% else %}c{% endif %}"] = "b",
    ["{% if false %}a{% else %}b{% elsif true %}c{% endif %}"] = "b",
    ["{% unless true %}a{% else %}b{% else %}c{% endunless %}"] = "b",
    ["{% case 1 %}{% when 2 %}a{% else %}b{% else %}c{% endcase %}"] = "bc",
    ["{% case 1 %}{% else %}b{% when 1 %}a{% else %}c{% endcase %}"] = "ba",
    ["{% tablerow x in (1..2) %}a{% else %}b{% else %}c{% endtablerow %}"] =
      "Liquid syntax error (line 1): tablerow tag does not expect 'else' tag",
  } do
    it("is parsed as in the reference: " .. source, function()
      local template, err = support.liquid.compile(source)
      assert.equal(expected, template and template:render {} or support.errors.sentence(err))
    end)
  end
end)
