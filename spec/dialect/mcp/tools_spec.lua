-- The host's side of the Model Context Protocol: tools as operations, and the messages and requests of servers.
local json = require("pintle.core").json
local pintle = require "pintle"
local stage = require "spec.support.mcp_stage"
local tasks = require "pintle.task"

local new_host, start, lines, methods, wait_until, said =
  stage.host, stage.start, stage.lines, stage.methods, stage.wait_until, stage.said

before_each(stage.set)
after_each(stage.clear)

describe("tools", function()
  it("have their arguments checked before the request is sent", function()
    local host <close> = new_host()
    local plugin = assert(start(host, "classic"))
    local count = #lines()
    local _, err = plugin:execute("echo", { n = "x" })
    assert.equal('Invalid params for "echo": at /n: expected integer, got string "x"', err.message)
    _, err = plugin:execute("ecko", {})
    assert.same({ "Unknown operation: ecko", "echo" }, { err.message, err.data.suggestion })
    assert.equal(count, #lines())
  end)

  it("take any arguments, after a warning, if their schema cannot be read", function()
    local host <close> = new_host()
    local plugin = assert(start(host, "classic"))
    local warnings = said "warn"
    assert.equal(1, #warnings)
    assert.matches("crooked.*arguments are not checked", warnings[1])
    assert.equal('got {"any":[1,2]}', assert(plugin:execute("crooked", { any = { 1, 2 } })).message)
    assert.equal(1, #said "warn")
  end)

  it("return text as the message, structured content as outputs, and the whole result", function()
    local host <close> = new_host()
    local plugin = assert(start(host, "classic"))
    local outcome = assert(plugin:execute("echo", { n = 5 }))
    assert.same({ true, "n is 5\nand that is all", { n = 5 } }, { outcome.success, outcome.message, outcome.outputs })
    assert.equal("image/png", outcome.result.content[2].mimeType)
    local list = lines()
    assert.equal('{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"echo","arguments":{"n":5}}}',
      list[#list])
  end)

  it("return all kinds of content, with base64 decoded to bytes", function()
    local host <close> = new_host()
    local plugin = assert(start(host, "classic"))
    local png = pintle.bytes "\x89PNG\r\n\x1a\n"
    local outcome = assert(plugin:execute("show", { which = "all" }))
    assert.equal("see", outcome.message)
    local content = outcome.content
    assert.equal(6, #content)
    assert.same({ "see", "image/png", "x:b" }, { content[1].text, content[2].mimeType, content[5].resource.uri })
    assert.is_true(content[2].data == png)
    assert.same({ "\0\1\2", "%PDF" }, { tostring(content[3].data), tostring(content[4].resource.blob) })
    assert.equal("iVBORw0KGgo=", outcome.result.content[2].data)
    outcome = assert(plugin:execute("show", { which = "image" }))
    assert.equal("[image: image/png, 8 bytes]", outcome.message)
    assert.equal("n is 1", assert(plugin:execute("echo", { n = 1 })).content[1].text)
  end)

  it("return malformed content unchanged", function()
    local host <close> = new_host()
    local outcome = assert(assert(start(host, "classic")):execute("show", { which = "crooked" }))
    assert.same({ "no base64!", "odd", "hologram" },
      { outcome.content[1].data, outcome.content[2], outcome.content[3].type })
    assert.same({ "data of its content is not base64" }, { said("warn")[#said "warn"] })
  end)

  it("return structured content of any type", function()
    local host <close> = new_host()
    local outcome = assert(assert(start(host, "classic")):execute("show", { which = "list" }))
    assert.same({ { 1, 2 } }, { outcome.outputs })
    assert.is_nil(outcome.message)
  end)

  it("keep the server's order, and members that only MCP defines", function()
    local host <close> = new_host()
    local plugin = assert(start(host, "classic"))
    assert.same({ "echo", "broken", "hold", "crooked", "ask", "show" }, plugin.manifest.names)
    assert.same({
      title = "Echo", annotations = { readOnlyHint = true }, icons = { { src = "data:," } }, _meta = { ["x/y"] = 1 },
      execution = { taskSupport = "forbidden" },
    }, plugin.manifest.operations.echo.dialects.mcp)
    assert.same({}, plugin.manifest.operations.hold.dialects.mcp)
  end)

  it("have their outputs checked against the output schema", function()
    local host <close> = new_host()
    local _, err = assert(start(host, "classic")):execute "broken"
    assert.same({ "protocol", 'its result of "broken": outputs/n: expected integer, got string "x"' },
      { err.kind, err.message })
  end)

  it("report progress to on_progress", function()
    local host <close> = new_host { verbosity = "debug" }
    local plugin = assert(start(host, "classic"))
    local reports = {}
    assert(plugin:execute("echo", { n = 1 }, {
      on_progress = function(fraction, message) reports[#reports + 1] = { fraction, message } end,
    }))
    assert.same({ { 0.25, "quarter" }, { 1 } }, reports)
    assert.same({ "who knows" }, said "debug")
  end)

  it("are cancelled after a timeout, or when the caller stops waiting", function()
    local host <close> = new_host()
    local plugin = assert(start(host, "classic"))
    local _, err = plugin:execute("hold", {}, { timeout = 0.1 })
    assert.equal("timeout", err.kind)
    local task = tasks.start(plugin.execute, plugin, "hold")
    wait_until(function() return #lines() == 9 end)
    task:cancel "enough"
    wait_until(function() return #lines() == 10 end)
    local list = lines()
    assert.same({
      '{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"hold","arguments":{}}}',
      '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":6,"reason":"timeout"}}',
      '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"hold","arguments":{}}}',
      '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"enough"}}',
    }, table.move(list, 7, 10, 1, {}))
  end)

  it("are skipped with a warning if they are malformed", function()
    local host <close> = new_host()
    local plugin = assert(start(host, "careless"))
    assert.same({ "twice", "schemaless" }, plugin.manifest.names)
    assert.equal("second", plugin.manifest.operations.twice.description)
    local warnings = table.concat(said "warn", "\n")
    assert.matches('there are two tools "twice"', warnings, 1, true)
    assert.matches("a tool that has no name", warnings, 1, true)
    plugin = assert(start(host, "listless"))
    local _, err = plugin:execute "any"
    assert.same({ "protocol", "its tools cannot be listed: its answer to tools/list has no list of tools" },
      { err.kind, err.message })
  end)

  it("are listed again by execute if the first listing has failed", function()
    local host <close> = new_host()
    local plugin = assert(start(host, "shy"))
    assert.same({}, plugin.manifest.names)
    assert.same({ "its tools cannot be listed: no list today" }, said "warn")
    local _, err = plugin:execute("echo", { n = 1 })
    assert.same({ "remote", -32603, "its tools cannot be listed: no list today" }, { err.kind, err.code, err.message })
    _, err = plugin:execute("echo", { n = "x" })
    assert.equal('Invalid params for "echo": at /n: expected integer, got string "x"', err.message)
    assert.equal("echo", plugin.manifest.names[1])
    local count = #lines()
    assert.equal("n is 1\nand that is all", assert(plugin:execute("echo", { n = 1 })).message)
    assert.equal(count + 1, #lines())
  end)

  it("are cut off if the list has no end; tools that are not listed can be executed", function()
    local host <close> = new_host()
    local plugin = assert(start(host, "endless"))
    assert.equal(1000, #plugin.manifest.names)
    assert.is_true(plugin.manifest.is_open)
    assert.same({ "its list of tools has no end" }, said "warn")
    plugin = assert(start(host, "stuck"))
    assert.same({ "echo", "broken", "hold" }, plugin.manifest.names)
    assert.same({ "tools/list", "tools/list" }, table.move(methods(), #lines() - 1, #lines(), 1, {}))
    assert.equal("logging/setLevel", methods()[#lines() - 2])
    assert.equal("n is 3\nand that is all", assert(plugin:execute("echo", { n = 3 })).message)
  end)

  it("are read again when the server notifies of a change", function()
    local host <close> = new_host()
    local plugin = assert(start(host, "growing"))
    assert.same({ "t3" }, plugin.manifest.names)
    for i = 4, 6 do
      assert(plugin:call("tell", { method = "notifications/tools/list_changed" }))
      wait_until(function() return plugin.manifest.names[1] == "t" .. i end)
    end
  end)

  it("are read once more if they change while they are read", function()
    local host <close> = new_host()
    local plugin = assert(start(host, "restless"))
    assert.same({ "t2" }, plugin.manifest.names)
    assert(plugin:call("tell", { method = "notifications/tools/list_changed" }))
    wait_until(function() return plugin.manifest.names[1] == "t4" end)
  end)
end)

describe("messages of a server", function()
  it("are logged with pintle's levels", function()
    local host <close> = new_host { verbosity = "debug" }
    local plugin = assert(start(host, "classic"))
    local function tell(params) assert(plugin:call("tell", { method = "notifications/message", params = params })) end
    for _, level in ipairs { "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency" } do
      tell { level = level, data = level }
    end
    tell { level = "info", data = { message = "m", data = { n = 1 } } }
    tell { level = "info", data = { message = "m", more = 1 } }
    tell { level = "info", data = { 1, 2 } }
    tell { level = "loud", data = "x" }
    tell { level = "info" }
    local seen = {}
    for i, entry in ipairs(stage.entries) do seen[i] = { entry.level, entry.message, entry.data } end
    assert.same({
      { "debug", "debug" }, { "info", "info" }, { "info", "notice" }, { "warn", "warning" }, { "error", "error" },
      { "error", "critical" }, { "error", "alert" }, { "error", "emergency" }, { "info", "m", { n = 1 } },
      { "info", "m", { message = "m", more = 1 } }, { "info", "[1,2]" },
      { "warn", "a log message that is not as it should be", { level = "loud", data = "x" } },
      { "warn", "a log message that is not as it should be", { level = "info" } },
    }, table.move(seen, #seen - 12, #seen, 1, {}))
  end)

  it("are requested from the host's verbosity level upwards", function()
    for verbosity, level in pairs { debug = "debug", info = "info", warn = "warning", error = "error" } do
      local host <close> = new_host { verbosity = verbosity }
      assert(start(host, "classic"))
      local list = lines()
      assert.equal(level, json.decode(list[#list - 2]).params.level)
    end
    local host <close> = new_host { verbosity = "silent" }
    assert(start(host, "classic", { name = "loud", options = { log_level = "alert" } }))
    assert.equal("alert", json.decode(lines()[#lines() - 2]).params.level)
    assert(start(host, "classic"))
    assert.equal("notifications/initialized", methods()[#lines() - 2])
  end)

  it("that are requests are answered by the user's handlers", function()
    local host <close> = new_host()
    local refused = assert(start(host, "classic")):execute("ask")
    assert.equal("[{},-32601,-32601,-32601,-32601]", refused.message)
    local plugin = assert(start(host, "classic", {
      name = "open", options = { roots = { "/a b" } },
      handlers = {
        ["sampling/createMessage"] = function() return { model = "m" } end,
        ["elicitation/create"] = function() return { action = "decline" } end,
      },
    }))
    assert.equal('[{},{"roots":[{"uri":"file:///a%20b"}]},{"model":"m"},{"action":"decline"},-32601]',
      assert(plugin:execute "ask").message)
    local greeting
    for _, line in ipairs(lines()) do
      local message = json.decode(line)
      if message.method == "initialize" then greeting = message end
    end
    assert.same({ roots = {}, sampling = {}, elicitation = {} }, greeting.params.capabilities)
  end)
end)

describe("options", function()
  it("are checked when the host starts a server", function()
    local host <close> = new_host()
    for message, options in pairs {
      ["options: era: there is no 1999-01-01; there are 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05"] =
        { era = "1999-01-01" },
      ["options: client: a table with name and version expected"] = { client = { name = "x" } },
      ["options: roots: a list expected, got string"] = { roots = "/" },
      ["options: capabilities: a table expected, got string"] = { capabilities = "all" },
      ["options: log_level: there is no loud"] = { log_level = "loud" },
      ["options: wings: there is no such option"] = { wings = 2 },
    } do
      local _, err = start(host, "classic", { options = options })
      assert.same({ "invalid", "classic: " .. message }, { err.kind, err.message })
    end
  end)
end)

describe("a pintle plugin", function()
  for era, version in pairs { ["without a handshake"] = "2026-07-28", ["with one"] = "2025-06-18" } do
    it("works in the same way with a host " .. era, function()
      local host <close> = new_host()
      local plugin = assert(host:start {
        command = { "lua5.4", "examples/greeter/plugin.lua" }, options = { era = version },
      })
      assert.same({ "greeter", "1.0.0", "Says hello", { "greet" } }, { plugin.manifest.name, plugin.manifest.version,
        plugin.manifest.description, plugin.manifest.names })
      local fractions = {}
      local outcome = assert(plugin:execute("greet", { name = "Ada", times = 2 }, {
        on_progress = function(fraction) fractions[#fractions + 1] = fraction end,
      }))
      assert.same({ true, "Hello, Ada" }, { outcome.success, outcome.message })
      assert.same({ 0.5, 1 }, fractions)
      assert.same({ "greeting", { name = "Ada" } }, { stage.entries[1].message, stage.entries[1].data })
      outcome = assert(plugin:execute("greet", { name = "" }))
      assert.same({ false, "nobody to greet" }, { outcome.success, outcome.error })
      local result, err = plugin:call("tools/call", { name = "greet", arguments = { name = 5 } })
      if version == "2025-06-18" then
        assert.same({ "remote", -32602 }, { err.kind, err.code })
      else
        assert.is_true(result.isError)
      end
    end)
  end

  it("returns its message and its outputs separately", function()
    local host <close> = new_host()
    local plugin = assert(host:start { command = { "lua5.4", "spec/support/plugins/toolbox.lua" } })
    local outcome = assert(plugin:execute("sum", { a = 2, b = 3 }))
    assert.same({ "added", { sum = 5 } }, { outcome.message, outcome.outputs })
    assert.equal(13, #plugin.manifest.names)
  end)
end)
