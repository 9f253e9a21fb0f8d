local support = require "spec.support.engine"

local function all(files, expected, environment)
  support.all(expected, environment, { filesystem = files })
end

describe("render", function()
  it("sees its arguments and the environment", function()
    all({ ["card.liquid"] = "[{{ title }}{{ x }}{{ card }}{{ shared }}]" }, {
      ["{% assign x = 1 %}{% render 'card', title: 'T' %}"] = "[T!]",
      ["{% render 'card' with 5 %}"] = "[5!]",
      ["{% render 'card' with 5 as title %}"] = "[5!]",
    }, { shared = "!" })
  end)

  it("iterates over a collection", function()
    all({ item = "{{ forloop.index }}{{ item }}{{ sep }}" }, {
      ["{% render 'item' for l, sep: ';' %}"] = "1a;2b;",
      ["{% render 'item' for 'abc' %}"] = "abc",
    }, { l = { "a", "b" } })
  end)

  it("has no object if that is nil or false", function()
    all({ p = "[{{ p }}]" }, {
      ["{% render 'p' with false %}"] = "[]", ["{% render 'p' for nil %}"] = "[]",
      ["{% render 'p' with no %}"] = "[false]",
    }, { no = false })
  end)

  it("does not change variables of the caller", function()
    all({ p = "{% assign a = 2 %}{% increment n %}{% cycle 'x', 'y' %}{% break %}gone" }, {
      ["{% assign a = 1 %}{% increment n %}{% cycle 'x', 'y' %}{% render 'p' %}{{ a }}{% increment n %}"
        .. "{% cycle 'x', 'y' %}"] = "0x0x11y",
    })
  end)

  it("forbids include", function()
    all({ p = "{% include 'q' %}", q = "" },
      { ["{% render 'p' %}"] = "Liquid error (p line 1): include usage is not allowed in this context" })
  end)

  it("needs a quoted name", function()
    assert.matches("Expected string but found id", support.refusal "{% render p %}")
    assert.matches("Template name must be a quoted string",
      support.refusal("{% render p %}", { error_mode = "strict" }))
  end)
end)

describe("include", function()
  it("sees and changes variables of the caller", function()
    all({ p = "{{ x }}{% assign x = 2 %}{{ y }}" },
      { ["{% assign x = 1 %}{% include 'p', y: 3 %}{{ x }}{{ y }}"] = "132" })
  end)

  it("accepts an object, each item of a list, and an expression as name", function()
    all({ ["a/product"] = "<{{ product }}>", q = "q" }, {
      ["{% include 'a/product' with 1 %}"] = "<1>",
      ["{% include 'a/product' for l %}"] = "<1><2>",
      ["{% include name %}"] = "q",
      ["{% include 'Q' %}"] = "q",
    }, { l = { 1, 2 }, name = "q" })
  end)

  it("uses the variable of its name if the object is nil or false", function()
    all({ p = "[{{ p }}]" }, {
      ["{% include 'p' with false %}"] = "[7]", ["{% include 'p' for nil %}"] = "[7]",
      ["{% include 'p' with no %}"] = "[false]",
    }, { no = false, p = 7 })
  end)

  it("reports missing files", function()
    all({}, {
      ["{% include 'x' %}"] = "Liquid error (line 1): Could not find asset x",
      ["{% include nil %}"] = "Liquid error (line 1): Argument error in tag 'include' - Illegal template name",
    })
  end)
end)

describe("partials", function()
  it("are named in their errors, also in syntax errors", function()
    all({ p = "\n{{ 1 | divided_by: 0 }}", q = "\n\n{% if %}" }, {
      ["a{% render 'p' %}b"] = "a\nLiquid error (p line 2): divided by 0b",
      ["a{% include 'q' %}b"] =
        'aLiquid syntax error (q line 3): [:end_of_string] is not a valid expression in ""b',
    })
  end)

  it("have the names and the path of the caller in errors", function()
    local options = {
      template_name = "pages/home", partial_path = "some/path",
      filesystem = { p = "{{ 1 | divided_by: 0 }}", q = "{% if %}", r = "{% render 's' %}" },
    }
    support.all({
      ["\n{{ 1 | divided_by: 0 }}"] = "\nLiquid error (pages/home line 2): divided by 0",
      ["{% render 'p' %}"] = "Liquid error (some/path/p line 1): divided by 0",
      ["{% include 'q' %}"] =
        'Liquid syntax error (some/path/q line 1): [:end_of_string] is not a valid expression in ""',
      ["{% include 'x' %}"] = "Liquid error (line 1): Could not find asset x",
      ["{% render 'r' %}"] = "Liquid error (some/path/r line 1): Could not find asset s",
    }, {}, options)
    assert.matches("Liquid syntax error %(pages/home line 1%)", support.refusal("{% if %}", options))
  end)

  it("can come from a function, and are compiled once", function()
    local asked = 0
    local template = support.liquid.compile("{% render 'p' %}{% render 'p' %}", {
      filesystem = function(name)
        asked = asked + 1
        return name == "p" and "x" or nil
      end,
    })
    assert.equal("xx", (template:render()))
    assert.equal("xx", (template:render()))
    assert.equal(1, asked)
  end)
end)
