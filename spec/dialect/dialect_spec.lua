-- A toy dialect: the contract of dialects is enough for a plugin to speak it.
local children = require "spec.support.children"
local core = require "pintle.core"
local dialects = require "pintle.dialect"
local extension = require "spec.support.extension"
local peers = require "pintle.peer"
local pintle = require "pintle"
local tasks = require "pintle.task"

children.leave_nothing()

---@type pintle.dialect
local TOY = {
  name = "toy",
  framing = "header",
  codes = { timeout = -1, requirement = -2, cancelled = -3 },
  cancellation = {
    method = "stop", params = function(id) return { id } end, id = function(params) return params[1] end,
  },
  recognises = function(method, params, framing)
    if method == "initialize" then return params.toy or false end
    return method == "hello" and framing == "header"
  end,
  host = {},
  plugin = {
    handlers = function(server)
      return {
        hello = function(params)
          local ok, err = server:initialize(params)
          if not ok then return nil, err end
          return { server.plugin.manifest.name, table.unpack(server.plugin.manifest.names) }
        end,
        ["do"] = function(params, request)
          local outcome, err = server:execute(params[1], params[2], { timeout = params[3] }, request)
          return outcome and { outcome.success, outcome.message or core.json.null, outcome.outputs }, err
        end,
        rest = function(_, request)
          server:shutdown(request)
          return true
        end,
        bye = function(params) server:exit(params[1]) end,
        gate = function(params) server.state.is_shut, server.state.asked = params[1], {} end,
        asked = function() return server.state.asked end,
      }
    end,
    may_handle = function(server, request, params)
      table.insert(server.state.asked or {}, request.method .. " " .. tostring(params and params[1]))
      if not server.state.is_shut then return true end
      return nil, { code = -4, message = "not now" }
    end,
    log = function(server, _, level, message) return server.peer:notify("say", { level, message }) end,
    progress = function(server, request, fraction) return server.peer:notify("at", { request.id, fraction }) end,
  },
}
dialects.add(TOY)

local function new_plugin(seen)
  local plugin = pintle.plugin { name = "x", version = "1.0.0" }
  plugin:operation("sum", {}, function(args, ctx)
    ctx:log("info", "adding")
    ctx:progress(0.5)
    seen.part = table.pack(ctx:part(1))
    return { message = "sum", outputs = { total = args.a + args.b, parts = { args.a, args.b } } }
  end)
  plugin:operation("sleep", {}, function(_, ctx) return ctx:sleep(600) end)
  plugin:method("ping", function(params) return params end)
  plugin:method("conclude", function(params, ctx)
    ctx.request.on_finish = function() ctx:notify("concluded", params) end
    if params[1] == "raise" then error "wanted" end
    return { "done" }
  end)
  plugin:on_initialize(function(config) seen.config = config end)
  plugin:on_shutdown(function() seen.is_over = true end)
  return plugin
end

-- A host of the toy dialect, a plugin that serves it, and what the plugin has received and logged.
local function start(options)
  local near, far = core.socketpair()
  local settings = { read = far, write = far, exit = false }
  for name, value in pairs(options or {}) do settings[name] = value end
  local seen, said = {}, {}
  local plugin = new_plugin(seen)
  local serving = tasks.start(function() return plugin:serve(settings) end)
  local peer = assert(peers.open { read = near, write = near, framing = "header", cancellation = TOY.cancellation })
  peer:on_unknown(function(params, request) said[#said + 1] = { request.method, table.unpack(params) } end)
  return peer, serving, seen, said
end

describe("a dialect", function()
  it("is recognised by its first message, and handled by its own methods", function()
    for _, options in ipairs { {}, { dialect = "toy" } } do
      local peer, serving, seen, said = start(options)
      assert.same({ "x", "sum", "sleep" }, (peer:call("hello", { depth = 1 })))
      assert.same({ depth = 1 }, seen.config)
      assert.same({ true, "sum", { total = 3, parts = { 1, 2 } } }, (peer:call("do", { "sum", { a = 1, b = 2 } })))
      assert.same({ { "say", "info", "adding" }, { "at", 2, 0.5 } }, said)
      assert.equal("the host takes no parts of a result", seen.part[2].message)
      assert.same({ 7 }, (peer:call("ping", { 7 })))
      peer:notify("bye", { 3 })
      assert.equal(3, serving:await(children.patience))
      assert.is_true(seen.is_over)
      peer:close()
    end
  end)

  it("has its own error codes and cancellation", function()
    local peer, serving = start()
    peer:call("hello", {})
    assert.equal(-1, select(2, peer:call("do", { "sleep", {}, 0.05 })).code)
    local call = peer:begin("do", { "sleep", {} })
    peer:notify("stop", { call.id })
    assert.equal(-3, select(2, call:wait()).code)
    assert.equal(-32601, select(2, peer:call("do", { "summ", {} })).code)
    peer:close()
    assert.equal(0, serving:await(children.patience))
  end)

  it("may refuse methods that it does not define", function()
    local peer, serving = start()
    peer:call("hello", {})
    peer:notify("gate", { true })
    assert.equal(-4, select(2, peer:call("ping", { 1 })).code)
    assert.equal(-4, select(2, peer:call("pong", { 2 })).code)
    peer:notify("ping", { 3 })
    assert.same({ "ping 1", "pong 2", "ping 3" }, (peer:call "asked"))
    peer:notify("gate", { false })
    assert.same({ 4 }, (peer:call("ping", { 4 })))
    assert.equal(-32601, select(2, peer:call("pong", { 5 })).code)
    peer:close()
    assert.equal(0, serving:await(children.patience))
  end)

  it("is notified of the end of each request before the response", function()
    local peer, serving, _, said = start()
    peer:call("hello", {})
    assert.same({ "done" }, (peer:call("conclude", { "return" })))
    assert.equal(-32603, select(2, peer:call("conclude", { "raise" })).code)
    assert.same({ { "concluded", "return" }, { "concluded", "raise" } }, said)
    peer:close()
    assert.equal(0, serving:await(children.patience))
  end)

  it("may shut down first and exit later", function()
    local peer, serving, seen = start()
    peer:call("hello", {})
    assert.is_true(peer:call "rest")
    assert.is_true(seen.is_over)
    assert.equal(-32600, select(2, peer:call("do", { "sum", {} })).code)
    assert.equal(-32600, select(2, peer:call("ping", {})).code)
    peer:notify("bye", { 0 })
    assert.equal(0, serving:await(children.patience))
    peer:close()
  end)

  it("is found by its name and by its first message", function()
    assert.equal(TOY, dialects.get "toy")
    assert.is_nil(dialects.recognise("hello", {}, "line"))
    assert.equal(TOY, dialects.recognise("hello", {}, "header"))
    assert.equal(TOY, dialects.recognise("initialize", { toy = true }, "line"))
    assert.equal("gevals", dialects.recognise("initialize", {}, "line").name)
    local dialect, message = dialects.get "toyy"
    assert.is_nil(dialect)
    assert.matches('^no dialect "toyy"; there are .*gevals.*toy', message)
  end)

  it("handles its own methods, and warns of a declared method of the same name", function()
    local text, status, complaints = extension.run("spec/support/plugins/jealous.lua", {
      '{"jsonrpc":"2.0","id":1,"method":"shutdown","params":{}}',
    })
    assert.equal('{"jsonrpc":"2.0","id":1,"result":{}}\n', text)
    assert.equal(0, status)
    assert.equal('jealous: method "shutdown" is handled by the dialect gevals, not by the plugin\n', complaints)
  end)
end)
