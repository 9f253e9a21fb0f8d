-- The engine without pintle, the first example of the README, and the rockspec.

local function run(command)
  local pipe = io.popen(command .. " 2>&1")
  local output = pipe:read("a")
  return output, pipe:close()
end

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

local BARE = "env -i PATH=\"$PATH\" lua5.4 -e 'package.cpath = \"\"' "

describe("the engine", function()
  it("needs nothing but Lua", function()
    local output = run(BARE .. "-e " .. quoted [[
      package.path = "./?.lua;./?/init.lua"
      local liquid = require "liquid"
      for name in pairs(package.loaded) do assert(not name:find "^pintle", name) end
      local template = assert(liquid.compile
        "{% for p in l %}{{ p.n | default: 'no' }},{% endfor %}{{ h.a }}|{{ l[2] }}")
      print((template:render { l = { { n = 1 }, {}, liquid.null }, h = { a = liquid.null } }))
    ]])
    assert.equal("1,no,no,|\n", output)
  end)

  it("renders the first example of the README", function()
    local file <close> = assert(io.open "README.md")
    local program = file:read("a"):match("```lua\n(.-)```")
    assert.equal("Hello ADA! -- Acme\ttable", run(BARE .. "-e " .. quoted(program)):match("^(.-): "))
  end)

  it("reads no object by its metatable, even without the debug library", function()
    local output = run(BARE .. "-e " .. quoted [[
      package.path = "./?.lua;./?/init.lua"
      debug = nil
      local liquid = require "liquid"
      local function called() error "called" end
      local object = setmetatable({ name = "own", __own = 1 }, {
        __index = called, __eq = called, __len = called, __pairs = called, __metatable = "locked",
      })
      local source = "{{ o.name }}{{ o.other }}{{ o['other'] }}{{ o.__own }}{{ l | map: 'x' }}{{ o }}{{ o.size }}"
        .. "{% if o == l or o contains 'x' or o == n %}y{% endif %}{% for p in o %}{{ p }}{% endfor %}"
      print((assert(liquid.compile(source)):render { o = object, l = liquid.array { object }, n = liquid.null }))
    ]])
    assert.equal('own{"name"=>"own"}1nameown\n', output)
  end)

  it("sets no globals", function()
    local output = run(BARE .. "-e " .. quoted [[
      package.path = "./?.lua;./?/init.lua"
      setmetatable(_G, { __newindex = function(_, name) error("global " .. name) end })
      local liquid = require "liquid"
      local source = "{% assign a = 1 %}{{ a | plus: 1 | round: 2 }}{% for i in (1..2) %}{% cycle 1, 2 %}{% endfor %}"
        .. "{{ 'now' | date: '%Y' | size }}{% tablerow i in (1..1) %}{% endtablerow %}{% if a contains 1 %}{% endif %}"
      for _, mode in ipairs { "lax", "strict", "strict2" } do
        assert(assert(liquid.compile(source, { error_mode = mode })):render {})
      end
      print "fine"
    ]])
    assert.equal("fine\n", output)
  end)
end)

describe("the rockspec", function()
  local rockspec = {}

  setup(function() assert(loadfile("pintle-liquid-scm-1.rockspec", "t", rockspec))() end)

  it("installs every module", function()
    local expected = {}
    for path in run("find liquid -name '*.lua'"):gmatch "%S+" do
      expected[path:gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", ".")] = path
    end
    assert.same(expected, rockspec.build.modules)
  end)

  it("depends on Lua only, because only the plugin requires pintle", function()
    assert.same({ "lua >= 5.4, < 5.5" }, rockspec.dependencies)
    assert.equal("liquid/plugin.lua\n", run [[grep -l 'require "pintle"' -r liquid]])
  end)
end)
