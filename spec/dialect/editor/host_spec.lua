-- The client side of the editor's protocol, against a fake server; and both sides together.
local cjson = require "cjson"
local children = require "spec.support.children"
local core = require "pintle.core"
local streams = require "spec.support.stream"
local editor = require "spec.support.editor"
local lfs = require "lfs"
local loop = require "pintle.loop"
local pintle = require "pintle"

local nothing_left, record

before_each(function()
  nothing_left, record = children.stock(), os.tmpname()
end)

after_each(function()
  os.remove(record)
  nothing_left()
end)

local INITIALIZED = '"result":null'

local function given(answers)
  answers.initialize = answers.initialize or INITIALIZED
  return { "lua5.4", "spec/support/editor_server.lua", record, cjson.encode(answers) }
end

-- The messages that the server has read, and END for the end of its input.
local function read()
  local file <close> = assert(io.open(record))
  local lines = {}
  for line in file:lines() do lines[#lines + 1] = line ~= "" and line or nil end
  return lines
end

local function new_host(logged)
  return pintle.host { dialect = "editor", log = function(entry)
    if logged then logged[#logged + 1] = tostring(entry) end
  end }
end

local function start(host, answers, options)
  local settings = { name = "played", command = given(answers) }
  for name, value in pairs(options or {}) do settings[name] = value end
  return host:start(settings)
end

local function initialization(params)
  return ('{"version":"0.1","jsonrpc":"2.0","id":"1","method":"initialize","params":%s}'):format(params)
end

describe("a client of an editor's server, when it opens", function()
  local function sends(options)
    local host <close> = new_host()
    assert(start(host, {}, options))
    host:stop()
    return read()
  end

  it("sends its process id, its name, the root path and the config", function()
    assert.same({ initialization(('{"process_id":%d,"client_info":{"name":"pintle"}}'):format(core.getpid())), "END" },
      sends())
    assert.same(initialization(('{"process_id":%d,"client_info":{"name":"ed","version":"2"},"root_path":"/srv",' ..
      '"initialize_options":{"theme":"dark"}}'):format(core.getpid())), sends({
      config = { theme = "dark" },
      options = { client_info = { name = "ed", version = "2" }, root_path = "/srv" },
    })[1])
    assert.equal(initialization '{"client_info":{"name":"pintle"}}', sends({ options = { process_id = false } })[1])
  end)

  it("sends the server's working directory as root path", function()
    local server = lfs.currentdir() .. "/spec/support/editor_server.lua"
    local answers = cjson.encode { initialize = INITIALIZED }
    local lines = sends { cwd = "/tmp", command = { "lua5.4", server, record, answers },
                          options = { process_id = false } }
    assert.equal(initialization '{"client_info":{"name":"pintle"},"root_path":"/tmp"}', lines[1])
  end)

  it("refuses unknown and invalid options", function()
    local host <close> = new_host()
    for message, options in pairs {
      ['options: there is no "rootpath"'] = { rootpath = "/" },
      ["options.root_path: string expected, got number"] = { root_path = 1 },
      ["options.process_id: boolean expected, got number"] = { process_id = 1 },
      ["options.client_info: object expected, got \"ed\""] = { client_info = "ed" },
      ["options.client_info: a name expected"] = { client_info = { version = "1" } },
      ["options.client_info.version: string expected, got number"] = { client_info = { name = "ed", version = 1 } },
    } do
      local plugin, err = start(host, {}, { options = options })
      assert.is_nil(plugin)
      assert.same({ "invalid", "played: " .. message }, { err.kind, err.message })
    end
  end)

  it("accepts any answer, because the document does not define it", function()
    for _, answer in ipairs { "null", "{}", '"ready"', "[1]", '{"capabilities":{"edit":true}}', "false",
      '{"server_info":"x"}', '{"server_info":{"name":7,"version":7}}' } do
      local host <close> = new_host()
      local plugin = assert(start(host, { initialize = '"result":' .. answer }))
      assert.equal("played", plugin.manifest.name)
      assert.is_nil(plugin.manifest.version)
      assert.is_true(plugin.manifest.is_open)
    end
  end)

  it("reads the server's description and methods", function()
    local logged = {}
    local host <close> = new_host(logged)
    local plugin = assert(start(host, { initialize = '"result":{"server_info":{"name":"real","version":"v7",' ..
      '"description":"Edits"},"methods":[{"name":"edit","params":{"type":"object","required":["text"]}},{},' ..
      '{"name":"undo"}],"more":1}', undo = '"result":null' }))
    local manifest = plugin.manifest
    assert.same({ "real", "v7", "Edits", false, { "edit", "undo" } },
      { manifest.name, manifest.version, manifest.description, manifest.is_open, manifest.names })
    assert.equal(1, plugin.raw_manifest.more)
    assert.same({ "warn  played: methods[1] in its answer to initialize: an object with a name expected" }, logged)
    assert.is_true(plugin:execute("undo", { far = true }).success)
    local _, err = plugin:execute("edit", {})
    assert.equal("invalid", err.kind)
    _, err = plugin:execute("redo", {})
    assert.equal("Unknown operation: redo", err.message)
    assert.equal(2, #read())
  end)

  it("reports a refusal and another version", function()
    local host <close> = new_host()
    local _, err = start(host, { initialize = '"error":{"code":-32603,"message":"no paper"}' })
    assert.same({ "remote", "played refused to start: no paper" }, { err.kind, err.message })
    _, err = start(host, { version = "0.2" })
    assert.equal("protocol", err.kind)
    assert.matches('^played: version: "0.1" expected, got "0.2"', err.message)
  end)
end)

describe("a client of an editor's server", function()
  it("writes the document's example byte for byte", function()
    local out, into = core.pipe()
    local back, unused = core.pipe()
    local dialect = require "pintle.dialect.editor"
    local stream <close> = assert(streams.open {
      read = back, write = into, framing = dialect.framing, ids = dialect.ids, extra = dialect.extra,
      header = dialect.header,
    })
    stream:notify("edit", pintle.json.raw '{"text":"hello"}')
    stream:flush()
    assert.equal('content-type: "application/vscode-jsonrpc;charset=utf-8"\r\ncontent-length: 75\r\n\r\n' ..
      '{"version":"0.1","jsonrpc":"2.0","method":"edit","params":{"text":"hello"}}', out:read())
    out:close()
    unused:close()
  end)

  -- The outcome of an operation with this answer.
  local function outcome(answer, args, options)
    local host <close> = new_host()
    local plugin = assert(start(host, { edit = answer }))
    return plugin:execute("edit", args, options)
  end

  it("calls operations as methods with their arguments as params, and stops the server by ending its input", function()
    local host <close> = new_host()
    local plugin = assert(start(host, { edit = '"result":"done"', ["move-cursor"] = INITIALIZED }, {
      options = { process_id = false },
    }))
    assert.same({ success = true, message = "done", result = "done" }, plugin:execute("edit", { text = "x" }))
    assert.same({ success = true, result = pintle.null }, plugin:execute("move-cursor"))
    host:stop()
    assert.same({
      initialization '{"client_info":{"name":"pintle"}}',
      '{"version":"0.1","jsonrpc":"2.0","id":"2","method":"edit","params":{"text":"x"}}',
      '{"version":"0.1","jsonrpc":"2.0","id":"3","method":"move-cursor","params":{}}',
      "END",
    }, read())
  end)

  it("reads results of all types, and keeps the whole result", function()
    assert.same({ success = true, message = "done", outputs = { line = 3 },
                  result = { message = "done", outputs = { line = 3 } } },
      outcome '"result":{"message":"done","outputs":{"line":3}}')
    for text, result in pairs {
      ['{"message":"done","line":3}'] = { message = "done", line = 3 }, ["[1]"] = { 1 }, ["7"] = 7, ["true"] = true,
      ["false"] = false, ['{"message":7}'] = { message = 7 }, ["{}"] = {},
    } do
      assert.same({ success = true, result = result }, outcome('"result":' .. text))
    end
  end)

  it("reads the code 1 as a failed operation, and all others as errors", function()
    assert.same({ success = false, error = "locked", message = "locked" },
      outcome '"error":{"code":1,"message":"locked"}')
    assert.same({ success = false, error = "locked", message = "Nothing done", outputs = { by = "Ada" },
                  result = { message = "Nothing done", outputs = { by = "Ada" } } },
      outcome '"error":{"code":1,"message":"locked","data":{"message":"Nothing done","outputs":{"by":"Ada"}}}')
    local result, err = outcome '"error":{"code":-32602,"message":"no such line","data":[7]}'
    assert.is_nil(result)
    assert.same({ "remote", -32602, "no such line", { 7 } }, { err.kind, err.code, err.message, err.data })
  end)

  it("refuses codes that are not an Int", function()
    for _, code in ipairs { "2147483648", "-2147483649", "1.5" } do
      local result, err = outcome(('"error":{"code":%s,"message":"odd"}'):format(code))
      assert.is_nil(result)
      assert.equal("protocol", err.kind)
      assert.matches('^its error response to "edit" has a code that is not an Int: .* %(odd%)$', err.message)
    end
    assert.equal(2147483647, select(2, outcome '"error":{"code":2147483647,"message":"fits"}').code)
  end)

  it("sends no integers out of range", function()
    local result, err = outcome('"result":1', { position = { line = 1 << 32 } })
    assert.is_nil(result)
    assert.same({ "invalid", 'Invalid params for "edit": at /position/line: Int or UInt expected, -2147483648 to '
      .. "4294967295, got 4294967296" }, { err.kind, err.message })
    assert.equal(1, #read() - 1)
    assert.is_true(outcome('"result":1', { line = (1 << 32) - 1, shift = -(1 << 31), at = 0.5 }).success)
  end)

  it("stops waiting after the timeout, and sends nothing", function()
    local host <close> = new_host()
    local plugin = assert(start(host, { ["move-cursor"] = INITIALIZED }))
    local result, err = plugin:execute("edit", {}, { timeout = 0.05 })
    assert.is_nil(result)
    assert.equal("timeout", err.kind)
    assert.is_true(plugin:execute("move-cursor").success)
    host:stop()
    local lines = read()
    assert.same({ 4, "END" }, { #lines, lines[4] })
  end)

  it("passes raw methods and notifications in both directions, and answers integer ids with integers", function()
    local host <close> = new_host()
    local heard = {}
    local plugin = assert(start(host, {
      edit = '"result":{"lines":[1]}',
      before = { edit = { '{"version":"0.1","jsonrpc":"2.0","method":"changed","params":{"line":1}}',
                          '{"version":"0.1","jsonrpc":"2.0","id":5,"method":"question","params":["life"]}' } },
    }, {
      handlers = {
        changed = function(params) heard[#heard + 1] = params end,
        question = function(params) return { params[1], 42 } end,
      },
      options = { process_id = false },
    }))
    assert.same({ lines = { 1 } }, (plugin:call("edit", { 1 })))
    assert.is_true(plugin:notify("saved", { path = "x" }))
    plugin:call("edit", { 2 }, { on_progress = function() end })
    host:stop()
    assert.same({ { line = 1 }, { line = 1 } }, heard)
    local lines = read()
    assert.same({
      '{"version":"0.1","jsonrpc":"2.0","id":"2","method":"edit","params":[1]}',
      '{"version":"0.1","jsonrpc":"2.0","id":5,"result":["life",42]}',
      '{"version":"0.1","jsonrpc":"2.0","method":"saved","params":{"path":"x"}}',
      '{"version":"0.1","jsonrpc":"2.0","id":"3","method":"edit","params":[2]}',
      '{"version":"0.1","jsonrpc":"2.0","id":5,"result":["life",42]}', "END",
    }, table.move(lines, 2, #lines, 1, {}))
  end)
end)

describe("client and server", function()
  local function with_greeter(fn)
    local logged = {}
    local host <close> = new_host(logged)
    local greeter = assert(host:start { command = { "lua5.4", "examples/greeter/plugin.lua" } })
    fn(greeter, logged)
  end

  it("execute operations of a plugin that serves every protocol", function()
    with_greeter(function(greeter, logged)
      assert.same({ "greeter", "1.0.0", "Says hello" },
        { greeter.manifest.name, greeter.manifest.version, greeter.manifest.description })
      local result = assert(greeter:execute("greet", { name = "Ada" }))
      assert.same({ true, "Hello, Ada" }, { result.success, result.message })
      result = assert(greeter:execute("greet", { name = "" }))
      assert.same({ false, "nobody to greet" }, { result.success, result.error })
      local _, err = greeter:execute("greet", { name = 5 })
      assert.matches('Invalid params for "greet": at /name', err.message)
      _, err = greeter:execute("greeet", {})
      assert.same({ "Unknown operation: greeet", "greet" }, { err.message, err.data.suggestion })
      _, err = greeter:execute("greet", { name = "Ada", times = 1 << 31 })
      assert.matches("at /times: Int expected", err.message)
      greeter:stop()
      assert.equal('info  plugin stderr| greeter: info: greeting {"name":"Ada"}', logged[1])
    end)
  end)

  it("transmit outputs and failures unchanged", function()
    local host <close> = new_host()
    local scribe = assert(host:start { command = { "lua5.4", "spec/support/editor_plugin.lua" } })
    assert.same({ line = 3, at = { 0.5 } }, scribe:execute("move-cursor", { line = 3, at = { 0.5 } }).outputs)
    assert.same({ success = true, result = pintle.null }, scribe:execute "nothing")
    local failed = scribe:execute "long-failure"
    assert.same({ false, "the file is locked", "Nothing changed", { by = "Ada" } },
      { failed.success, failed.error, failed.message, failed.outputs })
    assert.equal(-32000, select(2, scribe:execute "huge-code").code)
    assert.same({ 7 }, (scribe:call("count", { 7 })))
  end)

  it("call each other at the same time", function()
    local host <close> = new_host()
    local scribe = assert(host:start {
      command = { "lua5.4", "spec/support/editor_plugin.lua" },
      handlers = { question = function()
        loop.sleep(0.01)
        return 42
      end },
    })
    local calls = {}
    for i = 1, 20 do calls[i] = function() return assert(scribe:execute "back").message end end
    for _, message in ipairs(pintle.all(calls)) do assert.equal("answer: 42", message) end
  end)
end)

describe("the played server", function()
  it("accepts only what the document allows", function()
    local function status(bytes)
      local process <close> = assert(core.spawn { command = given {}, stderr = "null" })
      process.stdin:write(bytes)
      process.stdin:close()
      return (process:wait(children.patience))
    end
    local body = editor.initialization()
    assert.equal(0, status(editor.frame(body)))
    assert.equal(3, status(("Content-Length: %d\r\n\r\n%s"):format(#body, body)))
    assert.equal(3, status(editor.frame(editor.initialization("{}", 1))))
    assert.equal(3, status(editor.frame '{"jsonrpc":"2.0","id":"1","method":"initialize"}'))
  end)
end)
