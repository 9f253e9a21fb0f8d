-- The host side of Reginald's protocol, against strict plugins of both releases.
local children = require "spec.support.children"
local core = require "pintle.core"
local logged_host = require "spec.support.logged_host"
local loop = require "pintle.loop"
local tasks = require "pintle.task"

local json = core.json

local nothing_left, host, entries, record

logged_host.start_first()

before_each(function()
  nothing_left = children.stock()
  record = os.tmpname()
  host, entries = logged_host.open { dialect = "reginald" }
end)

after_each(function()
  host:stop()
  host = nil
  os.remove(record)
  nothing_left()
end)

local function command(release, ...)
  return { "lua5.4", ("spec/support/reginald/%s_plugin.lua"):format(release), record, ... }
end

local DESCRIBED = json.decode [[{
  "name": "installer", "executable": "run", "version": "2.0.0", "description": "Installs",
  "config": [{ "value": 3, "type": "int", "key": "depth" }],
  "commands": [
    { "name": "versions", "usage": "versions", "description": "List them", "aliases": ["v"], "config": [
      { "value": true, "type": "bool", "key": "yes" }, { "value": [], "type": "stringList", "key": "names" },
      { "value": [1], "type": "intList", "key": "counts" }, { "value": "", "type": "path", "key": "file" },
      { "value": "{\"inner\":\"i\"}", "type": "string", "key": "nested", "flag": { "description": "(JSON)" } },
      { "alternatives": [{ "value": [], "type": "pathList", "key": "links" },
        { "key": "links", "keyType": "path", "values": [{ "value": "", "type": "path", "key": "src" }] }] },
      { "key": "table", "keyType": "string", "values": [] } ] },
    { "name": "list", "commands": [{ "name": "all" }] },
    { "name": "fail" } ],
  "tasks": [
    { "taskType": "install", "config": [
      { "value": 7, "type": "int", "key": "n" }, { "value": "", "type": "string", "key": "more" } ] },
    { "taskType": "fail" } ]
}]]

local function start(release, given, ...)
  local settings = { command = command(release, ...), name = release }
  for name, value in pairs(given or {}) do settings[name] = value end
  return host:start(settings)
end

-- The bodies that the plugin has received; headers are checked.
local function sent()
  local file <close> = assert(io.open(record, "rb"))
  local text, bodies, at = file:read "a", {}, 1
  while at <= #text do
    local length, start_of_body = text:match("^Content%-Length: (%d+)\r\n\r\n()", at)
    assert(length, "unexpected: " .. text:sub(at))
    bodies[#bodies + 1] = text:sub(start_of_body, start_of_body + length - 1)
    at = start_of_body + length + 1
  end
  return bodies
end

local function logged(pattern)
  for _, entry in ipairs(entries) do
    if tostring(entry):find(pattern) then return tostring(entry) end
  end
end

local function assert_no_warning()
  for _, entry in ipairs(entries) do
    assert.truthy(entry.level == "debug" or entry.level == "info", tostring(entry))
  end
end

describe("a host of june", function()
  it("sends exactly these messages", function()
    local plugin <close> = assert(start("june", { options = { release = "june" } }))
    assert(plugin:execute("sleep", { time = 2 }))
    assert(plugin:execute("echo", { msg = "hi" }, { workdir = "/abs/dir" }))
    plugin:stop()
    assert.same({
      '{"jsonrpc":"2.0","id":1,"method":"handshake","params":{"protocol":"rpp","protocolVersion":0}}',
      '{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"logging":{"enabled":true,"level":"TRACE"},'
        .. '"config":[{"key":"greeting","value":"hi","type":"string"}]}}',
      '{"jsonrpc":"2.0","id":3,"method":"setupCommand","params":{"name":"sleep","args":null,"config":['
        .. '{"key":"time","value":2,"type":"int"},{"key":"deep","value":false,"type":"bool"}]}}',
      '{"jsonrpc":"2.0","id":4,"method":"runCommand","params":{"name":"sleep"}}',
      '{"jsonrpc":"2.0","id":5,"method":"validateTask","params":{"type":"echo","config":['
        .. '{"key":"msg","value":"hi","type":"string"}]}}',
      '{"jsonrpc":"2.0","id":6,"method":"runTask","params":{"type":"echo","dir":"/abs/dir","config":['
        .. '{"key":"msg","value":"hi","type":"string"}]}}',
      '{"jsonrpc":"2.0","id":7,"method":"shutdown","params":null}',
      '{"jsonrpc":"2.0","method":"exit","params":null}',
    }, sent())
  end)

  it("lists the operations that the plugin has declared", function()
    local plugin <close> = assert(start "june")
    assert.equal("sleeper 0.1.0", plugin.manifest.name .. " " .. plugin.manifest.version)
    assert.same({ "echo", "fail", "sleep", "task:fail" }, plugin.manifest.names)
    assert.same({
      type = "object", required = {}, additionalProperties = false,
      properties = {
        time = { type = "integer", default = 1, description = "seconds" }, deep = { type = "boolean", default = false },
      },
    }, plugin.manifest.operations.sleep.params)
    assert.equal("sleep [options]", plugin.manifest.operations.sleep.description)
    assert.equal(true, plugin.manifest.operations.echo.params)
  end)

  it("checks arguments before it sends anything", function()
    local plugin <close> = assert(start "june")
    local before = #sent()
    for args, message in pairs {
      [{ time = "2" }] = 'Invalid params for "sleep": at /time: expected integer, got string "2"',
      [{ tme = 2 }] = 'Invalid params for "sleep": property "tme" is not allowed',
    } do
      local outcome, err = plugin:execute("sleep", args)
      assert.is_nil(outcome)
      assert.same({ "invalid", message }, { err.kind, err.message })
    end
    assert.equal("Unknown operation: slep", select(2, plugin:execute("slep", {})).message)
    assert.equal(before, #sent())
  end)

  it("sends the config and the log level", function()
    local plugin <close> = assert(start("june", { config = { greeting = "moin" }, options = { level = "debug+2" } }))
    plugin:stop()
    assert.equal('{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"logging":{"enabled":true,'
      .. '"level":"debug+2"},"config":[{"key":"greeting","value":"moin","type":"string"}]}}', sent()[2])
    local line = assert(logged "initialized")
    assert.matches("^debug june: initialized {", line)
    assert.matches('"level":"debug+2"', line, 1, true)
    for config, message in pairs {
      [{ greeting = 1 }] = 'june: Invalid params for "config": at /greeting: expected string, got integer 1',
      [{ depth = 1 }] = 'june: Invalid params for "config": property "depth" is not allowed',
      [json.array { 1 }] = "june: config: an object expected, got array",
    } do
      local refused, err = start("june", { config = config })
      assert.is_nil(refused)
      assert.same({ "invalid", message }, { err.kind, err.message })
    end
  end)

  it("returns failures as outcomes, and refusals as errors", function()
    local plugin <close> = assert(start "june")
    local failure = { success = false, error = "it failed", message = "it failed" }
    assert.same(failure, (plugin:execute("fail", {})))
    assert.same(failure, (plugin:execute("task:fail", {})))
    local outcome, err = plugin:execute("echo", {})
    assert.is_nil(outcome)
    assert.same({ "remote", -32050, "msg is needed" }, { err.kind, err.code, err.message })
    assert.same({ success = true }, (plugin:execute("sleep", {})))
    assert.matches('^info  june: slept {', logged "slept")
  end)

  it("sends values without a declared type by the type that they have", function()
    local plugin <close> = assert(start "june")
    assert(plugin:execute("echo", { msg = "hi", n = 1, yes = true, half = 0.5, list = { 1, "a" } }))
    plugin:stop()
    assert.matches('"config":[{"key":"half","value":"0.5","type":"string"},'
      .. '{"key":"list","value":"[1,\\"a\\"]","type":"string"},{"key":"msg","value":"hi","type":"string"},'
      .. '{"key":"n","value":1,"type":"int"},{"key":"yes","value":true,"type":"bool"}]', sent()[4], 1, true)
  end)

  it("does not set up a command again before it has run", function()
    local plugin <close> = assert(start "june")
    local running = {}
    for i = 1, 3 do running[i] = tasks.start(function() return plugin:execute("sleep", { time = i }) end) end
    for i = 1, 3 do assert.is_true(running[i]:await().success) end
    local times = {}
    for _, entry in ipairs(entries) do
      if entry.message == "slept" then times[#times + 1] = entry.data.time end
    end
    assert.same({ 1, 2, 3 }, times)
    local order = {}
    for _, body in ipairs(sent()) do order[#order + 1] = body:match '"method":"(%l+)Command"' end
    assert.equal("setup run setup run setup run", table.concat(order, " "))
  end)

  it("answers requests of a plugin with its handlers", function()
    local plugin <close> = assert(start("june", { handlers = { weather = function() return "fine" end } }, "asking"))
    assert(plugin:execute("sleep", {}))
    assert.matches('"result":"fine"', logged "weather" or logged "fine", 1, true)
    local other <close> = assert(start("june", { name = "other" }, "asking"))
    assert(other:execute("sleep", {}))
    assert.matches("%-32601", logged "Method not found")
  end)
end)

describe("a host of july", function()
  it("sends exactly these messages", function()
    local plugin <close> = assert(start("july", { discovered_manifest = DESCRIBED }))
    assert(plugin:execute("versions", { yes = false, names = { "a" }, file = "/x", nested = { inner = "j" } }))
    assert(plugin:execute("list.all"))
    assert(plugin:execute("install", { more = { a = 1 } }))
    plugin:stop()
    local configured = '"pluginConfig":[{"value":3,"type":"int","key":"depth"}]'
    assert.same({
      '{"jsonrpc":"2.0","id":1,"method":"handshake","params":{"protocol":"reginald","protocolVersion":0}}',
      '{"jsonrpc":"2.0","id":2,"method":"runCommand","params":{"cmd":"versions","config":['
        .. '{"value":false,"type":"bool","key":"yes"},{"value":["a"],"type":"stringList","key":"names"},'
        .. '{"value":[1],"type":"intList","key":"counts"},{"value":"/x","type":"path","key":"file"},'
        .. '{"value":"{\\"inner\\":\\"j\\"}","type":"string","key":"nested"}],'
        .. configured .. "}}",
      '{"jsonrpc":"2.0","id":3,"method":"runCommand","params":{"cmd":"list.all",' .. configured .. "}}",
      '{"jsonrpc":"2.0","id":4,"method":"runTask","params":{"taskType":"install","config":['
        .. '{"value":7,"type":"int","key":"n"},{"value":"{\\"a\\":1}","type":"string","key":"more"}]}}',
      '{"jsonrpc":"2.0","id":5,"method":"shutdown","params":null}',
      '{"jsonrpc":"2.0","method":"exit","params":null}',
    }, sent())
    assert.matches('^info  july: ran versions {"config":5}', logged "ran versions")
  end)

  it("lists the operations of the manifest.json", function()
    local plugin <close> = assert(start("july", { discovered_manifest = DESCRIBED }))
    local manifest = plugin.manifest
    assert.same({ "installer", "2.0.0", "Installs" }, { manifest.name, manifest.version, manifest.description })
    assert.same({ "fail", "install", "list", "list.all", "task:fail", "versions" }, manifest.names)
    assert.equal("List them", manifest.operations.versions.description)
    local properties = manifest.operations.versions.params.properties
    assert.same({ type = "array", items = { type = "integer" }, default = { 1 } }, properties.counts)
    assert.same({ type = "string", format = "path", default = "" }, properties.file)
    assert.same({ default = { inner = "i" }, description = "(JSON)" }, properties.nested)
    assert.same({ {}, {} }, { properties.links, properties.table })
    assert.matches("at /counts/0", select(2, plugin:execute("versions", { counts = { "x" } })).message)
  end)

  it("sends an entry with alternatives as the first that fits, and a map as JSON text", function()
    local plugin <close> = assert(start("july", { discovered_manifest = DESCRIBED }))
    assert(plugin:execute("versions", { links = { "a" }, table = { k = 1 } }))
    assert(plugin:execute("versions", { links = { a = { src = "b" } } }))
    plugin:stop()
    assert.matches('{"value":["a"],"type":"pathList","key":"links"},'
      .. '{"value":"{\\"k\\":1}","type":"string","key":"table"}]', sent()[2], 1, true)
    assert.matches('{"value":"{\\"a\\":{\\"src\\":\\"b\\"}}","type":"string","key":"links"}]', sent()[3], 1, true)
  end)

  it("returns failures as outcomes, and refusals as errors", function()
    local plugin <close> = assert(start("july", { discovered_manifest = DESCRIBED }))
    local failure = { success = false, error = "it failed", message = "it failed" }
    assert.same(failure, (plugin:execute("fail", {})))
    assert.same(failure, (plugin:execute("task:fail", {})))
    local outcome, err = plugin:execute("list", {})
    assert.is_nil(outcome)
    assert.same({ "remote", -32002 }, { err.kind, err.code })
  end)

  it("sends any arguments without a manifest.json: the plugin checks them", function()
    local plugin <close> = assert(start("july", { options = { release = "july" } }))
    assert.is_nil(plugin.manifest.version)
    assert.is_true(plugin.manifest.is_open)
    assert.is_true(plugin:execute("versions", { a = 1 }).success)
    assert.is_true(plugin:execute("task:install", { n = 1 }).success)
    assert.equal(-32001, select(2, plugin:execute("nope", {})).code)
    assert.matches('"cmd":"versions","config":[{"value":1,"type":"int","key":"a"}],"pluginConfig":[]', sent()[2], 1,
      true)
  end)

  it("refuses a name that differs from the manifest.json", function()
    local discovered_manifest = setmetatable({ name = "other" }, { __index = DESCRIBED })
    local plugin, err = start("july", { discovered_manifest = discovered_manifest })
    assert.is_nil(plugin)
    assert.same({ "protocol", 'july: its name is "installer" in the handshake, and "other" in its manifest.json' },
      { err.kind, err.message })
  end)

  it("warns if a shutdown is not answered with true", function()
    local plugin <close> = assert(start("july", { discovered_manifest = DESCRIBED }, "untrue"))
    plugin:stop()
    assert.equal("warn  july: its answer to shutdown: true expected, got object", logged "shutdown")
    entries = {}
    local other <close> = assert(start("july", { discovered_manifest = DESCRIBED, name = "other" }))
    other:stop()
    assert.is_nil(logged "shutdown")
  end)
end)

describe("a host without the option release", function()
  it("negotiates the release on one connection", function()
    local plugin <close> = assert(start "june")
    assert.equal("sleeper", plugin.manifest.name)
    local other <close> = assert(start "july")
    assert.equal("installer", other.manifest.name)
    other:stop()
    plugin:stop()
    local methods = {}
    for i, body in ipairs(sent()) do methods[i] = body:match '"protocol":"(%l+)"' or body:match '"method":"(%l+)"' end
    assert.equal("rpp initialize rpp reginald shutdown exit shutdown exit", table.concat(methods, " "))
  end)

  it("returns the plugin's refusal if it speaks neither release", function()
    local plugin, err = start("july", nil, "refusing")
    assert.is_nil(plugin)
    assert.same({ "remote", -32000, "july refused to start: not that protocol" }, { err.kind, err.code, err.message })
  end)

  it("gives up when the handshake times out", function()
    local begun = core.now()
    local plugin, err = start("july", { handshake_timeout = 0.2 }, "silent")
    assert.is_nil(plugin)
    assert.equal("timeout", err.kind)
    assert.truthy(core.now() - begun < 5)
  end)

  it("waits five seconds for a handshake, and no longer", function()
    local begun = core.now()
    local plugin, err = start("june", { options = { release = "june" }, handshake_timeout = 60 }, "silent")
    assert.is_nil(plugin)
    assert.matches('no answer to "handshake" within 5s', err.message)
    assert.truthy(core.now() - begun >= 5)
  end)

  it("waits five seconds for initialize, and no longer", function()
    local plugin, err = start("june", { handshake_timeout = 2 }, "idle")
    assert.is_nil(plugin)
    assert.matches('no answer to "initialize" within 2s', err.message)
  end)

  it("refuses a plugin of another release than the option says", function()
    local plugin, err = start("july", { options = { release = "june" } })
    assert.is_nil(plugin)
    assert.equal("july refused to start: not that protocol", err.message)
  end)

  it("refuses unknown and invalid options", function()
    for options, message in pairs {
      [{ relase = "june" }] = 'odd: options: there is no "relase"',
      [{ release = "may" }] = 'odd: options.release: "june" or "july" expected, got "may"',
      [{ level = "loud" }] = 'odd: options.level: TRACE, DEBUG, INFO, WARN or ERROR expected, got "loud"',
    } do
      local plugin, err = start("june", { options = options, name = "odd" })
      assert.is_nil(plugin)
      assert.same({ "invalid", message }, { err.kind, err.message })
    end
  end)

  -- A plugin with a fixed answer to the handshake.
  local function answering(result)
    local code = [[
      io.read "L" io.read "L"
      local body = ('{"jsonrpc":"2.0","id":1,"result":%s}'):format(arg[1])
      io.write("Content-Length: ", #body, "\r\n\r\n", body)
      io.flush()
      while io.read(1) do end
    ]]
    return host:start { command = children.lua(code, result), name = "odd" }
  end

  it("refuses invalid answers to the handshake", function()
    for result, message in pairs {
      ["null"] = "odd: its answer to handshake: object expected, got null",
      ['{"name":"x"}'] = 'odd: its answer to handshake: protocol: "rpp" or "reginald" expected, got null',
      ['{"protocol":"rpp","protocolVersion":1}'] =
        "odd: it speaks version 1 of the protocol; supported is 0",
      ['{"protocol":"rpp","protocolVersion":0}'] = "odd: its answer to handshake: name: string expected, got nil",
    } do
      local plugin, err = answering(result)
      assert.is_nil(plugin)
      assert.same({ "protocol", message }, { err.kind, err.message })
    end
  end)

  it("takes the release from the answer to the handshake", function()
    local plugin <close> = assert(answering '{"name":"x","protocol":"reginald","protocolVersion":0}')
    assert.is_true(plugin.manifest.is_open)
  end)
end)

describe("a host whose plugin repeats its answers", function()
  it("survives duplicate, late and unexpected answers", function()
    for release, operation in pairs { june = "sleep", july = "versions" } do
      local discovered_manifest = release == "july" and DESCRIBED or nil
      local given = { discovered_manifest = discovered_manifest, name = release .. "-twice" }
      local plugin <close> = assert(start(release, given, "double"))
      for _ = 1, 20 do assert.is_true(plugin:execute(operation, {}).success) end
      assert_no_warning()
    end
  end)

  it("survives the two answers to a request after a shutdown", function()
    local plugin <close> = assert(start("july", { discovered_manifest = DESCRIBED }))
    assert.is_true(plugin:call("shutdown", json.null))
    for _ = 1, 5 do
      assert.equal(-32600, select(2, plugin:call("runCommand", { cmd = "versions", pluginConfig = json.array() })).code)
    end
    assert_no_warning()
  end)
end)

describe("the strict plugins", function()
  it("exit at an unknown member", function()
    for release, params in pairs {
      june = { name = "sleep", extra = 1 }, july = { cmd = "versions", pluginConfig = json.array(), extra = 1 },
    } do
      local discovered_manifest = release == "july" and DESCRIBED or nil
      local plugin = assert(start(release, { discovered_manifest = discovered_manifest, name = release .. "-mortal" }))
      local _, err = plugin:call("runCommand", params)
      assert.equal("closed", err.kind)
      assert.same({ code = 3 }, err.exit)
      assert.equal('died: runCommand: unknown member "extra"', err.stderr[#err.stderr])
      plugin:stop()
    end
  end)
end)

describe("a host of Reginald", function()
  it("warns of a malformed log message", function()
    local code = [[
      local function say(body) io.write("Content-Length: ", #body, "\r\n\r\n", body) io.flush() end
      io.read "L" io.read "L"
      for _, params in ipairs(arg) do say('{"jsonrpc":"2.0","method":"log","params":' .. params .. '}') end
      say '{"jsonrpc":"2.0","id":1,"result":{"name":"x","protocol":"reginald","protocolVersion":0}}'
      while io.read(1) do end
    ]]
    local plugin <close> = assert(host:start {
      command = children.lua(code, '{"level":"loud","msg":"m"}', '{"level":"info"}', "null",
        '{"level":"warn-4","msg":"fine","fields":{"request":1,"outcome":"message"}}', '{"level":"ERROR","msg":"bad"}'),
      name = "talker", stop_timeouts = { request = 0 },
    })
    local lines = {}
    for i, entry in ipairs(entries) do lines[i] = entry.level .. " " .. entry.message end
    local odd = "warn malformed log message"
    assert.same({ odd, odd, odd, "info fine", "error bad" }, lines)
    assert.truthy(plugin)
  end)

  -- Few handlers may run at once, and they are slow, so that log messages are handled after the response.
  it("finds the outcome of an operation even if the log is delayed", function()
    local code = [[
      local function say(body) io.write("Content-Length: ", #body, "\r\n\r\n", body) end
      local function hear() local length = io.read "L":match "%d+" io.read "L" io.read(math.tointeger(length)) end
      hear()
      say '{"jsonrpc":"2.0","id":1,"result":{"name":"x","protocol":"reginald","protocolVersion":0}}'
      io.flush()
      hear()
      for id = 1, 2 do say('{"jsonrpc":"2.0","id":' .. id .. ',"method":"weather","params":null}') end
      local fields = '{"request":2,"outcome":"message"}'
      say('{"jsonrpc":"2.0","method":"log","params":{"level":"info","msg":"m","fields":' .. fields .. '}}')
      say '{"jsonrpc":"2.0","id":2,"result":{}}'
      io.flush()
      while io.read(1) do end
    ]]
    local plugin <close> = assert(host:start {
      command = children.lua(code), options = { release = "july" }, limits = { requests = 1 },
      stop_timeouts = { request = 0 }, handlers = { weather = function() return loop.sleep(0.3) end },
    })
    assert.equal("m", plugin:execute("go", {}).message)
  end)
end)
