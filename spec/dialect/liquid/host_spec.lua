-- The host side of the Liquid JSON-RPC protocol: against a fake engine, and against plugins.
local children = require "spec.support.children"
local connect = require "pintle.connect"
local json = require("pintle.core").json
local liquid = require "pintle.dialect.liquid"
local logged_host = require "spec.support.logged_host"
local manifest = require "pintle.manifest"
local new_session = require "spec.support.session"
local pintle = require "pintle"
local tasks = require "pintle.task"

local ENGINE = { "lua5.4", "spec/support/plugins/lua_for_liquid.lua" }
local GREETER = { "lua5.4", "examples/greeter/plugin.lua" }

local nothing_left

logged_host.start_first()

before_each(function() nothing_left = children.stock() end)
after_each(function() nothing_left() end)

-- {====== A fake engine ======

local INITIALIZED = { version = "1.0", implementation = "my-liquid", liquid_version = "6.0.0", features = { "core" } }

-- A session, the requests that the fake engine got, as text, and the engine. An answer may be a value or a function.
local function open(answers)
  local near, far = connect.pair({ name = "x" }, { raw = true })
  local asked = {}
  answers.initialize = answers.initialize == nil and INITIALIZED or answers.initialize
  for method, answer in pairs(answers) do
    far:on(method, function(params)
      asked[#asked + 1] = method .. " " .. tostring(params)
      if type(answer) == "function" then return answer(far, json.decode(tostring(params))) end
      return answer
    end)
  end
  return new_session(liquid, near), asked, far
end

local function opened(answers)
  answers.compile = answers.compile or { template_id = "tmpl_1" }
  answers.render = answers.render or { output = "", errors = json.array() }
  local session, asked, far = open(answers)
  assert(liquid.host.open(session))
  table.remove(asked, 1)
  return session, asked, far
end

local function close(session, far)
  session.peer:close()
  far:close()
end

local function execute(session, operation, args, context)
  return liquid.host.execute(session, operation, args, context or {})
end

-- The requests for these arguments, and the outcome.
local function sent(operation, args, answers)
  local session, asked, far = opened(answers or {})
  local outcome, err = execute(session, operation, args)
  close(session, far)
  return asked, outcome, err
end

-- Runs a render in which the engine accesses the environment: `ask` gets a function that sends its requests.
local function asking(environment, ask)
  local result
  local session, _, far = opened {
    render = function(far, params)
      result = ask(function(method, asked)
        local answer, err = far:call(method, asked)
        if answer == nil then return nil, err end
        return tostring(answer)
      end, params.environment)
      return { output = "", errors = {} }
    end,
  }
  assert(execute(session, "render", { template = "", environment = environment }))
  close(session, far)
  return result
end

-- }======

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

describe("Drop Callbacks", function()
  local User = { __name = "UserDrop" }
  User.__index = User
  function User:shout() return self.name:upper() end
  function User.add(_, a, b) return a + (b or 0) end
  function User.fail() return nil, "out of order" end
  function User.raise() error("broken", 0) end

  local function user(name) return setmetatable({ name = name }, User) end

  it("are for tables with a metatable, or with functions, and for userdata", function()
    local file <close> = assert(io.open "README.md")
    assert.equal('{"x":{"_rpc_drop":"drop_1","type":"UserDrop"}}', asking({ x = user "Ada" }, function(_, received)
      return '{"x":' .. json.encode(setmetatable(received.x, json.order { "_rpc_drop", "type" })) .. "}"
    end))
    local function is_drop(value)
      return asking({ x = value }, function(_, received)
        return type(received.x) == "table" and received.x._rpc_drop ~= nil
      end)
    end
    for _, value in ipairs { user "Ada", { f = print }, { print }, setmetatable({}, {}), file } do
      assert.is_true(is_drop(value))
    end
    for _, value in ipairs {
      1, "x", true, {}, { 1, 2 }, { a = 1 }, pintle.null, pintle.array(), pintle.raw "{}",
      setmetatable({ a = 1 }, json.order { "a" }), json.decode('{"a":{}}', nil, true),
    } do assert.is_false(is_drop(value)) end
  end)

  it("leave other values as they are", function()
    local text = '{"f":1.0,"i":1,"n":null,"s":"\u{1F600}","a":[],"o":{},"l":[1,[2.5,{"x":false}]]}'
    local _, outcome = sent("render", { template = "", environment = json.decode(text, nil, true) },
      { render = function(_, params) return { output = json.encode(params.environment), errors = {} } end })
    assert.is_true(outcome.success)
    local asked = sent("render", { template = "", environment = json.decode(text, nil, true) })
    assert.equal('render {"template_id":"tmpl_1","environment":' .. text .. ',"options":{}}', asked[2])
  end)

  it("know the same object by one id, and may hold each other", function()
    local one, other = user "one", user "other"
    one.friend, other.friend = other, one
    assert.equal("drop_1 drop_1 drop_2 drop_1", asking({ a = one, b = { one } }, function(ask, received)
      local friend = json.decode(ask("drop_get", { drop_id = "drop_1", property = "friend" })).value._rpc_drop
      local back = json.decode(ask("drop_get", { drop_id = friend, property = "friend" })).value._rpc_drop
      return table.concat({ received.a._rpc_drop, received.b[1]._rpc_drop, friend, back }, " ")
    end))
  end)

  local function get(object, property)
    return asking({ x = object }, function(ask) return ask("drop_get", { drop_id = "drop_1", property = property }) end)
  end

  describe("drop_get", function()
    it("gives a property", function()
      assert.equal('{"value":"Ada"}', get(user "Ada", "name"))
      assert.equal('{"value":null}', get(user "Ada", "missing"))
      assert.equal('{"value":1.0}', get(setmetatable({ f = 1.0 }, {}), "f"))
      assert.equal('{"value":{"a":[1,{}]}}', get(setmetatable({ o = { a = { 1, {} } } }, {}), "o"))
      assert.equal('{"value":false}', get(setmetatable({ is = false }, {}), "is"))
    end)

    it("returns the result of a method", function()
      assert.equal('{"value":"ADA"}', get(user "Ada", "shout"))
      assert.equal('{"value":7}', get({ seven = function() return 7 end }, "seven"))
      assert.equal('{"value":"dynamic x"}',
        get(setmetatable({}, { __index = function(_, name) return "dynamic " .. name end }), "x"))
    end)

    it("returns a drop for an object", function()
      local object = user "Ada"
      object.address = setmetatable({ city = "Ottawa" }, { __name = "AddressDrop" })
      assert.equal('{"value":{"_rpc_drop":"drop_2","type":"AddressDrop"}}', get(object, "address"))
      local city = asking({ x = object }, function(ask)
        ask("drop_get", { drop_id = "drop_1", property = "address" })
        return ask("drop_get", { drop_id = "drop_2", property = "city" })
      end)
      assert.equal('{"value":"Ottawa"}', city)
    end)

    it("answers the properties of every drop", function()
      local list = setmetatable({ "a", "b", "c" }, { __name = "ListDrop" })
      local printable = setmetatable({}, {
        __tostring = function() return "in words" end, __len = function() return 0 end,
      })
      for _, case in ipairs {
        { list, "size", "3" }, { list, "first", '"a"' }, { list, "last", '"c"' }, { list, "to_s", '"ListDrop"' },
        { list, "to_liquid_value", "null" }, { list, "to_number", "null" }, { printable, "to_s", '"in words"' },
        { printable, "size", "0" }, { printable, "first", "null" }, { printable, "last", "null" },
        { user "x", "size", "null" },
        { setmetatable({ size = 9, to_number = function() return 4 end }, {}), "size", "9" },
        { setmetatable({ size = 9, to_number = function() return 4 end }, {}), "to_number", "4" },
      } do assert.equal(('{"value":%s}'):format(case[3]), get(case[1], case[2]), case[2]) end
    end)

    it("hides metamethods, constructors and private methods", function()
      local ran = {}
      local Account = { __name = "AccountDrop", __mode = "k", secret = "class" }
      Account.__index = Account
      local account = setmetatable({ _id = 7, __own = "own" }, Account)
      for _, name in ipairs { "__gc", "__close", "__call", "new", "_delete" } do
        Account[name] = function() ran[#ran + 1] = name return "ran" end
      end
      for _, property in ipairs {
        "__gc", "__close", "__call", "__index", "__name", "__mode", "__metatable", "__own", "new", "_delete",
      } do
        assert.equal('{"value":null}', get(account, property), property)
        assert.matches("has no method", asking({ x = account }, function(ask)
          return ask("drop_call", { drop_id = "drop_1", method = property, args = {} })
        end), property)
      end
      assert.same({}, ran)
      assert.equal('{"value":7}', get(account, "_id"))
      assert.equal('{"value":true}', get(setmetatable({ new = true }, {}), "new"))
    end)

    it("returns a class as a drop, and hides its metamethods", function()
      local Class = { __index = {}, name = "Class" }
      local object = setmetatable({ class = Class, items = setmetatable({ print, "b" }, {}) }, { __name = "Object" })
      local answers = asking({ x = object }, function(ask)
        local class = ask("drop_get", { drop_id = "drop_1", property = "class" })
        ask("drop_get", { drop_id = "drop_1", property = "items" })
        return class .. ask("drop_get", { drop_id = "drop_2", property = "__index" })
          .. ask("drop_get", { drop_id = "drop_2", property = "name" })
          .. ask("drop_get", { drop_id = "drop_3", property = 0 })
      end)
      assert.equal('{"value":{"_rpc_drop":"drop_2","type":"Drop"}}{"value":null}{"value":"Class"}{"value":null}',
        answers)
    end)

    it("counts items from 0, and from the end", function()
      local list = setmetatable({ "a", "b", "c" }, {})
      assert.equal('{"value":"a"}', get(list, 0))
      assert.equal('{"value":"c"}', get(list, -1))
      assert.equal('{"value":null}', get(list, 3))
      assert.equal('{"value":null}', get(list, -4))
    end)

    it("returns the error that a drop raises or returns, and goes on", function()
      assert.equal('{"error":{"code":-32002,"message":"broken"}}', (get(user "x", "raise"):gsub(
        '{"message":"broken","code":%-32002}', '{"code":-32002,"message":"broken"}')))
      assert.matches("out of order", get(user "x", "fail"))
      assert.matches('"error"', get(setmetatable({}, { __index = function() error "no" end }), "x"))
      assert.matches('"error"', get(user "x", json.null))
    end)
  end)

  describe("drop_iterate", function()
    local function items(object)
      return asking({ x = object }, function(ask) return ask("drop_iterate", { drop_id = "drop_1" }) end)
    end

    it("gives all items", function()
      assert.equal('{"items":[1,2,3,4,5]}', items(setmetatable({ 1, 2, 3, 4, 5 }, {})))
      assert.equal('{"items":[]}', items(user "nobody"))
      assert.equal('{"items":[10,20]}', items(setmetatable({}, {
        __len = function() return 2 end, __index = function(_, i) return i ~= "each" and i * 10 or nil end,
      })))
    end)

    it("returns the items of the method each, an array or an iterator", function()
      assert.equal('{"items":["a","b"]}', items { each = function() return { "a", "b" } end })
      assert.equal('{"items":["a","b"]}', items { each = function() return ("a b"):gmatch "%a" end })
      assert.equal('{"items":[]}', items { each = function() end })
      assert.matches("no items today", items { each = function() return nil, "no items today" end })
    end)

    it("gives drops among them", function()
      assert.equal('{"items":[{"_rpc_drop":"drop_2","type":"UserDrop"},1]}', items(setmetatable({ user "x", 1 }, {})))
    end)

    it("fails for an iterator that does not end", function()
      assert.matches("more than 1000000 items", items { each = function() return function() return 1 end end })
    end)
  end)

  describe("drop_call", function()
    local function call(object, method, args)
      return asking({ x = object }, function(ask)
        return ask("drop_call", { drop_id = "drop_1", method = method, args = args })
      end)
    end

    it("calls a method with arguments", function()
      assert.equal('{"value":30}', call(user "x", "add", { 10, 20 }))
      assert.equal('{"value":10}', call(user "x", "add", { 10, json.null }))
      assert.equal('{"value":"X"}', call(user "x", "shout"))
      assert.equal('{"value":true}', call({ is = function(self, other) return rawequal(self, other) end }, "is",
        { { _rpc_drop = "drop_1" } }))
    end)

    it("returns an error for a missing method", function()
      assert.matches("UserDrop has no method 'dance'", call(user "x", "dance", {}))
      assert.matches("UserDrop has no method 'name'", call(user "x", "name", {}))
      assert.matches("has no method", call(user "x", json.null))
    end)
  end)

  it("are for objects that live as long as their render, and ids are not used again", function()
    local ids, late = {}, nil
    local session, _, far = opened {
      render = function(far, params)
        ids[#ids + 1] = params.environment.x._rpc_drop
        late = late or select(2, far:call("drop_get", { drop_id = "drop_99", property = "x" }))
        return { output = "", errors = {} }
      end,
    }
    for _ = 1, 3 do assert(execute(session, "render", { template = "", environment = { x = user "x" } })) end
    assert.same({ "drop_1", "drop_2", "drop_3" }, ids)
    assert.equal(-32602, late.code)
    assert.equal("Unknown drop_id 'drop_99'. A drop lives as long as its render.", late.message)
    for _, params in ipairs { { drop_id = "drop_1" }, {}, json.array { "drop_1" }, { drop_id = 1 } } do
      for _, method in ipairs { "drop_get", "drop_iterate", "drop_call" } do
        local value, err = far:call(method, params)
        assert.is_nil(value)
        assert.matches("Unknown drop_id", err.message)
      end
    end
    close(session, far)
  end)

  it("may wait, and run concurrently", function()
    local slow = { value = function()
      pintle.sleep(0.01)
      return "slept"
    end }
    local all = asking({ x = slow }, function(ask)
      local waiting = {}
      for i = 1, 20 do
        waiting[i] = function() return ask("drop_get", { drop_id = "drop_1", property = "value" }) end
      end
      return assert(pintle.all(waiting, children.patience))
    end)
    for i = 1, 20 do assert.equal('{"value":"slept"}', all[i][1] or all[i]) end
  end)

  it("are ignored as notifications", function()
    assert.equal('{"value":"Ada"}', asking({ x = user "Ada" }, function(ask)
      return ask("drop_get", { drop_id = "drop_1", property = "name" })
    end))
    local session, _, far = opened {
      render = function(far)
        far:notify("drop_get", { drop_id = "drop_1", property = "name" })
        far:notify("log", { message = "x" })
        return { output = "done", errors = {} }
      end,
    }
    assert.equal("done", execute(session, "render", { template = "", environment = { x = user "x" } }).message)
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
