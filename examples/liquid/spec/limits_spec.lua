local support = require "spec.support.engine"

local render = support.render
local EXCEEDED = "Liquid error: Memory limits exceeded"

-- A render that must end within a few seconds.
local function within(seconds, source, environment, options)
  local started = os.clock()
  local output = render(source, environment, options)
  local spent = os.clock() - started
  assert.is_true(spent < seconds, ("%s took %.1f s"):format(source, spent))
  return output
end

describe("a render", function()
  it("ends at the limits of its caller", function()
    local limits = { render_score_limit = 50 }
    assert.equal(EXCEEDED, render("{% for i in (1..100) %}x{% endfor %}", nil, { resource_limits = limits }))
    assert.equal(("x"):rep(40), render("{% for i in (1..40) %}x{% endfor %}", nil, { resource_limits = limits }))
    assert.equal(EXCEEDED, render("{% for i in (1..9) %}0123456789{% endfor %}", nil,
      { resource_limits = { render_length_limit = 50 } }))
    assert.equal(EXCEEDED, render("{% for i in (1..9) %}{% assign a = '0123456789' %}{% endfor %}", nil,
      { resource_limits = { assign_score_limit = 50 } }))
  end)

  it("counts items of lists and hashes, and comments, and counts captured text as stored only", function()
    local function within_limits(source, limits)
      return render(source, { h = { aa = { 1, 2 } } }, { resource_limits = limits }) ~= EXCEEDED
    end
    assert.is_true(within_limits("{% assign a = h %}", { assign_score_limit = 6 }))
    assert.is_false(within_limits("{% assign a = h %}", { assign_score_limit = 5 }))
    assert.is_true(within_limits("{% comment %}{% endcomment %}{% # x %}a", { render_score_limit = 3 }))
    assert.is_false(within_limits("{% comment %}{% endcomment %}{% # x %}a", { render_score_limit = 2 }))
    assert.is_true(within_limits("{% capture a %}12345{% endcapture %}12345", { render_length_limit = 5 }))
    assert.is_false(within_limits("{% capture a %}12345{% endcapture %}123456", { render_length_limit = 5 }))
  end)

  it("counts all partials for a cumulative limit", function()
    local options = {
      filesystem = { p = "{% for i in (1..10) %}x{% endfor %}" }, strict_errors = true,
      resource_limits = { render_score_limit = 100, cumulative_render_score_limit = 25 },
    }
    assert.equal(EXCEEDED, render("{% render 'p' %}{% render 'p' %}{% render 'p' %}", nil, options))
  end)

  it("ends in a loop of a billion iterations", function()
    assert.equal(EXCEEDED, within(60, "{% for i in (1..1000000000) %}x{% endfor %}"))
    assert.equal(EXCEEDED, within(20,
      "{% for i in (1..1000000) %}{% for j in (1..9) %}{% assign a = 1 %}{% endfor %}{% endfor %}", nil,
      { resource_limits = { render_score_limit = 100000 } }))
    assert.equal("", within(20, "{% for i in (1..1000000000) %}{% endfor %}"))
    assert.equal(EXCEEDED, within(60, "{% tablerow i in (1..1000000000) cols: 9 %}{% endtablerow %}"))
    assert.equal(EXCEEDED, render("{% tablerow i in (1..9) %}{% endtablerow %}", nil,
      { resource_limits = { render_length_limit = 100 } }))
  end)

  it("does not convert huge ranges to lists", function()
    assert.equal("9223372036854775807", within(5, "{{ (1..9223372036854775807) | size }}"))
    assert.equal(EXCEEDED, within(5, "{{ (1..9223372036854775807) | join: ',' }}"))
    assert.equal("123", within(5, "{% for i in (1..9223372036854775807) limit: 3 %}{{ i }}{% endfor %}"))
    assert.equal("n", within(5, "{% if (1..9000000000000) contains 'x' %}y{% else %}n{% endif %}"))
  end)

  it("ends if texts and lists grow exponentially", function()
    local double = "{% assign s = 'x' %}{% for i in (1..60) %}{% assign s = s | append: s %}{% endfor %}"
    assert.equal(EXCEEDED, within(60, double))
    assert.equal(EXCEEDED, within(60,
      "{% assign s = 'x,' | split: ',' %}{% for i in (1..60) %}{% assign s = s | concat: s %}{% endfor %}"))
    assert.equal(EXCEEDED, within(60,
      "{% assign s = 'xx' %}{% for i in (1..60) %}{% assign s = s | replace: 'x', s %}{% endfor %}"))
    assert.equal(EXCEEDED, within(60, "{% for i in (1..100000) %}{% assign n = big | lstrip | size %}{% endfor %}",
      { big = ("x"):rep(1000000) }))
  end)

  it("ends if it writes too much", function()
    local big = ("x"):rep(1000000)
    assert.equal(EXCEEDED, within(60, "{% for i in (1..1000000) %}{{ big }}{% endfor %}", { big = big }))
    assert.equal(EXCEEDED, within(60, "{% for i in (1..1000000) %}" .. big .. "{% endfor %}"))
  end)

  it("ends in a partial that renders itself", function()
    local files = { a = "{% include 'a' %}", b = "{% render 'b' %}", c = "{% render 'd' %}", d = "{% render 'c' %}" }
    for name in pairs(files) do
      local output = within(20, "{% include '" .. name .. "' %}!", nil, { filesystem = files })
      assert.matches("Nesting too deep!$", output)
    end
  end)

  it("ends if partials render each other exponentially often", function()
    local files = {}
    for i = 1, 60 do files["p" .. i] = ("{% render 'p" .. i + 1 .. "' %}"):rep(4) end
    files.p61 = "x"
    assert.equal(EXCEEDED, within(120, "{% render 'p1' %}", nil, { filesystem = files }))
  end)
end)

describe("a template", function()
  it("cannot be nested deeper than 100 tags", function()
    local function nested(depth) return ("{% if true %}"):rep(depth) .. "x" .. ("{% endif %}"):rep(depth) end
    assert.equal("x", render(nested(99)))
    assert.matches("Nesting too deep", support.refusal(nested(101)))
    assert.matches("Nesting too deep", support.refusal("{{ " .. ("a["):rep(5000) .. "0" .. ("]"):rep(5000) .. " }}"))
  end)

  it("is parsed in time that is linear in its length", function()
    for _, source in ipairs {
      "{{ a" .. (" "):rep(200000) .. "}}", ("{ "):rep(100000), "{% assign a = 1" .. (" "):rep(200000) .. "%}",
      "a" .. (" "):rep(200000) .. "{%- assign a = 1 -%}" .. (" "):rep(200000) .. "b",
      "{{ '" .. ("x"):rep(200000) .. "' | size }}", "{% raw %}" .. ("{{ "):rep(300000),
      "{% comment %}" .. ("{% "):rep(300000), "{% raw %}" .. ("{{ "):rep(300000) .. "{% endraw %}",
    } do
      local started = os.clock()
      support.liquid.compile(source, { error_mode = "lax" })
      assert.is_true(os.clock() - started < 5, source:sub(1, 30))
    end
  end)
end)

describe("data that contains itself", function()
  it("is printed to a nesting depth of 100", function()
    local loop = { 1 }
    loop[2] = loop
    local hash = {}
    hash.h = hash
    assert.equal(EXCEEDED, render("{{ l }}", { l = loop }))
    assert.matches("^{\"h\"=>{\"h\"=>", render("{{ h }}", { h = hash }))
    assert.equal(EXCEEDED, render("{{ l | join }}", { l = loop }))
    assert.equal("y", render("{% if h == h %}y{% endif %}", { h = hash }))
  end)
end)
