-- The extension's side of the gevals protocol, in the order of its document.
local children = require "spec.support.children"
local core = require "pintle.core"
local extension = require "spec.support.extension"

local json = core.json

local INITIALIZE = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"0.0.1"}}'
local SHUTDOWN = '{"jsonrpc":"2.0","id":3,"method":"shutdown","params":{}}'

children.leave_nothing()

local function workshop() return extension.plugin "workshop" end

local function error_of(plugin, method, params)
  local answer = plugin:call(method, params)
  assert.is_nil(answer.result)
  assert.equal("string", type(answer.error.message))
  return answer.error
end

describe("Transport", function()
  it("has one message per line, whatever it contains", function()
    local plugin <close> = workshop()
    plugin:call("initialize", { protocolVersion = "0.0.1" })
    plugin:say(json.encode {
      jsonrpc = "2.0", id = 2, method = "execute",
      params = { operation = "log", args = { message = "two\nlines\r\n\u{2028}", data = { a = "\n" } }, context = {} },
    })
    assert.equal('{"jsonrpc":"2.0","method":"log","params":{"level":"info","message":"two\\nlines\\r\\n\u{2028}",'
      .. '"data":{"a":"\\n"}}}', plugin:line())
    assert.equal('{"jsonrpc":"2.0","id":2,"result":{"success":true,"message":"logged"}}', plugin:line())
    assert.equal("", (plugin:finish()))
  end)

  it("is UTF-8", function()
    local plugin <close> = workshop()
    assert.equal("Hello, Ådä \u{1F600}", plugin:execute("greet", { name = "Ådä \u{1F600}" }).result.message)
    assert.equal(-32700, json.decode(plugin:ask '{"jsonrpc":"2.0","id":1,"method":"execute\xff"}').error.code)
  end)

  it("accepts lines that end with CR LF, and empty lines", function()
    local plugin <close> = workshop()
    plugin:say("", "\r")
    assert.matches('"name":"workshop"', plugin:ask(INITIALIZE .. "\r"))
  end)
end)

describe("Lifecycle", function()
  it("consists of initialize, execute, log, result, shutdown and exit", function()
    local plugin <close> = workshop()
    assert.matches('^{"jsonrpc":"2.0","id":1,"result":{"name":"workshop",', plugin:ask(INITIALIZE))
    for id = 2, 4 do
      assert.equal("log", plugin:execute("log", { message = "x" }, {}, id).method)
      assert.equal(id, json.decode(plugin:line()).id)
    end
    assert.equal('{"jsonrpc":"2.0","id":3,"result":{}}', plugin:ask(SHUTDOWN))
    assert.equal(0, plugin.process:wait(children.patience))
  end)
end)

describe("Initialize", function()
  describe("Request", function()
    it("has a version, which is a string", function()
      local plugin <close> = workshop()
      local err = error_of(plugin, "initialize", {})
      assert.same({ code = -32600, message = "Invalid Request: protocolVersion is missing" }, err)
      err = error_of(plugin, "initialize")
      assert.same({ code = -32600, message = "Invalid Request: params is missing" }, err)
      err = error_of(plugin, "initialize", { protocolVersion = 1 })
      assert.same({ code = -32602, message = "Invalid params: protocolVersion: string expected, got number" }, err)
      err = error_of(plugin, "initialize", json.array { "0.0.1" })
      assert.same({ code = -32602, message = "Invalid params: params: object expected, got array" }, err)
    end)

    it("may have another version: the response has the plugin's version, and the host decides", function()
      local plugin <close> = workshop()
      assert.equal("0.0.1", plugin:call("initialize", { protocolVersion = "0.1.0" }).result.protocolVersion)
    end)

    it("may have a configuration, which is an object", function()
      local plugin <close> = workshop()
      local err = error_of(plugin, "initialize", { protocolVersion = "0.0.1", config = json.array {} })
      assert.same({ code = -32602, message = "Invalid params: config: object expected, got array" }, err)
      plugin:call("initialize", { protocolVersion = "0.0.1", config = { namespace = "my-app" } })
      assert.equal('{"namespace":"my-app"}', plugin:execute("context").result.outputs.config)
    end)

    it("may have null for no configuration", function()
      local plugin <close> = workshop()
      assert.equal("workshop", plugin:call("initialize", { protocolVersion = "0.0.1", config = json.null }).result.name)
      assert.equal("{}", plugin:execute("context").result.outputs.config)
    end)

    it("is refused the second time", function()
      local plugin <close> = workshop()
      plugin:ask(INITIALIZE)
      assert.same({ code = -32600, message = "Invalid Request: the plugin is already initialized" },
        error_of(plugin, "initialize", { protocolVersion = "0.0.1" }))
    end)

    local OTHER = {
      protocolVersion = "0.0.1", config = { namespace = "other" }, capabilities = { "bytes", "cancel", "parts" },
    }

    it("changes nothing when it is repeated", function()
      local plugin <close> = workshop()
      plugin:call("initialize", { protocolVersion = "0.0.1", config = { namespace = "first" } })
      assert.equal(-32600, error_of(plugin, "initialize", OTHER).code)
      assert.equal('{"namespace":"first"}', plugin:execute("context").result.outputs.config)
      assert.equal("the host takes no parts of a result", plugin:execute("stream").result.error)
      assert.equal(-32603, plugin:execute("bytes-output").error.code)
      assert.equal("log", plugin:execute("log", { message = "x" }).method)
      assert.equal("logged", json.decode(plugin:line()).result.message)
      plugin:say('{"jsonrpc":"2.0","id":8,"method":"execute","params":{"operation":"sleep","args":{"seconds":0.2}}}',
        '{"jsonrpc":"2.0","method":"cancel","params":{"id":8}}')
      assert.equal("slept", json.decode(plugin:line()).result.message)
    end)

    it("keeps its effects when it is repeated", function()
      local plugin <close> = workshop()
      plugin:call("initialize", OTHER)
      for _, capabilities in ipairs { json.array(), json.array { "progress" } } do
        error_of(plugin, "initialize", { protocolVersion = "0.0.1", capabilities = capabilities })
      end
      assert.same({ ["$bytes"] = "eA==" }, plugin:execute("bytes-output").result.outputs.b)
    end)

    it("changes nothing when the plugin refuses it, and can be repeated", function()
      local plugin <close> = workshop()
      local params = { protocolVersion = "0.0.1", config = { fail = "no folder" }, capabilities = OTHER.capabilities }
      assert.equal("no folder", error_of(plugin, "initialize", params).message)
      params.config = { crash = "torn folder" }
      assert.equal(-32603, error_of(plugin, "initialize", params).code)
      assert.same({ "bytes", "cancel", "parts" }, plugin:call("initialize", OTHER).result.capabilities)
      assert.equal('{"namespace":"other"}', plugin:execute("context").result.outputs.config)
    end)

    it("keeps logs on stderr if it is refused", function()
      for _, first in ipairs {
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"0.0.1","config":{"fail":"no"}}}',
        extension.execution "text",
      } do
        local plugin <close> = workshop()
        plugin:ask(first)
        if first:find "execute" then error_of(plugin, "initialize", OTHER) end
        assert.equal("logged", plugin:execute("log", { message = "to stderr" }).result.message)
        assert.equal("{}", plugin:execute("context").result.outputs.config)
        assert.equal(-32603, plugin:execute("bytes-output").error.code)
        assert.matches("workshop: info: to stderr\n", (select(3, plugin:finish())))
      end
    end)
  end)

  describe("Response", function()
    it("is the manifest, member by member in its order", function()
      local plugin <close> = extension.plugin "described"
      assert.equal('{"jsonrpc":"2.0","id":1,"result":{"name":"kubernetes","version":"1.2.0","protocolVersion":"0.0.1",'
        .. '"description":"Kubernetes resource operations","requires":[{"command":"pintle-no-such-command"}],'
        .. '"operations":{"apply":{"description":"Apply a Kubernetes manifest","params":{"type":"object","properties":{'
        .. '"file":{"type":"string","description":"Path to manifest file"},'
        .. '"namespace":{"type":"string","default":"default","description":"Target namespace"}},"required":["file"]}},'
        .. '"condition":{"description":"Verify a resource condition","params":{"type":"object","properties":{'
        .. '"resource":{"type":"string","description":"Resource (e.g., pod/nginx)"},'
        .. '"conditionType":{"type":"string","description":"Condition type (e.g., Ready)"},'
        .. '"status":{"type":"string","default":"True","description":"Expected status value"},'
        .. '"timeout":{"type":"string","default":"60s","description":"How long to wait (duration format)"}},'
        .. '"required":["resource","conditionType"]}}}}}', plugin:ask(INITIALIZE))
    end)

    it("leaves out missing members", function()
      local plugin <close> = extension.plugin "kubernetes"
      local manifest = plugin:call("initialize", { protocolVersion = "0.0.1" }).result
      assert.is_nil(manifest.description)
      assert.is_nil(manifest.requires)
      assert.is_nil(manifest.capabilities)
      assert.is_nil(manifest.operations["create-namespace"].description)
    end)
  end)
end)

describe("Execute", function()
  describe("Params Fields", function()
    it("are required", function()
      local plugin <close> = workshop()
      assert.same({ code = -32600, message = "Invalid Request: operation is missing" },
        error_of(plugin, "execute", { args = {}, context = {} }))
      assert.same({ code = -32600, message = "Invalid Request: args is missing" },
        error_of(plugin, "execute", { operation = "text", context = {} }))
      assert.same({ code = -32600, message = "Invalid Request: params is missing" }, error_of(plugin, "execute"))
    end)

    it("have to be of the right type", function()
      local plugin <close> = workshop()
      local function wrong(params) return error_of(plugin, "execute", params) end
      assert.same({ code = -32602, message = "Invalid params: operation: string expected, got number" },
        wrong { operation = 1, args = {} })
      assert.same({ code = -32602, message = "Invalid params: args: object expected, got array" },
        wrong { operation = "text", args = json.array {} })
      assert.same({ code = -32602, message = "Invalid params: args: object expected, got string" },
        wrong { operation = "text", args = "x" })
      assert.same({ code = -32602, message = "Invalid params: context: object expected, got string" },
        wrong { operation = "text", args = {}, context = "setup" })
    end)

    it("may be null instead of missing", function()
      local plugin <close> = workshop()
      local params = { operation = "text", args = json.null, context = json.null }
      assert.is_true(plugin:call("execute", params).result.success)
    end)
  end)

  describe("Context Object", function()
    local function outputs(plugin, context) return plugin:execute("context", {}, context).result.outputs end

    it("is passed to the operation", function()
      local plugin <close> = workshop()
      local seen = outputs(plugin, {
        workdir = "/path/to/task", phase = "setup", env = { KUBECONFIG = "/config" }, timeout = "5m",
      })
      assert.equal("/path/to/task", seen.workdir)
      assert.equal("setup", seen.phase)
      assert.equal('{"KUBECONFIG":"/config"}', seen.env)
      assert.is_true(tonumber(seen.deadline) > 290 and tonumber(seen.deadline) <= 300)
      assert.equal("none", seen.agent)
    end)

    it("is read for each request, whether it repeats or changes", function()
      local plugin <close> = workshop()
      for _, timeout in ipairs { "5m", "5m", "1m", "5m" } do
        local seen = outputs(plugin, { workdir = "/" .. timeout, phase = "cleanup", timeout = timeout })
        local seconds = tonumber(timeout:sub(1, 1)) * 60
        assert.same({ "/" .. timeout, "cleanup", "{}" }, { seen.workdir, seen.phase, seen.env })
        assert.is_true(tonumber(seen.deadline) > seconds - 10 and tonumber(seen.deadline) <= seconds)
      end
      for _, config in ipairs { "/a", "/a", "/b" } do
        assert.equal(('{"KUBECONFIG":"%s"}'):format(config), outputs(plugin, { env = { KUBECONFIG = config } }).env)
      end
      assert.equal("none", outputs(plugin, { phase = "setup" }).workdir)
    end)

    it("has one of three phases, or an empty one, as the existing client sends it", function()
      local plugin <close> = workshop()
      for _, phase in ipairs { "setup", "verify", "cleanup" } do
        assert.equal(phase, outputs(plugin, { phase = phase }).phase)
      end
      assert.equal("none", outputs(plugin, { phase = "" }).phase)
      assert.equal("none", outputs(plugin, { phase = json.null }).phase)
      assert.equal("none", outputs(plugin, {}).phase)
      assert.same({
        code = -32602, message = 'Invalid params: context.phase: setup, verify or cleanup expected, got "later"',
      }, plugin:execute("context", {}, { phase = "later" }).error)
    end)

    it("may leave out everything", function()
      local plugin <close> = workshop()
      local seen = outputs(plugin, { workdir = "", env = json.null, timeout = "", agent = json.null })
      assert.same({ workdir = "none", phase = "none", env = "{}", agent = "none", deadline = "none" }, {
        workdir = seen.workdir, phase = seen.phase, env = seen.env, agent = seen.agent, deadline = seen.deadline,
      })
    end)

    it("is refused if it is of a wrong type", function()
      local plugin <close> = workshop()
      local cases = {
        ["context.workdir: string expected, got number"] = { workdir = 1 },
        ["context.phase: string expected, got boolean"] = { phase = true },
        ["context.env: object expected, got array"] = { env = json.array { "A=1" } },
        ["context.env.A: string expected, got number"] = { env = { A = 1 } },
        ["context.timeout: string expected, got number"] = { timeout = 5 },
        ["context.agent: object expected, got string"] = { agent = "x" },
        ["context.agent.prompt: string expected, got array"] = { phase = "verify", agent = { prompt = { "a" } } },
        ["context.agent.output: string expected, got number"] = { agent = { prompt = "a", output = 5 } },
      }
      for message, context in pairs(cases) do
        assert.same({ code = -32602, message = "Invalid params: " .. message },
          plugin:execute("context", {}, context).error)
      end
    end)
  end)

  describe("Agent Context Object", function()
    it("is present in the phase verify", function()
      local plugin <close> = workshop()
      local context = { workdir = "/", phase = "verify", agent = { prompt = "Create nginx pod", output = "Done" } }
      assert.equal("Done", plugin:execute("context", {}, context).result.outputs.agent)
    end)

    it("may leave out both of its members, or have null for them", function()
      local plugin <close> = workshop()
      for _, agent in ipairs { {}, { prompt = json.null, output = json.null }, { prompt = "Create nginx pod" } } do
        local context = { phase = "verify", agent = agent }
        assert.equal("none", plugin:execute("context", {}, context).result.outputs.agent)
      end
    end)
  end)

  describe("Success Response", function()
    it("has success, message and outputs", function()
      local plugin <close> = workshop()
      local line = plugin:ask '{"jsonrpc":"2.0","id":2,"method":"execute","params":{"operation":"outputs","args":{}}}'
      assert.matches('^{"jsonrpc":"2.0","id":2,"result":{"success":true,"message":"made","outputs":{', line)
    end)
  end)

  describe("Failure Response", function()
    it("has message, error and outputs", function()
      local plugin <close> = workshop()
      assert.equal('{"jsonrpc":"2.0","id":2,"result":{"success":false,"message":"Condition not met",'
        .. '"error":"Timed out","outputs":{"tries":"3"}}}',
        plugin:ask '{"jsonrpc":"2.0","id":2,"method":"execute","params":{"operation":"long-failure","args":{}}}')
    end)
  end)

  describe("Result Fields", function()
    it("have outputs that are strings", function()
      local plugin <close> = workshop()
      for _, value in pairs(plugin:execute("outputs").result.outputs) do assert.equal("string", type(value)) end
    end)

    it("are never truncated", function()
      local plugin <close> = workshop()
      assert.equal(200000, #plugin:execute("big", { size = 200000 }).result.message)
    end)
  end)

  it("fills in defaults", function()
    local plugin <close> = extension.plugin "kubernetes"
    local context = { phase = "verify", agent = { output = "Done" } }
    local answer = plugin:execute("condition", { resource = "pod/nginx", conditionType = "Ready" }, context)
    assert.equal("Pod nginx Ready=True", answer.result.message)
  end)

  it("returns the id unchanged", function()
    local plugin <close> = workshop()
    for _, id in ipairs { "1", "-7", "9007199254740993", "1.0", '"a"', '"\\u0041"', "12345678901234567890123" } do
      local answer = plugin:ask(('{"jsonrpc":"2.0","id":%s,"method":"execute","params":{"operation":"yes","args":{}}}')
        :format(id))
      assert.equal(('{"jsonrpc":"2.0","id":%s,"result":{"success":true}}'):format(id), answer)
    end
  end)
end)

describe("Log (Notification)", function()
  local function logged(args)
    local plugin <close> = workshop()
    plugin:call("initialize", { protocolVersion = "0.0.1" })
    plugin:say(json.encode {
      jsonrpc = "2.0", id = 2, method = "execute", params = { operation = "log", args = args, context = {} },
    })
    return plugin:line()
  end

  it("has level, message and data, and no id", function()
    for _, level in ipairs { "debug", "info", "warn", "error" } do
      assert.equal(('{"jsonrpc":"2.0","method":"log","params":{"level":"%s","message":"x"}}'):format(level),
        logged { level = level, message = "x" })
    end
    assert.equal('{"jsonrpc":"2.0","method":"log","params":{"level":"debug","message":"Pod status check",'
      .. '"data":{"pod":"nginx-abc123"}}}',
      logged { level = "debug", message = "Pod status check", data = { pod = "nginx-abc123" } })
  end)

  it("has an object as its data, whatever the author passes", function()
    assert.matches('"data":{"value":%[1,2%]}}}$', logged { message = "x", data = { 1, 2 } })
    assert.matches('"data":{"value":true}}}$', logged { message = "x", data = true })
    assert.matches('"data":{}}}$', logged { message = "x", data = {} })
  end)

  it("is truncated to fit a line of 64 KiB", function()
    local worst = { ("x"):rep(1000000), ("\1"):rep(100000), ('"\\'):rep(100000), ("\u{1F600}"):rep(50000) }
    for _, text in ipairs(worst) do
      for _, args in ipairs { { message = text }, { message = "m", data = { a = text } },
                              { message = text, data = { a = text } } } do
        local line = logged(args)
        assert.is_true(#line < 65536, #line .. " bytes")
        local params = json.decode(line).params
        if args.data then
          assert.is_true(params.data.truncated)
          assert.equal(#json.encode(args.data), params.data.bytes)
          assert.equal('{"a":"', params.data.json:sub(1, 6))
        end
        if #args.message > 4096 then assert.equal("…", params.message:sub(-3)) end
      end
    end
  end)

  it("is not truncated if it fits exactly", function()
    local data = { a = ("x"):rep(64000) }
    assert.same(data, json.decode(logged { message = "m", data = data }).params.data)
  end)
end)

describe("Shutdown", function()
  it("is answered, and then the extension exits", function()
    for _, params in ipairs { '"params":{},', "", '"params":null,' } do
      local plugin <close> = workshop()
      plugin:ask(INITIALIZE)
      assert.equal('{"jsonrpc":"2.0","id":9,"result":{}}',
        plugin:ask(('{"jsonrpc":"2.0",%s"id":9,"method":"shutdown"}'):format(params)))
      assert.equal(0, plugin.process:wait(children.patience))
    end
  end)

  it("ends running operations, which are answered", function()
    local plugin <close> = workshop()
    plugin:ask(INITIALIZE)
    plugin:say('{"jsonrpc":"2.0","id":2,"method":"execute","params":{"operation":"sleep","args":{"seconds":600}}}',
      SHUTDOWN)
    assert.equal('{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"the plugin is shutting down"}}',
      plugin:line())
    assert.equal('{"jsonrpc":"2.0","id":3,"result":{}}', plugin:line())
    assert.equal(0, plugin.process:wait(children.patience))
  end)

  it("runs no operation that is requested later", function()
    local text, status = extension.run("spec/support/plugins/workshop.lua", {
      INITIALIZE, SHUTDOWN, '{"jsonrpc":"2.0","id":4,"method":"execute","params":{"operation":"text","args":{}}}',
    })
    assert.falsy(text:find('"done"', 1, true))
    assert.truthy(text:find('{"jsonrpc":"2.0","id":3,"result":{}}\n', 1, true))
    assert.equal(0, status)
  end)

  it("may be the first message", function()
    local plugin <close> = workshop()
    assert.equal('{"jsonrpc":"2.0","id":3,"result":{}}', plugin:ask(SHUTDOWN))
    assert.equal(0, plugin.process:wait(children.patience))
  end)
end)

describe("Error Handling", function()
  describe("Protocol Errors", function()
    it("name the unknown operation, and the nearest known one", function()
      local plugin <close> = extension.plugin "described"
      assert.equal('{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Unknown operation: appply",'
        .. '"data":{"suggestion":"apply"}}}',
        plugin:ask '{"jsonrpc":"2.0","id":2,"method":"execute","params":{"operation":"appply","args":{}}}')
    end)
  end)

  describe("Standard Error Codes", function()
    it("report invalid JSON", function()
      local plugin <close> = workshop()
      for _, text in ipairs { "{", "{]", '{"jsonrpc":"2.0",', "nonsense", "{'a':1}" } do
        local answer = json.decode(plugin:ask(text))
        assert.equal(-32700, answer.error.code, text)
        assert.matches("^Parse error: %l", answer.error.message)
        assert.equal(json.null, answer.id)
      end
    end)

    it("report an invalid request", function()
      local plugin <close> = workshop()
      for _, text in ipairs { "{}", "[]", "1", '{"jsonrpc":"2.0","id":1}', '{"jsonrpc":"1.0","id":1,"method":"x"}',
                              '{"jsonrpc":"2.0","id":1,"method":2}' } do
        local err = json.decode(plugin:ask(text)).error
        assert.equal(-32600, err.code, text)
        assert.matches("^Invalid Request: %l", err.message)
      end
    end)

    it("report an unknown method", function()
      local plugin <close> = workshop()
      assert.same({ code = -32601, message = "Method not found: exekute" }, error_of(plugin, "exekute", {}))
      plugin:ask(INITIALIZE)
      assert.same({ code = -32601, message = "Method not found: exekute" }, error_of(plugin, "exekute", {}))
    end)

    it("report an invalid argument", function()
      local plugin <close> = workshop()
      assert.same({
        code = -32602, message = 'Invalid params for "greet": at /name: expected string, got integer 5',
        data = { path = "/name", reason = "expected string, got integer 5", schema = "/properties/name/type" },
      }, plugin:execute("greet", { name = 5 }).error)
    end)

    it("report an error in the extension", function()
      local plugin <close> = workshop()
      assert.equal(-32603, plugin:execute("raise").error.code)
    end)
  end)

  describe("Extension Error Codes", function()
    it("report a failure, a timeout, and a missing requirement", function()
      local plugin <close> = workshop()
      assert.equal(-32050, plugin:execute("code").error.code)
      assert.same({ code = -32001, message = 'Operation "sleep" timed out after 50ms' },
        plugin:execute("sleep", { seconds = 600 }, { timeout = "50ms" }).error)
      local err = plugin:execute("tool").error
      assert.equal(-32002, err.code)
      assert.equal('Requirement not met: the command "pintle-no-such-tool" is not in PATH', err.message)
    end)
  end)

  describe("Error Categories", function()
    it("distinguish a failed operation from a protocol error", function()
      local plugin <close> = workshop()
      local answer = plugin:execute("failure")
      assert.is_nil(answer.error)
      assert.is_false(answer.result.success)
      assert.equal(-32602, plugin:execute("greet", {}).error.code)
      assert.equal(-32601, plugin:execute("gret", {}).error.code)
    end)

    it("give an extension that crashes an exit status other than 0", function()
      local _, status = extension.run("spec/support/plugins/crashing.lua", {})
      assert.equal(1, status)
    end)
  end)
end)

describe("One-Shot Mode", function()
  local function shell(command)
    local process <close> = assert(core.spawn { command = { "sh", "-c", command }, stdin = "null", stderr = "pipe" })
    local text = children.read(process.stdout)
    return text, children.read(process.stderr), process:wait(children.patience)
  end

  local function request(operation, args)
    return ([['{"jsonrpc":"2.0","id":1,"method":"execute","params":{"operation":"%s","args":%s,]]
      .. [["context":{"workdir":"/tmp","phase":"setup"}}}']]):format(operation, args)
  end

  it("takes a request from a pipe, writes its result, and exits", function()
    local text, complaints, status =
      shell("echo " .. request("create-namespace", '{"name":"x"}') .. " | lua5.4 spec/support/plugins/kubernetes.lua")
    assert.equal('{"jsonrpc":"2.0","id":1,"result":{"success":true,"message":"Created namespace x"}}\n', text)
    assert.equal("kubernetes: info: Creating namespace x\n", complaints)
    assert.equal(0, status)
  end)

  it("does not need a line end, and waits for the operation", function()
    local text, _, status =
      shell("printf %s " .. request("sleep", '{"seconds":0.3}') .. " | lua5.4 spec/support/plugins/workshop.lua")
    assert.equal('{"jsonrpc":"2.0","id":1,"result":{"success":true,"message":"slept"}}\n', text)
    assert.equal(0, status)
  end)

  it("writes errors in the same way", function()
    local text, _, status = shell("echo " .. request("aply", "{}") .. " | lua5.4 spec/support/plugins/described.lua")
    assert.matches('^{"jsonrpc":"2.0","id":1,"error":{"code":%-32601,[^\n]*}\n$', text)
    assert.equal(0, status)
  end)

  it("takes a configuration from the command line", function()
    for _, config in ipairs { [[ --config '{"namespace":"my-app"}']], [[ --config='{"namespace":"my-app"}']] } do
      local text, _, status =
        shell("echo " .. request("context", "{}") .. " | lua5.4 spec/support/plugins/workshop.lua" .. config)
      assert.equal('{"namespace":"my-app"}', json.decode(text).result.outputs.config)
      assert.equal(0, status)
    end
  end)
end)

describe("Example Session", function()
  it("is reproduced byte for byte", function()
    local plugin <close> = extension.plugin "kubernetes"
    local manifest = plugin:ask '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"0.0.1"}}'
    assert.equal('{"jsonrpc":"2.0","id":1,"result":{"name":"kubernetes","version":"1.0.0","protocolVersion":"0.0.1",'
      .. '"operations":{...}}}', (manifest:gsub('"operations":{.*}', '"operations":{...}}}')))

    plugin:say('{"jsonrpc":"2.0","id":2,"method":"execute","params":{"operation":"create-namespace","args":'
      .. '{"name":"test-ns"},"context":{"workdir":"/tasks/create-pod","phase":"setup"}}}')
    assert.equal('{"jsonrpc":"2.0","method":"log","params":{"level":"info","message":"Creating namespace test-ns"}}',
      plugin:line())
    assert.equal('{"jsonrpc":"2.0","id":2,"result":{"success":true,"message":"Created namespace test-ns"}}',
      plugin:line())

    plugin:say('{"jsonrpc":"2.0","id":3,"method":"execute","params":{"operation":"condition","args":'
      .. '{"resource":"pod/nginx","conditionType":"Ready"},"context":{"workdir":"/tasks/create-pod","phase":"verify",'
      .. '"agent":{"prompt":"Create nginx pod","output":"Done"}}}}')
    assert.equal('{"jsonrpc":"2.0","method":"log","params":{"level":"info","message":"Checking pod/nginx..."}}',
      plugin:line())
    assert.equal('{"jsonrpc":"2.0","method":"log","params":{"level":"info",'
      .. '"message":"Waiting, status=ContainerCreating"}}', plugin:line())
    assert.equal('{"jsonrpc":"2.0","id":3,"result":{"success":true,"message":"Pod nginx Ready=True"}}', plugin:line())

    assert.equal('{"jsonrpc":"2.0","id":4,"result":{}}',
      plugin:ask '{"jsonrpc":"2.0","id":4,"method":"shutdown","params":{}}')
    local text, status, complaints = plugin:finish()
    assert.same({ "", 0, "" }, { text, status, complaints })
  end)
end)

describe("Duration Format", function()
  it("is that of Go", function()
    local plugin <close> = workshop()
    local cases = { ["30s"] = 30, ["5m"] = 300, ["1h30m"] = 5400, ["100000ms"] = 100, ["1.5h"] = 5400 }
    for text, seconds in pairs(cases) do
      local left = tonumber(plugin:execute("context", {}, { timeout = text }).result.outputs.deadline)
      assert.is_true(left <= seconds and left > seconds - 10, text .. " is " .. left)
    end
  end)

  it("is refused in any other form", function()
    local plugin <close> = workshop()
    for _, text in ipairs { "5", "5 s", "-5s", "soon", "1d" } do
      local err = plugin:execute("context", {}, { timeout = text }).error
      assert.equal(-32602, err.code, text)
      assert.matches("^Invalid params: context.timeout: ", err.message)
    end
  end)

  it("has no limit if it is zero", function()
    local plugin <close> = workshop()
    assert.equal("none", plugin:execute("context", {}, { timeout = "0s" }).result.outputs.deadline)
  end)
end)
