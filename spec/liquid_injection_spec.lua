local load = require "spec.support.liquid.load"

-- What would matter if a template, or data, ever became code or reached what is behind the engine.
local texts = {
  [["]], [[']], "]]", "]==]", "[[", "\\", "\\\"", "]] .. os.exit(1) .. [[", "\" .. os.exit(1) .. \"",
  "' or os.exit(1) or '",
  "end os.exit(1) --", "--[[", "-- x", "\n os.exit(1)", "\r\n", "\0", "\27Lua", "\27LuaT\0\25\147\r\n\26\n",
  "%d %s %n", "${os}", "`ls`",
  "#{1+1}", "<%= 1 %>", "_ENV", "_G", "__index", "__metatable", "__gc", "return", "function", "goto", "nil", "true",
}

describe("template text", function()
  it("is put out as it is", function()
    for _, text in ipairs(texts) do
      assert.equal(text, load.render(text), text)
      assert.equal("<" .. text .. ">", load.render("<{% raw %}" .. text .. "{% endraw %}>"), text)
    end
  end)

  it("stays text in quotes", function()
    for _, text in ipairs(texts) do
      local quote = text:find("'", 1, true) and '"' or "'"
      if not text:find(quote, 1, true) and not text:find("[{}]") and not text:find("%>", 1, true) then
        local literal = quote .. text .. quote
        assert.equal(text, load.render("{{ " .. literal .. " }}"), text)
        assert.equal(text, load.render("{% assign x = " .. literal .. " %}{{ x }}"), text)
        assert.equal("y", load.render("{% if " .. literal .. " == v %}y{% endif %}", { v = text }), text)
        assert.equal(text, load.render("{% for x in " .. literal .. " %}{{ x }}{% endfor %}"), text)
      end
    end
  end)
end)

describe("data", function()
  it("is put out as it is, and never rendered", function()
    for _, text in ipairs(texts) do
      assert.equal(text, load.render("{{ v }}", { v = text }))
      assert.equal(text, load.render("{{ h[k] }}", { h = { [text] = text }, k = text }))
      assert.equal("a" .. text .. "c", load.render("{{ 'abc' | replace: 'b', v }}", { v = text:gsub("\\", "\\\\") }))
    end
    assert.equal("{{ b }}{% b %}", load.render("{{ a }}", { a = "{{ b }}{% b %}", b = "no" }))
  end)

  it("may have any names, and those of Lua are like all others", function()
    for _, name in ipairs { "_ENV", "_G", "__index", "__newindex", "__pairs", "end", "and", "nil_", "os", "string" } do
      assert.equal("mine", load.render("{{ " .. name .. " }}", { [name] = "mine" }), name)
      assert.equal("set", load.render("{% assign " .. name .. " = 'set' %}{{ " .. name .. " }}"), name)
      assert.equal("1", load.render("{% for " .. name .. " in (1..1) %}{{ " .. name .. " }}{% endfor %}"), name)
    end
  end)
end)

describe("what is behind the engine", function()
  it("cannot be looked into", function()
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
      local output = load.render(template, { a = {}, s = "x", l = { 1 }, n = 5 }, { error_mode = "lax" })
      assert.is_nil(output:find "%S", template .. " gave " .. output)
    end
  end)

  it("is not changed", function()
    local globals = {}
    for name, value in pairs(_G) do globals[name] = value end
    load.render("{% assign os = 1 %}{% assign _G = 2 %}{% assign string = 3 %}{% capture print %}x{% endcapture %}"
      .. "{% increment table %}")
    for name, value in pairs(globals) do assert.equal(value, _G[name], name) end
    assert.equal("X", ("x"):upper())
  end)

  it("runs no filter, tag or operator that is not there", function()
    assert.equal("x", load.render "{{ 'x' | load | dofile | require: 'os' }}")
    assert.matches("Unknown tag 'load'", load.refusal "{% load 'x' %}")
    for _, name in ipairs { "define", "apply", "__index", "rep", "format", "dump" } do
      assert.equal("x", load.render("{{ 'x' | " .. name .. " }}"), name)
    end
  end)
end)
