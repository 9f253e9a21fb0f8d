-- The server side of the Language Server Protocol, in the order of its specification, over real pipes, byte by byte.
local children = require "spec.support.children"
local core = require "pintle.core"
local dialects = require "pintle.dialect"
local extension = require "spec.support.extension"
local framed = require "spec.support.framed"
local lsp = require "pintle.dialect.lsp.plugin"
local plugins = require "pintle.plugin"

local json = core.json

local GREETER = "examples/greeter/plugin.lua"
local LANGUAGE = "spec/support/plugins/language.lua"
local INITIALIZE = '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"processId":null,"rootUri":null,'
  .. '"capabilities":{}}}'
local SHUTDOWN = '{"jsonrpc":"2.0","id":9,"method":"shutdown"}'
local EXIT = '{"jsonrpc":"2.0","method":"exit"}'

children.leave_nothing()

local function initialized(script, params)
  local server = framed.start(script or LANGUAGE)
  params = params or { processId = json.null }
  params.capabilities = params.capabilities or {}
  local answer = server:call(0, "initialize", params)
  server:notify("initialized", {})
  return server, answer.result
end

local function command(name, args, more)
  local params = { command = name, arguments = args and { args } }
  for member, value in pairs(more or {}) do params[member] = value end
  return params
end

local function execute(server, ...) return server:call(1, "workspace/executeCommand", command(...)) end

describe("recognising the Language Server Protocol", function()
  local function recognised(method, params, framing)
    local dialect = dialects.recognise(method, params, framing)
    return dialect and dialect.name
  end

  it("claims an initialize with members of its own for sure", function()
    for _, params in ipairs { { capabilities = {} }, { processId = 1 }, { processId = json.null } } do
      assert.equal(true, dialects.get "lsp".recognises("initialize", params, "header"))
      assert.is_false(dialects.get "lsp".recognises("initialize", params, "line"))
    end
  end)

  it("perhaps claims any other message with a header", function()
    assert.equal("perhaps", dialects.get "lsp".recognises("initialize", {}, "header"))
    assert.equal("perhaps", dialects.get "lsp".recognises("shutdown", nil, "header"))
    assert.equal("lsp", recognised("textDocument/hover", nil, "header"))
    assert.not_equal("lsp", recognised("initialize", { capabilities = {} }, "line"))
  end)
end)

describe("a server's lifecycle", function()
  it("is initialize, initialized, requests, shutdown, exit: byte by byte", function()
    local server <close> = framed.start(GREETER)
    assert.equal('{"jsonrpc":"2.0","id":0,"result":{"capabilities":{"executeCommandProvider":{"commands":["greet"],'
      .. '"workDoneProgress":true}},"serverInfo":{"name":"greeter","version":"1.0.0"}}}', server:ask(INITIALIZE))
    server:say '{"jsonrpc":"2.0","method":"initialized","params":{}}'
    server:say('{"jsonrpc":"2.0","id":"a","method":"workspace/executeCommand","params":{"command":"greet",'
      .. '"arguments":[{"name":"Ada"}]}}')
    assert.equal('{"jsonrpc":"2.0","method":"window/logMessage","params":{"type":3,"message":'
      .. '"greeting {\\"name\\":\\"Ada\\"}"}}', server:hear())
    assert.equal('{"jsonrpc":"2.0","id":"a","result":"Hello, Ada"}', server:hear())
    assert.equal('{"jsonrpc":"2.0","id":9,"result":null}', server:ask(SHUTDOWN))
    server:say(EXIT)
    assert.same({ 0, "", "" }, { server:ending() })
  end)

  it("refuses requests before initialize, and drops notifications", function()
    local server <close> = framed.start(LANGUAGE)
    server:notify("textDocument/didOpen", { textDocument = { uri = "early" } })
    for id, method in ipairs { "textDocument/hover", "workspace/executeCommand", "shutdown", "$/x", "whatever" } do
      assert.same({ code = -32002, message = "Server not initialized" }, server:call(id, method, {}).error)
    end
    server:ask(INITIALIZE)
    assert.same({}, server:call(1, "$/seen").result.seen)
  end)

  it("accepts one initialize", function()
    local server <close> = framed.start(LANGUAGE)
    server:ask(INITIALIZE)
    local refusal = '{"code":-32600,"message":"Invalid Request: initialize was sent already"}'
    assert.equal('{"jsonrpc":"2.0","id":0,"error":' .. refusal .. "}", server:ask(INITIALIZE))
  end)

  it("refuses requests after shutdown, and drops notifications", function()
    local server <close> = initialized()
    assert.equal(json.null, server:call(1, "shutdown").result)
    for id, method in ipairs { "textDocument/hover", "workspace/executeCommand", "shutdown", "initialize", "what" } do
      assert.equal(-32600, server:call(id, method, {}).error.code)
    end
    server:notify("textDocument/didOpen", { textDocument = { uri = "late" } })
    server:say(EXIT)
    assert.same({ 0, "", "shut down\nand done\n" }, { server:ending() })
  end)

  it("ends with status 1 on exit without shutdown", function()
    local server <close> = initialized()
    server:say(EXIT)
    assert.same({ 1, "", "shut down\nand done\n" }, { server:ending() })
    local uninitialized <close> = framed.start(LANGUAGE)
    uninitialized:say(EXIT)
    assert.same({ 1, "", "" }, { uninitialized:ending() })
  end)

  it("accepts an exit before shutdown is answered", function()
    local server <close> = initialized()
    server:say(SHUTDOWN, EXIT)
    assert.equal('{"jsonrpc":"2.0","id":9,"result":null}', server:hear())
    assert.same({ 0, "", "shut down\nand done\n" }, { server:ending() })
  end)

  it("ends at the end of input as well", function()
    local server <close> = initialized()
    assert.same({ 0, "", "shut down\nand done\n" }, { server:finish() })
  end)

  it("ends when the client's process has ended", function()
    local client <close> = assert(core.spawn { command = { "sleep", "600" } })
    local server <close> = initialized(LANGUAGE, { processId = client:pid() })
    client:close()
    local status, text, complaints = server:ending()
    assert.same({ 1, "" }, { status, text })
    assert.matches("process %d+, which it serves, has ended", complaints)
  end)

  it("goes on after an invalid processId", function()
    local server <close> = initialized(LANGUAGE, { processId = "me" })
    assert.equal("hover", server:call(1, "textDocument/hover", {}).result.contents)
    local status, _, complaints = server:finish()
    assert.same({ 0, "language: warn: processId: a process id expected, got me\nshut down\nand done\n" },
      { status, complaints })
  end)

  it("allows initialize again after a failure", function()
    local server <close> = framed.start(LANGUAGE)
    local err = server:call(1, "initialize", { initializationOptions = { refuse = true } }).error
    assert.same({ code = -32050, message = "not with me", data = { retry = false } }, err)
    assert.equal(-32002, server:call(2, "textDocument/hover", {}).error.code)
    assert.equal("language", server:call(3, "initialize", { capabilities = {} }).result.serverInfo.name)
  end)

  it("passes initializationOptions and the params of initialize to the author", function()
    local server <close> = initialized(LANGUAGE, { initializationOptions = { mark = "marked" }, locale = "eo" })
    local seen = server:call(1, "$/seen").result
    assert.same({ "marked" }, seen.seen)
    assert.equal("eo", seen.client.locale)
  end)

  it("ignores initializationOptions that are not an object, with a warning", function()
    local server <close> = initialized(LANGUAGE, { initializationOptions = "text" })
    local _, _, complaints = server:finish()
    assert.matches("initializationOptions: an object expected, got string", complaints)
  end)

  it("sends log messages of on_initialize", function()
    local server <close> = framed.start(LANGUAGE)
    assert.equal("beginning", server:call(1, "initialize", { initializationOptions = { log = true } }).params.message)
    assert.equal(1, server:message().id)
  end)

  it("refuses params that are not an object", function()
    local server <close> = framed.start(LANGUAGE)
    server:ask '{"jsonrpc":"2.0","id":1,"method":"textDocument/hover"}'
    assert.equal(-32602, server:call(1, "initialize", { 1 }).error.code)
    assert.is_table(server:call(1, "initialize").result)
  end)
end)

describe("a server's capabilities", function()
  it("are derived from its methods, and extended by the author", function()
    local server <close>, result = initialized(LANGUAGE, { locale = "eo" })
    server:say(EXIT)
    assert.same({
      textDocumentSync = { openClose = true, change = 2 },
      hoverProvider = false,
      completionProvider = { resolveProvider = true },
      executeCommandProvider = {
        commands = { "report", "outputs", "fail", "raise", "needy", "sleep", "where", "log" }, workDoneProgress = true,
      },
      experimental = { locale = "eo" },
    }, result.capabilities)
  end)

  local function capabilities_of(methods, dialect_options)
    local declared = plugins.new { name = "it", version = "1.0.0", dialects = { lsp = dialect_options } }
    for _, method in ipairs(methods) do declared:method(method, function() end) end
    return lsp.manifest(declared).capabilities
  end

  it("name the provider of each method", function()
    assert.same({}, capabilities_of {})
    assert.same({ documentFormattingProvider = true }, capabilities_of { "textDocument/formatting" })
    assert.same({ renameProvider = { prepareProvider = true } },
      capabilities_of { "textDocument/rename", "textDocument/prepareRename" })
    assert.same({ codeLensProvider = {} }, capabilities_of { "textDocument/codeLens" })
    assert.same({}, capabilities_of { "codeLens/resolve" })
    assert.same({ codeActionProvider = { resolveProvider = true } },
      capabilities_of { "textDocument/codeAction", "codeAction/resolve" })
    assert.same({ diagnosticProvider = { interFileDependencies = false, workspaceDiagnostics = true } },
      capabilities_of { "textDocument/diagnostic", "workspace/diagnostic" })
    assert.same({ workspace = { workspaceFolders = { supported = true, changeNotifications = true } } },
      capabilities_of { "workspace/didChangeWorkspaceFolders" })
    assert.same({ textDocumentSync = { save = true, change = 1 } },
      capabilities_of { "textDocument/didSave", "textDocument/didChange" })
  end)

  it("are replaced by capabilities of the author", function()
    local given = { textDocumentSync = 1, positionEncoding = "utf-8" }
    assert.same(given, capabilities_of({ "textDocument/didOpen" }, { capabilities = given }))
  end)

  it("are shown by --manifest", function()
    local text, status = extension.run(GREETER, {}, { "--manifest=lsp" })
    assert.equal(0, status)
    assert.same({
      capabilities = { executeCommandProvider = { commands = { "greet" }, workDoneProgress = true } },
      serverInfo = { name = "greeter", version = "1.0.0" },
    }, json.decode(text))
  end)
end)

describe("a server's commands", function()
  it("answer with a string, an object or null", function()
    local server <close> = initialized()
    assert.same({ message = "done", outputs = { list = { 1, 2 } } }, execute(server, "outputs").result)
    assert.equal(json.null, execute(server, "report", {}).result)
    server:say('{"jsonrpc":"2.0","id":2,"method":"workspace/executeCommand","params":{"command":"outputs",'
      .. '"arguments":[]}}')
    assert.equal('{"jsonrpc":"2.0","id":2,"result":{"message":"done","outputs":{"list":[1,2]}}}', server:hear())
  end)

  it("answer with RequestFailed if they fail", function()
    local server <close> = initialized()
    assert.same({ code = -32803, message = "no", data = { message = "it did not work", outputs = { a = 1 } } },
      execute(server, "fail").error)
    local greeter <close> = initialized(GREETER)
    greeter:request(1, "workspace/executeCommand", command("greet", { name = "" }))
    repeat local message = greeter:hear() until message:find '"id":1'
    greeter:request(2, "workspace/executeCommand", command("greet", { name = "" }))
    greeter:hear()
    assert.equal('{"jsonrpc":"2.0","id":2,"error":{"code":-32803,"message":"nobody to greet"}}', greeter:hear())
  end)

  it("refuse an unknown name with a suggestion", function()
    local server <close> = initialized()
    assert.same({ code = -32602, message = "Invalid params: Unknown operation: outputz",
      data = { suggestion = "outputs" } },
      execute(server, "outputz").error)
  end)

  it("take one object as their arguments", function()
    local server <close> = initialized()
    local function refusal(arguments)
      return server:call(1, "workspace/executeCommand", { command = "log", arguments = arguments }).error
    end
    assert.same({ -32602, "Invalid params: arguments: one object expected, got 2 items" },
      { refusal({ {}, {} }).code, refusal({ {}, {} }).message })
    assert.equal("Invalid params: arguments[0]: object expected, got string", refusal({ "x" }).message)
    assert.equal("Invalid params: arguments: array expected, got object", refusal({ level = "x" }).message)
    assert.matches('^Invalid params for "log": at /level', refusal({ { level = 5 } }).message)
    for id, params in ipairs { { 1 }, {}, { command = 5 } } do
      assert.equal(-32602, server:call(id, "workspace/executeCommand", params).error.code)
    end
  end)

  it("use error codes that LSP does not define", function()
    local server <close> = initialized()
    assert.equal(-32000, execute(server, "needy").error.code)
    assert.equal(-32603, execute(server, "raise").error.code)
  end)

  it("run in the client's workspace folder", function()
    for _, params in ipairs {
      { rootUri = "file:///a%20b/c" },
      { rootUri = "file:///other", workspaceFolders = { { uri = "file:///a%20b/c", name = "c" } } },
    } do
      local server <close> = initialized(LANGUAGE, params)
      assert.equal("/a b/c/file", execute(server, "where").result)
    end
    local nowhere <close> = initialized()
    assert.equal("file", execute(nowhere, "where").result)
  end)
end)

describe("a server's methods", function()
  it("return what the author returns", function()
    local server <close> = initialized()
    assert.same({ contents = "hover" }, server:call(1, "textDocument/hover", {}).result)
    server:notify("textDocument/didOpen", { textDocument = { uri = "file:///x" } })
    assert.same({ "file:///x" }, server:call(2, "$/seen").result.seen)
  end)

  it("that are not declared are refused, and notifications dropped", function()
    local server <close> = initialized()
    assert.same({ -32601, -32601 },
      { server:call(1, "$/unknown").error.code, server:call(2, "textDocument/rename", {}).error.code })
    server:notify("$/unknown", {})
    server:notify("workspace/didChangeConfiguration", {})
    server:notify("$/setTrace", { value = "off" })
    assert.equal(3, server:call(3, "textDocument/hover", {}).id)
  end)
end)

describe("cancelling a server's work", function()
  it("is answered with RequestCancelled", function()
    local server <close> = initialized()
    server:request(1, "textDocument/hover", { wait = true })
    server:request("two", "workspace/executeCommand", command "sleep")
    server:notify("$/cancelRequest", { id = "two" })
    assert.equal('{"jsonrpc":"2.0","id":"two","error":{"code":-32800,"message":"Cancelled"}}', server:hear())
    server:notify("$/cancelRequest", { id = 1 })
    assert.equal(-32800, server:message().error.code)
  end)

  it("ignores unknown requests", function()
    local server <close> = initialized()
    server:notify("$/cancelRequest", { id = 77 })
    assert.equal(1, server:call(1, "textDocument/hover", {}).id)
  end)
end)

describe("a server's progress", function()
  local function read_progress(server, count)
    local values = {}
    for i = 1, count do
      local message = server:message()
      assert.equal("$/progress", message.method)
      values[i] = message.params
    end
    return values
  end

  it("begins, is reported and ends before the answer, for the token of the request", function()
    local server <close> = initialized()
    server:request(1, "workspace/executeCommand", command("report", { at = { 0.25, 0.5, 1 } }, { workDoneToken = 7 }))
    assert.equal('{"jsonrpc":"2.0","method":"$/progress","params":{"token":7,"value":{"kind":"begin",'
      .. '"title":"Report progress","message":"at 0.25","percentage":25}}}', server:hear())
    assert.equal('{"jsonrpc":"2.0","method":"$/progress","params":{"token":7,"value":{"kind":"report",'
      .. '"message":"at 0.5","percentage":50}}}', server:hear())
    assert.equal(100, read_progress(server, 1)[1].value.percentage)
    assert.equal('{"jsonrpc":"2.0","method":"$/progress","params":{"token":7,"value":{"kind":"end"}}}', server:hear())
    assert.equal('{"jsonrpc":"2.0","id":1,"result":null}', server:hear())
  end)

  it("ends even if the handler raises or is cancelled", function()
    local server <close> = initialized()
    server:request(1, "workspace/executeCommand", command("raise", {}, { workDoneToken = "t" }))
    assert.same({ { token = "t", value = { kind = "begin", title = "raise", percentage = 0 } },
      { token = "t", value = { kind = "end" } } }, read_progress(server, 2))
    assert.equal(-32603, server:message().error.code)
    server:request(2, "textDocument/hover", { wait = true, workDoneToken = "u" })
    assert.equal("textDocument/hover", read_progress(server, 1)[1].value.title)
    server:notify("$/cancelRequest", { id = 2 })
    assert.equal("end", read_progress(server, 1)[1].value.kind)
    assert.equal(-32800, server:message().error.code)
  end)

  it("is not sent without a token", function()
    local server <close> = initialized()
    assert.equal(json.null, execute(server, "report", { at = { 0, 1 } }).result)
    assert.equal(json.null, execute(server, "report", { at = { 0 } }, { workDoneToken = { 1 } }).result)
  end)

  local WILLING = { capabilities = { window = { workDoneProgress = true } } }

  it("uses a token that the client accepts, if the client supports that", function()
    local server <close> = initialized(LANGUAGE, WILLING)
    server:request(1, "workspace/executeCommand", command("report", { at = { 0, 1 } }))
    local create = server:message()
    assert.same({ "window/workDoneProgress/create", { token = "language-1" } }, { create.method, create.params })
    server:say(('{"jsonrpc":"2.0","id":%d,"result":null}'):format(create.id))
    local values = read_progress(server, 3)
    assert.same({ kind = "begin", title = "Report progress", cancellable = true, message = "at 0", percentage = 0 },
      values[1].value)
    assert.same({ "language-1", "end" }, { values[3].token, values[3].value.kind })
    assert.equal(json.null, server:message().result)
  end)

  it("is not sent with a token that the client refuses", function()
    local server <close> = initialized(LANGUAGE, WILLING)
    server:request(1, "workspace/executeCommand", command("report", { at = { 0, 1 } }))
    server:say(('{"jsonrpc":"2.0","id":%d,"error":{"code":-32601,"message":"no"}}'):format(server:message().id))
    assert.same({ jsonrpc = "2.0", id = 1, result = json.null }, server:message())
  end)

  it("can be cancelled by its token", function()
    local server <close> = initialized(LANGUAGE, WILLING)
    server:request(1, "workspace/executeCommand", command "sleep")
    server:say(('{"jsonrpc":"2.0","id":%d,"result":null}'):format(server:message().id))
    local token = read_progress(server, 1)[1].token
    server:notify("window/workDoneProgress/cancel", { token = "another" })
    server:notify("window/workDoneProgress/cancel", { token = token })
    assert.equal("end", read_progress(server, 1)[1].value.kind)
    assert.equal(-32800, server:message().error.code)
  end)
end)

describe("a server's log", function()
  it("has the levels of LSP, and data appended to the message", function()
    local server <close> = initialized()
    for level, number in pairs { error = 1, warn = 2, info = 3, debug = 4 } do
      server:request(1, "workspace/executeCommand", command("log", { level = level, message = "m", data = { a = 1 } }))
      assert.same({ type = number, message = 'm {"a":1}' }, server:message().params)
      server:hear()
    end
  end)
end)

describe("dialects.lsp of a plugin", function()
  it("causes a warning for unknown members", function()
    local script = os.tmpname()
    local file = assert(io.open(script, "w"))
    file:write [[
      require "pintle".plugin { name = "x", version = "1.0.0", dialects = { lsp = { capabilites = {} } } }:serve()
    ]]
    file:close()
    local server <close> = framed.start(script)
    server:ask(INITIALIZE)
    os.remove(script)
    local _, _, complaints = server:finish()
    assert.equal('x: warn: dialects.lsp: there is no "capabilites"\n', complaints)
  end)
end)
