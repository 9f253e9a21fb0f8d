-- The server side of the editor's protocol, in the order of its document.
local children = require "spec.support.children"
local core = require "pintle.core"
local editor = require "spec.support.editor"

local json, frame = core.json, editor.frame

children.leave_nothing()

local INITIALIZED = '{"version":"0.1","jsonrpc":"2.0","id":"1","result":{"server_info":{"name":"greeter",' ..
  '"version":"1.0.0","description":"Says hello"},"methods":[{"name":"greet","description":"Say hello","params":' ..
  '{"type":"object","properties":{"name":{"type":"string"},"times":{"type":"integer","default":1}},' ..
  '"required":["name"]}}]}}'

describe("communication", function()
  it("uses stdio, and ends when the input ends", function()
    local server <close> = editor.start "examples/greeter/plugin.lua"
    server:write(frame(editor.initialization()))
    assert.equal(frame(INITIALIZED), server:frame())
    local text, status, complaints = server:finish()
    assert.same({ "", 0, "" }, { text, status, complaints })
  end)

  it("is not disturbed by printed text", function()
    local server <close> = editor.opened()
    assert.equal("printed", server:call("print", { text = "content-length: 5" }).result)
    local text, status, complaints = server:finish()
    assert.same({ "", 0, "content-length: 5\nshut down\n" }, { text, status, complaints })
  end)

  it("ends after all requests were answered", function()
    local server <close> = editor.opened()
    server:say '{"version":"0.1","jsonrpc":"2.0","id":"2","method":"sleep","params":{"seconds":0.05}}'
    local text, status, complaints = server:finish()
    assert.same({ frame '{"version":"0.1","jsonrpc":"2.0","id":"2","result":"slept"}', 0, "shut down\n" },
      { text, status, complaints })
  end)

  it("is the same if the dialect is set", function()
    local server <close> = editor.start("examples/greeter/plugin.lua", { "--dialect", "editor" })
    server:write(frame(editor.initialization()))
    assert.equal(frame(INITIALIZED), server:frame())
  end)
end)

describe("headers", function()
  local REQUEST = editor.initialization()

  local function answer(bytes)
    local server <close> = editor.start "examples/greeter/plugin.lua"
    server:write(bytes)
    return server:frame()
  end

  it("have an optional content-type", function()
    assert.equal(frame(INITIALIZED), answer(("content-length: %d\r\n\r\n%s"):format(#REQUEST, REQUEST)))
  end)

  it("may come in any order and case, quoted or not", function()
    for _, lines in ipairs {
      'content-length: %d\r\ncontent-type: "application/vscode-jsonrpc;charset=utf-8"',
      "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: %d",
      "CONTENT-LENGTH: %d\r\ncontent-type: application/vscode-jsonrpc;charset=UTF8",
      'content-type: "application/vscode-jsonrpc"\r\ncontent-length:%d',
    } do
      assert.equal(frame(INITIALIZED), answer((lines .. "\r\n\r\n%s"):format(#REQUEST, REQUEST)))
    end
  end)

  local function refusal(lines, ...)
    local text = answer((lines .. "\r\n\r\n"):format(...))
    return json.decode(text:match "\r\n\r\n(.*)$").error
  end

  it("with another charset are refused", function()
    local err = refusal("content-type: application/vscode-jsonrpc;charset=latin1\r\ncontent-length: %d", 0)
    assert.equal(-32600, err.code)
    assert.matches("charset", err.message)
  end)

  it("have a content-length, which is a uint and required", function()
    local err = refusal 'content-type: "application/vscode-jsonrpc;charset=utf-8"'
    assert.equal(-32600, err.code)
    assert.equal("Invalid Request: header has no Content-Length", err.message)
    for _, length in ipairs { "-1", "1.5", "x", "" } do
      err = refusal("content-length: %s", length)
      assert.equal(-32600, err.code)
      assert.matches("Content%-Length is", err.message)
    end
  end)

  it("count bytes, not characters", function()
    local server <close> = editor.opened()
    assert.equal('{"version":"0.1","jsonrpc":"2.0","id":"2","result":"wrote äöü😀"}',
      server:ask '{"version":"0.1","jsonrpc":"2.0","id":"2","method":"edit","params":{"text":"äöü😀"}}')
  end)
end)

describe("content", function()
  -- The example of the document, with its placeholders filled in.
  local EXAMPLE = [[
{
    "version": "0.1",
    "jsonrpc": "2.0",
    "method": "edit",
    "params": {"text": "hello"}
}]]

  it("starts after the first empty line", function()
    local server <close> = editor.opened()
    server:say(EXAMPLE)
    server:say(EXAMPLE:gsub('"method"', '"id": "2",\n    "method"'))
    assert.equal(frame '{"version":"0.1","jsonrpc":"2.0","id":"2","result":"wrote hello"}', server:frame())
    assert.equal("", (server:finish()))
  end)

  it("may come in pieces, and many at once", function()
    local server <close> = editor.start "examples/greeter/plugin.lua"
    for byte in frame(editor.initialization()):gmatch "." do server:write(byte) end
    assert.equal(frame(INITIALIZED), server:frame())
    local greet = '{"version":"0.1","jsonrpc":"2.0","id":"%d","method":"greet","params":{"name":"Ada"}}'
    server:write(frame(greet:format(2)) .. frame(greet:format(3)))
    assert.equal('{"version":"0.1","jsonrpc":"2.0","id":"2","result":"Hello, Ada"}', server:body())
    assert.equal('{"version":"0.1","jsonrpc":"2.0","id":"3","result":"Hello, Ada"}', server:body())
  end)

  it("may be a batch, even as the first message, and is answered with a batch", function()
    local server <close> = editor.start "examples/greeter/plugin.lua"
    local greet = '{"version":"0.1","jsonrpc":"2.0","id":"2","method":"greet","params":{"name":"Ada"}}'
    local odd = '{"jsonrpc":"2.0","id":"3","method":"greet","params":{"name":"Ada"}}'
    assert.equal("[" .. INITIALIZED .. ',{"version":"0.1","jsonrpc":"2.0","id":"2","result":"Hello, Ada"},' ..
      '{"version":"0.1","jsonrpc":"2.0","id":"3","error":{"code":-32600,' ..
      '"message":"Invalid Request: version is missing: \\"0.1\\" expected"}}]',
      server:ask(("[%s,%s,%s]"):format(editor.initialization(), greet, odd)))
  end)

  local function refused(server, body)
    local answer = json.decode(server:ask(body))
    return { answer.id, answer.error.code, answer.error.message }
  end

  it("requires the version 0.1", function()
    local server <close> = editor.opened()
    assert.same({ "2", -32600, 'Invalid Request: version: "0.1" expected, got "0.2"' },
      refused(server, '{"version":"0.2","jsonrpc":"2.0","id":"2","method":"edit","params":{"text":"x"}}'))
    assert.same({ "2", -32600, 'Invalid Request: version is missing: "0.1" expected' },
      refused(server, '{"jsonrpc":"2.0","id":"2","method":"edit","params":{"text":"x"}}'))
    assert.same({ "2", -32600, 'Invalid Request: version: "0.1" expected, got 0.1' },
      refused(server, '{"version":0.1,"jsonrpc":"2.0","id":"2","method":"edit"}'))
    assert.same({ json.null, -32600, 'Invalid Request: version is missing: "0.1" expected' },
      refused(server, '{"jsonrpc":"2.0","method":"edit","params":{"text":"x"}}'))
  end)

  it("requires the version in the first message as well", function()
    for body, message in pairs {
      ['{"version":"0.2","jsonrpc":"2.0","id":"1","method":"initialize"}'] =
        'Invalid Request: version: "0.1" expected, got "0.2"',
      ['{"jsonrpc":"2.0","id":"1","method":"initialize"}'] = 'Invalid Request: version is missing: "0.1" expected',
      ['{"jsonrpc":"2.0","id":"1","method":"initialize","params":{"process_id":1}}'] =
        'Invalid Request: version is missing: "0.1" expected',
    } do
      for _, arguments in ipairs { {}, { "--dialect", "editor" } } do
        local server <close> = editor.start("examples/greeter/plugin.lua", arguments)
        assert.same({ "1", -32600, message }, refused(server, body))
        assert.equal(INITIALIZED, server:ask(editor.initialization()))
      end
    end
  end)

  it("requires jsonrpc 2.0", function()
    local server <close> = editor.opened()
    assert.same({ "2", -32600, 'Invalid Request: jsonrpc is not "2.0"' },
      refused(server, '{"version":"0.1","jsonrpc":"1.0","id":"2","method":"edit"}'))
    assert.same({ "2", -32600, "Invalid Request: jsonrpc is missing" },
      refused(server, '{"version":"0.1","id":"2","method":"edit"}'))
  end)

  it("requires a known method", function()
    local server <close> = editor.opened()
    assert.same({ code = -32601, message = "Method not found: erase" }, server:call("erase").error)
  end)

  it("has the arguments of the method as its params", function()
    local server <close> = editor.opened()
    assert.equal("wrote x", server:call("edit", { text = "x" }).result)
    assert.same({ message = "moved", outputs = { line = 1 } }, server:call("move-cursor", { line = 1 }).result)
    local err = server:call("edit", {}).error
    assert.equal(-32602, err.code)
    assert.matches('Invalid params for "edit"', err.message)
    assert.same({ code = -32602, message = "Invalid params: params: object expected, got array" },
      server:call("edit", "[1]").error)
    assert.same(json.null, server:call("nothing", "[]").result)
    assert.same(json.null, server:call("nothing", "null").result)
    assert.equal('{"version":"0.1","jsonrpc":"2.0","id":"2","result":null}',
      server:ask '{"version":"0.1","jsonrpc":"2.0","id":"2","method":"nothing"}')
  end)
end)

describe("base types", function()
  local function message(server, method, params)
    local err = server:call(method, params).error
    return err and { err.code, err.message }
  end

  it("has Int, from -2^31 to 2^31 - 1", function()
    local server <close> = editor.opened()
    for _, value in ipairs { "-2147483648", "2147483647", "0", "1.0" } do
      assert.is_nil(message(server, "edit", ('{"text":"x","shift":%s}'):format(value)))
    end
    for value, shown in pairs {
      ["-2147483649"] = "-2147483649", ["2147483648"] = "2147483648", ["1e10"] = "10000000000",
      ["12345678901234567890123"] = "1.2345678901234568e+22",
    } do
      assert.same({ -32602, 'Invalid params for "edit": at /shift: Int expected, -2147483648 to 2147483647, got '
        .. shown }, message(server, "edit", ('{"text":"x","shift":%s}'):format(value)))
    end
  end)

  it("has UInt, from 0 to 2^32 - 1, for schemas with a minimum of at least 0", function()
    local server <close> = editor.opened()
    for _, value in ipairs { "0", "4294967295" } do
      assert.is_nil(message(server, "edit", ('{"text":"x","line":%s}'):format(value)))
    end
    for _, value in ipairs { "-1", "4294967296" } do
      assert.same({ -32602, 'Invalid params for "edit": at /line: UInt expected, 0 to 4294967295, got ' .. value },
        message(server, "edit", ('{"text":"x","line":%s}'):format(value)))
    end
    assert.is_nil(message(server, "edit", '{"text":"x","cells":[-1,4294967295]}'))
    assert.same({ -32602, 'Invalid params for "edit": at /cells/0: Int expected, -2147483648 to 2147483647, got '
      .. "4294967295" }, message(server, "edit", '{"text":"x","cells":[4294967295]}'))
  end)

  it("has no other integers, at any depth", function()
    local server <close> = editor.opened()
    for _, method in ipairs { "move-cursor", "count" } do
      assert.is_nil(message(server, method, '{"a":[{"b":4294967295},-2147483648]}'))
      for value, path in pairs { ["4294967296"] = '{"a":[{"b/c":%s}]}', ["-2147483649"] = '{"a":[{"b/c":%s}]}' } do
        assert.same({ -32602, ('Invalid params for %q: at /a/0/b~1c: Int or UInt expected, -2147483648 to 4294967295, '
          .. "got %s"):format(method, value) }, message(server, method, path:format(value)))
      end
    end
  end)

  it("does not check numbers of the type number, nor those with a fraction", function()
    local server <close> = editor.opened()
    assert.is_nil(message(server, "edit", '{"text":"x","weight":1e300}'))
    assert.is_nil(message(server, "move-cursor", '{"at":5000000000.5}'))
  end)

  it("has String, of arbitrary size", function()
    local server <close> = editor.opened()
    local long = ("ä"):rep(300000)
    assert.equal("wrote " .. long, server:call("edit", { text = long }).result)
  end)

  it("has Object, which is of any type", function()
    local server <close> = editor.opened()
    local anything = '{"s":"x","i":1,"f":0.5,"b":true,"n":null,"l":[],"o":{}}'
    assert.same(json.decode(anything), server:call("move-cursor", anything).result.outputs)
    assert.same(json.decode(anything), server:call("count", anything).result)
    assert.same({ 1, "x" }, server:call("count", '[1,"x"]').result)
  end)
end)

describe("request message", function()
  it("has an id that is a string, and is answered with it", function()
    local server <close> = editor.opened()
    for _, id in ipairs { '"a"', '""', '"\\u0041"', '"ä"', '"1"' } do
      assert.equal(('{"version":"0.1","jsonrpc":"2.0","id":%s,"result":null}'):format(id),
        server:ask(('{"version":"0.1","jsonrpc":"2.0","id":%s,"method":"nothing"}'):format(id)))
    end
  end)

  it("may have an integer instead, and is answered with that integer", function()
    local server <close> = editor.start "examples/greeter/plugin.lua"
    assert.equal((INITIALIZED:gsub('"id":"1"', '"id":1')), server:ask(editor.initialization("{}", 1)))
    assert.equal('{"version":"0.1","jsonrpc":"2.0","id":7,"result":"Hello, Ada"}',
      server:ask '{"version":"0.1","jsonrpc":"2.0","id":7,"method":"greet","params":{"name":"Ada"}}')
  end)

  it("is also sent by the server, with a string as its id", function()
    local server <close> = editor.opened()
    server:say '{"version":"0.1","jsonrpc":"2.0","id":"2","method":"back"}'
    assert.equal('{"version":"0.1","jsonrpc":"2.0","id":"1","method":"question","params":["life"]}', server:body())
    assert.equal('{"version":"0.1","jsonrpc":"2.0","id":"2","result":"answer: 42"}',
      server:ask '{"version":"0.1","jsonrpc":"2.0","id":"1","result":42}')
  end)

  it("is always answered, even if it fails", function()
    local server <close> = editor.opened()
    for id, method in ipairs { "edit", "nothing", "raise", "none", "count", "huge" } do
      assert.equal(tostring(id), server:call(method, {}, ('"%d"'):format(id)).id)
    end
  end)
end)

describe("response message", function()
  it("has a result: the message, or that and the outputs, or null", function()
    local server <close> = editor.opened()
    local function result(method)
      return server:ask(('{"version":"0.1","jsonrpc":"2.0","id":"2","method":"%s","params":{"text":"x"}}'):format(
        method)):match '^{"version":"0.1","jsonrpc":"2.0","id":"2","result":(.*)}$'
    end
    assert.equal('"wrote x"', result "edit")
    assert.equal('{"message":"moved","outputs":{"text":"x"}}', result "move-cursor")
    assert.equal("null", result "nothing")
    assert.same({ outputs = { lines = 3, text = "ä" } }, json.decode(result "outputs"))
  end)

  it("has an error with the code 1 if an operation fails", function()
    local server <close> = editor.opened()
    assert.equal('{"version":"0.1","jsonrpc":"2.0","id":"2","error":{"code":1,"message":"nothing to write"}}',
      server:ask '{"version":"0.1","jsonrpc":"2.0","id":"2","method":"edit","params":{"text":""}}')
    assert.equal('{"version":"0.1","jsonrpc":"2.0","id":"2","error":{"code":1,"message":"the file is locked",' ..
      '"data":{"message":"Nothing changed","outputs":{"by":"Ada"}}}}',
      server:ask '{"version":"0.1","jsonrpc":"2.0","id":"2","method":"long-failure"}')
    assert.same({ code = 1, message = "the operation failed" }, server:call("silent-failure").error)
  end)

  it("has a code that is an Int, whatever the author gave", function()
    local server <close> = editor.opened()
    assert.same({ code = 2147483647, message = "just fits", data = { 1 } }, server:call("code").error)
    assert.same({ code = -32000, message = "too much" }, server:call("huge-code").error)
    assert.same({ code = -32602, message = "too much" }, server:call("huge").error)
    assert.same({ code = -32000, message = "too little" }, server:call("raise").error)
  end)

  it("has the codes of ErrorCodes", function()
    local server <close> = editor.opened()
    assert.equal(-32700, json.decode(server:ask '{"version":"0.1",').error.code)
    assert.equal(-32600, json.decode(server:ask '{"version":"0.1","jsonrpc":"2.0","id":"2"}').error.code)
    assert.equal(-32601, server:call("none").error.code)
    assert.equal(-32602, server:call("edit").error.code)
    assert.equal(-32603, server:call("sleep").error.code) -- it computes with nil
  end)
end)

describe("notification message", function()
  it("is handled, and not answered", function()
    local server <close> = editor.opened()
    server:say '{"version":"0.1","jsonrpc":"2.0","method":"log"}'
    server:say '{"version":"0.1","jsonrpc":"2.0","method":"none"}'
    server:say '{"version":"0.1","jsonrpc":"2.0","method":"edit","params":{"text":""}}'
    assert.equal('{"version":"0.1","jsonrpc":"2.0","id":"2","result":"wrote x"}',
      server:ask '{"version":"0.1","jsonrpc":"2.0","id":"2","method":"edit","params":{"text":"x"}}')
    local text, status, complaints = server:finish()
    assert.same({ "", 0 }, { text, status })
    assert.equal('scribe: info: writing {"to":"x"}\nscribe: edit failed: nothing to write\nshut down\n',
      complaints)
  end)
end)

describe("initialize - request", function()
  it("has params that may all be left out, or be null", function()
    for _, params in ipairs { "{}", "null", '{"process_id":null,"client_info":null,"root_path":null,' ..
      '"initialize_options":null}', '{"client_info":{"name":"ed","version":null}}', '{"trace":"a later version"}' } do
      local server <close> = editor.start "examples/greeter/plugin.lua"
      assert.equal(INITIALIZED, server:ask(editor.initialization(params)))
    end
    local server <close> = editor.start "examples/greeter/plugin.lua"
    assert.equal(INITIALIZED, server:ask '{"version":"0.1","jsonrpc":"2.0","id":"1","method":"initialize"}')
  end)

  it("refuses params that are of other types", function()
    local server <close> = editor.plugin()
    for params, message in pairs {
      ["[]"] = "params: object expected, got array",
      ['{"process_id":"1"}'] = "process_id: Int expected, got string",
      ['{"process_id":1.5}'] = "process_id: Int expected, got 1.5",
      ['{"process_id":2147483648}'] = "process_id: Int expected, got 2147483648",
      ['{"process_id":-2147483649}'] = "process_id: Int expected, got -2147483649",
      ['{"process_id":0}'] = "process_id: the id of a process expected, got 0",
      ['{"process_id":-1}'] = "process_id: the id of a process expected, got -1",
      ['{"client_info":"ed"}'] = "client_info: object expected, got string",
      ['{"client_info":[]}'] = "client_info: object expected, got array",
      ['{"client_info":{}}'] = "client_info.name is missing",
      ['{"client_info":{"version":"1"}}'] = "client_info.name is missing",
      ['{"client_info":{"name":null}}'] = "client_info.name is missing",
      ['{"client_info":{"name":1}}'] = "client_info.name: string expected, got number",
      ['{"client_info":{"name":"ed","version":1}}'] = "client_info.version: string expected, got number",
      ['{"root_path":7}'] = "root_path: string expected, got number",
    } do
      assert.same({ code = -32602, message = "Invalid params: " .. message }, server:initialize(params).error)
    end
    assert.is_table(server:initialize("{}").result)
  end)

  it("has the root path, the client's name and the user's options", function()
    local server <close> = editor.opened {
      client_info = { name = "ed", version = "3" }, root_path = "/tmp/x", initialize_options = { theme = "dark" },
    }
    assert.same({ path = "/tmp/x/notes.txt", client = "ed", config = { theme = "dark" } },
      server:call("surroundings").result.outputs)
  end)

  it("has options of any type", function()
    for _, options in ipairs { json.array { 1, "x" }, "text", 7, true } do
      local server <close> = editor.opened { initialize_options = options }
      assert.same(options, server:call("surroundings").result.outputs.config)
    end
  end)

  it("fails if the server cannot be initialized, and may be sent again", function()
    local server <close> = editor.plugin()
    assert.same({ code = -32000, message = "no paper" },
      server:initialize({ initialize_options = { fail = "no paper" } }).error)
    assert.equal(-32600, server:call("edit", { text = "x" }).error.code)
    assert.is_table(server:initialize("{}").result)
    assert.equal("wrote x", server:call("edit", { text = "x" }).result)
  end)

  it("is refused the second time", function()
    local server <close> = editor.opened()
    assert.same({ code = -32600, message = "Invalid Request: the plugin is already initialized" },
      server:initialize("{}").error)
  end)

  it("is required before other messages", function()
    local server <close> = editor.plugin()
    for _, method in ipairs { "edit", "count", "none" } do
      server:say(('{"version":"0.1","jsonrpc":"2.0","method":"%s"}'):format(method))
      assert.same({ code = -32600, message = "Invalid Request: initialize must be first" }, server:call(method).error)
    end
    assert.is_table(server:initialize("{}").result)
    local _, status, complaints = server:finish()
    assert.same({ 0, "shut down\n" }, { status, complaints })
  end)

  it("has the id of a process; the server exits when that process ends", function()
    local somebody <close> = assert(core.spawn { command = { "sleep", "600" } })
    local server <close> = editor.opened { process_id = somebody:pid() }
    assert.equal("wrote x", server:call("edit", { text = "x" }).result)
    somebody:close()
    assert.equal(1, server.plugin.process:wait(children.patience))
    assert.equal(("scribe: warn: process %d, which it serves, has ended\nshut down\n"):format(somebody:pid()),
      server:complaints())
  end)

  it("returns the description of the server and its methods", function()
    local server <close> = editor.plugin { "described" }
    local described = server:initialize("{}").result
    assert.same({ name = "scribe", version = "2.0.0", description = "Writes" }, described.server_info)
    assert.same({ "edit", "Change a line", "object" },
      { described.methods[1].name, described.methods[1].description, described.methods[1].params.type })
  end)

  it("is not replaced by an operation of that name", function()
    local server <close> = editor.plugin { "hidden" }
    assert.equal("scribe", server:initialize("{}").result.server_info.name)
    local _, _, complaints = server:finish()
    assert.matches("warn: the operation initialize is hidden by the protocol's own method\n", complaints, 1, true)
  end)

  it("returns what --manifest prints", function()
    local text, status = children.run { command = { "lua5.4", "examples/greeter/plugin.lua", "--manifest", "--dialect",
      "editor" } }
    assert.equal(0, status)
    assert.same(json.decode(INITIALIZED).result, json.decode(text))
  end)
end)

describe("the first message", function()
  local dialects = require "pintle.dialect"

  local function recognised(...)
    local dialect = dialects.recognise(...)
    return dialect and dialect.name
  end

  it("is recognised by its version", function()
    assert.equal("editor", recognised("initialize", nil, "header", { version = "0.1" }))
    assert.equal("editor", recognised("edit", {}, "header", { version = "0.1" }))
    assert.equal("editor", recognised("initialize", { capabilities = {} }, "header", { version = "0.2" }))
    assert.not_equal("editor", recognised("initialize", {}, "line", { version = "0.1" }))
  end)

  it("is recognised without a version by its own members", function()
    local own = require("pintle.dialect.editor").recognises
    assert.is_true(own("initialize", { process_id = 1, root_path = "/" }, "header"))
    assert.equal("perhaps", own("initialize", {}, "header"))
    assert.equal("perhaps", own("initialize", nil, "header"))
    assert.is_false(own("initialize", { process_id = 1, capabilities = {} }, "header"))
    assert.is_false(own("initialize", { processId = 1 }, "header"))
    assert.is_false(own("initialized", {}, "header"))
    assert.is_false(own("initialize", { process_id = 1 }, "line"))
  end)
end)
