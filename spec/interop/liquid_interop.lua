-- A host of pintle with Ruby's Liquid, the reference engine.
local children = require "spec.support.children"
local json = require("pintle.core").json
local pintle = require "pintle"

describe("the reference engine", function()
  local host, engine

  setup(function()
    host = pintle.host { dialect = "liquid", log = false }
    engine = assert(host:start { command = { "ruby", "spec/interop/liquid_server.rb" } })
  end)

  teardown(function() host:stop() end)

  local function render(template, environment, more)
    local args = { template = template, environment = environment }
    for name, value in pairs(more or {}) do args[name] = value end
    local outcome, err = engine:execute("render", args, { timeout = children.patience })
    return assert(outcome, tostring(err))
  end

  it("reports its version and capabilities", function()
    assert.equal("ruby", engine.manifest.name)
    assert.matches("^%d+%.%d+%.%d+", engine.manifest.version)
    assert.is_true(engine.manifest.capabilities.core)
  end)

  it("renders each value by its type", function()
    assert.equal("Hello ADA! 1 1.0 true nil 3 0", render(
      "Hello {{ name | upcase }}! {{ i }} {{ f }} {{ t }} {% if n == nil %}nil{% endif %} {{ list.size }} {{ e.size }}",
      { name = "Ada", i = 1, f = 1.0, t = true, n = pintle.null, list = { 1, 2, 3 }, e = pintle.array() }).message)
  end)

  it("prints hashes in the order in which they were given", function()
    assert.equal('{"zebra"=>1, "apple"=>{"d"=>1.5, "c"=>nil}, "mango"=>[]}', render("{{ h }}",
      { h = json.decode('{"zebra":1,"apple":{"d":1.5,"c":null},"mango":[]}', nil, true) }).message)
  end)

  it("reads the members of an object when it needs them", function()
    local User = { __name = "UserDrop", __tostring = function(self) return "<" .. self.name .. ">" end }
    User.__index = User
    function User:shout() return self.name:upper() end
    local function user(name, friends) return setmetatable({ name = name, friends = friends }, User) end
    local ada = user("Ada", setmetatable({ user "Bob", user "Cleo" }, { __name = "Friends" }))
    assert.equal("<Ada> ADA: Bob Cleo 2", render(
      "{{ u }} {{ u.shout }}:{% for f in u.friends %} {{ f.name }}{% endfor %} {{ u.friends.size }}",
      { u = ada }).message)
  end)

  it("renders the error of an object, and continues", function()
    local outcome = render("a{{ u.broken }}b", { u = { broken = function() error("out of order", 0) end } })
    assert.is_true(outcome.success)
    assert.equal("aLiquid error (line 1): out of orderb", outcome.message)
    assert.equal("out of order", outcome.result.errors[1].message:match "out of order")
    assert.equal(1, outcome.result.errors[1].line)
  end)

  it("fails at an error with strict_errors", function()
    local outcome = render("{{ 1 | divided_by: 0 }}", {}, { strict_errors = true })
    assert.same({ false, "Liquid error (line 1): divided by 0" }, { outcome.success, outcome.error })
  end)

  it("refuses a template that does not compile", function()
    local outcome = render "\n{% nope %}"
    assert.is_false(outcome.success)
    assert.equal("Liquid syntax error (line 2): Unknown tag 'nope'", outcome.error)
    assert.equal(2, outcome.result.error.line)
    local nothing, err = engine:execute("greet", { name = "Ada" })
    assert.is_nil(nothing)
    assert.equal("Liquid syntax error (line 1): Unknown tag 'greet'", err.message)
  end)

  it("renders partials from the given files", function()
    assert.equal("Hello Ada!", render("{% render 'greeting' %}", {}, {
      filesystem = { ["greeting.liquid"] = "Hello {{ 'Ada' }}!" },
    }).message)
  end)
end)
