-- Filters and tags of the program.
local support = require "spec.support.engine"

local liquid = support.liquid

local function read(path)
  local file <close> = assert(io.open(path))
  return file:read "a"
end

-- The output of a template, with its errors.
local function render(engine, source, environment, options)
  local output, err = assert(engine:compile(source, options)):render(environment, options)
  return output or tostring(err)
end

describe("a filter of the program", function()
  local engine

  before_each(function() engine = liquid.new() end)

  it("gets the input and the arguments, and returns the result", function()
    engine:register_filter("surround", function(input, left, right) return left .. input .. (right or left) end)
    assert.equal("(a) *b* <C>", render(engine,
      "{{ 'a' | surround: '(', ')' }} {{ 'b' | surround: '*' }} {{ x | upcase | surround: '<', y }}",
      { x = "c", y = ">" }))
  end)

  it("gets any number of arguments, and named ones as a table after them", function()
    engine:register_filter("list", function(...) return table.concat({ ... }, ",") end)
    engine:register_filter("named", function(_, options) return options and options.size or "none" end)
    assert.equal("1,2,3,4,5 9 none",
      render(engine, "{{ 1 | list: 2, 3, x, 5 }} {{ 1 | named: size: y }} {{ 1 | named }}", { x = 4, y = 9 }))
  end)

  it("gets nil for nil and null, and may return any value", function()
    local seen = {}
    engine:register_filter("note", function(input, argument)
      seen[#seen + 1] = tostring(input) .. " " .. tostring(argument)
      return { 1, liquid.null, 2 }
    end)
    engine:register_filter("nothing", function() return nil end)
    engine:register_filter("null", function() return liquid.null end)
    assert.equal("12 2 [] ok", render(engine,
      "{{ n | note: nil }} {{ 1 | note: n | last }} [{{ 1 | nothing }}] {{ 1 | null | default: 'ok' }}",
      { n = liquid.null }))
    assert.same({ "nil nil", "1 nil" }, seen)
  end)

  it("fails with the message that it returns", function()
    engine:register_filter("price", function(input)
      if type(input) ~= "number" then return nil, "a price must be a number" end
      return "$" .. input
    end)
    assert.equal("$5 Liquid error (line 1): a price must be a number",
      render(engine, "{{ 5 | price }} {{ 'x' | price }}"))
    assert.equal("Liquid error (line 1): a price must be a number",
      render(engine, "{{ 'x' | price }}", {}, { strict_errors = true }))
  end)

  it("works in every parsing mode, in assign, in tags of the program and in partials", function()
    engine:register_filter("twice", function(input) return input .. input end)
    for _, mode in ipairs { "strict2", "strict", "lax" } do
      assert.equal("aabbccdd", render(engine, "{{ 'a' | twice }}{% assign b = 'b' | twice %}{{ b }}{% render 'p' %}"
        .. "{% echo 'd' | twice %}", {}, { error_mode = mode, filesystem = { p = "{{ 'c' | twice }}" } }))
    end
    assert.equal("ee", render(engine, "{{ 'e' 'f' | twice }}", {}, { error_mode = "lax" }))
  end)

  it("replaces a standard filter, also in templates with the same text as earlier ones", function()
    local source = "{{ 'a' | upcase }}"
    assert.equal("A", render(engine, source))
    engine:register_filter("upcase", function(input) return "up " .. input end)
    assert.equal("up a", render(engine, source))
  end)

  it("exists in its engine only", function()
    engine:register_filter("twice", function(input) return input .. input end)
    assert.equal("aa", render(engine, "{{ 'a' | twice }}"))
    assert.equal("a", render(liquid.new(), "{{ 'a' | twice }}"))
    assert.equal("a", support.render "{{ 'a' | twice }}")
    assert.equal("Liquid error (line 1): undefined filter twice",
      support.render("{{ 'a' | twice }}", {}, { strict_filters = true, strict_errors = true }))
  end)

  it("has a name and a function", function()
    assert.has_error(function() engine:register_filter("a b", print) end,
      "the name of a filter must be letters, digits and underscores, not a b")
    assert.has_error(function() engine:register_filter("a", {}) end, "a filter must be a function, not a table")
  end)
end)

describe("a tag of the program", function()
  local engine

  before_each(function() engine = liquid.new() end)

  it("writes what it returns", function()
    engine:register_tag("hello", { render = function(_, markup) return "Hello, " .. markup end })
    assert.equal("Hello, Ada !", render(engine, "{% hello Ada %}!"))
    engine:register_tag("list", { render = function() return { 1, 2 } end })
    engine:register_tag("nothing", { render = function() end })
    assert.equal("12|", render(engine, "{% list %}|{% nothing %}"))
  end)

  it("parses its markup once, with expressions of the template", function()
    local count = 0
    engine:register_tag("sum", {
      parse = function(markup, expression)
        count = count + 1
        local left, right = markup:match "^(.-)%s+and%s+(.-)%s*$"
        if not left then return nil, "Valid syntax: sum [number] and [number]" end
        return { left = expression(left), right = expression(right) }
      end,
      render = function(context, sum) return sum.left(context) + sum.right(context) end,
    })
    local template = assert(engine:compile "{% sum a.b and c | plus: 1 %}")
    assert.equal("6", template:render { a = { b = 2 }, c = 3 })
    assert.equal("14", template:render { a = { b = 6 }, c = 7 })
    assert.equal(1, count)
    local none, err = engine:compile "x\n{% sum 1 %}"
    assert.is_nil(none)
    assert.equal('Liquid syntax error (line 2): Valid syntax: sum [number] and [number] in "1"', tostring(err))
    none, err = engine:compile "{% sum 1 and | %}"
    assert.is_nil(none)
    assert.matches("^Liquid syntax error %(line 1%): .* is not a valid expression", tostring(err))
  end)

  it("may have a body, which it renders as often as it likes", function()
    engine:register_tag("repeat", {
      block = true,
      parse = function(markup, expression) return expression(markup) end,
      render = function(context, count, body)
        local pieces = {}
        for i = 1, count(context) do
          context:set("i", i)
          pieces[i] = body()
        end
        return table.concat(pieces, ",")
      end,
    })
    assert.equal("<1a,2a>2", render(engine, "<{% repeat 2 %}{{ i }}{{ x }}{% endrepeat %}>{{ i }}", { x = "a" }))
    assert.equal("1,2;1,2;", render(engine,
      "{% for j in (1..3) %}{% if j == 3 %}{% break %}{% endif %}{% repeat 2 %}{{ i }}{% endrepeat %};{% endfor %}"))
    assert.equal("", render(engine, "{% for j in (1..3) %}{% repeat 1 %}{% break %}{% endrepeat %}x{% endfor %}"))
    local none, err = engine:compile "{% repeat 2 %}"
    assert.is_nil(none)
    assert.equal("Liquid syntax error (line 1): 'repeat' tag was never closed", tostring(err))
    none, err = engine:compile "{% repeat 2 %}{% endif %}{% endrepeat %}"
    assert.is_nil(none)
    assert.matches("'endif' is not a valid delimiter for repeat tags. use endrepeat", tostring(err))
  end)

  it("reads and sets variables", function()
    engine:register_tag("next_id", {
      render = function(context)
        local id = (context:get "id" or 0) + 1
        context:set("id", id)
        return id
      end,
    })
    assert.equal("42 43 43", render(engine, "{% next_id %} {% next_id %} {{ id }}", { id = 41 }))
    assert.equal("1", render(engine, "{% next_id %}", { id = liquid.null }))
  end)

  it("fails with the message that it returns, or as an expression in it fails", function()
    engine:register_tag("fail", { render = function() return nil, "out of paper" end })
    engine:register_tag("show", {
      parse = function(markup, expression) return expression(markup) end,
      render = function(context, value) return value(context) end,
    })
    assert.equal("aLiquid error (line 1): out of paperb", render(engine, "a{% fail %}b"))
    assert.equal("3Liquid error (line 1): divided by 0", render(engine, "{% show 3 %}{% show 1 | divided_by: 0 %}"))
  end)

  it("counts its body as output once, and not if it drops it", function()
    engine:register_tag("keep", { block = true, render = function(_, _, body) return body() end })
    engine:register_tag("drop", { block = true, render = function(_, _, body) return body() and "" end })
    local options = { resource_limits = { render_length_limit = 12 } }
    assert.equal("0123456789", render(engine, "{% keep %}{{ '0123456789' }}{% endkeep %}", {}, options))
    assert.equal("01234567", render(engine, "{% drop %}{{ '0123456789' }}{% enddrop %}{{ '01234567' }}", {}, options))
    assert.matches("Memory limits exceeded",
      render(engine, "{% keep %}{{ '0123456789' }}{% endkeep %}{% keep %}012{% endkeep %}", {}, options))
  end)

  it("works in a liquid tag and in partials, and exists in its engine only", function()
    engine:register_tag("box", { block = true, render = function(_, _, body) return "[" .. body() .. "]" end })
    assert.equal("[a][b]", render(engine, "{% liquid\n box\n echo 'a'\n endbox\n%}{% render 'p' %}", {},
      { filesystem = { p = "{% box %}b{% endbox %}" } }))
    assert.matches("Unknown tag 'box'", support.refusal "{% box %}{% endbox %}")
  end)

  it("has a name that is free, and a function render", function()
    local tag = { render = print }
    assert.has_error(function() engine:register_tag("endfor", tag) end, "endfor cannot be the name of a tag")
    assert.has_error(function() engine:register_tag("else", tag) end, "else cannot be the name of a tag")
    assert.has_error(function() engine:register_tag("a-b", tag) end,
      "the name of a tag must be letters, digits and underscores, not a-b")
    assert.has_error(function() engine:register_tag("a", {}) end, "a tag must have a function render")
    assert.has_error(function() engine:register_tag("a", { render = print, parse = 1 }) end, "parse must be a function")
  end)
end)

describe("the example in the README", function()
  it("renders what the README says", function()
    local page = read "README.md"
    local program, output = page:match "## Adding filters and tags.-```lua\n(.-)```.-```\n(.-)```"
    assert.is_string(program)
    local printed = {}
    local function keep(text) printed[#printed + 1] = text .. "\n" end
    local environment = setmetatable({ print = keep }, { __index = _G })
    assert(load(program, "=README.md", "t", environment))()
    assert.equal(output, table.concat(printed))
  end)
end)
