-- The host's side of the gevals protocol, with a fake extension; and both sides together, for the extensions of
-- the protocol.
local children = require "spec.support.children"
local connect = require "pintle.connect"
local gevals = require "pintle.dialect.gevals"
local in_process = require "spec.support.in_process"
local json = require("pintle.core").json
local loop = require "pintle.loop"
local manifest = require "pintle.manifest"
local new_session = require "spec.support.session"
local pintle = require "pintle"
local tasks = require "pintle.task"

children.leave_nothing()

local MANIFEST = { name = "x", version = "1.0.0", protocolVersion = "0.0.1", operations = {} }

-- A session and its fake extension with the given handlers. The requests that it gets are kept as text.
local function open(handlers, options)
  local near, far = connect.pair({ name = "x" }, { raw = true })
  local asked = {}
  for method, handler in pairs(handlers) do
    far:on(method, function(params)
      asked[method] = tostring(params)
      if type(handler) == "function" then return handler(far) end
      return handler
    end)
  end
  local session = new_session(gevals, near, options)
  return session, asked, far
end

local function opened(handlers, options)
  handlers.initialize = handlers.initialize or MANIFEST
  local session, asked, far = open(handlers, options)
  local described = assert(gevals.host.open(session))
  return session, asked, far, described
end

local function close(session, far)
  session.peer:close()
  far:close()
end

describe("a host of gevals, when it opens", function()
  it("sends its version and the configuration", function()
    local session, asked, far = opened {}
    assert.equal('{"protocolVersion":"0.0.1"}', asked.initialize)
    close(session, far)
    session, asked, far = opened({}, { config = { namespace = "my-app" } })
    assert.equal('{"protocolVersion":"0.0.1","config":{"namespace":"my-app"}}', asked.initialize)
    close(session, far)
  end)

  it("returns the manifest of the plugin", function()
    local session, _, far = open { initialize = MANIFEST }
    local described = assert(manifest.read(gevals.host.open(session)))
    assert.equal("x", described.name)
    assert.same({}, described.capabilities)
    close(session, far)
  end)

  it("refuses an answer that breaks the protocol", function()
    local function refused(answer)
      local session, _, far = open { initialize = answer }
      local described, err = gevals.host.open(session)
      assert.is_nil(described)
      assert.equal("protocol", err.kind)
      close(session, far)
      return err.message
    end
    assert.equal("its answer to initialize: object expected, got null", refused(json.null))
    assert.equal("its answer to initialize: object expected, got string", refused "x")
    assert.equal("its answer to initialize: object expected, got array", refused(json.array { 1 }))
    assert.equal("its manifest: protocolVersion: string expected, got nil", refused { name = "x" })
    assert.equal('it speaks version "0.1.0" of the protocol; supported is 0.0.1',
      refused { name = "x", protocolVersion = "0.1.0" })
  end)

  it("returns the error that the plugin answers with", function()
    local session, _, far = open { initialize = function() return nil, { code = -32000, message = "not today" } end }
    local described, err = gevals.host.open(session)
    assert.is_nil(described)
    assert.same({ "remote", -32000, "not today" }, { err.kind, err.code, err.message })
    close(session, far)
  end)

  it("does not wait longer than the handshake timeout", function()
    local session, _, far = open({ initialize = function() return loop.sleep(60) end }, { handshake_timeout = 0.05 })
    local _, err = gevals.host.open(session)
    assert.equal("timeout", err.kind)
    close(session, far)
  end)
end)

describe("a host of gevals, when it executes", function()
  local function executed(args, context, answer)
    local session, asked, far = opened { execute = answer or { success = true } }
    local outcome, err = gevals.host.execute(session, "apply", args, context)
    close(session, far)
    return asked.execute, outcome, err
  end

  it("sends the operation, its arguments and the context, in this order", function()
    assert.equal('{"operation":"apply","args":{"file":"x.yaml"},"context":{"workdir":"/path/to/task","phase":"setup",'
      .. '"env":{"KUBECONFIG":"/config"},"timeout":"5m0s"}}', (executed({ file = "x.yaml" }, {
        workdir = "/path/to/task", phase = "setup", env = { KUBECONFIG = "/config" }, timeout = 300,
      })))
    assert.equal('{"operation":"apply","args":{},"context":{"workdir":"/","phase":"verify","agent":'
      .. '{"prompt":"Create nginx pod","output":"Done"}}}', (executed({}, {
        workdir = "/", phase = "verify", agent = { prompt = "Create nginx pod", output = "Done" },
      })))
  end)

  it("sends the required members", function()
    local sent = executed({}, {})
    assert.equal(('{"operation":"apply","args":{},"context":{"workdir":%s,"phase":"setup"}}')
      :format(json.encode(os.getenv "PWD" or ".")), sent)
  end)

  it("refuses an invalid context, and sends nothing", function()
    local sent, outcome, err = executed({}, { env = { A = 1 } })
    assert.is_nil(sent)
    assert.is_nil(outcome)
    assert.same({ "invalid", "context.env: strings by name expected, got number at A" }, { err.kind, err.message })
    sent, outcome, err = executed({}, { agent = {} })
    assert.is_nil(sent)
    assert.is_nil(outcome)
    assert.equal('context.agent is for the phase "verify", and this is "setup"', err.message)
  end)

  it("returns the outcome", function()
    local _, outcome = executed({}, {}, { success = true, message = "m", outputs = { a = "1" } })
    assert.same({ success = true, message = "m", outputs = { a = "1" } }, outcome)
    _, outcome = executed({}, {}, { success = false, message = json.null, error = "e", outputs = json.null, later = 1 })
    assert.same({ success = false, error = "e" }, outcome)
  end)

  it("gives a failed outcome an error, even if the plugin gives no reason", function()
    local _, outcome = executed({}, {}, { success = false, message = "m" })
    assert.same({ success = false, error = "m", message = "m" }, outcome)
    _, outcome = executed({}, {}, { success = false })
    assert.same({ success = false, error = "the operation failed" }, outcome)
  end)

  it("refuses an invalid result", function()
    local cases = {
      ['its result of "apply" has no success that is true or false'] = { {}, { success = "yes" }, json.array {}, "ok" },
      ['its result of "apply": message: string expected, got number'] = { { success = true, message = 1 } },
      ['its result of "apply": outputs: object expected, got array'] = { { success = true, outputs = { 1 } } },
    }
    for message, answers in pairs(cases) do
      for _, answer in ipairs(answers) do
        local _, outcome, err = executed({}, {}, answer)
        assert.is_nil(outcome)
        assert.same({ "protocol", message }, { err.kind, err.message })
      end
    end
  end)

  it("may wait longer, or shorter, than the timeout that it sends", function()
    local answer = { execute = function()
      loop.sleep(0.2)
      return nil, { code = -32001, message = "timed out" }
    end }
    local session, asked, far = opened(answer)
    local _, err = gevals.host.execute(session, "x", {}, { timeout = 0.1, wait_timeout = 20 })
    assert.same({ "timeout", -32001, "timed out" }, { err.kind, err.code, err.message })
    _, err = gevals.host.execute(session, "x", {}, { timeout = 20, wait_timeout = 0.05 })
    assert.equal("timeout", err.kind)
    assert.matches('"timeout":"20s"', asked.execute, 1, true)
    _, err = gevals.host.execute(session, "x", {}, { wait_timeout = 0.05 })
    assert.equal("timeout", err.kind)
    assert.is_nil(asked.execute:find("timeout", 1, true))
    close(session, far)
  end)

  it("does not wait forever for a plugin that never answers", function()
    local session, _, far = opened { execute = function() loop.sleep(600) end }
    local start = loop.now()
    local _, err = gevals.host.execute(session, "x", {}, { timeout = 0.05 })
    assert.equal("timeout", err.kind)
    assert.is_true(loop.now() - start < 20)
    assert.is_nil(next(session.running))
    close(session, far)
  end)

  it("forgets a cancelled call, and notifies the plugin only if it has the capability", function()
    local session, asked, far = opened { execute = function() loop.sleep(600) end, cancel = true }
    local task = tasks.start(function() return gevals.host.execute(session, "x", {}, {}) end)
    while not asked.execute do loop.step(0.01) end
    task:cancel "changed my mind"
    local _, err = task:await(children.patience)
    assert.equal("cancelled", err.kind)
    assert.is_nil(next(session.running))
    loop.step(0.05)
    assert.is_nil(asked.cancel)
    close(session, far)
  end)
end)

describe("a host of gevals", function()
  it("sends shutdown", function()
    local session, asked, far = opened { shutdown = {} }
    gevals.host.close(session, 5)
    assert.equal("{}", asked.shutdown)
    close(session, far)
  end)

  it("logs messages, and warns of malformed ones", function()
    local session, _, far = opened {}
    far:notify("log", { level = "info", message = "m", data = { a = 1 } })
    far:notify("log", { level = "WARNING", message = "m", data = json.null })
    far:notify("log", { level = "loud", message = "m" })
    far:notify("log", { message = "m" })
    far:notify("log", { "m" })
    far:notify "log"
    while #session.logged < 6 do loop.step(0.01) end
    assert.same({ "info", "m", { a = 1 } }, session.logged[1])
    assert.same({ "warn", "m" }, session.logged[2])
    for i = 3, 6 do
      assert.same({ "warn", "a log message that is not as it should be" }, { table.unpack(session.logged[i], 1, 2) })
    end
    close(session, far)
  end)
end)

-- {====== Beyond the protocol ======

describe("an extension of the protocol", function()
  it("is offered only if the user enables it, and cannot be accepted without an offer", function()
    local answer = { name = "x", version = "1.0.0", protocolVersion = "0.0.1", operations = {},
                     capabilities = json.array { "cancel", "time-travel" } }
    local session, asked, far, described = opened { initialize = answer }
    assert.equal('{"protocolVersion":"0.0.1"}', asked.initialize)
    assert.same({}, described.capabilities)
    assert.is_false(session.peer.cancellation)
    close(session, far)
    session, asked, far, described = opened({ initialize = answer }, { extensions = { "x-more" } })
    assert.equal('{"protocolVersion":"0.0.1","capabilities":["bytes","cancel","parts","progress","x-more"]}',
      asked.initialize)
    assert.same({ "cancel" }, described.capabilities)
    assert.same({ { "warn", 'it agreed to "time-travel", which was not offered' } }, session.logged)
    close(session, far)
  end)

  -- A host and a plugin whose operation is `fn`.
  local function both(fn, extensions, capabilities)
    local plugin = pintle.plugin { name = "x", version = "1.0.0", capabilities = capabilities }
    plugin:operation("x", {}, fn)
    local conversation = in_process.serve(plugin)
    local session = new_session(gevals, conversation.peer, { extensions = extensions == nil and true or extensions })
    local described = assert(gevals.host.open(session))
    return setmetatable({ session = session, manifest = assert(manifest.read(described)) }, {
      __close = function() conversation:finish() end,
    })
  end

  local function run(self, args, context) return gevals.host.execute(self.session, "x", args or {}, context or {}) end

  it("is used if both sides have it, also under a name of their own", function()
    local seen
    local joined <close> = both(function(_, ctx) seen = ctx.server.capabilities end, { "x-foo", "x-host" },
      { "x-foo", "x-plugin" })
    assert.is_true(assert(run(joined)).success)
    local agreed = { bytes = true, cancel = true, parts = true, progress = true, ["x-foo"] = true }
    assert.same(agreed, joined.manifest.capabilities)
    assert.same(agreed, seen)
  end)

  it("is missing for a plugin if the host does not offer it", function()
    local seen
    local joined <close> = both(function(_, ctx) seen = ctx.server.capabilities end, false, { "x-foo" })
    assert.is_true(assert(run(joined)).success)
    assert.same({}, seen)
    assert.same({}, joined.manifest.capabilities)
  end)

  it("may be progress, for each call separately", function()
    local joined <close> = both(function(args, ctx)
      for i = 1, 3 do
        ctx:progress(i / 4, args.name)
        ctx:sleep(0.01)
      end
    end)
    local heard = { a = {}, b = {} }
    local function call(name)
      return function()
        return run(joined, { name = name }, {
          on_progress = function(fraction, message) heard[name][#heard[name] + 1] = message .. fraction end,
        })
      end
    end
    assert(tasks.all({ call "a", call "b" }, children.patience))
    assert.same({ a = { "a0.25", "a0.5", "a0.75" }, b = { "b0.25", "b0.5", "b0.75" } }, heard)
    assert.same({}, joined.session.logged)
  end)

  it("may be parts of a result", function()
    local joined <close> = both(function(_, ctx)
      for i = 1, 3 do assert(ctx:part { n = i, data = pintle.bytes(("\0"):rep(i)) }) end
      return "whole"
    end)
    local lengths = {}
    local outcome = run(joined, {}, { on_part = function(part) lengths[part.n] = #part.data end })
    assert.same({ 1, 2, 3 }, lengths)
    assert.equal("whole", outcome.message)
    assert.equal("whole", run(joined).message)
  end)

  it("may be cancellation, which the plugin answers", function()
    local why
    local joined <close> = both(function(_, ctx)
      local _, err = ctx:sleep(600)
      why = err
    end)
    local task = tasks.start(function() return run(joined) end)
    loop.step(0.05)
    task:cancel "changed my mind"
    assert.equal("cancelled", select(2, task:await(children.patience)).kind)
    while not why do loop.step(0.01) end
    assert.equal("cancelled", why.kind)
  end)

  it("may be bytes, in arguments and outputs", function()
    local data = "\0\xff\n" .. ("\u{1F600}"):rep(10)
    local joined <close> = both(function(args)
      assert(tostring(args.list[1].file) == data)
      return { outputs = { copy = args.list[1].file, length = #args.list[1].file } }
    end)
    local outcome = assert(run(joined, { list = { { file = pintle.bytes(data) } } }))
    assert.equal(data, tostring(outcome.outputs.copy))
    assert.equal("43", outcome.outputs.length)
  end)

  it("keeps plain objects apart from bytes", function()
    local args = {
      ["$bytes"] = "AAAA", ["$$bytes"] = 1, ["$$$bytes"] = { ["$bytes"] = false }, ["$byte"] = 2, bytes = 3,
      list = { { ["$bytes"] = "x" }, pintle.bytes "y" },
    }
    local seen
    local joined <close> = both(function(given) seen = given end)
    assert.is_true(assert(run(joined, args)).success)
    assert.equal(json.encode(args.list[1]), json.encode(seen.list[1]))
    assert.equal("y", tostring(seen.list[2]))
    seen.list, args.list = nil, nil
    assert.same(args, seen)
  end)

  it("refuses bytes without the capability, and names the place", function()
    local joined <close> = both(function() end, false)
    local outcome, err = run(joined, { list = { 1, { ["a/b~"] = pintle.bytes "x" } } })
    assert.is_nil(outcome)
    assert.same({ "invalid", "the arguments have bytes at /list/1/a~1b~0, which this plugin does not take" },
      { err.kind, err.message })
  end)

  it("refuses malformed bytes", function()
    local plugin = pintle.plugin { name = "x", version = "1.0.0" }
    plugin:operation("x", {}, function() end)
    local conversation <close> = in_process.serve(plugin)
    conversation:initialize { "bytes" }
    for _, object in ipairs { { ["$bytes"] = "?" }, { ["$bytes"] = 1 }, { ["$bytes"] = "", more = 1 } } do
      local _, err = conversation:execute("x", { deep = { object } })
      assert.equal(-32602, err.code)
      assert.matches("^Invalid params: args: %$bytes: ", err.message)
    end
  end)

  it("survives cyclic values", function()
    local joined <close> = both(function() end)
    local args = {}
    args.again = args
    local outcome, err = run(joined, args)
    assert.is_nil(outcome)
    assert.equal("invalid", err.kind)
    local plain <close> = both(function() end, false)
    assert.equal("invalid", select(2, run(plain, args)).kind)
  end)
end)

-- }======

describe("the first message of gevals", function()
  local function is_gevals(method, params, framing) return gevals.recognises(method, params, framing or "line") end

  it("is distinguished from that of other dialects", function()
    assert.is_true(is_gevals("initialize", { protocolVersion = "0.0.1" }))
    assert.is_true(is_gevals("initialize", { protocolVersion = "0.0.1", capabilities = { "cancel" }, config = {} }))
    assert.is_true(is_gevals("execute", {}))
    assert.equal("perhaps", is_gevals("initialize", {}))
    assert.equal("perhaps", is_gevals "initialize")
    assert.equal("perhaps", is_gevals("shutdown", {}))
    assert.equal("perhaps", is_gevals("initialize", { protocolVersion = "2025-06-18", capabilities = {} }))
    assert.is_false(is_gevals("initialize", { protocolVersion = "0.0.1" }, "header"))
    assert.is_false(is_gevals("handshake", {}))
    assert.is_false(is_gevals("tools/list", {}))
  end)
end)

