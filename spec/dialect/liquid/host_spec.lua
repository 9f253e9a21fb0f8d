-- The host side of the Liquid JSON-RPC protocol: against a fake engine, and against plugins.
local children = require "spec.support.children"
local fake_engine = require "spec.support.liquid_engine"
local json = require("pintle.core").json
local liquid = require "pintle.dialect.liquid"
local logged_host = require "spec.support.logged_host"
local manifest = require "pintle.manifest"
local pintle = require "pintle"
local tasks = require "pintle.task"

local ENGINE = { "lua5.4", "spec/support/plugins/lua_for_liquid.lua" }
local GREETER = { "lua5.4", "examples/greeter/plugin.lua" }

logged_host.start_first()

children.leave_nothing()

local open, opened, close, execute = fake_engine.open, fake_engine.opened, fake_engine.close, fake_engine.execute
local sent = fake_engine.sent

describe("initialize", function()
  it("is sent with the version, and returns the plugin's description", function()
    local session, asked, far = open {}
    local described = assert(manifest.read(liquid.host.open(session)))
    assert.same({ 'initialize {"version":"1.0"}' }, asked)
    assert.equal("my-liquid", described.name)
    assert.equal("6.0.0", session.raw_manifest.liquid_version)
    assert.equal("6.0.0", described.version)
    assert.is_true(described.capabilities.core)
    assert.is_true(described.is_open)
    assert.same({}, described.warnings)
    close(session, far)
  end)

  it("may be answered without a name", function()
    local session, _, far = open { initialize = { version = "1.0", features = json.array() } }
    local described = assert(manifest.read(liquid.host.open(session)))
    assert.equal("x", described.name)
    assert.is_nil(described.version)
    assert.same({}, session.logged)
    close(session, far)
  end)

  it("logs another version, and refuses an invalid answer", function()
    local session, _, far = open { initialize = { version = "2.0" } }
    assert(liquid.host.open(session))
    assert.equal("warn", session.logged[1][1])
    close(session, far)
    session, _, far = open { initialize = "hello" }
    local described, err = liquid.host.open(session)
    assert.is_nil(described)
    assert.equal("protocol", err.kind)
    close(session, far)
  end)
end)

describe("compile", function()
  it("has the template, its options and a filesystem", function()
    local asked = sent("render", { template = "Hello {{ name | upcase }}!" })
    assert.equal('compile {"template":"Hello {{ name | upcase }}!","options":{"line_numbers":true}}', asked[1])
    asked = sent("render", {
      template = "x", error_mode = "strict", line_numbers = false, filesystem = { ["a.liquid"] = "b" },
    })
    assert.equal('compile {"template":"x","options":{"error_mode":"strict","line_numbers":false},'
      .. '"filesystem":{"a.liquid":"b"}}', asked[1])
  end)

  it("is sent once for a template and its options", function()
    local count = 0
    local session, asked, far = opened {
      compile = function()
        count = count + 1
        return { template_id = "tmpl_" .. count }
      end,
    }
    for _, args in ipairs {
      { template = "a" }, { template = "a", environment = { x = 1 } }, { template = "b" }, { template = "a" },
      { template = "a", error_mode = "lax" }, { template = "a", filesystem = { f = "" } }, { template = "b" },
    } do assert(execute(session, "render", args)) end
    assert.equal(4, count)
    assert.matches('^render {"template_id":"tmpl_2"', asked[#asked])
    close(session, far)
  end)

  it("is sent again for a template that either side has dropped", function()
    local count, known = 0, {}
    local session, _, far = opened {
      compile = function()
        count = count + 1
        known["tmpl_" .. count] = true
        return { template_id = "tmpl_" .. count }
      end,
      render = function(_, params)
        if known[params.template_id] then return { output = params.template_id, errors = {} } end
        local message = ("Unknown template_id '%s'. Call compile first."):format(params.template_id)
        return nil, { code = -32602, message = message }
      end,
    }
    assert.equal("tmpl_1", execute(session, "render", { template = "a" }).message)
    known = {}
    assert.equal("tmpl_2", execute(session, "render", { template = "a" }).message)
    for i = 1, 256 do assert(execute(session, "render", { template = "b" .. i })) end
    assert.equal("tmpl_259", execute(session, "render", { template = "a" }).message)
    assert.equal("tmpl_258", execute(session, "render", { template = "b256" }).message)
    close(session, far)
  end)

  it("fails for a template that the plugin never knows", function()
    local _, outcome, err = sent("render", { template = "a" },
      { render = function() return nil, { code = -32602, message = "Unknown template_id" } end })
    assert.is_nil(outcome)
    assert.equal(-32602, err.code)
  end)

  it("reports a template that does not compile as a failed operation", function()
    local message = "Liquid syntax error (line 1): Unknown tag 'x'"
    local refusal = { template_id = json.null, error = { type = "syntax_error", message = message, line = 1 } }
    local _, outcome = sent("render", { template = "{% x %}" }, { compile = refusal })
    assert.is_false(outcome.success)
    assert.equal(message, outcome.error)
    assert.equal(1, outcome.result.error.line)
  end)

  it("refuses an invalid answer", function()
    for _, answer in ipairs { 1, json.array(), { template_id = json.null }, { template_id = 7 } } do
      local _, outcome, err = sent("render", { template = "" }, { compile = answer })
      assert.is_nil(outcome)
      assert.equal("protocol", err.kind)
    end
  end)
end)

describe("render", function()
  it("has the id, the environment and the options of both versions", function()
    local asked = sent("render", { template = "" })
    assert.equal('render {"template_id":"tmpl_1","environment":{},"options":{}}', asked[2])
    asked = sent("render", {
      template = "", environment = { name = "World" }, strict_variables = false, strict_filters = true,
      strict_errors = false, resource_limits = { render_score_limit = 1 }, frozen_time = "2024-01-01T00:01:58Z",
    })
    assert.equal('render {"template_id":"tmpl_1","environment":{"name":"World"},"options":{"strict_variables":false,'
      .. '"strict_filters":true,"strict_errors":false,"resource_limits":{"render_score_limit":1},'
      .. '"registers":{"current_time":"2024-01-01T00:01:58Z"}},"frozen_time":"2024-01-01T00:01:58Z"}', asked[2])
    asked = sent("render", { template = "", frozen_time = "2024-01-01", registers = { x = 1 } })
    assert.matches('"x":1', asked[2])
    assert.matches('"current_time":"2024-01-01"', asked[2], 1, true)
  end)

  it("refuses invalid arguments before anything is sent", function()
    for pattern, args in pairs {
      ["template is missing"] = {}, ["template: string expected, got number"] = { template = 1 },
      ['there is no "templat"'] = { template = "", templat = 1 },
      ["filesystem: texts by name expected, got number at a"] = { template = "", filesystem = { a = 1 } },
      ["strict_errors: boolean expected"] = { template = "", strict_errors = "yes" },
    } do
      local asked, outcome, err = sent("render", args)
      assert.is_nil(outcome)
      assert.equal("invalid", err.kind)
      assert.matches(pattern, err.message, 1, true)
      assert.same({}, asked)
    end
    local _, outcome, err = sent("render", { template = "", environment = { f = print } })
    assert.is_nil(outcome)
    assert.matches("environment%.f: a function", err.message)
  end)

  it("returns the output, and the errors in it", function()
    local errors = json.array { { type = "argument_error", message = "no", line = 1 } }
    local _, outcome = sent("render", { template = "" }, { render = { output = "Liquid error: no", errors = errors } })
    assert.is_true(outcome.success)
    assert.equal("Liquid error: no", outcome.message)
    assert.same({ output = "Liquid error: no", errors = errors }, outcome.result)
  end)

  it("fails with strict_errors, in any form of the answer", function()
    local text = "Liquid error (line 1): divided by 0"
    for _, answer in ipairs {
      function() return nil, { code = -32001, message = text, data = { type = "render_error", line = 1 } } end,
      { output = text, errors = json.array { { type = "render_error", message = text, line = 1 } } },
      { output = json.null, error = { message = text } },
    } do
      local _, outcome = sent("render", { template = "", strict_errors = true }, { render = answer })
      assert.is_false(outcome.success)
      assert.equal(text, outcome.error)
    end
  end)

  it("is an error for a protocol error or an invalid answer", function()
    local _, outcome, err = sent("render", { template = "" },
      { render = function() return nil, { code = -32603, message = "broken" } end })
    assert.is_nil(outcome)
    assert.same({ "remote", -32603 }, { err.kind, err.code })
    for _, answer in ipairs { "x", json.array(), { output = 1 }, { output = "", errors = "no" } } do
      _, outcome, err = sent("render", { template = "" }, { render = answer })
      assert.is_nil(outcome)
      assert.equal("protocol", err.kind)
    end
  end)

  it("has one deadline for compile and render", function()
    local session, _, far = opened {
      render = function()
        pintle.sleep(30)
        return { output = "" }
      end,
    }
    local args = { template = "", environment = { x = setmetatable({}, {}) } }
    local outcome, err = execute(session, "render", args, { wait_timeout = 0.05 })
    assert.is_nil(outcome)
    assert.equal("timeout", err.kind)
    outcome, err = far:call("drop_get", { drop_id = "drop_1", property = "name" })
    assert.is_nil(outcome)
    assert.equal(-32602, err.code)
    close(session, far)
  end)
end)

describe("an operation", function()
  it("is a tag, and its arguments are the environment", function()
    local asked, outcome = sent("greet", { name = "Ada" }, { render = { output = "Hello, Ada", errors = {} } })
    assert.same({
      'compile {"template":"{% greet %}","options":{"line_numbers":true}}',
      'render {"template_id":"tmpl_1","environment":{"name":"Ada"},"options":{"strict_errors":true}}',
    }, asked)
    assert.is_true(outcome.success)
    assert.equal("Hello, Ada", outcome.message)
  end)

  it("that does not exist is an unknown tag", function()
    local message = "Liquid syntax error (line 1): Unknown tag 'nope'"
    local _, outcome, err = sent("nope", {}, {
      compile = { template_id = json.null, error = { type = "syntax_error", message = message, line = 1 } },
    })
    assert.is_nil(outcome)
    assert.same({ "invalid", -32601, message }, { err.kind, err.code, err.message })
  end)

  it("cannot have a name that ends a tag", function()
    for _, name in ipairs { "a %}", "{{ a", "a\nb", "%" } do
      local asked, outcome, err = sent(name, {})
      assert.is_nil(outcome)
      assert.equal("invalid", err.kind)
      assert.same({}, asked)
    end
  end)

  it("that failed has the reason without the line", function()
    for _, answer in ipairs {
      function() return nil, { code = -32001, message = "Liquid error (line 1): nobody to greet" } end,
      { output = "Liquid error (line 1): nobody to greet", errors = json.array { { message = "nobody to greet" } } },
    } do
      local _, outcome = sent("greet", {}, { render = answer })
      assert.same({ false, "nobody to greet", "nobody to greet" }, { outcome.success, outcome.error, outcome.message })
    end
  end)
end)

describe("quit", function()
  it("is a notification, with params", function()
    local session, _, far = open {}
    local said
    far:on("quit", function(params, ctx) said = { tostring(params), ctx.id } end)
    liquid.host.close(session)
    tasks.run(function() while not said do pintle.sleep(0.001) end end)
    assert.same({ "{}" }, said)
    close(session, far)
  end)
end)

describe("Transport Limitations", function()
  local function environment_sent(environment)
    local asked = sent("render", { template = "", environment = environment })
    return asked[2]:match '"environment":(.*),"options"'
  end

  it("invalid UTF-8 in binary data is replaced", function()
    assert.equal('{"data":"\u{FFFD}\u{FFFD}"}', environment_sent { data = "\xff\xff" })
    local asked = sent("render", { template = "\xff" })
    assert.matches('"template":"\u{FFFD}"', asked[1])
  end)

  it("self-referential structures are truncated", function()
    local list = { 1 }
    list[2] = { list }
    assert.equal('{"list":[1,["[circular]"]]}', environment_sent { list = list })
    local shared = { 1 }
    assert.equal('{"list":[[1],[1]]}', environment_sent { list = { shared, shared } })
    local environment = {}
    environment.self = { environment }
    assert.equal('{"self":["[circular]"]}', environment_sent(environment))
  end)

  it("numbers without a JSON form are sent as null", function()
    assert.equal('{"x":[null,null,null]}', environment_sent { x = { 0 / 0, math.huge, -math.huge } })
  end)
end)

describe("a host of plugins that speak Liquid", function()
  local function start(command)
    local host = pintle.host { dialect = "liquid", log = false }
    return host, assert(host:start { command = command })
  end

  it("executes operations", function()
    local host <close>, greeter = start(GREETER)
    assert.equal("greeter", greeter.manifest.name)
    local outcome = assert(greeter:execute("greet", { name = "Ada" }))
    assert.same({ true, "Hello, Ada" }, { outcome.success, outcome.message })
    outcome = assert(greeter:execute("greet", { name = "" }))
    assert.same({ false, "nobody to greet" }, { outcome.success, outcome.error })
    local nothing, err = greeter:execute("greet", { name = 7 })
    assert.is_nil(nothing)
    assert.equal(-32602, err.code)
    nothing, err = greeter:execute("nope")
    assert.is_nil(nothing)
    assert.matches("Unknown tag 'nope'", err.message)
    host:stop()
  end)

  it("gets outputs back", function()
    local host <close>, engine = start(ENGINE)
    assert.same({ doubled = 42 }, assert(engine:execute("double", { n = 21 })).outputs)
    host:stop()
  end)

  it("renders with drops", function()
    local host <close>, engine = start(ENGINE)
    local User = { __name = "UserDrop" }
    User.__index = User
    function User.friends() return { setmetatable({ name = "Bob" }, User) } end
    local outcome = assert(engine:execute("render", {
      template = [[
        local env, o = ...
        local ada = env.ada
        local items = env.list:iterate()
        return table.concat({ ada.type, ada:get "name", ada:get "friends"[1]:get "name", #items,
                              env.list:call("sum", { 1, 2.5 }), select(2, env.list:get "broken"),
                              o.current_time }, " ")]],
      environment = {
        ada = setmetatable({ name = "Ada" }, User),
        list = { 1, 2, 3, sum = function(_, a, b) return a + b end, broken = function() error("broken", 0) end },
      },
      frozen_time = "2024-01-01T00:01:58Z",
    }))
    assert.equal("UserDrop Ada Bob 3 3.5 broken 2024-01-01T00:01:58Z", outcome.message)
    host:stop()
  end)

  it("renders concurrently, each with its own objects, with equal ids in both directions", function()
    local host <close>, engine = start(ENGINE)
    local waiting = {}
    for i = 1, 50 do
      waiting[i] = function()
        return assert(engine:execute("render", {
          template = "local x = (...).x return x:get 'a' .. x:get 'b'",
          environment = { x = { a = function() return "a" .. i end, b = "b" .. i } },
        })).message
      end
    end
    local all = assert(pintle.all(waiting, children.patience))
    for i = 1, 50 do assert.equal(("a%db%d"):format(i, i), all[i]) end
    host:stop()
  end)

  it("keeps the order of members in both directions", function()
    local host <close>, engine = start(ENGINE)
    local text = '{"zebra":1,"apple":{"d":1,"c":2},"mango":[{"y":1,"x":2}]}'
    assert.equal(text, assert(engine:execute("render", {
      template = "return json.encode((...).h)", environment = { h = json.decode(text, nil, true) },
    })).message)
    host:stop()
  end)

  it("may send requests of the protocol itself", function()
    local host <close>, engine = start(ENGINE)
    local id = assert(engine:call("compile", { template = "return 'raw'" })).template_id
    assert.equal("raw", assert(engine:call("render", { template_id = id })).output)
    host:stop()
  end)
end)
