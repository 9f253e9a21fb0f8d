-- The written specification of Reginald's protocol, version 0, and its earlier draft: heading by heading, sentence by
-- sentence. Behaviour of the programs beyond it is in the other specs about Reginald.
local children = require "spec.support.children"
local core = require "pintle.core"
local july_host = require "spec.support.reginald.july_host"
local june_host = require "spec.support.reginald.june_host"
local logged_host = require "spec.support.logged_host"
local peers = require "pintle.peer"
local pintle = require "pintle"
local schema = require "pintle.schema"
local tasks = require "pintle.task"

local json = core.json

local nothing_left

logged_host.start_first()

before_each(function() nothing_left = children.stock() end)
after_each(function() nothing_left() end)

local WORKBENCH = { "lua5.4", "spec/support/reginald/workbench.lua" }
local HELLO = '{"jsonrpc":"2.0","id":1,"method":"handshake","params":{"protocol":"reginald","protocolVersion":0}}'
local ANSWER = '{"jsonrpc":"2.0","id":1,"result":{"name":"workbench","protocol":"reginald","protocolVersion":0}}'

local function workbench() return july_host(WORKBENCH) end

local function shaken()
  local host = workbench()
  host:call("handshake", '{"protocol":"reginald","protocolVersion":0}')
  return host
end

local function framed(body) return ("Content-Length: %d\r\n\r\n%s"):format(#body, body) end

-- A plugin that reads one message and writes these bytes; what it was sent is in the file `record`.
local function scripted(bytes, record)
  local code = [[
    local record = arg[2] and io.open(arg[2], "wb")
    local function note(text) if record then record:write(text) record:flush() end return text end
    note(io.read "L")
    io.write(arg[1])
    io.flush()
    for c in io.lines(nil, 1) do note(c) end
  ]]
  return children.lua(code, bytes, record)
end

-- A pintle host that has started such a plugin, and its log.
local function hosting(bytes, record)
  local logged = {}
  local host = pintle.host {
    dialect = "reginald", log = function(entry) logged[#logged + 1] = entry.level .. " " .. entry.message end,
    stop_timeouts = { request = 0 },
  }
  local plugin, err = host:start { command = scripted(bytes, record), name = "x", options = { release = "july" } }
  return host, plugin, logged, err
end

local GREETING = '{"jsonrpc":"2.0","id":1,"result":{"name":"x","protocol":"reginald","protocolVersion":0}}'

describe("Reginald Plugin Protocol Version 0 Specification", function()
  it("has plugins that are executables, invoked with no arguments", function()
    local path = os.tmpname()
    local file <close> = assert(io.open(path, "w"))
    file:write("#!/bin/sh\n[ $# -eq 0 ] || exit 9\nexec lua5.4 examples/greeter/plugin.lua\n")
    file:close()
    assert(os.execute("chmod 755 " .. path))
    local host <close> = pintle.host { dialect = "reginald", log = false }
    local plugin <close> = assert(host:start { command = { path } })
    assert.equal("Hello, Ada", plugin:execute("greet", { name = "Ada" }).message)
    os.remove(path)
  end)

  it("uses standard input and output", function()
    local host <close> = workbench()
    host:say(HELLO)
    assert.equal(ANSWER, host:hear())
  end)

  it("can be used by any language that reads stdin and writes stdout", function()
    local script = [[
      body='{"jsonrpc":"2.0","id":1,"result":{"name":"sh","protocol":"reginald","protocolVersion":0}}'
      read -r length && printf 'Content-Length: %s\r\n\r\n%s' "${#body}" "$body"
      cat > /dev/null
    ]]
    local host <close> = pintle.host { dialect = "reginald", log = false, stop_timeouts = { request = 0 } }
    local plugin <close> = assert(host:start { command = children.sh(script), options = { release = "july" } })
    assert.equal("sh", plugin.manifest.name)
  end)

  it("works over network connections as well", function()
    local near, far = core.socketpair()
    local plugin = pintle.plugin { name = "x", version = "1.0.0" }
    plugin:operation("text", {}, function() return "done" end)
    local serving = tasks.start(function() return plugin:serve { read = far, write = far, exit = false } end)
    local peer = assert(peers.open { read = near, write = near, framing = "header" })
    assert.equal("x", peer:call("handshake", { protocol = "reginald", protocolVersion = 0 }).name)
    assert.same({}, (peer:call("runCommand", { cmd = "text" })))
    peer:close()
    assert.equal(0, serving:await(children.patience))
  end)
end)

describe("The Protocol", function()
  it("has a header and a content, separated by CR LF", function()
    local host <close> = workbench()
    host:write(framed(HELLO))
    while #host.rest < 16 do
      children.await(host.process.stdout)
      host.rest = host.rest .. (host.process.stdout:read() or "")
    end
    assert.equal(("Content-Length: %d\r\n\r\n{"):format(#ANSWER), host.rest:sub(1, #framed(ANSWER) - #ANSWER + 1))
    assert.equal(ANSWER, host:hear())
  end)
end)

describe("Header", function()
  local function answered(header)
    local host <close> = workbench()
    host:write(header:format(#HELLO) .. HELLO)
    return host:hear() == ANSWER
  end

  it("has fields of a name and a value, with a colon and any number of spaces between them", function()
    for _, header in ipairs {
      "Content-Length: %d\r\n\r\n", "Content-Length:%d\r\n\r\n", "Content-Length:     %d\r\n\r\n",
    } do
      assert.is_true(answered(header))
    end
  end)

  it("has names of letters and hyphens, and values of any ASCII but CR and LF", function()
    assert.is_true(answered "X-Any-Thing: a: b, \"c\" (d)=\t~\r\nContent-Length: %d\r\nOther:\r\n\r\n")
  end)

  it("ends with an empty line, wherever it is cut", function()
    local host <close> = workbench()
    for c in framed(HELLO):gmatch "." do host:write(c) end
    assert.equal(ANSWER, host:hear())
  end)

  it("is ASCII", function()
    local host <close> = shaken()
    host:write "Content-Length: 2\r\nX: ä\r\n\r\n{}"
    local err = json.decode(host:hear()).error
    assert.equal(-32600, err.code)
    assert(host:call("runCommand", '{"cmd":"nothing"}'))
  end)

  it("requires a Content-Length, an integer", function()
    for _, header in ipairs { "Content-Type: x\r\n\r\n", "Content-Length: many\r\n\r\n" } do
      local host <close> = workbench()
      host:write(header)
      assert.equal(-32600, json.decode(host:hear()).error.code)
      host:say(HELLO)
      assert.equal(ANSWER, host:hear())
    end
  end)

  it("has the length in bytes", function()
    local host <close> = june_host { "lua5.4", "examples/greeter/plugin.lua" }
    host:call("handshake", '{"protocol":"rpp","protocolVersion":0}')
    host:call("setupCommand", '{"name":"greet","config":[{"key":"name","value":"Ådä","type":"string"}]}')
    host:call("runCommand", '{"name":"greet"}')
    assert.equal("Hello, Ådä", host.logged[#host.logged].msg)
    assert.is_nil(host.last_mistake)
  end)

  it("may come apart from the content", function()
    local host <close> = workbench()
    host:say(HELLO) -- in two writes
    assert.equal(ANSWER, host:hear())
    local ours <close>, plugin = hosting(framed(GREETING))
    assert.truthy(ours and plugin)
  end)
end)

describe("Content", function()
  it("is JSON-RPC 2.0, written with any spaces", function()
    local host <close> = workbench()
    host:say(HELLO:gsub("[{},:]", "%0\r\n\t "))
    assert.equal(ANSWER, host:hear())
  end)

  it("is a request, a response or a notification; anything else is refused", function()
    local host <close> = workbench()
    for body, code in pairs { ["1"] = -32600, ['{"jsonrpc":"2.0"}'] = -32600, ["{"] = -32700, ["nonsense"] = -32700 } do
      host:say(body)
      local answer = json.decode(host:hear())
      assert.same({ code, json.null }, { answer.error.code, answer.id })
    end
    host:say(HELLO)
    assert.equal(ANSWER, host:hear())
  end)
end)

describe("JSON-RCP Extension", function()
  it("lets the plugin send notifications, so that the log is in one place", function()
    local host <close> = shaken()
    host:call("runCommand", '{"cmd":"log"}')
    assert.equal("at debug", host.logged[2].msg)
    local line = '{"jsonrpc":"2.0","method":"log","params":{"time":"2025-07-06T10:00:00Z","msg":"hello","attrs":[],'
      .. '"level":"WARN"}}'
    local ours <close>, plugin, logged = hosting(framed(line) .. framed(GREETING))
    assert.truthy(ours and plugin)
    assert.same({ "warn hello" }, logged)
  end)

  it("of the draft lets the plugin send requests, and the client may respond", function()
    local record = os.tmpname()
    local ours <close>, plugin = hosting(
      framed '{"jsonrpc":"2.0","id":"a","method":"weather","params":null}' .. framed(GREETING), record)
    assert.truthy(plugin)
    ours:stop()
    local file <close> = assert(io.open(record))
    assert.matches('{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"Method not found: weather"}}',
      file:read "a", 1, true)
    os.remove(record)
  end)

  it("is used by pintle plugins only for the log, as in the later text and the programs", function()
    local host <close> = shaken()
    host:call("runCommand", '{"cmd":"ask"}')
    assert.is_false(host.hung)
  end)
end)

-- The types of the text, in the words of JSON Schema.
local id = { type = { "integer", "string" } }
local function message(properties, required, more)
  local all = { jsonrpc = { const = "2.0" } }
  for name, value in pairs(properties) do all[name] = value end
  local discovered_manifest = { type = "object", properties = all, required = { "jsonrpc", table.unpack(required) },
    additionalProperties = false }
  for name, value in pairs(more or {}) do discovered_manifest[name] = value end
  return discovered_manifest
end
local params = { type = { "array", "object", "null" } }
local failure = { type = "object", required = { "code", "message" }, additionalProperties = false,
  properties = { code = { type = "integer" }, message = { type = "string" }, data = true } }
local REQUEST = message({ id = id, method = { type = "string" }, params = params }, { "id", "method" })
local NOTIFICATION = message({ method = { type = "string" }, params = params }, { "method" })
local RESPONSE = message({ id = { type = { "integer", "string", "null" } }, result = true, error = failure }, { "id" },
  { oneOf = { { required = { "result" } }, { required = { "error" } } } })

describe("Base Types", function()
  it("are those of everything that is sent, from both sides", function()
    local from_host = assert(schema.compile { anyOf = { REQUEST, NOTIFICATION } })
    local from_plugin = assert(schema.compile { anyOf = { RESPONSE, NOTIFICATION } })
    local record = os.tmpname()
    local ours = pintle.host { dialect = "reginald", log = false }
    local plugin = assert(ours:start { command = { "lua5.4", "spec/support/reginald/june_plugin.lua", record } })
    plugin:execute("sleep", {})
    plugin:execute("echo", { msg = "x" })
    ours:stop()
    local count = 0
    for line in io.lines(record) do
      if line:sub(1, 1) == "{" then
        assert(from_host(json.decode(line)))
        count = count + 1
      end
    end
    os.remove(record)
    assert.equal(8, count)
    local host <close> = workbench()
    host:say(HELLO)
    host:say '{"jsonrpc":"2.0","id":2,"method":"runCommand","params":{"cmd":"log"}}'
    host:say '{"jsonrpc":"2.0","id":3,"method":"runCommand","params":{"cmd":"long-failure"}}'
    host:say '{"jsonrpc":"2.0","id":4,"method":"nonsense","params":null}'
    host:say "{"
    local bodies = 0
    repeat
      local body = json.decode(host:hear())
      assert(from_plugin(body))
      bodies = bodies + 1
    until body.id == json.null
    assert.equal(13, bodies)
  end)
end)

describe("Message", function()
  it('has "2.0" as its jsonrpc, always', function()
    local host <close> = workbench()
    for _, version in ipairs { '"1.0"', "2.0", "null" } do
      host:say((HELLO:gsub('"2.0"', version)))
      assert.equal(-32600, json.decode(host:hear()).error.code)
    end
    assert.matches('^{"jsonrpc":"2.0",', ANSWER)
    host:say(HELLO)
    assert.equal(ANSWER, host:hear())
  end)
end)

describe("Request", function()
  it("has an id that is an integer or a string, and is answered with it", function()
    local host <close> = shaken()
    for _, text in ipairs { "7", '"seven"', "0", "-1", '""', "9007199254740993" } do
      host:say(('{"jsonrpc":"2.0","id":%s,"method":"runTask","params":{"taskType":"nope"}}'):format(text))
      assert.matches('{"jsonrpc":"2.0","id":' .. text .. ',"error":', host:hear(), 1, true)
    end
  end)

  it("has params that are an array, an object or null, or none", function()
    local host <close> = shaken()
    for text, message_of in pairs {
      [',"params":[1]'] = "Invalid params: params: object expected, got array",
      [',"params":null'] = "Invalid params: cmd is missing", [""] = "Invalid params: cmd is missing",
      [',"params":{}'] = "Invalid params: cmd is missing",
      [',"params":[]'] = "Invalid params: params: object expected, got array",
    } do
      host:say('{"jsonrpc":"2.0","id":2,"method":"runCommand"' .. text .. "}")
      assert.equal(message_of, json.decode(host:hear()).error.message)
    end
  end)

  it("is always answered", function()
    local host <close> = shaken()
    for i = 2, 40 do host:say(('{"jsonrpc":"2.0","id":%d,"method":"nonsense","params":null}'):format(i)) end
    for i = 2, 40 do assert.equal(i, json.decode(host:hear()).id) end
  end)
end)

describe("Response", function()
  it("has the id of its request, or null if that is not known", function()
    local host <close> = workbench()
    for _, body in ipairs { '{"jsonrpc":"2.0","id":', '{"jsonrpc":"2.0","id":{},"method":"handshake"}' } do
      host:say(body)
      assert.equal(json.null, json.decode(host:hear()).id)
    end
    host:say(HELLO)
    assert.equal(1, json.decode(host:hear()).id)
  end)

  it("has either a result or an error, and never a null for the other", function()
    local host <close> = workbench()
    host:say(HELLO)
    local good = json.decode(host:hear())
    assert.is_nil(good.error)
    host:say '{"jsonrpc":"2.0","id":2,"method":"nonsense","params":null}'
    local bad = json.decode(host:hear())
    assert.is_nil(bad.result)
    host:say '{"jsonrpc":"2.0","id":3,"method":"shutdown","params":null}'
    assert.equal('{"jsonrpc":"2.0","id":3,"result":true}', host:hear())
  end)

  it("may have a null for the other if the other side sends it", function()
    local ours <close>, plugin = hosting(framed(GREETING:gsub("}$", ',"error":null}')))
    assert.truthy(ours and plugin)
    local other <close>, refused, _, err = hosting(
      framed '{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":-32000,"message":"no","data":null}}')
    assert.truthy(other)
    assert.is_nil(refused)
    assert.same({ -32000, "x refused to start: no" }, { err.code, err.message })
  end)
end)

describe("Error", function()
  it("has a code and a message, and data only if there is any", function()
    local host <close> = shaken()
    local _, err = host:call("runCommand", '{"cmd":"failure"}')
    assert.same({ code = -32003, message = "it is broken" }, err)
    _, err = host:call("runCommand", '{"cmd":"code"}')
    assert.same({ code = -4, message = "refused", data = { why = "because" } }, err)
  end)

  local CASES = {
    [-32700] = '{"jsonrpc":"2.0",', [-32600] = '{"jsonrpc":"2.0","id":2,"method":5}',
    [-32601] = '{"jsonrpc":"2.0","id":2,"method":"nonsense"}',
    [-32602] = '{"jsonrpc":"2.0","id":2,"method":"runCommand","params":[]}',
    [-32603] = '{"jsonrpc":"2.0","id":2,"method":"runCommand","params":{"cmd":"raise"}}',
  }

  for code, body in pairs(CASES) do
    it("has the code " .. code .. " for what it means", function()
      local host <close> = shaken()
      host:say(body)
      local answer
      repeat answer = json.decode(host:hear()) until answer.error
      assert.equal(code, answer.error.code)
    end)
  end
end)

describe("Notification", function()
  it("is not answered, whatever it is", function()
    local host <close> = shaken()
    host:say '{"jsonrpc":"2.0","method":"nonsense","params":null}'
    host:say '{"jsonrpc":"2.0","method":"nonsense","params":[1]}'
    host:say '{"jsonrpc":"2.0","method":"runCommand","params":{"cmd":"failure"}}'
    host:say '{"jsonrpc":"2.0","method":"handshake"}'
    host:say '{"jsonrpc":"2.0","id":9,"method":"nonsense","params":null}'
    local first
    repeat first = json.decode(host:hear()) until first.method ~= "log"
    assert.equal(9, first.id)
  end)
end)

describe("Reginald Plugin Protocol", function()
  it("accepts null for a missing member", function()
    local host <close> = shaken()
    assert(host:call("runCommand", '{"cmd":"nothing","config":null,"pluginConfig":null}'))
    local other <close> = june_host(WORKBENCH)
    other:call("handshake", '{"protocol":"rpp","protocolVersion":0}')
    assert(other:call("initialize", '{"logging":null,"config":null}'))
    assert(other:call("setupCommand", '{"name":"nothing","args":null,"config":null}'))
    assert(other:call("runTask", '{"type":"nothing","dir":null,"config":null}'))
  end)

  it("treats an id of null as a notification, which is not answered", function()
    local host <close> = shaken()
    host:say '{"jsonrpc":"2.0","id":null,"method":"runCommand","params":{"cmd":"nope"}}'
    host:say '{"jsonrpc":"2.0","id":null,"method":"nonsense","params":null}'
    host:say '{"jsonrpc":"2.0","id":null,"method":"raw","params":null}'
    assert(host:call("runCommand", '{"cmd":"nothing"}'))
    host:say '{"jsonrpc":"2.0","id":null,"method":"exit","params":null}'
    assert.same({ "", 0, "workbench: runCommand failed: Unknown command: nope\n" }, { host:finish() })
    local line = '{"jsonrpc":"2.0","id":null,"method":"log","params":{"level":"info","msg":"hello"}}'
    local record = os.tmpname()
    local ours <close>, plugin, logged = hosting(framed(line) .. framed(GREETING), record)
    assert.truthy(plugin)
    ours:stop()
    assert.same({ "info hello" }, logged)
    local file <close> = assert(io.open(record))
    assert.is_nil(file:read "a":find('"id":null', 1, true))
    os.remove(record)
  end)
end)
