-- Neither the output nor the errors of a template have a source position of the program: not of the engine, nor of a
-- filter, a tag or an object.

local support = require "spec.support.engine"
local pintle = require "pintle"
local pintle_errors = require "pintle.error"
local drops = require "liquid.drops"
local values = require "liquid.values"

local INTERNAL = "Liquid error (line 1): internal"

local engine = support.liquid.new()
local failing

engine:register_filter("fail", function(...) return failing(...) end)

local function render(source, environment, options)
  local output, err = assert(engine:compile(source, options)):render(environment, options)
  return output or tostring(err)
end

-- Functions that raise errors that templates must not see.
local WAYS = {
  ["with a place"] = function() error "secret" end,
  ["in Lua itself"] = function() return nil .. "secret" end,
  ["in the library"] = function() return ("x"):rep({}) end,
  ["in a comparison of the library"] = function() table.sort({ {}, {} }) end,
  ["with a table"] = function() error { secret = "secret" } end,
  ["with an object"] = function()
    error(setmetatable({}, { __tostring = function() error "secret" end, __index = function() error "secret" end }))
  end,
  ["with nothing"] = function() error(nil) end,
  ["with a function"] = function() error(print) end,
}

local function return_place() return nil, "program.lua:1: secret" end

local function assert_no_place(text, way)
  for _, trace in ipairs { "secret", "%.lua", "attempt", "0x%x", "stack", "bad argument", "%[C%]", "traceback" } do
    assert.is_nil(text:find(trace), way .. ": " .. text)
  end
end

-- Renders a template with every failing function, with and without strict_errors.
local function try_with(fail, way, source, expected, environment_for)
  local template = assert(engine:compile(source, { filesystem = { p = "{{ 1 | fail }}" } }))
  failing = fail
  local output, failures = template:render(environment_for and environment_for(fail))
  assert.equal(expected, output, way)
  for _, err in ipairs(failures) do
    assert_no_place(support.errors.sentence(err), way)
    assert.is_true(err.type ~= "internal_error" or err.cause ~= nil or way == "with nothing", way)
  end
  local none, err = template:render(environment_for and environment_for(fail), { strict_errors = true })
  assert.is_nil(none)
  assert.matches("^Liquid error %(.-line 1%): internal$", tostring(err), way)
end

local function try(...)
  for way, fail in pairs(WAYS) do try_with(fail, way, ...) end
end

describe("a filter that fails", function()
  it("is an internal error on its line, and the render continues", function()
    try("a{{ 1 | fail }}b", "a" .. INTERNAL .. "b")
    try("a{{ 1 | fail | upcase }}b{% assign x = 1 | fail %}c{{ x }}", "a" .. INTERNAL .. "bc")
  end)

  it("is reported at its place in blocks, loops and partials", function()
    try("{% for i in (1..2) %}{% if true %}{{ i }}{{ i | fail }};{% endif %}{% endfor %}.",
      "1" .. INTERNAL .. ";2" .. INTERNAL .. ";.")
    try("<{% render 'p' %}>{% capture c %}[{{ 1 | fail }}]{% endcapture %}{{ c }}",
      "<Liquid error (p line 1): internal>[" .. INTERNAL .. "]")
    try("{% for i in (1..3) %}{% if i == 2 %}{% break %}{% endif %}{{ i | fail }}{% endfor %}|{{ forloop.index }}",
      INTERNAL .. "|")
  end)

  it("does not affect other nodes, at any nesting depth", function()
    local depth = 95
    local source = ("{% if true %}"):rep(depth) .. "x{{ 1 | fail }}y" .. ("{% endif %}"):rep(depth)
    try(source .. "z", "x" .. INTERNAL .. "yz")
  end)

  it("does not change other errors and counters", function()
    failing = WAYS["with a place"]
    assert.equal("0Liquid error (line 1): divided by 0" .. INTERNAL .. "1",
      render "{% increment n %}{{ 1 | divided_by: 0 }}{{ 1 | fail }}{% increment n %}")
    local template = engine:compile "{{ 1 | divided_by: 0 }}{{ 1 | fail }}"
    local _, errors = template:render {}
    assert.same({ "zero_division_error", "internal_error" }, { errors[1].type, errors[2].type })
  end)

  it("may overflow the stack", function()
    local function deeper() return 1 + deeper() end
    failing = deeper
    assert.equal("a" .. INTERNAL .. "b", render "a{{ 1 | fail }}b")
  end)

  it("may raise an error of the engine", function()
    failing = function() error(support.errors.new("argument_error", "too blue"), 0) end
    assert.equal("aLiquid error (line 1): too blueb", render "a{{ 1 | fail }}b")
    assert.equal("Liquid error (line 2): too blue", render("\n{{ 1 | fail }}", {}, { strict_errors = true }))
  end)
end)

describe("a tag that fails", function()
  local function define(fail)
    engine:register_tag("failing_tag", {
      parse = function(markup) return markup:find "parse" and fail() end,
      render = fail,
    })
  end

  it("is an internal error when it is rendered", function()
    for way, fail in pairs(WAYS) do
      define(fail)
      assert.equal("a" .. INTERNAL .. "b", render "a{% failing_tag %}b", way)
    end
  end)

  it("is an internal error when it is parsed", function()
    for way, fail in pairs(WAYS) do
      define(fail)
      local template, err = engine:compile "a\n{% failing_tag parse %}b"
      assert.is_nil(template, way)
      assert.equal("Liquid error (line 2): internal", tostring(err), way)
      assert.equal("aLiquid error (p line 1): internalb",
        render("a{% include 'p' %}b", {}, { filesystem = { p = "{% failing_tag parse %}" } }), way)
    end
  end)
end)

describe("an object of the program that fails", function()
  it("is an internal error in every kind of access", function()
    for _, source in ipairs {
      "a{{ d }}b", "a{{ d.x }}b", "a{{ d['x'] }}b", "a{{ d | upcase }}b", "a{{ d | map: 'x' }}b", "a{{ d | plus: 1 }}b",
      "a{% for x in d %}x{% endfor %}b", "a{{ d | join: ',' }}b", "a{% if d == 1 %}x{% endif %}b",
      "a{{ list | join }}b",
    } do
      try(source, "a" .. INTERNAL .. "b", function(fail)
        local class = { __name = "spec.failing" }
        values.register(class, {
          kind = "drop", get = fail, to_s = fail, items = fail, number = fail, value = fail, equal = fail,
        })
        local drop = setmetatable({}, class)
        return { d = drop, list = values.array { drop } }
      end)
    end
  end)

  it("is an internal error if it is a registered drop", function()
    local function environment_for(fail)
      local class = { __index = { get = fail, iterate = fail, call = fail } }
      drops.adopt(class)
      return { d = setmetatable({}, class) }
    end
    for _, source in ipairs { "a{{ d }}b", "a{{ d.x }}b", "a{% for x in d %}x{% endfor %}b", "a{{ d | times: 2 }}b" } do
      try(source, "a" .. INTERNAL .. "b", environment_for)
      try_with(return_place, "by returning", source, "a" .. INTERNAL .. "b", environment_for)
    end
  end)

  it("is called only once", function()
    local asked = 0
    local class = { __index = { get = function() asked = asked + 1 error "secret" end } }
    drops.adopt(class)
    assert.equal(INTERNAL, render("{{ d.x }}", { d = setmetatable({}, class) }))
    assert.equal(1, asked)
  end)

  it("may raise or return a message for the template", function()
    local class = { __index = {
      get = function(_, name)
        if name == "raised" then error("sold out", 0) end
        if name == "table" then error({ message = "sold out" }) end
        return nil, "sold out"
      end,
    } }
    drops.adopt(class)
    for _, name in ipairs { "raised", "table", "returned" } do
      assert.equal("Liquid error (line 1): sold out",
        render("{{ d." .. name .. " }}", { d = setmetatable({}, class) }), name)
    end
  end)

  it("may be the function that reads partials", function()
    for way, fail in pairs(WAYS) do
      assert.equal("a" .. INTERNAL .. "b", render("a{% render 'x' %}b", {}, { filesystem = fail }), way)
    end
  end)
end)

describe("an interruption", function()
  it("is not caught by the engine", function()
    local stopped = pintle_errors.new("timeout", "out of time")
    failing = function() error(stopped, 0) end
    local class = { __index = { get = function() error(stopped, 0) end } }
    drops.adopt(class)
    for _, source in ipairs { "{{ 1 | fail }}", "{{ d.x }}" } do
      local ok, err = pcall(render, source, { d = setmetatable({}, class) })
      assert.is_false(ok)
      assert.equal(stopped, err)
    end
  end)
end)

describe("an object of a host that fails", function()
  it("is an internal error in the template, and is logged by the host", function()
    local logged = {}
    local host <close> = pintle.host {
      dialect = "liquid", log = function(entry) logged[#logged + 1] = tostring(entry.message) end,
    }
    local server = assert(host:start { command = { "script/server" } })
    local function shown(fail)
      local class = { __name = "FailingDrop", __index = { x = fail, each = fail }, __tostring = fail }
      return assert(server:execute("render", {
        template = "a{{ d.x }}b{% for i in d %}x{% endfor %}c{{ d }}d", environment = { d = setmetatable({}, class) },
      }, { timeout = support.timeout })).message
    end
    local expected = "a" .. INTERNAL .. "b" .. INTERNAL .. "c" .. INTERNAL .. "d"
    for way, fail in pairs(WAYS) do
      local is_unprintable = way == "with an object"
      assert.equal(is_unprintable and expected:gsub("internal", "an error that cannot be shown") or expected,
        shown(fail), way)
    end
    assert.equal(expected, shown(return_place))
    assert.matches("FailingDrop failed: .*spec/internal_errors_spec.lua:%d+: secret", table.concat(logged, "\n"))
  end)
end)
