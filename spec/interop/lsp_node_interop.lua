-- Clients and servers made with the libraries of VS Code.
local children = require "spec.support.children"
local core = require "pintle.core"
local exit_status = require "spec.support.exit_status"
local pintle = require "pintle"
local turn_until = require "spec.support.turning"

local json = core.json

children.leave_nothing()

describe("a client made with vscode-languageserver-protocol", function()
  local function lead(kind, script)
    local output, status = children.run {
      command = { "node", "spec/interop/lsp_client.cjs", kind, "lua5.4", script }, stdin = "null",
    }
    assert.equal(0, status)
    local seen = json.decode(output)
    assert.same({ code = -32002, message = "Server not initialized" }, seen.early)
    assert.equal(-32600, seen.again.code)
    assert.equal(json.null, seen.shutdown)
    assert.equal(-32600, seen.late.code)
    assert.same({ {}, {}, 0 }, { seen.errors, seen.unhandled, seen.status })
    return seen
  end

  it("uses the greeter from the handshake to its exit", function()
    local seen = lead("greeter", "examples/greeter/plugin.lua")
    assert.same({ name = "greeter", version = "1.0.0" }, seen.initialized.serverInfo)
    assert.same({ "greet" }, seen.initialized.capabilities.executeCommandProvider.commands)
    assert.equal("Hello, Ada", seen.greeting)
    assert.same({
      { kind = "begin", title = "Say hello", percentage = 50 }, { kind = "report", percentage = 100 }, { kind = "end" },
    }, seen.reports)
    assert.same({ code = -32803, message = "nobody to greet" }, seen.failed)
    assert.same({ -32602, -32602, -32601 }, { seen.wrong.code, seen.unknown.code, seen.missing.code })
    assert.same({ { 3, 'greeting {"name":"Ada"}' }, { 3, 'greeting {"name":""}' } }, seen.logs)
  end)

  it("cancels a command, and accepts progress that the server creates", function()
    local seen = lead("language", "spec/support/plugins/language.lua")
    assert.same({ code = -32800, message = "Cancelled" }, seen.cancelled)
    assert.same({ "language-1" }, seen.created)
    assert.same({ { kind = "begin", title = "sleep", cancellable = true, percentage = 0 }, { kind = "end" } },
      seen.reports)
    assert.equal("hover", seen.hover.contents)
  end)

  it("changes a document of examples/todo-lsp", function()
    local seen = lead("todo", "examples/todo-lsp/plugin.lua")
    local function shown(published)
      local found = published.diagnostics[1]
      local from, to = found.range.start, found.range["end"]
      return { #published.diagnostics, published.version, from.character, to.character, found.message }
    end
    assert.same({ 1, 1, 6, 15, "TODO: eat" }, shown(seen.opened))
    assert.same({ 1, 2, 6, 16, "FIXME: eat" }, shown(seen.changed))
    assert.equal("**FIXME**, 1 of 1 in this file", seen.hover.contents.value)
  end)
end)

describe("a server made with vscode-languageserver", function()
  local host, server, entries, published, status_file

  before_each(function()
    entries, published, status_file = {}, {}, os.tmpname()
    host = pintle.host {
      dialect = "lsp", verbosity = "debug", log = function(entry) entries[#entries + 1] = tostring(entry) end,
    }
    server = assert(host:start {
      name = "node", config = { a = 1 },
      command = exit_status.wrap({ "node", "spec/interop/lsp_server.cjs", "--stdio" }, status_file),
      options = { root = "/x", settings = { node = { depth = 7 } } },
      handlers = {
        ["textDocument/publishDiagnostics"] = function(params) published[#published + 1] = params end,
      },
    })
  end)

  after_each(function()
    host:stop()
    os.remove(status_file)
  end)

  local function execute(...) return assert(server:execute(...)).result end

  local function logged(text)
    for _, entry in ipairs(entries) do
      if entry == text then return true end
    end
    return false
  end

  it("is initialized and configured, and its log arrives", function()
    assert.same({ "node-server", "0.1 beta" }, { server.manifest.name, server.manifest.version })
    assert.is_true(server.raw_manifest.capabilities.hoverProvider)
    turn_until(function() return #execute("heard").heard == 3 end)
    local told = execute "heard"
    table.sort(told.heard, function(one, other) return tostring(one) < tostring(other) end)
    assert.same({ "initialized", "registered", { node = { depth = 7 } } }, told.heard)
    assert.same({ core.getpid(), { a = 1 } }, { told.pid, told.options })
    assert.is_true(logged "info  node: ready")
  end)

  it("executes commands", function()
    assert.same({ { name = "Ada" } }, execute("echo", { name = "Ada" }))
    assert.same({ 1, "two" }, execute("echo", { 1, "two" }))
    assert.same({}, execute "echo")
    local outcome = assert(server:execute "fail")
    assert.same({ false, "it failed" }, { outcome.success, outcome.error })
  end)

  it("sends requests, and gets their answers", function()
    local function ask(what) return execute("ask", { what }) end
    assert.same({ 7, json.null }, ask "configuration")
    assert.same({ { uri = "file:///x", name = "x" } }, ask "folders")
    assert.is_false(ask("edit").applied)
    assert.equal(json.null, ask "question")
    assert.is_true(logged "warn  node: which?")
    assert.is_false(ask("document").success)
    assert.equal(json.null, ask "refresh")
    assert.equal(json.null, ask "lens")
  end)

  it("reports progress", function()
    local told = {}
    local outcome = assert(server:execute("work", {}, {
      on_progress = function(fraction, message) told[#told + 1] = { fraction, message } end,
    }))
    assert.equal("worked", outcome.message)
    assert.same({ { 0, "begun" }, { 0.5, "half" } }, told)
    execute "own"
    turn_until(function() return logged "debug node: indexing: done" end)
    assert.is_true(logged "debug node: indexing: 3/5")
  end)

  it("is cancelled by the host", function()
    local task = pintle.task(function() return server:execute "sleep" end)
    turn_until(function() return logged "debug node: sleeping" end)
    task:cancel()
    assert.equal("cancelled", select(2, task:await()).kind)
    turn_until(function()
      local heard = execute("heard").heard
      return heard[#heard] == "cancelled"
    end)
  end)

  it("receives changes of documents", function()
    server:notify("textDocument/didOpen", {
      textDocument = { uri = "file:///x/y", languageId = "x", version = 1, text = "x" },
    })
    turn_until(function() return #published == 1 end)
    assert.same({ "file:///x/y", "seen" }, { published[1].uri, published[1].diagnostics[1].message })
    local hover = assert(server:call("textDocument/hover",
      { textDocument = { uri = "file:///x/y" }, position = { line = 0, character = 0 } }))
    assert.equal("file:///x/y", hover.contents)
  end)

  it("shuts down with status 0", function()
    server:stop()
    assert.equal(0, exit_status.read(status_file))
  end)
end)

describe("a peer made with vscode-jsonrpc", function()
  local peer

  before_each(function()
    peer = assert(pintle.connect { command = { "node", "spec/interop/lsp_jsonrpc_peer.cjs" }, framing = "header" })
  end)

  after_each(function() peer:close() end)

  it("is called with any value", function()
    for _, text in ipairs {
      '{"a":[1,2.5,"ä😀\\n"]}', '{"n":null}', '{"t":[true,false]}', '{"list":[]}', '{"object":{}}',
    } do
      assert.equal(text, json.encode(assert(peer:call("echo", json.decode(text)))))
    end
    assert.same({ 1, "b" }, (peer:call("positional", { 1, "b" })))
  end)

  it("answers with errors", function()
    local _, err = peer:call "fail"
    assert.same({ "remote", -32050, "on purpose", { a = 1 } }, { err.kind, err.code, err.message, err.data })
    _, err = peer:call "raise"
    assert.same({ -32603, "Request raise failed with message: thrown" }, { err.code, err.message })
    _, err = peer:call "nothing"
    assert.equal(-32601, err.code)
  end)

  it("calls back, and gets errors", function()
    peer:on("double", function(params) return params.n * 2 end)
    peer:on("refuse", function() return nil, { code = -32051, message = "no" } end)
    local function back(method, params) return peer:call("callBack", { method = method, params = params or {} }) end
    assert.same({ result = 42 }, (back("double", { n = 21 })))
    assert.same({ code = -32051, message = "no" }, (back "refuse"))
    assert.equal(-32601, back("nothing").code)
  end)

  it("is cancelled by the host", function()
    local begun = peer:begin("sleep", {})
    peer:notify("$/cancelRequest", { id = begun.id })
    assert.equal(-32800, select(2, begun:wait()).code)
    begun = peer:begin("sleep", {})
    begun:cancel()
    assert.equal("cancelled", select(2, begun:wait()).kind)
    assert.same({ 1 }, (peer:call("echo", { { 1 } })))
  end)

  it("cancels its own requests", function()
    local why
    peer:on("wait", function(_, ctx)
      ctx:notify("begun", {})
      local _, err = pintle.sleep(600)
      why = err.kind
      return nil, err
    end)
    assert.same({ code = -32800, message = "Cancelled" }, (peer:call("cancelYours", { method = "wait" })))
    assert.equal("cancelled", why)
  end)

  it("sends and receives progress", function()
    local told = {}
    assert.equal("done", (peer:call("work", {}, { on_progress = function(value) told[#told + 1] = value end })))
    assert.same({ 1, 2, 3 }, told)
    peer:on("toil", function(params, ctx)
      for i = 1, 3 do ctx:notify("$/progress", { token = params.workDoneToken, value = i * 10 }) end
      return "toiled"
    end)
    assert.same({ result = "toiled", values = { 10, 20, 30 } },
      (peer:call("listen", { method = "toil", token = "their token" })))
  end)

  it("answers many calls at once, each with its own result", function()
    local calls = {}
    for i = 1, 200 do calls[i] = function() return peer:call("echo", { n = i }) end end
    for i, answer in ipairs(assert(pintle.all(calls))) do assert.equal(i, answer.n) end
  end)

  it("ends at the notification exit", function()
    peer:notify("bye", {})
    peer:join(children.patience)
    assert.same({ code = 0 }, peer.ended.exit)
  end)
end)
