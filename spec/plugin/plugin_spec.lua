local children = require "spec.support.children"
local core = require "pintle.core"
local extension = require "spec.support.extension"
local peers = require "pintle.peer"
local pintle = require "pintle"
local tasks = require "pintle.task"

local GREET = '{"jsonrpc":"2.0","id":1,"method":"execute","params":{"operation":"greet","args":{"name":"Ada"},'
  .. '"context":{"workdir":"/tmp","phase":"setup"}}}'
local HELLO = '{"jsonrpc":"2.0","id":1,"result":{"success":true,"message":"Hello, Ada"}}'
local WORKSHOP = "spec/support/plugins/workshop.lua"
local GREETER = "examples/greeter/plugin.lua"

children.leave_nothing()

local execution, once = extension.execution, extension.once

-- {====== Declaring ======

-- Asserts that `fn` raises the message, at a line of this file.
local function assert_blames(message, fn)
  local ok, err = pcall(fn)
  assert.is_false(ok, "it did not raise")
  assert.matches("^spec/plugin/plugin_spec.lua:%d+: ", err)
  assert.equal(message, (err:gsub("^[^ ]+ ", "")))
end

describe("the declaration of a plugin", function()
  local function new() return pintle.plugin { name = "x", version = "1.0.0" } end
  local function fn() end

  it("raises at the author's line for a mistake", function()
    assert_blames("plugin: name is missing", function() pintle.plugin { version = "1.0.0" } end)
    assert_blames('plugin: version: "one" is no semantic version, such as 1.0.0 or 2.1.0-rc.1', function()
      pintle.plugin { name = "x", version = "one" }
    end)
    assert_blames('operation "x": a function expected, got nil', function() new():operation("x", {}) end)
    assert_blames("operation: name is blank", function() new():operation("", {}, fn) end)
    assert_blames('operation "x": a table expected, got nil', function() new():operation("x", nil, fn) end)
    assert_blames('operation "x" is already declared', function()
      local plugin = new()
      plugin:operation("x", {}, fn)
      plugin:operation("x", {}, fn)
    end)
  end)

  it("raises for wrong methods and functions", function()
    assert_blames("method: a name expected", function() new():method(nil, fn) end)
    assert_blames('method "m": a function expected, got table', function() new():method("m", {}) end)
    assert_blames('method "m" is already declared', function()
      local plugin = new()
      plugin:method("m", fn)
      plugin:method("m", fn)
    end)
    assert_blames("on_initialize: a function expected, got nil", function() new():on_initialize() end)
    assert_blames("on_shutdown: a function expected, got string", function() new():on_shutdown "x" end)
  end)

  it("checks the options of serve", function()
    assert_blames('serve: there is no option "dialct"', function() new():serve { dialct = "x" } end)
    assert_blames("serve: read and write have to be given together", function() new():serve { read = 0 } end)
    assert_blames("serve: exit: a boolean expected, got number", function() new():serve { exit = 0 } end)
    local ok, message = pcall(function() new():serve { dialect = "klingon" } end)
    assert.is_false(ok)
    assert.matches('^spec/plugin/plugin_spec.lua:%d+: serve: no dialect "klingon"; there are .*gevals', message)
  end)
end)

-- }======

-- {====== Serving ======

describe("a plugin", function()
  it("runs as the design shows it", function()
    local greeter <close> = extension.start(GREETER)
    assert.equal("greeter", greeter:call("initialize", { protocolVersion = "0.0.1" }).result.name)
    greeter:say(GREET)
    assert.matches('"params":{"level":"info","message":"greeting","data":{"name":"Ada"}}', greeter:line())
    assert.matches('"params":{"level":"debug","message":"progress","data":{"progress":1.0}}', greeter:line())
    assert.equal(HELLO, greeter:line())
    local text, status, complaints = greeter:finish()
    assert.same({ "", 0, "" }, { text, status, complaints })
  end)

  it("keeps stdout for the protocol, and moves text that was printed before to stderr", function()
    local answer, status, complaints = once("print", { text = "noise" })
    assert.equal("printed", answer.result.message)
    assert.equal(0, status)
    assert.equal("printed\tbefore it serves\nnoise\nwritten\nfrom a child\n", complaints)
  end)

  it("answers all requests that came before the end of its input", function()
    local lines = { execution("sleep", { seconds = 0.3 }, nil, 1) }
    for id = 2, 600 do lines[id] = execution("greet", { name = tostring(id) }, nil, id) end
    local text, status = extension.run(WORKSHOP, lines)
    local answers = {}
    for line in text:gmatch "[^\n]+" do
      local answer = core.json.decode(line)
      answers[answer.id] = answer.result.message
    end
    assert.equal(600, #answers)
    assert.equal("slept", answers[1])
    assert.equal("Hello, 600", answers[600])
    assert.equal(0, status)
  end)

  it("handles several requests at once", function()
    local workshop <close> = extension.plugin "workshop"
    workshop:say(execution("sleep", { seconds = 30 }, nil, 1))
    for id = 2, 5 do assert.equal("Hello, x", workshop:execute("greet", { name = "x" }, {}, id).result.message) end
  end)

  it("ends when its input ends, without more output", function()
    assert.same({ "", 0 }, { (select(1, extension.run(GREETER, {}))), (select(2, extension.run(GREETER, {}))) })
  end)

  it("waits for pending requests only until `drain` is over, even if they only compute", function()
    for _, operation in ipairs { "sleep", "compute" } do
      local text, status = extension.run("spec/support/plugins/impatient.lua", { execution(operation) })
      assert.truthy(text:find('"error":{"code":-32000,"message":"the plugin is shutting down"}', 1, true), text)
      assert.equal(0, status)
    end
  end)

  it("fails its own calls at once when its input has ended", function()
    local start = core.now()
    local text, status = extension.run(WORKSHOP, { execution "back" })
    assert.matches('"error":"no answer: closed"}}\n$', text)
    assert.equal(0, status)
    assert.is_true(core.now() - start < 25, "it waited for its timeout")
  end)

  it("calls its host from an operation", function()
    local workshop <close> = extension.plugin "workshop"
    workshop:say(execution("back", {}, {}, "a"))
    assert.equal('{"jsonrpc":"2.0","id":1,"method":"question","params":["life"]}', workshop:line())
    local answer = workshop:ask '{"jsonrpc":"2.0","id":1,"result":42}'
    assert.equal('{"jsonrpc":"2.0","id":"a","result":{"success":true,"message":"answer: 42"}}', answer)
  end)

  it("ends with status 1 when nobody reads its answers", function()
    local workshop <close> = extension.plugin "workshop"
    workshop:ask(GREET)
    workshop.process.stdout:close()
    workshop:say(GREET)
    workshop.process.stdin:close()
    assert.equal(1, workshop.process:wait(children.patience))
  end)

  it("ends so even if it still receives messages", function()
    local workshop <close> = extension.plugin "workshop"
    workshop:ask(GREET)
    workshop.process.stdout:close()
    workshop:say(GREET)
    assert.equal(1, workshop.process:wait(children.patience))
  end)

  it("ends so even if it has no output yet", function()
    local workshop <close> = extension.plugin "workshop"
    workshop:ask(GREET)
    workshop:say(execution("sleep", { seconds = 500 }))
    workshop.process.stdin:close()
    workshop.process.stdout:close()
    assert.equal(1, workshop.process:wait(children.patience))
  end)

  it("sends its queued output when it exits during an operation", function()
    local process <close> = assert(core.spawn { command = children.lua [[
      local plugin = require("pintle").plugin { name = "quitter", version = "1.0.0" }
      plugin:operation("quit", { params = { type = "object" } }, function(_, ctx)
        ctx:log("error", "no use")
        os.exit(3)
      end)
      plugin:serve()
    ]] })
    process.stdin:write('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"0.0.1"}}\n' ..
      '{"jsonrpc":"2.0","id":2,"method":"execute","params":{"operation":"quit","args":{},"context":{}}}\n')
    local first, second, rest = children.read(process.stdout):match "^([^\n]+)\n([^\n]+)\n(.*)$"
    assert.matches('"name":"quitter"', first, 1, true)
    assert.equal('{"jsonrpc":"2.0","method":"log","params":{"level":"error","message":"no use"}}', second)
    assert.equal("", rest)
    assert.equal(3, (process:wait(children.patience)))
  end)

  it("answers an unknown first message with an error, and continues", function()
    local workshop <close> = extension.plugin "workshop"
    assert.equal(-32601, workshop:call("hello", {}).error.code)
    assert.equal(-32601, workshop:call("hello", {}).error.code)
    assert.equal(HELLO, workshop:ask(GREET))
  end)

  it("answers input that is no message with an error, and continues", function()
    local workshop <close> = extension.plugin "workshop"
    assert.matches('^{"jsonrpc":"2.0","id":null,"error":{"code":%-32700,', workshop:ask "nonsense")
    assert.matches('^{"jsonrpc":"2.0","id":null,"error":{"code":%-32700,', workshop:ask '{"jsonrpc":')
    assert.matches('^{"jsonrpc":"2.0","id":1,"error":{"code":%-32600,', workshop:ask '{"jsonrpc":"2.0","id":1}')
    workshop:say("", "  ")
    assert.equal(HELLO, workshop:ask(GREET))
  end)

  it("accepts messages with headers if a dialect has them", function()
    local frames = {}
    for i, body in ipairs {
      '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{}}}',
      '{"jsonrpc":"2.0","id":1,"method":"echo","params":[1]}',
    } do
      frames[i] = ("Content-Length: %d\r\n\r\n%s"):format(#body, body)
    end
    local text, status = extension.run(WORKSHOP, { table.concat(frames) })
    assert.matches('}Content-Length: 37\r\n\r\n{"jsonrpc":"2.0","id":1,"result":[1]}', text, 1, true)
    assert.equal(0, status)
  end)

  it("answers its own methods in every dialect", function()
    local text, status, complaints = extension.run(WORKSHOP, {
      '{"jsonrpc":"2.0","id":1,"method":"echo","params":{"log":true}}',
      '{"jsonrpc":"2.0","method":"echo","params":{"log":true}}',
    })
    assert.equal('{"jsonrpc":"2.0","id":1,"result":{"log":true}}\n', text)
    assert.equal(0, status)
    assert.matches("\nworkshop: info: echoing\nworkshop: info: echoing\n$", complaints)
    local workshop <close> = extension.plugin "workshop"
    workshop:call("initialize", { protocolVersion = "0.0.1" })
    local log = workshop:call("echo", { log = true })
    assert.same({ level = "info", message = "echoing" }, log.params)
    assert.matches('"result":{"log":true}', workshop:line())
  end)

  it("can be served within a program", function()
    local near, far = core.socketpair()
    local plugin = pintle.plugin { name = "inner", version = "1.0.0" }
    plugin:operation("greet", {}, function(args) return "Hello, " .. args.name end)
    local serving = tasks.start(function() return plugin:serve { read = far, write = far, exit = false } end)
    local peer = assert(peers.open { read = near, write = near, framing = "line" })
    local result = peer:call("execute", { operation = "greet", args = { name = "you" }, context = {} })
    assert.same({ success = true, message = "Hello, you" }, result)
    peer:close()
    assert.equal(0, serving:await(children.patience))
  end)
end)

-- }======

-- {====== Time and needs ======

describe("an operation that takes too long", function()
  local TIMED_OUT = { code = -32001, message = 'Operation "%s" timed out after 100ms' }

  local function assert_times_out(operation)
    local answer, status = once(operation, { seconds = 60 }, { timeout = "100ms" })
    assert.same({ code = TIMED_OUT.code, message = TIMED_OUT.message:format(operation) }, answer.error)
    assert.equal(0, status)
  end

  it("is answered with a timeout", function() assert_times_out "sleep" end)

  it("is so even if it ignores the timeout, or returns another error", function()
    assert_times_out "stubborn"
    assert_times_out "careless"
  end)

  it("is so if it computes without waiting", function()
    if not core.watchdog then return pending "what computes cannot be reached yet" end
    assert_times_out "compute"
  end)

  it("is answered at once if it ends before its deadline", function()
    local answer = once("sleep", { seconds = 0.01 }, { timeout = "1h30m" })
    assert.equal("slept", answer.result.message)
  end)
end)

describe("a required command", function()
  it("is searched for before an operation runs", function()
    local text, status = extension.run("spec/support/plugins/described.lua", { execution("apply", { file = "x" }) })
    assert.equal('{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"Requirement not met: the command '
      .. '\\"pintle-no-such-command\\" is not in PATH","data":{"command":"pintle-no-such-command"}}}\n', text)
    assert.equal(0, status)
  end)

  it("may be required by a single operation", function()
    local workshop <close> = extension.plugin "workshop"
    assert.equal(-32002, workshop:execute("tool").error.code)
    assert.equal("done", workshop:execute("text").result.message)
  end)

  it("is searched for again if it was missing, and in the PATH of the request", function()
    local workshop <close> = extension.plugin "workshop"
    local folder = os.tmpname()
    os.remove(folder)
    assert(os.execute(("mkdir '%s'"):format(folder)))
    local context = { env = { PATH = folder } }
    assert.equal(-32002, workshop:execute("tool", {}, context).error.code)
    assert(os.execute(("printf '#!/bin/sh\\n' > '%s/pintle-no-such-tool' && chmod +x '%s'/*"):format(folder, folder)))
    assert.equal("used", workshop:execute("tool", {}, context).result.message)
    assert(os.execute(("rm -r '%s'"):format(folder)))
    assert.equal("used", workshop:execute("tool", {}, context).result.message)
    assert.equal(-32002, workshop:execute("tool").error.code)
  end)
end)

-- }======

-- {====== Beginning and ending ======

describe("on_initialize", function()
  local function initialize(config, id)
    return core.json.encode {
      jsonrpc = "2.0", id = id or 1, method = "initialize", params = { protocolVersion = "0.0.1", config = config },
    }
  end

  it("runs with the configuration of the host, before anything else", function()
    local workshop <close> = extension.plugin("workshop", { "--config", '{"a":"from the command line"}' })
    workshop:say(initialize { slow = 0.1 }, execution("context", {}, {}, 2))
    assert.equal("workshop", core.json.decode(workshop:line()).result.name)
    assert.equal('{"slow":0.1}', core.json.decode(workshop:line()).result.outputs.config)
  end)

  it("runs once, however many operations come first", function()
    local lines = {}
    for id = 1, 5 do lines[id] = execution("context", {}, {}, id) end
    local text = extension.run(WORKSHOP, lines, { "--config", '{"slow":0.1}' })
    assert.equal(5, select(2, text:gsub('"success":true', "")))
  end)

  it("can log", function()
    local workshop <close> = extension.plugin "workshop"
    assert.equal('{"jsonrpc":"2.0","method":"log","params":{"level":"info","message":"ready soon"}}',
      workshop:ask(initialize { log = "ready soon" }))
    assert.equal("workshop", core.json.decode(workshop:line()).result.name)
  end)

  it("can fail, and is called again", function()
    local workshop <close> = extension.plugin "workshop"
    assert.same({ code = -32000, message = "no" }, core.json.decode(workshop:ask(initialize { fail = "no" })).error)
    local err = core.json.decode(workshop:ask(initialize { crash = "crashed" })).error
    assert.equal(-32603, err.code)
    assert.matches("^Internal error: .*: crashed$", err.message)
    assert.equal("workshop", core.json.decode(workshop:ask(initialize {})).result.name)
    local _, _, complaints = workshop:finish()
    assert.matches("workshop: spec/support/plugins/workshop.lua:%d+: crashed\nstack traceback:\n", complaints)
  end)

  it("forgets a configuration that failed", function()
    local workshop <close> = extension.plugin("workshop", { "--config", '{"a":"from the command line"}' })
    assert.same({ code = -32000, message = "no" }, core.json.decode(workshop:ask(initialize { fail = "no" })).error)
    assert.equal("workshop", core.json.decode(workshop:ask(initialize())).result.name)
    assert.equal('{"a":"from the command line"}', workshop:execute("context").result.outputs.config)
  end)

  it("keeps operations from running if it fails", function()
    local answer = once("text", {}, {}, { "--config", '{"fail":"no"}' })
    assert.same({ code = -32000, message = "no" }, answer.error)
  end)
end)

describe("on_shutdown", function()
  local function run(config, lines)
    return extension.run(WORKSHOP, lines, { "--config", core.json.encode(config) })
  end

  it("runs when the host asks the plugin to end, and when its input ends", function()
    for _, last in ipairs { '{"jsonrpc":"2.0","id":2,"method":"shutdown"}', nil } do
      local _, status, complaints = run({ last_words = "goodbye" }, { execution "text", last })
      assert.matches("goodbye\n$", complaints)
      assert.equal(0, status)
    end
    local _, _, complaints = run({ last_words = "goodbye" }, { execution "text" })
    assert.matches("goodbye\n$", complaints)
  end)

  it("does not run if the plugin was not initialized", function()
    local _, status, complaints = run({ last_words = "goodbye" }, {})
    assert.equal("printed\tbefore it serves\n", complaints)
    assert.equal(0, status)
  end)

  it("does not keep the plugin from ending if it raises", function()
    local text, status, complaints =
      run({ crash_at_end = true }, { execution "text", '{"jsonrpc":"2.0","id":2,"method":"shutdown"}' })
    assert.matches('{"jsonrpc":"2.0","id":2,"result":{}}\n$', text)
    assert.equal(0, status)
    assert.matches("crashed at the end\nstack traceback:\n", complaints)
  end)
end)

-- }======
