-- The client side of the Language Server Protocol: against a strict server, and against pintle's own.
local children = require "spec.support.children"
local core = require "pintle.core"
local exit_status = require "spec.support.exit_status"
local lfs = require "lfs"
local pintle = require "pintle"
local turn_until = require "spec.support.turning"

local json = core.json

local SERVER = "spec/support/language_server.lua"

local check_stock, host, entries, heard_file, status_file

before_each(function()
  check_stock = children.stock()
  entries, heard_file, status_file = {}, os.tmpname(), os.tmpname()
  host = pintle.host {
    dialect = "lsp", verbosity = "debug", log = function(entry) entries[#entries + 1] = tostring(entry) end,
  }
end)

after_each(function()
  host:stop()
  os.remove(heard_file)
  os.remove(status_file)
  check_stock()
end)

local function start(nature, options)
  local command = { "lua5.4", SERVER, heard_file, nature or "proper" }
  local given = { command = exit_status.wrap(command, status_file), name = "server" }
  for name, value in pairs(options or {}) do given[name] = value end
  return host:start(given)
end

-- The messages that the server has received, as { method, params }; or only the params of those of one method.
local function heard(method)
  local list = {}
  for line in io.lines(heard_file) do
    local message = json.decode(line)
    if not method then list[#list + 1] = message[1] elseif message[1] == method then list[#list + 1] = message[2] end
  end
  return method and list[1] or list
end

describe("a client of a language server, when it opens", function()
  it("sends its name, its workspace folder and its capabilities", function()
    assert(start())
    local here = lfs.currentdir()
    assert.same({
      processId = core.getpid(),
      clientInfo = { name = "pintle" },
      rootPath = here,
      rootUri = "file://" .. here,
      capabilities = {
        window = { workDoneProgress = true },
        workspace = { configuration = true, workspaceFolders = true, executeCommand = {}, didChangeConfiguration = {} },
        textDocument = { synchronization = { didSave = true } },
      },
      workspaceFolders = { { uri = "file://" .. here, name = here:match "[^/]+$" } },
    }, heard "initialize")
  end)

  it("sends no process id if the option says so", function()
    assert(start("proper", { options = { process_id = false } }))
    assert.equal(json.null, heard("initialize").processId)
  end)

  it("sends its config as initializationOptions", function()
    assert(start("proper", { config = { a = 1 } }))
    assert.same({ a = 1 }, heard("initialize").initializationOptions)
  end)

  it("uses the directory of the server as root, or the option root", function()
    local function root_with(options)
      local server <close> = assert(start("proper", options))
      local params = heard "initialize"
      return params.rootUri, params.rootPath, server:stop()
    end
    local lua_path = lfs.currentdir() .. "/lua/?.lua;" .. lfs.currentdir() .. "/lua/?/init.lua;;"
    local given = { "lua5.4", lfs.currentdir() .. "/" .. SERVER, heard_file }
    assert.same("file:///tmp", (root_with { cwd = "/tmp", command = given, env = { LUA_PATH = lua_path } }))
    assert.same({ "file:///a%20b/%C3%A4", "/a b/ä" }, { root_with { options = { root = "/a b/ä" } } })
    assert.same({ "file:///a%20b", "/a b" }, { root_with { options = { root = "file:///a%20b" } } })
    assert.same({ "file://" .. lfs.currentdir() .. "/spec", lfs.currentdir() .. "/spec" },
      { root_with { options = { root = "spec" } } })
    assert.same({ "vscode-remote://x/y", json.null }, { root_with { options = { root = "vscode-remote://x/y" } } })
    assert.same({ json.null, json.null }, { root_with { options = { root = false } } })
    assert.equal(json.null, heard("initialize").workspaceFolders)
  end)

  it("sends capabilities for its handlers, and those of the user", function()
    assert(start("proper", {
      handlers = {
        ["textDocument/publishDiagnostics"] = print, ["workspace/applyEdit"] = print, ["window/showDocument"] = print,
      },
      options = { capabilities = {
        general = { positionEncodings = { "utf-8" } }, workspace = { configuration = false },
      } },
    }))
    local reported = heard("initialize").capabilities
    assert.same({ "utf-8" }, reported.general.positionEncodings)
    assert.same({ false, true, true },
      { reported.workspace.configuration, reported.workspace.applyEdit, reported.window.showDocument.support })
    assert.same({}, reported.textDocument.publishDiagnostics)
  end)

  it("sends initialized and the settings", function()
    assert(start("proper", { options = { settings = { a = { b = 1 } } } }))
    turn_until(function() return #heard() == 3 end)
    assert.same({ "initialize", "initialized", "workspace/didChangeConfiguration" }, heard())
    assert.same({}, heard "initialized")
    assert.same({ settings = { a = { b = 1 } } }, heard "workspace/didChangeConfiguration")
  end)

  it("reads name and commands from the response, and keeps the whole response", function()
    local server = assert(start())
    assert.same({ "proper server", "14 (of 2022)" }, { server.manifest.name, server.manifest.version })
    assert.same({ "ask", "fail", "give", "refuse", "sleep", "work" }, server.manifest.names)
    assert.same("give", server.raw_manifest.capabilities.executeCommandProvider.commands[1])
    for _, entry in ipairs(entries) do assert.not_matches("semantic version", entry) end
  end)

  it("accepts an answer without optional members", function()
    local terse = assert(start "terse")
    assert.same({ "server", nil, {} }, { terse.manifest.name, terse.manifest.version, terse.manifest.names })
    assert.same({ capabilities = {} }, terse.raw_manifest)
    terse:stop()
    local odd = assert(start "odd")
    assert.same({ "server", { "a", "b" } }, { odd.manifest.name, odd.manifest.names })
  end)

  for nature, pattern in pairs {
    empty = "its answer to initialize: object expected, got null",
    list = "its answer to initialize: object expected, got array",
    incapable = "capabilities: object expected, got nil",
    refusing = "server refused to start: not today",
  } do
    it("rejects a server that is " .. nature, function()
      local server, err = start(nature)
      assert.is_nil(server)
      assert.matches(pattern, err.message, 1, true)
    end)
  end

  for wrong, options in pairs {
    ['options: there is no "rot"'] = { rot = "/" },
    ["options.root: a path or false expected, got number"] = { root = 5 },
    ["options.settings: object expected, got boolean"] = { settings = true },
  } do
    it("rejects invalid options: " .. wrong, function()
      local server, err = start("proper", { options = options })
      assert.is_nil(server)
      assert.matches(wrong, err.message, 1, true)
    end)
  end
end)

describe("a client of a language server, when it executes", function()
  it("sends an object as the only argument, and a list as it is", function()
    local server = assert(start())
    assert(server:execute("give", { a = 1 }))
    assert.same({ command = "give", arguments = { { a = 1 } } }, heard "workspace/executeCommand")
    assert.equal("x", assert(server:execute("give", { "x", 2 })).message)
    assert.equal(json.null, assert(server:execute "give").result)
    local file <close> = assert(io.open(heard_file))
    local text = file:read "a"
    assert.matches('"arguments":["x",2]', text, 1, true)
    assert.matches('"arguments":[]', text, 1, true)
  end)

  it("keeps the whole result, and reads message and outputs", function()
    local server = assert(start())
    local function give(value) return assert(server:execute("give", { value })) end
    assert.same({ success = true, message = "text", result = "text" }, give "text")
    local both = { message = "m", outputs = { a = { 1 } } }
    assert.same({ success = true, message = "m", outputs = { a = { 1 } }, result = both }, give(both))
    assert.same({ success = true, result = json.null }, give(json.null))
    assert.same({ success = true, result = 7 }, give(7))
    assert.same({ success = true, result = { message = 5, outputs = { 1 } } }, give { message = 5, outputs = { 1 } })
  end)

  it("distinguishes a failed command from a refused one", function()
    local server = assert(start())
    assert.same({ success = false, error = "it failed", message = "it failed" }, (server:execute "fail"))
    local data = { message = "m", outputs = { a = 1 } }
    assert.same({ success = false, error = "it failed", message = "m", outputs = { a = 1 }, result = data },
      (server:execute("fail", data)))
    local outcome, err = server:execute "refuse"
    assert.same({ nil, "remote", -32602 }, { outcome, err.kind, err.code })
    outcome, err = server:execute "gave"
    assert.same({ nil, "invalid", "give" }, { outcome, err.kind, err.data.suggestion })
  end)

  it("reports progress", function()
    local server = assert(start())
    local reported = {}
    assert.same({ done = true }, assert(server:execute("work", {}, {
      on_progress = function(fraction, message) reported[#reported + 1] = { fraction, message } end,
    })).result)
    assert.same({ { 0 }, { 0.5, "half" }, { 0.5, "nearly" } }, reported)
    assert.equal("pintle-1", heard("workspace/executeCommand").workDoneToken)
  end)

  it("reports the progress of any other call, with the whole value", function()
    local server = assert(start())
    local reported = {}
    local params = assert(server:call("textDocument/references", { x = 1 }, {
      on_progress = function(...) reported[#reported + 1] = { ... } end,
    }))
    assert.same({ x = 1, workDoneToken = "pintle-1" }, params)
    assert.same({ done = true }, (server:call("workspace/executeCommand", { command = "work" }, {
      on_progress = function(fraction, _, value) reported[#reported + 1] = { fraction or "?", value.kind } end,
    })))
    assert.same({ { "?", "begin" }, { 0.5, "report" }, { "?", "report" }, { 1, "end" } }, reported)
  end)

  it("cancels a call that takes too long or is cancelled", function()
    local server = assert(start())
    local outcome, err = server:execute("sleep", {}, { timeout = 0.05 })
    assert.same({ nil, "timeout" }, { outcome, err.kind })
    turn_until(function() return heard "cancelled" ~= nil end)
    local task = pintle.task(function() return server:execute "sleep" end)
    turn_until(function() return #heard() == 5 end)
    task:cancel()
    turn_until(function() return #heard() == 6 end)
    assert.equal("cancelled", heard()[6])
  end)
end)

describe("a client of a language server, on requests", function()
  local function answer(method, params, options)
    local server <close> = assert(start("proper", options))
    return assert(server:execute("ask", { method, params })).result
  end

  it("answers requests that it supports, and declines the others", function()
    local folder = { uri = "file:///x", name = "x" }
    local root = { options = { root = "/x" } }
    assert.same({ folder }, answer("workspace/workspaceFolders", json.null, root))
    assert.equal(json.null, answer("workspace/workspaceFolders", json.null, { options = { root = false } }))
    assert.same({ applied = false, failureReason = "this client does not apply edits" },
      answer("workspace/applyEdit", {}))
    assert.same({ success = false }, answer("window/showDocument", { uri = "file:///x" }))
  end)

  it("accepts requests that need no action", function()
    local server = assert(start())
    for _, method in ipairs {
      "client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create",
      "workspace/codeLens/refresh", "workspace/diagnostic/refresh", "workspace/inlayHint/refresh",
      "workspace/inlineValue/refresh", "workspace/semanticTokens/refresh",
    } do
      assert.equal(json.null, assert(server:execute("ask", { method, {} })).result)
    end
  end)

  it("refuses unknown requests", function()
    local server = assert(start())
    local _, err = server:execute("ask", { "whatever", {} })
    assert.same({ -32601, "Method not found: whatever" }, { err.code, err.message })
  end)

  it("answers from the settings, section by section", function()
    local items = { items = {
      { section = "a.b" }, { section = "a" }, {}, { section = "a.x.y" }, { scopeUri = "file:///x", section = "c" },
    } }
    local settings = { a = { b = 1 }, c = false }
    assert.same({ 1, { b = 1 }, settings, json.null, false },
      answer("workspace/configuration", items, { options = { settings = settings } }))
    assert.same({ json.null, json.null, json.null, json.null, json.null }, answer("workspace/configuration", items))
    assert.same({}, answer("workspace/configuration", {}))
  end)

  it("passes a request to a handler of the user", function()
    local handlers = {
      ["workspace/applyEdit"] = function(params) return { applied = params.edit } end,
      ["window/showMessageRequest"] = function(params) return params.actions[2] end,
    }
    assert.same({ applied = 7 }, answer("workspace/applyEdit", { edit = 7 }, { handlers = handlers }))
    assert.same({ title = "no" }, answer("window/showMessageRequest",
      { type = 3, message = "?", actions = { { title = "yes" }, { title = "no" } } }, { handlers = handlers }))
  end)
end)

describe("a client of a language server, on notifications", function()
  it("logs messages with their level", function()
    local server = assert(start())
    for number, level in pairs { "error", "warn ", "info ", "debug", "debug", [9] = "info " } do
      for _, method in ipairs { "window/logMessage", "window/showMessage", "window/showMessageRequest" } do
        entries = {}
        assert.equal(json.null, assert(server:execute("ask", { method, { type = number, message = "m" } })).result)
        assert.same({ level .. " server: m" }, entries)
      end
    end
    entries = {}
    server:execute("ask", { "telemetry/event", { a = 1 } })
    server:execute("ask", { "window/logMessage", { text = "m" } })
    assert.same({ 'debug server: telemetry {"a":1}',
      'warn  server: malformed log message {"text":"m"}' }, entries)
  end)

  it("logs progress that belongs to no call", function()
    local server = assert(start())
    for _, value in ipairs {
      { kind = "begin", title = "indexing", percentage = 0 }, { kind = "report", message = "3/5", percentage = 60 },
      { kind = "report", percentage = 61.8 }, { kind = "report", percentage = 1e300 }, { kind = "end" },
    } do
      server:execute("ask", { "$/progress", { token = 1, value = value } })
    end
    assert.same({ "debug server: indexing: 0%", "debug server: indexing: 3/5: 60%", "debug server: indexing: 61%",
      "debug server: indexing: 1e+300%", "debug server: indexing: done" }, entries)
  end)

  it("passes notifications to handlers of the user", function()
    local reported
    local server = assert(start("proper", {
      handlers = { ["textDocument/publishDiagnostics"] = function(params) reported = params.uri end },
    }))
    server:execute("ask", { "textDocument/publishDiagnostics", { uri = "file:///x" } })
    assert.equal("file:///x", reported)
  end)
end)

describe("a client of a language server, when it stops", function()
  it("sends shutdown, then exit", function()
    local server = assert(start())
    server:stop()
    assert.same({ "initialize", "initialized", "shutdown", "exit" }, heard())
    assert.equal(0, exit_status.read(status_file))
  end)

  it("sends exit even if shutdown is not answered", function()
    local server = assert(start("deaf", { stop_timeouts = { request = 0.2 } }))
    server:stop()
    assert.equal("exit", heard()[#heard()])
    assert.equal(1, exit_status.read(status_file))
  end)
end)

describe("pintle's client and pintle's server", function()
  local function greeter(given)
    given = given or {}
    given.command = { "lua5.4", "examples/greeter/plugin.lua" }
    return assert(host:start(given))
  end

  it("execute an operation", function()
    local plugin = greeter()
    assert.same({ "greeter", "1.0.0" }, { plugin.manifest.name, plugin.manifest.version })
    local outcome = assert(plugin:execute("greet", { name = "Ada" }))
    assert.same({ true, "Hello, Ada" }, { outcome.success, outcome.message })
    assert.same('info  plugin: greeting {"name":"Ada"}', entries[1])
    outcome = assert(plugin:execute("greet", { name = "" }))
    assert.same({ false, "nobody to greet" }, { outcome.success, outcome.error })
    local none, err = plugin:execute("greet", { name = 5 })
    assert.same({ nil, -32602 }, { none, err.code })
    none, err = plugin:execute "great"
    assert.same({ nil, -32601 }, { none, err.code })
  end)

  it("report progress to the caller or to the log", function()
    local reported = {}
    local plugin = greeter()
    assert(plugin:execute("greet", { name = "Ada", times = 2 }, {
      on_progress = function(fraction, message) reported[#reported + 1] = { fraction, message } end,
    }))
    assert.same({ { 0.5 }, { 1 } }, reported)
    assert(plugin:execute("greet", { name = "Ada", times = 2 }))
    assert.equal("debug plugin: Say hello: done", entries[#entries])
  end)

  it("cancel a command, and exit with status 0", function()
    local command = { "lua5.4", "spec/support/plugins/language.lua" }
    local plugin = assert(host:start { command = exit_status.wrap(command, status_file) })
    local _, err = plugin:execute("sleep", {}, { timeout = 0.05 })
    assert.equal("timeout", err.kind)
    assert.same({ contents = "hover" }, (plugin:call("textDocument/hover", {})))
    plugin:stop()
    assert.equal(0, exit_status.read(status_file))
    assert.matches("and done", entries[#entries])
  end)
end)
