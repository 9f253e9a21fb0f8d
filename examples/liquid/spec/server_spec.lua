local json = require("pintle.core").json
local support = require "spec.support.engine"
local pintle = require "pintle"

describe("the engine as a plugin", function()
  local host, engine

  setup(function()
    host = pintle.host { dialect = "liquid", log = false }
    engine = assert(host:start { command = { "script/server" } })
  end)

  teardown(function() host:stop() end)

  local function execute(template, environment, more)
    local args = { template = template, environment = environment }
    for name, value in pairs(more or {}) do args[name] = value end
    return assert(engine:execute("render", args, { timeout = support.timeout }))
  end

  it("has a name, and the version of Liquid that it follows", function()
    assert.equal("pintle-liquid", engine.manifest.name)
    assert.equal("5.13.0", engine.manifest.version)
    assert.equal(support.liquid.version, engine.raw_manifest.liquid_version)
    assert.equal("1.0", engine.raw_manifest.version)
    local page <close> = assert(io.open "README.md")
    assert.matches("It follows version " .. support.liquid.version:gsub("%.", "%%."), page:read "a")
  end)

  it("advertises only features that it has", function()
    local Drop = setmetatable({}, { __name = "SpecDrop", __index = { name = function() return "asked" end } })
    local examples = {
      core = { "{% if true %}{{ 'a' | upcase }}{% endif %}", "A" },
      runtime_drops = { "{{ d.name }}", "asked", { d = Drop } },
      lax_parsing = { "{{ 'a' 'b' }}", "a", {}, { error_mode = "lax" } },
      strict_parsing = { "{{ 'a' 'b' }}", "^Liquid syntax error", {}, { error_mode = "strict" } },
      strict2_parsing = { "{{ ['a'] }}", "^Liquid syntax error", { a = 1 } },
      inline_errors = { "a{{ 1 | divided_by: 0 }}", "aLiquid error (line 1): divided by 0" },
      drops = { "{% if b %}yes{% else %}no{% endif %}", "no",
                { b = { _instantiate = "BooleanDrop", params = { value = false } } } },
      ruby_types = { "{{ h }}{{ h.size }}", "{1=>2}1",
                     { h = { _ruby_type = "Hash", inspect = "{1=>2}", data = { ["1"] = 2 } } } },
      activesupport = { "{% if a contains 1 %}y{% endif %}", "y", { a = { 1, 2 } } },
      shopify_blank = { "{% if a == blank %}blank{% endif %}", "blank", { a = " " } },
      shopify_string_access = { "{{ a.first }}{{ a.last }}", "xz", { a = "xyz" } },
      shopify_resource_limits = { "{% for i in (1..9) %}x{% endfor %}", "Memory limits exceeded", {},
                                  { resource_limits = { cumulative_render_score_limit = 5 } } },
      self_environment_shadowing = { "{{ self }}", "mine", { self = "mine" } },
      randomness = { "{{ m.square_12 }}", "144", { m = { _instantiate = "MethodDrop", params = {} } } },
    }
    for _, feature in ipairs(engine.raw_manifest.features) do
      local example = examples[feature]
      assert.is_table(example, feature)
      local outcome = execute(example[1], example[3], example[4])
      local is_shown = outcome.message == example[2] or outcome.message:find(example[2]) ~= nil
      assert.is_true(is_shown, feature .. ": " .. outcome.message)
      examples[feature] = nil
    end
    assert.is_nil(next(examples))
  end)

  it("renders with partials and with a given time", function()
    assert.equal("Hi ADA! 2024-01-01", execute("{% render 'hi', name: user %}{{ 'now' | date: ' %Y-%m-%d' }}",
      { user = "Ada" }, {
      filesystem = { ["hi.liquid"] = "Hi {{ name | upcase }}!" }, frozen_time = "2024-01-01T00:01:58Z",
    }).message)
  end)

  it("prints hashes in their order in JSON", function()
    local environment = json.decode('{"h":{"zebra":1,"apple":{"d":1.5,"c":null},"mango":[]}}', nil, true)
    assert.equal('{"zebra"=>1, "apple"=>{"d"=>1.5, "c"=>nil}, "mango"=>[]} zebra1 3',
      execute("{{ h }} {{ h.first }} {{ h.size }}", environment).message)
  end)

  it("reports syntax errors and errors of the render", function()
    local outcome = execute "a\n{% if %}"
    assert.is_false(outcome.success)
    assert.matches("Liquid syntax error %(line 2%)", outcome.error)
    outcome = execute "{{ 1 | divided_by: 0 }}!"
    assert.is_true(outcome.success)
    assert.equal("Liquid error (line 1): divided by 0!", outcome.message)
    assert.same({ { type = "zero_division_error", message = "divided by 0", line = 1 } }, outcome.result.errors)
    outcome = execute("\n{{ 1 | divided_by: 0 }}!", {}, { strict_errors = true })
    assert.is_false(outcome.success)
    assert.matches("Liquid error %(line 2%): divided by 0", outcome.error)
  end)

  it("reads members of objects of the host", function()
    local User = { __name = "UserDrop", __tostring = function(self) return "<" .. self.name .. ">" end }
    User.__index = User
    function User:shout() return self.name:upper() end
    function User.broken() error("out of order", 0) end
    local function user(name, friends) return setmetatable({ name = name, friends = friends }, User) end
    local ada = user("Ada", setmetatable({ user "Bob", user "Cleo" }, { __name = "Friends" }))
    local outcome = execute("{{ u }} {{ u.shout }}:{% for f in u.friends %} {{ f.name }}{% endfor %} "
      .. "{{ u.friends.size }} "
      .. "{{ u.friends.last }}{{ u.friends[0].name }} {% if u %}yes{% endif %} {{ u.missing }}{{ u.broken }}!",
      { u = ada })
    assert.equal("<Ada> ADA: Bob Cleo 2 <Cleo>Bob yes Liquid error (line 1): out of order!", outcome.message)
  end)

  it("finds no size, first or last in an object with __tostring only", function()
    local silent = setmetatable({}, { __name = "SilentDrop", __tostring = function() return "<silent>" end })
    assert.equal("<silent> 0[][][][]", execute(
      "{{ d }} {{ d | size }}[{{ d | first }}][{{ d | last }}][{{ d.size }}][{{ d.first }}{{ d.last }}{{ d.to_s }}]",
      { d = silent }).message)
  end)

  it("replaces markers of standard drops", function()
    assert.equal("no 25", execute("{% if b %}yes{% else %}no{% endif %} {{ m.square_5 }}", {
      b = { _instantiate = "BooleanDrop", params = { value = false } }, m = { _instantiate = "MethodDrop",
        params = {} },
    }).message)
  end)

  -- In a large message the decoder notes the places of markers.
  it("replaces markers in a large environment, too", function()
    local template = "{{ a.x }} {{ b }} {{ c.d[0].e }} {{ r }} {% for i in r %}{{ i }}{% endfor %} {{ n }} "
      .. "{{ plain.x }} {{ h }} {{ s }} {{ u }}"
    local environment = '"a":{"_instantiate":"IndexDrop"},"b":{"\\u005finstantiate":"NumberDrop","params":{"value":7}},'
      .. '"c":{"d":[{"e":{"_instantiate":"StringDrop","params":{"value":"deep"}}}]},'
      .. '"r":{"_ruby_type":"Range","begin":1,"end":3},"n":{"_instantiate":"NoDrop","x":1},"plain":{"x":"_ruby_type"},'
      .. '"h":{"_ruby_type":"Hash","inspect":"{}","data":{"k":{"_instantiate":"NilDrop"}}},'
      .. '"s":[{"_ruby_type":"Symbol","value":":s"}],"u":{"_ruby_type":7,"x":{"_ruby_type":"Symbol","value":"t"}}'
    local id = assert(engine:call("compile", { template = template })).template_id
    local function rendered(text)
      return assert(engine:call("render", { template_id = id, environment = json.raw("{" .. text .. "}") })).output
    end
    local small, filler = rendered(environment), '"filler":"' .. ("x"):rep(100000) .. '"'
    assert.matches("^x 7 deep 1%.%.3 123 ", small)
    assert.equal(small, rendered(environment .. "," .. filler))
    assert.equal(small, rendered(filler .. "," .. environment))
  end)

  it("reads objects of the host anywhere in a large environment", function()
    local User = { __name = "UserDrop" }
    User.__index = User
    local user = setmetatable({ name = "Ada" }, User)
    local list = {}
    for i = 1, 300 do list[i] = { id = i, owner = i == 200 and user or nil } end
    local outcome = execute("{{ list[199].owner.name }} {{ list[0].owner.name }}{{ u.name }}{{ list.size }}", {
      list = list, u = user, filler = ("x"):rep(10000),
    })
    assert.equal("Ada Ada300", outcome.message)
  end)

  it("accepts the names of templates for errors", function()
    local function render_errors(options)
      local compiled = assert(engine:call("compile", {
        template = "{{ 1 | divided_by: 0 }}{% render 'p' %}", filesystem = { p = "{{ 1 | modulo: 0 }}" },
        options = options,
      }, { timeout = support.timeout }))
      return assert(engine:call("render", { template_id = compiled.template_id, environment = {} },
        { timeout = support.timeout })).output
    end
    assert.equal("Liquid error (home line 1): divided by 0Liquid error (a/b/p line 1): divided by 0",
      render_errors { template_name = "home", partial_path = "a/b" })
    assert.equal("Liquid error (line 1): divided by 0Liquid error (p line 1): divided by 0", render_errors {})
  end)

  it("ends a render at its limits, and serves the next one", function()
    local outcome = execute("{% for i in (1..1000000000) %}{{ i }}{% endfor %}", {},
      { resource_limits = { render_score_limit = 1000 } })
    assert.matches("Memory limits exceeded", outcome.message)
    assert.equal("ok", execute("ok").message)
  end)

  it("serves filters of a program, as in the README", function()
    local page <close> = assert(io.open "README.md")
    local program = page:read("a"):match "## As a server.-```lua\n(.-)```"
    local server = assert(host:start { command = { "lua5.4", "-e", program } })
    local args = { template = "{{ 'hey' | shout }}" }
    local outcome = assert(server:execute("render", args, { timeout = support.timeout }))
    assert.equal("HEY!", outcome.message)
    server:stop()
  end)

  it("reads objects of the host in live.lua", function()
    local pipe = io.popen("lua5.4 live.lua 2>/dev/null")
    local output = pipe:read("a")
    assert.is_true(pipe:close())
    assert.matches("1. Lamp: %$49, 3 left\n", output)
    assert.matches("2. Kettle: %$29, Liquid error %(line 2%): the warehouse does not answer left", output)
    assert.matches("there are 3 products", output)
  end)
end)

describe("a large environment", function()
  local drops = require "pintle.dialect.liquid.drops"
  local replace_markers = require("liquid.drops").replace_markers

  -- The number of Lua instructions for finding the markers, in thousands.
  local function effort(text)
    local params = assert(json.decode('{"environment":{"list":[' .. text:rep(5000, ",") .. "]}}", nil, true))
    local count = 0
    debug.sethook(function() count = count + 1 end, "", 1000)
    local environment, places = drops.receive(params.environment, nil, params)
    replace_markers(environment, places)
    debug.sethook()
    return count, environment
  end

  it("is not searched for markers if there are none", function()
    assert.is_true(effort '{"id":1,"image":{"src":"x"},"tags":["a","b"],"options":[{"name":"x"}]}' < 5)
  end)

  it("is searched for markers only where they are", function()
    local count, environment = effort '{"id":1,"image":{"src":{"a":[1]}},"on":{"_instantiate":"BooleanDrop"}}'
    assert.is_true(count < 1500, count)
    assert.equal("5000", support.render("{{ list | map: 'on' | size }}", environment))
  end)

  -- Memory that is returned to the system after a render costs page faults in the next.
  it("is rendered repeatedly in the same memory", function()
    local is_sanitized = (os.getenv "PINTLE_BUILD" or ""):find "sanitize" -- with an allocator of its own
    local command = { "script/server" }
    local server <close> = assert(pintle.connect { command = command, timeout = support.timeout })
    local function page_faults()
      local file <close> = io.open(("/proc/%d/stat"):format(server.child.pid))
      return file and tonumber(file:read("a"):match("%) %a" .. (" %S+"):rep(6) .. " (%d+)"))
    end
    local compiled = assert(server:call("compile", { template = "{% for t in texts %}{{ t }}{% endfor %}" }))
    local texts = {}
    for i = 1, 50 do texts[i] = ("x"):rep(20000) end
    local function render(times)
      local params = { template_id = compiled.template_id, environment = { texts = texts } }
      for _ = 1, times do assert.equal(1000000, #assert(server:call("render", params)).output) end
    end
    render(5)
    local before = page_faults()
    if before and not is_sanitized then
      render(10)
      assert.is_true(page_faults() - before < 1000, page_faults() - before)
    end
  end)
end)
