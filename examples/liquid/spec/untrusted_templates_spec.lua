local support = require "spec.support.engine"

-- Texts that would have an effect if a template or data were run as code.
local texts = {
  [["]], [[']], "]]", "]==]", "[[", "\\", "\\\"", "]] .. os.exit(1) .. [[", "\" .. os.exit(1) .. \"",
  "' or os.exit(1) or '",
  "end os.exit(1) --", "--[[", "-- x", "\n os.exit(1)", "\r\n", "\0", "\27Lua", "\27LuaT\0\25\147\r\n\26\n",
  "%d %s %n", "${os}", "`ls`",
  "#{1+1}", "<%= 1 %>", "_ENV", "_G", "__index", "__metatable", "__gc", "return", "function", "goto", "nil", "true",
}

describe("template text", function()
  it("is written as it is", function()
    for _, text in ipairs(texts) do
      assert.equal(text, support.render(text), text)
      assert.equal("<" .. text .. ">", support.render("<{% raw %}" .. text .. "{% endraw %}>"), text)
    end
  end)

  it("remains text in quotes", function()
    for _, text in ipairs(texts) do
      local quote = text:find("'", 1, true) and '"' or "'"
      if not text:find(quote, 1, true) and not text:find("[{}]") and not text:find("%>", 1, true) then
        local literal = quote .. text .. quote
        assert.equal(text, support.render("{{ " .. literal .. " }}"), text)
        assert.equal(text, support.render("{% assign x = " .. literal .. " %}{{ x }}"), text)
        assert.equal("y", support.render("{% if " .. literal .. " == v %}y{% endif %}", { v = text }), text)
        assert.equal(text, support.render("{% for x in " .. literal .. " %}{{ x }}{% endfor %}"), text)
      end
    end
  end)
end)

describe("data", function()
  it("is written as it is, and never rendered", function()
    for _, text in ipairs(texts) do
      assert.equal(text, support.render("{{ v }}", { v = text }))
      assert.equal(text, support.render("{{ h[k] }}", { h = { [text] = text }, k = text }))
      assert.equal("a" .. text .. "c", support.render("{{ 'abc' | replace: 'b', v }}", { v = text:gsub("\\", "\\\\") }))
    end
    assert.equal("{{ b }}{% b %}", support.render("{{ a }}", { a = "{{ b }}{% b %}", b = "no" }))
  end)

  it("can have any names, also those of Lua", function()
    for _, name in ipairs { "_ENV", "_G", "__index", "__newindex", "__pairs", "end", "and", "nil_", "os", "string" } do
      assert.equal("mine", support.render("{{ " .. name .. " }}", { [name] = "mine" }), name)
      assert.equal("set", support.render("{% assign " .. name .. " = 'set' %}{{ " .. name .. " }}"), name)
      assert.equal("1", support.render("{% for " .. name .. " in (1..1) %}{{ " .. name .. " }}{% endfor %}"), name)
    end
  end)
end)

describe("the engine and Lua", function()
  it("cannot be read by a template", function()
    local templates = {
      "{{ __index }}", "{{ self.__index }}", "{{ self['__metatable'] }}", "{{ _ENV.os }}", "{{ _G.os.time }}",
      "{{ os }}", "{{ a.__index }}",
      "{{ s.gsub }}", "{{ s.rep }}", "{{ s['rep'] }}", "{{ l.concat }}", "{{ self.scope }}", "{{ self.ctx }}",
      "{{ n.type }}",
      "{% for i in (1..1) %}{{ forloop.at }}{{ forloop.count }}{{ forloop.__name }}{{ forloop.outer }}{% endfor %}",
      "{% assign r = (1..2) %}{{ r.text }}{{ r.__name }}", "{{ self | map: 'ctx' }}", "{{ self.loop }}",
      "{{ self.errors }}",
      "{{ 99999999999999999999.negative }}",
    }
    for _, template in ipairs(templates) do
      local output = support.render(template, { a = {}, s = "x", l = { 1 }, n = 5 }, { error_mode = "lax" })
      assert.is_nil(output:find "%S", template .. " gave " .. output)
    end
  end)

  it("cannot be changed by a template", function()
    local globals = {}
    for name, value in pairs(_G) do globals[name] = value end
    support.render("{% assign os = 1 %}{% assign _G = 2 %}{% assign string = 3 %}{% capture print %}x{% endcapture %}"
      .. "{% increment table %}")
    for name, value in pairs(globals) do assert.equal(value, _G[name], name) end
    assert.equal("X", ("x"):upper())
  end)

  it("run no unknown filter, tag or operator", function()
    assert.equal("x", support.render "{{ 'x' | load | dofile | require: 'os' }}")
    assert.matches("Unknown tag 'load'", support.refusal "{% load 'x' %}")
    for _, name in ipairs { "define", "apply", "__index", "rep", "format", "dump" } do
      assert.equal("x", support.render("{{ 'x' | " .. name .. " }}"), name)
    end
  end)
end)

describe("a Lua object", function()
  local ran

  -- A class with all metamethods. Its objects are created before `__gc` is set, so that the collector does not call it.
  local function class()
    ran = {}
    local Class = { __name = "Secret", __mode = "k", secret = "inherited" }
    Class.__index = Class
    for _, name in ipairs {
      "__close", "__call", "__len", "__tostring", "__pairs", "__eq", "__lt", "__le", "__concat", "__unm", "new",
    } do
      Class[name] = function() ran[#ran + 1] = name return "ran" end
    end
    return Class
  end

  local function with_finalizer(Class, made)
    Class.__gc = function() ran[#ran + 1] = "__gc" end
    return made
  end

  local function objects()
    local Class = class()
    local functions = setmetatable({ name = "virtual" }, {
      __index = function(_, name) ran[#ran + 1] = name return "ran" end, __metatable = "locked",
    })
    return with_finalizer(Class, {
      instance = setmetatable({ name = "Ada", __own = "own" }, Class), class = Class, virtual = functions,
      locked = setmetatable({ name = "x" }, { __metatable = false, __index = Class }),
      text = "text", userdata = io.stdout, fn = print, thread = coroutine.create(print),
      list = support.liquid.array { setmetatable({ name = "A", __own = "own" }, Class), setmetatable({}, Class) },
    })
  end

  local NAMES = {
    "__gc", "__index", "__name", "__mode", "__metatable", "__tostring", "__close", "__call", "__pairs", "__own", "new",
    "secret", "write", "rep",
  }

  it("hides names that begin with __ and inherited members from every kind of access", function()
    for _, variable in ipairs { "instance", "virtual", "locked", "userdata", "fn", "thread", "list", "text" } do
      for _, name in ipairs(NAMES) do
        for _, template in ipairs {
          "{{ V.N }}", "{{ V['N'] }}", "{{ V[key] }}", "{{ self['V']['N'] }}", "{{ V | map: 'N' }}", "{{ V.N.N }}",
          "{{ V | where: 'N' | size | minus: 0 | replace: '0', '' }}", "{{ V | sum: 'N' | replace: '0', '' }}",
          "{{ V | find: 'N' }}", "{{ V | has: 'N' | replace: 'false', '' }}", "{{ V | find_index: 'N' }}",
          "{% if V contains 'N' %}found{% endif %}", "{% if V.N %}found{% endif %}", "{% assign x = V.N %}{{ x }}",
          "{% for x in V.N %}found{% endfor %}", "{% tablerow x in V.N %}found{% endtablerow %}", "{{ V.N.size }}",
          "{% for p in V %}{% if p[0] == 'N' %}found{% endif %}{% endfor %}", "{{ V.N | first }}{{ V.N | last }}",
          "{% case V.N %}{% when nil %}{% else %}found{% endcase %}",
        } do
          local source = template:gsub("V", variable):gsub("N", (name:gsub("%%", "%%%%")))
          local environment = objects()
          environment.key = name
          local is_text = variable == "text" or variable == "fn" or variable == "thread" or variable == "userdata"
          if not (is_text and template:find "|") then
            assert.equal("", support.render(source, environment, {}), source)
          end
          assert.same({}, ran, source)
        end
      end
    end
  end)

  it("shows its other own members, and no metamethod is called", function()
    support.all({
      ["{{ instance.name }}{{ instance['name'] }}{{ list | map: 'name' }}"] = "AdaAdaA",
      ["{{ instance.size }} {{ instance | size }} {{ instance.first }} {{ instance | first }}"] = "1 1 nameAda nameAda",
      ["{{ instance }}"] = '{"name"=>"Ada"}', ["{% for p in instance %}{{ p }};{% endfor %}"] = "nameAda;",
      ["{{ class | size }}{{ class.first[0] }}"] = "2new",
      ["{{ class.__index }}{{ class.__index.secret }}{{ class.__name }}"] = "",
      ["{% if instance == list[1] or instance == list %}same{% else %}other{% endif %}"] = "other",
      ["{{ list | uniq | size }}{{ list | sort: 'name' | size }}{{ list | compact: '__own' | size }}"] = "220",
      ["{{ fn }}{{ thread }}{{ userdata }}{{ virtual.name }}"] = "virtual",
      ["{{ list | sort_natural: '__own' | size }}{{ list | uniq: '__own' | size }}{{ list | reject: '__own' | size }}"]
        = "212",
      ["{{ 5 | default: 1, instance }}"] = "5",
    }, objects())
    assert.same({}, ran)
  end)

  it("hides names that begin with __ as the environment", function()
    local Class = class()
    local environment = with_finalizer(Class, setmetatable({ name = "Ada", __own = "own" }, Class))
    support.all({
      ["{{ name }}{{ secret }}"] = "Adainherited", ["{{ __index }}{{ __gc }}{{ __own }}{{ self.__index }}"] = "",
      ["{% assign __gc = 'mine' %}{{ __gc }}{{ self.__gc }}"] = "minemine",
    }, environment)
    assert.same({}, ran)
  end)

  it("is not asked for names that begin with __ if it is a drop", function()
    local Class = class()
    require("liquid.values").register(Class, { kind = "drop", get = function(object, name) return object[name] end })
    local object = with_finalizer(Class, setmetatable({ name = "Ada", __own = "own" }, Class))
    for _, name in ipairs(NAMES) do
      if name:find "^__" then
        support.outputs({ ["o." .. name] = "", ["o['" .. name .. "']"] = "", ["o | map: '" .. name .. "'"] = "" },
          { o = object })
      end
    end
    support.outputs({ ["o.name"] = "Ada", ["o.secret"] = "inherited" }, { o = object })
    assert.same({}, ran)
  end)
end)
