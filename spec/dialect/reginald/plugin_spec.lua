-- The plugin side of Reginald's protocol, against strict hosts of both releases.
local children = require "spec.support.children"
local core = require "pintle.core"
local dialects = require "pintle.dialect"
local july_host = require "spec.support.reginald.july_host"
local june_host = require "spec.support.reginald.june_host"

local json = core.json

children.leave_nothing()

local GREETER = { "lua5.4", "examples/greeter/plugin.lua" }
local WORKBENCH = { "lua5.4", "spec/support/reginald/workbench.lua" }

local JUNE = '{"protocol":"rpp","protocolVersion":0}'
local JULY = '{"protocol":"reginald","protocolVersion":0}'
local LACKING = 'Requirement not met: the command "pintle-no-such-command" is not in PATH'
local LOGGING = '{"logging":{"enabled":true,"level":"TRACE"}}'

-- A host after the handshake.
local function june(command, initialize)
  local host = june_host(command or WORKBENCH)
  assert(host:call("handshake", JUNE))
  if initialize ~= false then assert(host:call("initialize", initialize or LOGGING)) end
  host.logged = {}
  return host
end

local function july(command)
  local host = july_host(command or WORKBENCH)
  assert(host:call("handshake", JULY))
  return host
end

local function error_of(host, method, params)
  local result, err = host:call(method, params)
  assert.is_nil(result)
  return { err.code, err.message }
end

local function entry(key, value, type_name)
  return ('{"key":%s,"value":%s,"type":"%s"}'):format(json.encode(key), json.encode(value), type_name)
end

-- The log messages that are not about progress.
local function said(host)
  local lines = {}
  for _, params in ipairs(host.logged) do
    if params.msg ~= "progress" then lines[#lines + 1] = params.msg end
  end
  return lines
end

describe("the exchange of june, byte for byte", function()
  local host

  -- The bodies of the responses.
  local function ask(count, method, params)
    host.id = host.id + 1
    host:say(('{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}'):format(host.id, method, params))
    local bodies = {}
    for i = 1, count do bodies[i] = host:hear() end
    return bodies
  end

  before_each(function() host = june_host(GREETER) end)
  after_each(function() host.process:close() end)

  it("consists of handshake, initialize, setup, run, validate, run, shutdown and exit", function()
    assert.same({ '{"jsonrpc":"2.0","id":1,"result":{"protocol":"rpp","protocolVersion":0,"name":"greeter",'
      .. '"version":"1.0.0","commands":[{"name":"greet","usage":"greet [options]","configs":['
      .. '{"key":"name","value":"","type":"string","flag":{"name":"name","shorthand":"","usage":"(required)"}},'
      .. '{"key":"times","value":1,"type":"int","flag":{"name":"times","shorthand":"","usage":""}}]}],'
      .. '"tasks":[{"type":"greet"}],"configs":[]}}' }, ask(1, "handshake", JUNE))
    assert.same({ '{"jsonrpc":"2.0","id":2,"result":{}}' }, ask(1, "initialize", LOGGING))
    assert.same({ '{"jsonrpc":"2.0","id":3,"result":{}}' },
      ask(1, "setupCommand", '{"name":"greet","args":null,"config":[{"key":"name","value":"Ada","type":"string"}]}'))
    assert.same({
      '{"jsonrpc":"2.0","method":"log","params":{"level":"info","msg":"greeting","fields":{"name":"Ada"}}}',
      '{"jsonrpc":"2.0","method":"log","params":{"level":"debug","msg":"progress",'
        .. '"fields":{"request":4,"progress":1.0}}}',
      '{"jsonrpc":"2.0","method":"log","params":{"level":"info","msg":"Hello, Ada",'
        .. '"fields":{"request":4,"outcome":"message"}}}',
      '{"jsonrpc":"2.0","id":4,"result":{}}',
    }, ask(4, "runCommand", '{"name":"greet"}'))
    local task = '{"type":"greet","config":[{"key":"name","value":"Bob","type":"string"}]}'
    assert.same({ '{"jsonrpc":"2.0","id":5,"result":{}}' }, ask(1, "validateTask", task))
    task = '{"type":"greet","dir":"/","config":[{"key":"name","value":"Bob","type":"string"}]}'
    assert.equal('{"jsonrpc":"2.0","id":6,"result":{}}', ask(4, "runTask", task)[4])
    assert.same({ '{"jsonrpc":"2.0","id":7,"result":null}' }, ask(1, "shutdown", "null"))
    host:notify "exit"
    assert.same({ "", 0, "" }, { host:finish() })
  end)
end)

describe("the exchange of july, byte for byte", function()
  it("consists of handshake, two runs, shutdown and exit", function()
    local host <close> = july_host(GREETER)
    host:say('{"jsonrpc":"2.0","id":1,"method":"handshake","params":' .. JULY .. "}")
    assert.equal('{"jsonrpc":"2.0","id":1,"result":{"name":"greeter","protocol":"reginald","protocolVersion":0}}',
      host:hear())
    host:say('{"jsonrpc":"2.0","id":2,"method":"runCommand","params":{"cmd":"greet","config":['
      .. '{"value":"Ada","type":"string","key":"name"}],"pluginConfig":[]}}')
    local time = '"%d+%-%d%d%-%d%dT%d%d:%d%d:%d%dZ"'
    assert.matches('^{"jsonrpc":"2.0","method":"log","params":{"time":' .. time
      .. ',"msg":"greeting","attrs":%[{"key":"name","value":"Ada"}%],"level":"INFO"}}$', host:hear())
    assert.matches('"msg":"progress","attrs":%[{"key":"progress","value":1.0},{"key":"request","value":2}%],'
      .. '"level":"DEBUG"}}$', host:hear())
    assert.matches('"msg":"Hello, Ada","attrs":%[{"key":"outcome","value":"message"},{"key":"request","value":2}%],'
      .. '"level":"INFO"}}$', host:hear())
    assert.equal('{"jsonrpc":"2.0","id":2,"result":{}}', host:hear())
    host:say('{"jsonrpc":"2.0","id":3,"method":"runTask","params":{"taskType":"greet","config":['
      .. '{"value":"","type":"string","key":"name"}]}}')
    host:hear()
    host:hear()
    assert.equal('{"jsonrpc":"2.0","id":3,"error":{"code":-32003,"message":"nobody to greet"}}', host:hear())
    host:say '{"jsonrpc":"2.0","id":4,"method":"shutdown","params":null}'
    assert.equal('{"jsonrpc":"2.0","id":4,"result":true}', host:hear())
    host:notify "exit"
    assert.same({ "", 0, "" }, { host:finish() })
  end)
end)

describe("a plugin of a strict host", function()
  it("sends only valid messages", function()
    for _, start in ipairs { june, july } do
      local host <close> = start()
      for name in ("log failure long-failure code nothing where ask needy everything"):gmatch "%S+" do
        host:call("runCommand", ('{"name":"%s","cmd":"%s"}'):format(name, name))
      end
      host:call("noSuchMethod", "{}")
      host:call("raw", "{}")
      assert.is_nil(host.last_mistake)
      host:stop()
    end
  end)

  -- A plugin with one fixed answer to everything, to test the fake hosts themselves.
  local function parrot(...)
    local code = [[
      io.stdout:setvbuf "no"
      for i = 1, #arg do
        io.write("Content-Length: ", #arg[i], "\r\n\r\n", arg[i])
      end
      while io.read(1) do end
    ]]
    return children.lua(code, ...)
  end

  local GOOD = '{"jsonrpc":"2.0","id":1,"result":{"name":"x","protocol":"reginald","protocolVersion":0}}'
  local MISTAKES = {
    ["unknown member \"extra\""] = '{"jsonrpc":"2.0","method":"log","params":{"time":"2026-01-01T00:00:00Z",'
      .. '"msg":"m","attrs":[],"level":"INFO","extra":1}}',
    ["a request from the plugin"] = '{"jsonrpc":"2.0","id":1,"method":"ask","params":null}',
    ["unexpected \"progress\""] = '{"jsonrpc":"2.0","method":"progress","params":{}}',
    ["integer expected, got string"] = '{"jsonrpc":"2.0","id":"1","result":null}',
    ["a batch"] = "[" .. GOOD .. "]",
    ["response: unknown member"] = '{"jsonrpc":"2.0","id":1,"result":{},"error":null}',
    ["a wrong id"] = '{"jsonrpc":"2.0","id":7,"result":{}}',
    ["unexpected object"] = '{"jsonrpc":"2.0","method":"log","params":{"time":"2026-01-01T00:00:00Z","msg":"m",'
      .. '"attrs":[{"key":"k","value":{}}],"level":"INFO"}}',
  }

  it("hangs a host of july with one invalid message", function()
    for mistake, body in pairs(MISTAKES) do
      if not mistake:find "response" then
        local host <close> = july_host(parrot(body, GOOD))
        local ok, message = pcall(host.call, host, "handshake", JULY)
        assert.is_false(ok)
        assert.matches("the host hangs: .*" .. mistake:gsub("%p", "%%%0"), message)
      end
    end
    local host <close> = july_host(parrot(GOOD))
    assert.equal("x", host:call("handshake", JULY).name)
  end)

  it("is killed by a host of june at the fifth invalid message", function()
    local mistake = '{"jsonrpc":"2.0","method":"log","params":{"level":"info","msg":"m","more":1}}'
    local good = '{"jsonrpc":"2.0","id":1,"result":{"protocol":"rpp","protocolVersion":0,"name":"x","version":"1",'
      .. '"commands":[],"tasks":[],"configs":[]}}'
    local host <close> = june_host(parrot(mistake, mistake, mistake, mistake, good))
    assert.equal("x", host:call("handshake", JUNE).name)
    assert.equal(4, host.mistakes)
    local other <close> = june_host(parrot(mistake, mistake, mistake, mistake, mistake, good))
    local ok, message = pcall(other.call, other, "handshake", JUNE)
    assert.is_false(ok)
    assert.matches("killed by the host: log: unknown member", message)
  end)

  it('fails with a host of june if "error": null is beside a result', function()
    local host <close> = june_host(parrot('{"jsonrpc":"2.0","id":1,"result":{},"error":null}',
      '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}'))
    assert.equal(1, select(2, host:call("handshake", JUNE)).code)
    assert.equal(1, host.mistakes)
  end)

  it("accepts headers in any case, with LF alone, and unknown ones, as those hosts do", function()
    local code = [[
      io.write("content-length: 3\nX: y\n\n{} Content-Type: a\r\nCONTENT-LENGTH:2\r\n\r\n{}")
    ]]
    local host <close> = july_host(children.lua(code))
    assert.same({ "{} ", "{}" }, { host:hear(), host:hear() })
  end)
end)

describe("the handshake", function()
  it("makes a plugin recognise Reginald", function()
    local function recognised(params, framing)
      local dialect = dialects.recognise("handshake", params, framing)
      return dialect and dialect.name
    end
    for _, params in ipairs { { protocol = "rpp" }, { protocol = "reginald" }, { protocol = "x" }, {}, json.null } do
      assert.equal("reginald", recognised(params, "header"))
      assert.is_nil(recognised(params, "line"))
    end
    assert.not_equal("reginald", (dialects.recognise("initialize", {}, "header") or {}).name)
  end)

  it("selects the release by the protocol, with one definition", function()
    local host <close> = june_host(WORKBENCH)
    local handshake = host:call("handshake", JUNE)
    assert.equal("workbench 1.2.0", handshake.name .. " " .. handshake.version)
    assert.is_nil(host.last_mistake)
    local other <close> = july()
    assert.is_false(other.hung)
  end)

  it("is refused for another protocol or version", function()
    local host <close> = june_host(WORKBENCH)
    assert.same({ -32602, 'Invalid params: version 1 of the protocol "rpp" is not supported; supported is 0' },
      error_of(host, "handshake", '{"protocol":"rpp","protocolVersion":1}'))
    assert.same({ -32000, 'version "0" of the protocol "reginald" is not supported; supported is 0' },
      error_of(host, "handshake", '{"protocol":"reginald","protocolVersion":"0"}'))
    assert.same({ -32602, 'Invalid params: protocol "lsp" is not supported; supported are "rpp" and "reginald"' },
      error_of(host, "handshake", '{"protocol":"lsp","protocolVersion":0}'))
    assert.same({ -32602, 'Invalid params: protocol null is not supported; supported are "rpp" and "reginald"' },
      error_of(host, "handshake"))
    assert.same({ -32602, "Invalid params: params: object expected, got array" }, error_of(host, "handshake", "[1]"))
    assert(host:call("handshake", JUNE))
    assert.same({ -32600, "Invalid Request: handshake was sent already" }, error_of(host, "handshake", JUNE))
  end)

  it("must be first, whether the dialect is given or recognised", function()
    for _, command in ipairs { WORKBENCH, { "lua5.4", WORKBENCH[2], "--dialect", "reginald" } } do
      for _, method in ipairs { "runCommand", "runTask", "setupCommand", "validateTask" } do
        local host <close> = june_host(command)
        assert.same({ -32600, "Invalid Request: handshake must be first" }, error_of(host, method, "{}"))
        assert(host:call("handshake", JUNE))
        assert(host:call("runCommand", '{"name":"nothing"}'))
      end
    end
  end)

  it("may have other headers before its length", function()
    for _, line_end in ipairs { "\r\n", "\n" } do
      local host <close> = july_host(WORKBENCH)
      local body = '{"jsonrpc":"2.0","id":1,"method":"handshake","params":' .. JULY .. "}"
      host:write(("X-Host: reginald%sContent-Length: %d%s%s%s"):format(line_end, #body, line_end, line_end, body))
      assert.equal("workbench", host:answer(1, "handshake").name)
      host.id = 1
      assert(host:call("runCommand", '{"cmd":"nothing"}'))
    end
  end)

  it("determines which methods are available", function()
    local host <close> = july()
    for _, method in ipairs { "initialize", "setupCommand", "validateTask", "nonsense" } do
      assert.same({ -32601, "Method not found: " .. method }, error_of(host, method, "{}"))
    end
    local other <close> = june()
    assert.same({ -32601, "Method not found: nonsense" }, error_of(other, "nonsense", "{}"))
  end)

  it("returns commands, tasks and configs to june, with flags", function()
    local host <close> = june_host(WORKBENCH)
    local handshake = host:call("handshake", JUNE)
    local names, tasks = {}, {}
    for i, command in ipairs(handshake.commands) do names[i] = command.name end
    for i, task in ipairs(handshake.tasks) do tasks[i] = task.type end
    assert.equal("sleep everything wait anything remote.add failure", table.concat(names, " ", 1, 6))
    assert.equal("echo everything wait anything failure", table.concat(tasks, " ", 1, 5))
    assert.same({ name = "sleep", usage = "sleep [--time N]", configs = { {
      key = "time", value = 1, type = "int", flag = { name = "time", shorthand = "t", usage = "Seconds" },
    } } }, handshake.commands[1])
    assert.same({ { key = "depth", value = 0, type = "int" }, { key = "greeting", value = "hi", type = "string" } },
      handshake.configs)
  end)
end)

describe("initialize", function()
  it("configures the plugin, once", function()
    local host <close> = june(nil, '{"logging":{"enabled":true,"level":"INFO"},"config":['
      .. entry("greeting", "moin", "string") .. "," .. entry("depth", 0, "int") .. "]}")
    host:call("runCommand", '{"name":"where"}')
    assert.same({ config = { greeting = "moin" }, initialized = 1 }, host.logged[1].fields.outputs)
    assert.same({ -32600, "Invalid Request: the plugin is already initialized" },
      error_of(host, "initialize", LOGGING))
  end)

  it("fills in defaults", function()
    local host <close> = june(nil, '{"logging":{"enabled":true,"level":"INFO"},"config":[]}')
    host:call("runCommand", '{"name":"where"}')
    assert.same({ greeting = "hi" }, host.logged[1].fields.outputs.config)
  end)

  it("is optional: without it the command line and the defaults count", function()
    for initialize, command in pairs {
      [LOGGING] = { WORKBENCH[1], WORKBENCH[2], "--config", '{"depth":4}' },
      [false] = { WORKBENCH[1], WORKBENCH[2], "--config", '{"depth":4}' },
    } do
      local host <close> = june(command, initialize)
      host:call("runCommand", '{"name":"where"}')
      assert.same({ greeting = "hi", depth = 4 }, host.logged[#host.logged].fields.outputs.config)
    end
    local host <close> = july { WORKBENCH[1], WORKBENCH[2], "--config", '{"depth":4}' }
    host:call("runCommand", '{"cmd":"where"}')
    assert.same({ greeting = "hi", depth = 4 }, json.decode(host.logged[#host.logged].attrs[2].value).config)
  end)

  it("refuses invalid params", function()
    local host <close> = june(nil, false)
    for params, message in pairs {
      ['{"logging":1}'] = "Invalid params: logging: object expected, got number",
      ['{"logging":{"enabled":1}}'] = "Invalid params: logging.enabled: boolean expected, got number",
      ['{"logging":{"level":"loud"}}'] =
        'Invalid params: logging.level: TRACE, DEBUG, INFO, WARN or ERROR expected, got "loud"',
      ['{"config":[' .. entry("depth", "x", "string") .. "]}"] =
        'Invalid params: config: key "depth": int expected, got string',
      ['{"config":[' .. entry("nope", 1, "int") .. "]}"] =
        'Invalid params: config: key "nope": there is no such key; there are depth, greeting',
    } do
      assert.same({ -32602, message }, error_of(host, "initialize", params))
    end
    assert.same({ -32000, "no such greeting" },
      error_of(host, "initialize", '{"config":[' .. entry("greeting", "crash", "string") .. "]}"))
  end)

  it("sets the level of the log", function()
    local all = "at debug at info at warn at error plain a list half"
    for level, expected in pairs {
      TRACE = all, debug = all, ["debug-2"] = all,
      INFO = "at info at warn at error plain a list", ["info+1"] = "at warn at error", Warn = "at warn at error",
      ["ERROR-4"] = "at warn at error", ["ERROR-3"] = "at error", ["error+1"] = "",
    } do
      local host <close> = june(nil, ('{"logging":{"enabled":true,"level":"%s"}}'):format(level))
      host:call("runCommand", '{"name":"log"}')
      assert.equal(expected, table.concat(said(host), " "))
    end
    local host <close> = june(nil, '{"logging":{"enabled":false,"level":"TRACE"}}')
    assert.same(-32600, error_of(host, "initialize", LOGGING)[1])
    host:call("runCommand", '{"name":"log"}')
    assert.same({}, host.logged)
  end)
end)

describe("commands of june", function()
  local host

  before_each(function() host = june() end)
  after_each(function() host:stop() end)

  it("run with the arguments of the last setup", function()
    local function set_up(text)
      assert(host:call("setupCommand", ('{"name":"everything","args":null,"config":[%s]}'):format(
        entry("text", text, "string"))))
    end
    local function text_of_run()
      host.logged = {}
      assert(host:call("runCommand", '{"name":"everything"}'))
      return host.logged[1].fields.outputs.args.text
    end
    assert.equal("t", text_of_run())
    set_up "one"
    assert.equal("oneone", text_of_run() .. text_of_run())
    set_up "two"
    assert.equal("two", text_of_run())
  end)

  it("run at the same time, each with the arguments that it started with", function()
    for _, time in ipairs { 1, 0 } do
      host:call("setupCommand", ('{"name":"sleep","config":[%s]}'):format(entry("time", time, "int")))
      host:say(('{"jsonrpc":"2.0","id":%d,"method":"runCommand","params":{"name":"sleep"}}'):format(100 + time))
      if time == 0 then
        assert.equal("slept for 0", json.decode(host:hear()).params.msg)
        assert.equal('{"jsonrpc":"2.0","id":100,"result":{}}', host:hear())
      end
    end
    assert.equal('{"request":101,"outcome":"message"}', host:hear():match '"fields":(.-})')
    assert.equal('{"jsonrpc":"2.0","id":101,"result":{}}', host:hear())
  end)

  it("refuse unknown names and arguments", function()
    local function setup(name, config, args)
      return error_of(host, "setupCommand", ('{"name":%s,"args":%s,"config":%s}'):format(name, args or "null", config))
    end
    assert.same({ -32602, "Invalid params: Unknown command: nope" }, setup('"nope"', "[]"))
    assert.same({ -32602, "Invalid params: Unknown command: echo" }, setup('"echo"', "[]"))
    assert.same({ -32602, 'Invalid params: command "remote" only has subcommands' }, setup('"remote"', "[]"))
    assert.same({ -32602, "Invalid params: name is missing" }, setup("null", "[]"))
    assert.same({ -32602, "Invalid params: name: string expected, got number" }, setup("1", "[]"))
    assert.same({ -32602, 'Invalid params for "sleep": config: key "tme": there is no such key; there are time' },
      setup('"sleep"', "[" .. entry("tme", 1, "int") .. "]"))
    assert.same({ -32602, 'Invalid params for "sleep": config: key "time": int expected, got string' },
      setup('"sleep"', "[" .. entry("time", "1", "string") .. "]"))
    assert.same({ -32602, 'Invalid params for "sleep": config: key "time": int expected, got number' },
      setup('"sleep"', "[" .. entry("time", 1.5, "int") .. "]"))
    assert.same({ -32602, 'Invalid params for "sleep": config: array expected, got string' }, setup('"sleep"', '"x"'))
    assert.same({ -32602, 'Invalid params for "sleep": config[1]: object expected, got number' },
      setup('"sleep"', "[1]"))
    assert.same({ -32602, 'Invalid params for "sleep": config[1]: key: string expected, got int' },
      setup('"sleep"', '[{"key":1}]'))
    assert.same({ -32602, 'Invalid params for "sleep": config: key "time": type: string expected, got number' },
      setup('"sleep"', '[{"key":"time","value":1,"type":2}]'))
    assert.same({ -32602, 'Invalid params for "sleep": it takes no positional arguments' },
      setup('"sleep"', "[]", '["x"]'))
    assert.same({ -32602, "Invalid params: args: array expected, got string" }, setup('"sleep"', "[]", '"x"'))
    assert.same({ -32602, "Invalid params: Unknown command: nope" }, error_of(host, "runCommand", '{"name":"nope"}'))
  end)

  it("check arguments against the whole schema", function()
    assert.same({ -32602, 'Invalid params for "everything": at /count: expected at least 1, got integer -1' },
      error_of(host, "setupCommand", '{"name":"everything","config":[' .. entry("count", -1, "int") .. "]}"))
    assert.same({ -32602, 'Invalid params for "remote.add": property "url" is missing' },
      error_of(host, "runCommand", '{"name":"remote.add"}'))
  end)

  it("take positional arguments if the author declares a parameter for them", function()
    host:call("setupCommand", '{"name":"everything","args":["a","b"],"config":[]}')
    host:call("runCommand", '{"name":"everything"}')
    assert.same({ "a", "b" }, host.logged[1].fields.outputs.args.texts)
  end)

  it("fail with a code of their own", function()
    assert.same({ -32000, "it is broken" }, error_of(host, "runCommand", '{"name":"failure"}'))
    local _, err = host:call("runCommand", '{"name":"long-failure"}')
    assert.same({ code = -32000, message = "Timed out",
      data = { message = "Condition not met", outputs = { tries = 3 } } }, err)
    _, err = host:call("runCommand", '{"name":"code"}')
    assert.same({ code = -4, message = "refused", data = { why = "because" } }, err)
    assert.same({ -32000, LACKING }, error_of(host, "runCommand", '{"name":"needy"}'))
    local crash = error_of(host, "runCommand", '{"name":"raise"}')
    assert.equal(-32603, crash[1])
    assert.matches("boom", crash[2])
  end)

  it("log their outcome before the answer", function()
    host:call("runCommand", '{"name":"nothing"}')
    assert.same({}, host.logged)
    host:call("setupCommand", '{"name":"anything","config":[' .. entry("a", 1, "int") .. "]}")
    host:call("runCommand", '{"name":"anything"}')
    assert.same({ level = "info", msg = "anything succeeded",
      fields = { request = host.id, outcome = "outputs", outputs = { a = 1 } } }, host.logged[1])
    assert.matches("^bad%-output succeeded, but its outcome cannot be sent: ",
      error_of(host, "runCommand", '{"name":"bad-output"}')[2])
    assert.equal(-32000, error_of(host, "runCommand", '{"name":"bad-utf8"}')[1])
  end)

  it("never send requests to the host", function()
    host:call("runCommand", '{"name":"ask"}')
    assert.same({ '"ping" was not sent: a Reginald host accepts only log messages from a plugin; '
      .. '"hello" was not sent: a Reginald host accepts only log messages from a plugin; invalid' }, said(host))
  end)
end)

describe("tasks of june", function()
  local host

  before_each(function() host = june() end)
  after_each(function() host:stop() end)

  it("are validated", function()
    assert.same({}, host:call("validateTask", '{"type":"echo","config":[{"key":"msg","value":"hi","type":"string"}]}'))
    assert.same({}, host.logged)
    for config, message in pairs {
      ["[" .. entry("msg", 1, "int") .. "]"] = 'Invalid params for "echo": config: key "msg": string expected, got int',
      ["[" .. entry("mgs", "", "string") .. "]"] =
        'Invalid params for "echo": config: key "mgs": there is no such key; there are msg',
    } do
      assert.same({ -32050, message }, error_of(host, "validateTask", '{"type":"echo","config":' .. config .. "}"))
      assert.same({ -32050, message }, error_of(host, "runTask", '{"type":"echo","config":' .. config .. "}"))
    end
    assert.same({ -32050, 'Invalid params for "everything": at /count: expected at least 1, got integer -1' },
      error_of(host, "validateTask", '{"type":"everything","config":[' .. entry("count", -1, "int") .. "]}"))
    assert.same({ -32602, "Invalid params: Unknown task: sleep" }, error_of(host, "validateTask", '{"type":"sleep"}'))
    assert.same({ -32602, "Invalid params: type is missing" }, error_of(host, "validateTask"))
  end)

  it("may have their defaults validated alone, without required parameters", function()
    for _, config in ipairs { "[]", "null", "[" .. entry("level", 2, "int") .. "]" } do
      assert.same({}, host:call("validateTask", '{"type":"strict","config":' .. config .. "}"))
    end
    assert.same({ -32050, 'Invalid params for "strict": at /level: expected at most 3, got integer 4' },
      error_of(host, "validateTask", '{"type":"strict","config":[' .. entry("level", 4, "int") .. "]}"))
    assert.equal(-32050,
      error_of(host, "runTask", '{"type":"strict","dir":"/","config":[' .. entry("level", 2, "int") .. "]}")[1])
    assert.same({ -32050, 'Invalid params for "echo": property "msg" is missing' },
      error_of(host, "runTask", '{"type":"echo","dir":"/","config":[]}'))
  end)

  it("run in their directory", function()
    host:call("runTask", '{"type":"where","dir":"/abs/dir","config":null}')
    assert.same({ "/abs/dir/x" }, said(host))
    assert.same({ -32602, "Invalid params: dir: string expected, got number" },
      error_of(host, "runTask", '{"type":"where","dir":1}'))
  end)

  it("fail with a code of their own", function()
    assert.same({ -32603, "it is broken" }, error_of(host, "runTask", '{"type":"failure","dir":"/"}'))
  end)
end)

describe("commands and tasks of july", function()
  local host

  before_each(function() host = july() end)
  after_each(function() host:stop() end)

  it("are nested by the dots in their names, and found by their aliases", function()
    local config = '"config":[{"value":"u","type":"string","key":"url"}]'
    host:call("runCommand", '{"cmd":"remote.add",' .. config .. "}")
    host:call("runCommand", '{"cmd":"remote.plus",' .. config .. "}")
    assert.same({ "initialized", "added u", "added u" }, said(host))
    assert.same({ -32002, 'command "remote" only has subcommands' },
      error_of(host, "runCommand", '{"cmd":"remote"}'))
  end)

  it("refuse unknown names and arguments", function()
    assert.same({ -32001, "Unknown command: nope" }, error_of(host, "runCommand", '{"cmd":"nope"}'))
    assert.same({ -32602, "Invalid params: Unknown task: nope" }, error_of(host, "runTask", '{"taskType":"nope"}'))
    assert.same({ -32602, "Invalid params: cmd is missing" }, error_of(host, "runCommand", '{"name":"sleep"}'))
    assert.same({ -32602, 'Invalid params for "sleep": config: key "time": int expected, got stringList' },
      error_of(host, "runCommand", '{"cmd":"sleep","config":[{"value":[],"type":"stringList","key":"time"}]}'))
  end)

  it("fail with a code of their own", function()
    assert.same({ -32003, "it is broken" }, error_of(host, "runCommand", '{"cmd":"failure"}'))
    assert.same({ -32003, "it is broken" }, error_of(host, "runTask", '{"taskType":"failure"}'))
    assert.same({ -32002, LACKING }, error_of(host, "runTask", '{"taskType":"needy"}'))
  end)

  it("fail if the plugin cannot be initialized", function()
    assert.same({ -32003, "no such greeting" }, error_of(host, "runCommand",
      '{"cmd":"nothing","pluginConfig":[{"value":"crash","type":"string","key":"greeting"}]}'))
    assert(host:call("runCommand", '{"cmd":"nothing","pluginConfig":[{"value":"","type":"string","key":"greeting"}]}'))
  end)

  it("receive the config of the plugin", function()
    local function configured(config)
      host.logged = {}
      assert(host:call("runCommand", '{"cmd":"where","pluginConfig":' .. config .. "}"))
      return host.logged[#host.logged].attrs
    end
    local function outputs(greeting)
      return { { key = "outcome", value = "message" },
        { key = "outputs", value = ('{"config":{"greeting":"%s"},"initialized":1}'):format(greeting) },
        { key = "request", value = host.id } }
    end
    local function same(expected, attrs)
      attrs[2].value = json.encode(setmetatable(json.decode(attrs[2].value), json.order { "config", "initialized" }))
      assert.same(expected, attrs)
    end
    local attrs = configured '[{"value":"moin","type":"string","key":"greeting"}]'
    same(outputs "moin", attrs)
    attrs = configured '[{"value":"ahoi","type":"string","key":"greeting"}]'
    same(outputs "ahoi", attrs)
    assert.same({ -32602, 'Invalid params: config: key "x": there is no such key; there are depth, greeting' },
      error_of(host, "runCommand", '{"cmd":"where","pluginConfig":[{"value":1,"type":"int","key":"x"}]}'))
  end)

  it("log with time and attributes, and tables as JSON text", function()
    host:call("runCommand", '{"cmd":"log"}')
    local first = host.logged[2]
    assert.same({ "at debug", "DEBUG" }, { first.msg, first.level })
    assert.same({ { key = "list", value = "[1]" }, { key = "n", value = 2 } }, first.attrs)
    assert.same({ { key = "value", value = "[1,2]" } }, host.logged[7].attrs)
    assert.same({}, host.logged[6].attrs)
  end)
end)

describe("the end", function()
  it("consists of a shutdown, after which every request is refused, and an exit", function()
    for _, start in ipairs { june, july } do
      local host <close> = start()
      host:call("runCommand", '{"name":"nothing","cmd":"nothing"}')
      host:call "shutdown"
      for _, method in ipairs { "handshake", "runCommand", "runTask", "initialize", "shutdown", "raw", "nonsense" } do
        assert.equal(-32600, error_of(host, method, "{}")[1])
      end
      host:notify "exit"
      assert.same({ "", 0, "" }, { host:finish() })
    end
  end)

  it("may be an exit without a shutdown", function()
    local host <close> = june()
    host:notify "exit"
    assert.equal(0, (select(2, host:finish())))
  end)

  it("may be the end of input, even while an operation runs", function()
    local host <close> = june()
    host:call("setupCommand", '{"name":"sleep","config":[' .. entry("time", 600, "int") .. "]}")
    host:say '{"jsonrpc":"2.0","id":9,"method":"runCommand","params":{"name":"sleep"}}'
    local begun = core.now()
    local text, status = host:finish()
    assert.equal(0, status)
    assert.matches('"id":9,"error":{"code":%-32000,', text)
    assert.truthy(core.now() - begun < 10)
  end)

  it("stops running operations", function()
    local host <close> = july()
    host:say('{"jsonrpc":"2.0","id":50,"method":"runCommand","params":{"cmd":"sleep","config":['
      .. '{"value":600,"type":"int","key":"time"}]}}')
    host:say '{"jsonrpc":"2.0","id":51,"method":"shutdown","params":null}'
    host:hear() -- "initialized"
    local answer = json.decode(host:hear())
    assert.same({ 50, -32003, "the plugin is shutting down" }, { answer.id, answer.error.code, answer.error.message })
    assert.equal('{"jsonrpc":"2.0","id":51,"result":true}', host:hear())
    host:notify "exit"
    assert.equal(0, (select(2, host:finish())))
  end)
end)
