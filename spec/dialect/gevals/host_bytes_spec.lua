-- The host's side of the gevals protocol, in the order of its document, with an extension that follows a script
-- and records every byte that it receives.
local children = require "spec.support.children"
local core = require "pintle.core"
local exit_status = require "spec.support.exit_status"
local hosts = require "pintle.host"
local logged_host = require "spec.support.logged_host"
local tasks = require "pintle.task"

local json = core.json

-- The messages that an extension may send for the request with this id.
local function result(id, text) return ('{"jsonrpc":"2.0","id":%d,"result":%s}'):format(id, text) end

local function failure(id, code, message)
  return ('{"jsonrpc":"2.0","id":%d,"error":{"code":%d,"message":%s}}'):format(id, code, json.encode(message))
end

local function log(params) return ('{"jsonrpc":"2.0","method":"log","params":%s}'):format(params) end

local function manifest(operations, others)
  return ('{"name":"kubernetes","version":"1.0.0","protocolVersion":"0.0.1"%s,"operations":{%s}}')
    :format(others or "", operations)
end

local ANY = '"any":{"params":{"type":"object"}}'
local APPLY = '"apply":{"description":"Apply a manifest","params":{"type":"object","properties":{"file":{"type":'
  .. '"string"},"namespace":{"type":"string","default":"default"}},"required":["file"]}}'

local INITIALIZE = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"0.0.1"}}\n'

local function say(...) return { say = { ... } } end

-- A table whose members are sent in this order.
local function ordered(names, members) return setmetatable(members, json.order(names)) end

describe("gevals, on the host's side:", function()
  local host, entries, path, status_file, check_stock

  before_each(function()
    check_stock = children.stock()
    path, status_file = os.tmpname(), os.tmpname()
    host, entries = logged_host.open()
  end)

  after_each(function()
    host:stop()
    os.remove(path)
    os.remove(status_file)
    check_stock()
  end)

  -- Starts an extension from a script, and replaces the previous one.
  local function start(steps, options, wrap)
    host:stop()
    os.remove(path)
    local script = json.encode(json.array(steps))
    local command = { "lua5.4", "spec/support/recording_plugin.lua", path, script }
    local given = { command = wrap and wrap(command, status_file) or command, name = "kubernetes" }
    for name, value in pairs(options or {}) do given[name] = value end
    return host:start(given)
  end

  -- An extension with the operation `any`, which follows the script from its first execute on.
  local function started(steps, options, wrap)
    return assert(start({ say(result(1, manifest(ANY))), table.unpack(steps or {}) }, options, wrap))
  end

  -- Everything that the extension has received.
  local function record()
    local file <close> = assert(io.open(path, "rb"))
    return file:read "a"
  end

  local function line(n)
    local at = 0
    for text in record():gmatch "[^\n]*\n" do
      at = at + 1
      if at == n then return text end
    end
  end

  -- The outcome of `any`, answered with these lines.
  local function outcome_of(...)
    return started({ say(...) }):execute("any", {}, { workdir = "/" })
  end

  local function err_of(...)
    local outcome, err = outcome_of(...)
    assert.is_nil(outcome)
    return err
  end

  local function context_of(options)
    assert(started({ say(result(2, '{"success":true}')) }):execute("any", {}, options))
    return line(2):match '"context":(.*)}}\n$'
  end

  local function said(pattern)
    for _, entry in ipairs(entries) do
      if tostring(entry):find(pattern) then return entry end
    end
  end

  describe("Transport", function()
    it("is one message per line, whatever it contains", function()
      local plugin = started { say(result(2, '{"success":true}')) }
      assert(plugin:execute("any", { text = "two\nlines\r\n" }, { workdir = "/" }))
      assert.equal('{"jsonrpc":"2.0","id":2,"method":"execute","params":{"operation":"any","args":'
        .. '{"text":"two\\nlines\\r\\n"},"context":{"workdir":"/","phase":"setup"}}}\n', line(2))
    end)

    it("is UTF-8 in both directions", function()
      local plugin = started { say(result(2, '{"success":true,"message":"Grüße \u{1F600}"}')) }
      assert.equal("Grüße \u{1F600}", assert(plugin:execute("any", { text = "Ådä" })).message)
      assert.matches('"text":"Ådä"', line(2), 1, true)
      local outcome, err = plugin:execute("any", { text = "\xff" })
      assert.is_nil(outcome)
      assert.equal("invalid", err.kind)
    end)

    it("uses stderr for debug logs, which are shown and not parsed", function()
      local steps = { { say = { result(2, '{"success":true}') }, complain = log '{"level":"error","message":"no"}' } }
      assert(started(steps):execute "any")
      host:stop()
      assert.truthy(said "^info  kubernetes stderr| {")
      assert.is_nil(said "^error")
    end)
  end)

  describe("Lifecycle", function()
    it("consists of spawn, initialize, any number of execute with logs and a result, shutdown and exit", function()
      local hello = log '{"level":"info","message":"hello"}'
      local plugin = started {
        say(hello, hello, result(2, '{"success":true}')), say(result(3, '{"success":true}')), say(result(4, "{}")),
      }
      assert(plugin:execute "any")
      assert(plugin:execute "any")
      local pid = plugin:pids()[1]
      plugin:stop()
      assert.is_nil(io.open(("/proc/%d/stat"):format(pid)))
      local methods = {}
      for method in record():gmatch '"method":"(%a+)"' do methods[#methods + 1] = method end
      assert.same({ "initialize", "execute", "execute", "shutdown" }, methods)
      assert.equal(2, #entries)
    end)
  end)

  describe("Initialize", function()
    describe("Request", function()
      it("is sent once after spawn, with the version and nothing else", function()
        started()
        assert.equal(INITIALIZE, record())
      end)

      it("has the configuration, if there is any", function()
        started({}, { config = { namespace = "my-app" } })
        assert.equal('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"0.0.1","config":'
          .. '{"namespace":"my-app"}}}\n', record())
      end)
    end)

    describe("Response", function()
      it("is the manifest", function()
        local others = ',"description":"Kubernetes resource operations","requires":[{"command":"no-such-kubectl"}]'
        local plugin = assert(start { say(result(1, manifest(APPLY, others))) })
        local described = plugin.manifest
        assert.same({ "kubernetes", "1.0.0", "Kubernetes resource operations" },
          { described.name, described.version, described.description })
        assert.same({ { command = "no-such-kubectl" } }, described.requires)
        assert.same({ "apply" }, described.names)
        assert.equal("Apply a manifest", described.operations.apply.description)
        assert.truthy(said "^warn  kubernetes: needs no%-such%-kubectl, which is not in the PATH")
      end)

      it("has required fields", function()
        for member, text in pairs {
          name = '{"version":"1.0.0","protocolVersion":"0.0.1","operations":{}}',
          version = '{"name":"x","protocolVersion":"0.0.1","operations":{}}',
          protocolVersion = '{"name":"x","version":"1.0.0","operations":{}}',
          operations = '{"name":"x","version":"1.0.0","protocolVersion":"0.0.1"}',
        } do
          local plugin, err = start { say(result(1, text)) }
          assert.is_nil(plugin)
          assert.equal("protocol", err.kind)
          assert.matches(member, err.message, 1, true)
        end
      end)

      it("is refused if it has another version", function()
        local other = '{"name":"x","version":"1.0.0","protocolVersion":"0.0.2","operations":{}}'
        local plugin, err = start { say(result(1, other)) }
        assert.is_nil(plugin)
        assert.matches('version "0.0.2" of the protocol; supported is 0.0.1', err.message, 1, true)
      end)

      it("may have a version that is not semantic, with a warning", function()
        assert(start { say(result(1, '{"name":"x","version":"new","protocolVersion":"0.0.1","operations":{}}')) })
        assert.truthy(said '^warn  kubernetes: its manifest: version: "new" is no semantic version')
      end)

      it("may be an error", function()
        local plugin, err = start { say(failure(1, -32602, "namespace is missing")) }
        assert.is_nil(plugin)
        assert.same({ "remote", -32602 }, { err.kind, err.code })
        assert.equal("kubernetes refused to start: namespace is missing", err.message)
      end)

      it("may be an error beside a null result, as the Go SDK writes it", function()
        local plugin, err = start {
          say '{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":-32603,"message":"no licence"}}',
        }
        assert.is_nil(plugin)
        assert.same({ "remote", -32603 }, { err.kind, err.code })
      end)
    end)
  end)

  describe("Execute", function()
    describe("Request", function()
      it("has operation, args and context, in this order", function()
        local plugin = assert(start { say(result(1, manifest(APPLY))), say(result(2, '{"success":true}')) })
        local args = ordered({ "file", "namespace" }, { file = "deployment.yaml", namespace = "my-app" })
        assert(plugin:execute("apply", args, {
          workdir = "/path/to/task", phase = "setup", env = { KUBECONFIG = "/home/user/.kube/config" }, timeout = "5m",
        }))
        assert.equal('{"jsonrpc":"2.0","id":2,"method":"execute","params":{"operation":"apply","args":{"file":'
          .. '"deployment.yaml","namespace":"my-app"},"context":{"workdir":"/path/to/task","phase":"setup",'
          .. '"env":{"KUBECONFIG":"/home/user/.kube/config"},"timeout":"5m0s"}}}\n', line(2))
      end)

      it("has args, even if they are empty", function()
        started { say(result(2, '{"success":true}')) }:execute "any"
        assert.matches('"args":{},', line(2), 1, true)
      end)

      it("has defaults filled in, because some extensions do not know their own defaults", function()
        local plugin = assert(start { say(result(1, manifest(APPLY))), say(result(2, '{"success":true}')) })
        local args = { file = "x.yaml" }
        assert(plugin:execute("apply", ordered({ "file" }, args)))
        assert.matches('"args":{"file":"x.yaml","namespace":"default"},', line(2), 1, true)
        assert.same({ file = "x.yaml" }, args)
      end)

      it("is not sent with invalid arguments, because some extensions do not check them", function()
        local plugin = assert(start { say(result(1, manifest(APPLY))) })
        for place, args in pairs {
          [""] = {}, ["/file"] = { file = 5 }, ["/namespace"] = { file = "x", namespace = 1 },
        } do
          local outcome, err = plugin:execute("apply", args)
          assert.is_nil(outcome)
          assert.same({ "invalid", -32602, place }, { err.kind, err.code, err.data.path })
        end
        assert.equal(INITIALIZE, record())
      end)

      it("is not sent for an operation that is not in the manifest", function()
        local plugin = assert(start { say(result(1, manifest(APPLY))) })
        local outcome, err = plugin:execute("appply", { file = "x" })
        assert.is_nil(outcome)
        assert.same({ "invalid", -32601, "Unknown operation: appply" }, { err.kind, err.code, err.message })
        assert.same({ suggestion = "apply" }, err.data)
        assert.equal(INITIALIZE, record())
      end)
    end)

    describe("Context Object", function()
      it("has the directory of the task as an absolute path", function()
        local here = json.encode(require("lfs").currentdir()):sub(2, -2)
        assert.equal(('{"workdir":"%s","phase":"setup"}'):format(here), context_of())
        assert.equal('{"workdir":"/tasks/create-pod","phase":"setup"}', context_of { workdir = "/tasks/create-pod" })
        assert.equal(('{"workdir":"%s/tasks","phase":"setup"}'):format(here), context_of { workdir = "tasks" })
      end)

      it("has the directory of the extension by default, if it has one", function()
        assert(started({ say(result(2, '{"success":true}')) }, { cwd = "spec/.." }):execute "any")
        assert.matches('/spec/..","phase"', line(2), 1, true)
      end)

      it("has one of three phases", function()
        for _, phase in ipairs { "setup", "verify", "cleanup" } do
          assert.equal(('{"workdir":"/","phase":"%s"}'):format(phase), context_of { workdir = "/", phase = phase })
        end
        local outcome, err = started():execute("any", {}, { phase = "verfy" })
        assert.is_nil(outcome)
        assert.equal("invalid", err.kind)
        assert.matches('setup, verify or cleanup expected, got "verfy"', err.message, 1, true)
      end)

      it("has variables of the environment, if there are any, and only strings", function()
        assert.equal('{"workdir":"/","phase":"setup","env":{"A":"1"}}', context_of { workdir = "/", env = { A = "1" } })
        local outcome, err = started():execute("any", {}, { env = { A = 1 } })
        assert.is_nil(outcome)
        assert.equal("invalid", err.kind)
      end)

      it("has the timeout of the call, as Go writes durations", function()
        for given, written in pairs { ["5m"] = "5m0s", [1.5] = "1.5s", ["100ms"] = "100ms", ["1h30m"] = "1h30m0s" } do
          assert.equal(('{"workdir":"/","phase":"setup","timeout":"%s"}'):format(written),
            context_of { workdir = "/", timeout = given })
        end
      end)

      it("has the timeout that was set for all operations", function()
        local plugin = started({ say(result(2, '{"success":true}')) }, { timeout = "20s" })
        assert(plugin:execute("any", {}, { workdir = "/" }))
        assert.matches('"context":{"workdir":"/","phase":"setup","timeout":"20s"}}', line(2), 1, true)
      end)

      it("has the remaining time, if some was spent on starting the plugin", function()
        local plugin = started({ say(result(2, '{"success":true}')) }, { lazy = true })
        assert(plugin:execute("any", {}, { timeout = "60s" }))
        local seconds = tonumber(line(2):match '"timeout":"([%d.]+)s"')
        assert.truthy(seconds < 60 and seconds > 60 - children.patience)
      end)

      it("has no timeout if none was set", function()
        assert.equal('{"workdir":"/","phase":"setup"}', context_of { workdir = "/" })
        assert.equal('{"workdir":"/","phase":"setup"}', context_of { workdir = "/", timeout = false })
      end)
    end)

    describe("Agent Context Object", function()
      it("is present in the verify phase", function()
        local agent = { output = "Done", prompt = "Create a pod" }
        assert.equal('{"workdir":"/","phase":"verify","agent":{"prompt":"Create a pod","output":"Done"}}',
          context_of { workdir = "/", phase = "verify", agent = agent })
      end)

      it("is missing in all other phases", function()
        local plugin = started()
        for _, phase in ipairs { "setup", "cleanup" } do
          local outcome, err = plugin:execute("any", {}, { phase = phase, agent = { prompt = "x" } })
          assert.is_nil(outcome)
          assert.equal("invalid", err.kind)
        end
        assert.equal(INITIALIZE, record())
      end)

      it("has strings", function()
        local outcome, err = started():execute("any", {}, { phase = "verify", agent = { prompt = 5 } })
        assert.is_nil(outcome)
        assert.equal("context.agent.prompt: string expected, got number", err.message)
      end)
    end)

    describe("Success Response", function()
      it("has success, message and outputs", function()
        local outcome = assert(outcome_of(result(2,
          '{"success":true,"message":"Applied deployment.yaml","outputs":{"resourceVersion":"12345","uid":"abc"}}')))
        assert.same({
          success = true, message = "Applied deployment.yaml",
          outputs = { resourceVersion = "12345", uid = "abc" },
        }, outcome)
      end)
    end)

    describe("Failure Response", function()
      it("is an outcome, not an error", function()
        local outcome, err = outcome_of(result(2,
          '{"success":false,"message":"Condition not met","error":"Timed out","outputs":{"lastStatus":"False"}}'))
        assert.is_nil(err)
        assert.same({
          success = false, message = "Condition not met", error = "Timed out", outputs = { lastStatus = "False" },
        }, outcome)
      end)
    end)

    describe("Result Fields", function()
      it("has success, and the others may be left out or null", function()
        assert.same({ success = true }, (outcome_of(result(2, '{"success":true}'))))
        assert.same({ success = false, error = "the operation failed" },
          (outcome_of(result(2, '{"success":false,"message":null,"error":null,"outputs":null}'))))
      end)

      it("is refused if a field is of a wrong type", function()
        for message, text in pairs {
          ["no success"] = '{"message":"done"}',
          ["has no success that is true or false"] = '{"success":"yes"}',
          ["message: string expected, got number"] = '{"success":true,"message":1}',
          ["error: string expected, got array"] = '{"success":false,"error":[]}',
          ["outputs: object expected, got array"] = '{"success":true,"outputs":["x"]}',
          ["outputs.n: string expected, got number"] = '{"success":true,"outputs":{"n":1}}',
        } do
          local err = err_of(result(2, text))
          assert.equal("protocol", err.kind)
          assert.matches(message, err.message, 1, true)
        end
      end)
    end)
  end)

  describe("Log (Notification)", function()
    it("goes to the log, with level, message and data", function()
      assert(outcome_of(
        log '{"level":"info","message":"Waiting for deployment rollout..."}',
        log '{"level":"debug","message":"Pod status check","data":{"pod":"nginx-abc123","phase":"ContainerCreating"}}',
        log '{"level":"warn","message":"w"}', log '{"level":"error","message":"e"}',
        result(2, '{"success":true}')))
      local levels = {}
      for i, entry in ipairs(entries) do levels[i] = entry.level .. " " .. entry.source end
      assert.same({ "info log", "debug log", "warn log", "error log" }, levels)
      assert.equal("Waiting for deployment rollout...", entries[1].message)
      assert.is_nil(entries[1].data)
      assert.same({ pod = "nginx-abc123", phase = "ContainerCreating" }, entries[2].data)
    end)

    it("comes before the result", function()
      local order = {}
      host = hosts { log = function(entry) order[#order + 1] = entry.message end }
      local plugin = started { say(log '{"level":"info","message":"at work"}', result(2, '{"success":true}')) }
      assert(plugin:execute "any")
      order[#order + 1] = "done"
      assert.same({ "at work", "done" }, order)
    end)

    it("is shown from the verbosity level upwards", function()
      host = hosts { log = function(entry) entries[#entries + 1] = entry.message end, verbosity = "warn" }
      assert(outcome_of(log '{"level":"info","message":"i"}', log '{"level":"warn","message":"w"}',
        result(2, '{"success":true}')))
      assert.same({ "w" }, entries)
    end)

    it("is not answered, and a malformed one is reported", function()
      local plugin = started {
        say(log '{"message":"no level"}', log '{"level":"loud","message":"x"}', log "[]",
          result(2, '{"success":true}')),
        say(result(3, "{}")),
      }
      assert(plugin:execute("any", {}, { workdir = "/" }))
      plugin:stop()
      assert.equal(3, #entries)
      for _, entry in ipairs(entries) do assert.equal("a log message that is not as it should be", entry.message) end
      assert.equal('{"jsonrpc":"2.0","id":3,"method":"shutdown","params":{}}\n', line(3))
    end)
  end)

  describe("Shutdown", function()
    it("is sent and answered, and the extension exits", function()
      local plugin = started({ { say = { result(2, "{}") }, exit = 0 } }, nil, exit_status.wrap)
      plugin:stop()
      assert.equal(INITIALIZE .. '{"jsonrpc":"2.0","id":2,"method":"shutdown","params":{}}\n', record())
      assert.equal(0, exit_status.read(status_file))
    end)

    it("is followed at once by the end of input, for extensions that wait for it", function()
      local timeouts = { request = children.patience }
      local plugin = started({ say(result(2, "{}")) }, { stop_timeouts = timeouts }, exit_status.wrap)
      local begun = core.now()
      plugin:stop()
      assert.truthy(core.now() - begun < children.patience)
      assert.equal("(end of input)\n", line(3))
      assert.equal(0, exit_status.read(status_file))
    end)

    it("does not depend on the response", function()
      local refusal = failure(2, -32601, "Method not found: shutdown")
      local plugin = started({ say(refusal) }, nil, exit_status.wrap)
      plugin:stop()
      assert.equal(0, exit_status.read(status_file))
    end)
  end)

  describe("Error Handling", function()
    it("returns the code and message of a protocol error", function()
      for code, message in pairs {
        [-32700] = "Parse error", [-32600] = "Invalid request", [-32601] = "Unknown operation: appply",
        [-32602] = "Invalid params", [-32603] = "Internal error", [-32000] = "Operation failed",
        [-32002] = "Requirement not met",
      } do
        local err = err_of(failure(2, code, message))
        assert.same({ "remote", code, message }, { err.kind, err.code, err.message })
        assert.equal(("%s (code %d)"):format(message, code), tostring(err))
      end
    end)

    it("recognises a timeout by its code, because either side may notice it first", function()
      local err = err_of(failure(2, -32001, "Operation exceeded timeout"))
      assert.same({ "timeout", -32001, "Operation exceeded timeout" }, { err.kind, err.code, err.message })
    end)

    it("treats an error beside a null result as an error", function()
      local err = err_of '{"jsonrpc":"2.0","id":2,"result":null,"error":{"code":-32000,"message":"no"}}'
      assert.same({ "remote", -32000 }, { err.kind, err.code })
    end)

    it("treats an unknown operation as failed if the extension reports a failure", function()
      local outcome = assert(outcome_of(result(2, '{"success":false,"error":"unknown operation: any"}')))
      assert.same({ success = false, error = "unknown operation: any" }, outcome)
    end)

    it("reports a crash at once, with the exit status and the end of stderr", function()
      local plugin = started { { complain = "panic: runtime error", exit = 2 } }
      local begun = core.now()
      local outcome, err = plugin:execute("any", {}, { timeout = 600 })
      assert.is_nil(outcome)
      assert.same({ "closed", { code = 2 }, { "panic: runtime error" } }, { err.kind, err.exit, err.stderr })
      assert.equal("kubernetes ended with status 2: panic: runtime error", err.message)
      assert.truthy(core.now() - begun < children.patience)
    end)

    it("fails all pending calls after a crash, such as that of a scanner at a long line", function()
      local plugin = started { {}, { complain = "bufio.Scanner: token too long", exit = 1 } }
      local calls = {}
      for i = 1, 2 do
        calls[i] = function()
          return select(2, plugin:execute("any", { text = ("x"):rep(i * 40000) }, { timeout = 600 }))
        end
      end
      for _, err in ipairs(tasks.all(calls)) do
        assert.same({ "closed", { code = 1 } }, { err.kind, err.exit })
        assert.same({ "bufio.Scanner: token too long" }, err.stderr)
      end
    end)
  end)

  describe("Example Session", function()
    it("is what the host sends, byte for byte", function()
      local operations = '"create-namespace":{"params":{"type":"object"}},"condition":{"params":{"type":"object"}}'
      local plugin = assert(start {
        say(result(1, manifest(operations))),
        say(log '{"level":"info","message":"Creating namespace test-ns"}',
          result(2, '{"success":true,"message":"Created namespace test-ns"}')),
        say(log '{"level":"info","message":"Checking pod/nginx..."}',
          log '{"level":"info","message":"Waiting, status=ContainerCreating"}',
          result(3, '{"success":true,"message":"Pod nginx Ready=True"}')),
        { say = { result(4, "{}") }, exit = 0 },
      })
      local workdir = "/tasks/create-pod"
      assert(plugin:execute("create-namespace", { name = "test-ns" }, { workdir = workdir, phase = "setup" }))
      local args = ordered({ "resource", "conditionType" }, { conditionType = "Ready", resource = "pod/nginx" })
      local outcome = assert(plugin:execute("condition", args, {
        workdir = workdir, phase = "verify", agent = { prompt = "Create nginx pod", output = "Done" },
      }))
      assert.same({ success = true, message = "Pod nginx Ready=True" }, outcome)
      plugin:stop()
      assert.equal(table.concat {
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"0.0.1"}}\n',
        '{"jsonrpc":"2.0","id":2,"method":"execute","params":{"operation":"create-namespace","args":{"name":',
        '"test-ns"},"context":{"workdir":"/tasks/create-pod","phase":"setup"}}}\n',
        '{"jsonrpc":"2.0","id":3,"method":"execute","params":{"operation":"condition","args":{"resource":"pod/nginx",',
        '"conditionType":"Ready"},"context":{"workdir":"/tasks/create-pod","phase":"verify","agent":{"prompt":',
        '"Create nginx pod","output":"Done"}}}}\n',
        '{"jsonrpc":"2.0","id":4,"method":"shutdown","params":{}}\n',
      }, record())
      local messages = {}
      for i, entry in ipairs(entries) do messages[i] = entry.message end
      assert.same({
        "Creating namespace test-ns", "Checking pod/nginx...", "Waiting, status=ContainerCreating",
      }, messages)
    end)
  end)

  describe("Duration Format", function()
    it("is accepted wherever a host takes a time", function()
      local timeouts = { handshake_timeout = "1m", timeout = "1h30m", stop_timeouts = { request = "100ms" } }
      local plugin = started({ say(result(2, '{"success":true}')), {} }, timeouts)
      assert(plugin:execute("any", {}))
      assert.matches('"timeout":"1h30m0s"', line(2), 1, true)
      for name, wrong in pairs { handshake_timeout = "1 minute", timeout = "", stop_timeouts = { request = "soon" } } do
        assert.has_error(function() start({}, { [name] = wrong }) end)
      end
      assert.has_error(function() plugin:execute("any", {}, { timeout = "5 minutes" }) end)
    end)

    it("is the format in which the host sends times", function()
      local plugin = started { {} }
      local begun = core.now()
      local outcome, err = plugin:execute("any", {}, { timeout = "100ms" })
      assert.is_nil(outcome)
      assert.same({ "timeout", 'kubernetes: no answer to "execute" within 0.1s' }, { err.kind, err.message })
      assert.truthy(core.now() - begun >= 0.1)
    end)
  end)
end)
