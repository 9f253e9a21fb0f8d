-- The host's side of the Model Context Protocol: how the era of a server is recognised, and what it receives.
local json = require("pintle.core").json
local loop = require "pintle.loop"
local stage = require "spec.support.mcp_stage"

local new_host, start, lines, methods, wait_until =
  stage.host, stage.start, stage.lines, stage.methods, stage.wait_until

before_each(stage.set)
after_each(stage.clear)

local PROBE = '{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{'
  .. '"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
  .. '"io.modelcontextprotocol/clientInfo":{"name":"pintle","version":"scm"},'
  .. '"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}'

describe("a classic server", function()
  it("is recognised by its error response to server/discover, and receives initialize", function()
    local host <close> = new_host()
    local plugin = assert(start(host, "classic"))
    assert.same({ "old", "1" }, { plugin.manifest.name, plugin.manifest.version })
    assert.equal("Be gentle.", plugin.raw_manifest.instructions)
    assert.same({ "echo", "broken", "hold", "crooked", "ask", "show" }, plugin.manifest.names)
    assert.same({
      PROBE,
      '{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
        .. '"clientInfo":{"name":"pintle","version":"scm"}}}',
      '{"jsonrpc":"2.0","method":"notifications/initialized"}',
      '{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"info"}}',
      '{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{}}',
      '{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"cursor":"two"}}',
    }, lines())
  end)

  it("receives initialize if it does not answer server/discover", function()
    local host <close> = new_host()
    local plugin = assert(start(host, "silent", { handshake_timeout = 6 }))
    assert.equal("old", plugin.manifest.name)
    assert.same({ "server/discover", "initialize", "notifications/initialized" },
      table.move(methods(), 1, 3, 1, {}))
  end)

  it("receives initialize if its answer to server/discover is invalid", function()
    local host <close> = new_host()
    assert.equal("old", assert(start(host, "odd")).manifest.name)
  end)

  it("is restarted with initialize if server/discover makes it exit", function()
    local host <close> = new_host { restart = { backoff = 0.01 } }
    local plugin = assert(start(host, "touchy"))
    assert.equal("old", plugin.manifest.name)
    assert.equal(1, #plugin:pids())
    local greeting = { "server/discover", "initialize", "notifications/initialized" }
    assert.same(greeting, table.move(methods(), 1, 3, 1, {}))
    local count = #lines()
    os.execute("kill -9 " .. plugin:pids()[1])
    wait_until(function() return #lines() > count + 3 end)
    assert.equal("initialize", methods()[count + 1])
    assert.is_nil((table.concat(methods(), " ", count + 1):find("server/discover", 1, true)))
  end)

  it("is recognised when it is slow to start", function()
    local host <close> = new_host()
    assert.equal("old", assert(start(host, "touchy_and_slow", { handshake_timeout = 4 })).manifest.name)
    assert.same({ "server/discover", "initialize", "notifications/initialized" },
      table.move(methods(), 1, 3, 1, {}))
  end)

  it("receives initialize with the newest version that it lists", function()
    local host <close> = new_host()
    assert(start(host, "old"))
    assert.equal("2025-06-18", json.decode(lines()[2]).params.protocolVersion)
  end)

  it("receives each version that its errors list, one after the other", function()
    local host <close> = new_host()
    assert.equal("picky", assert(start(host, "downgrading")).manifest.name)
    local versions = {}
    for i = 2, 4 do versions[i - 1] = json.decode(lines()[i]).params.protocolVersion end
    assert.same({ "2025-11-25", "2025-06-18", "2024-11-05" }, versions)
  end)

  it("may list the modern version when it refuses initialize", function()
    local host <close> = new_host()
    assert.equal("new", assert(start(host, "upgrading", { handshake_timeout = 8 })).manifest.name)
  end)

  it("receives only the version that the user sets", function()
    local host <close> = new_host()
    assert(start(host, "classic", { options = { era = "2024-11-05" } }))
    assert.equal("initialize", methods()[1])
    assert.equal("2024-11-05", json.decode(lines()[1]).params.protocolVersion)
  end)

  it("is refused if its version is unknown", function()
    local host <close> = new_host()
    local _, err = start(host, "ahead")
    assert.same({ "protocol", "ahead: it speaks version 2031-01-01 of the protocol, which this host does not support" },
      { err.kind, err.message })
    _, err = start(host, "future")
    assert.same({ "remote", -32022 }, { err.kind, err.code })
  end)

  it("starts without tools, version and capabilities", function()
    local host <close> = new_host()
    local plugin = assert(start(host, "bare"))
    assert.same({ "bare", nil, {} }, { plugin.manifest.name, plugin.manifest.version, plugin.manifest.names })
    assert.same({ "server/discover", "initialize" }, table.move(methods(), 1, 2, 1, {}))
  end)

  it("fails at the handshake timeout if it never answers", function()
    local host <close> = new_host()
    local began = loop.now()
    local _, err = start(host, "mute", { handshake_timeout = 0.4 })
    assert.equal("timeout", err.kind)
    assert.matches('no answer to "initialize"', err.message, 1, true)
    assert.truthy(loop.now() - began < 5)
  end)

  it("is reported as closed if it exits at once", function()
    local host <close> = new_host()
    local _, err = host:start { command = { "sh", "-c", "echo bad luck >&2; exit 3" }, name = "unlucky" }
    assert.same({ "closed", "unlucky ended with status 3: bad luck" }, { err.kind, err.message })
  end)
end)

describe("a modern server", function()
  it("receives version, client and capabilities with every request", function()
    local host <close> = new_host()
    local plugin = assert(start(host, "modern"))
    assert.same({ "new", "2026.7" }, { plugin.manifest.name, plugin.manifest.version })
    assert.equal("Be quick.", plugin.raw_manifest.instructions)
    assert(plugin:execute("hold"))
    assert(plugin:call("server/discover"))
    local list = lines()
    assert.equal(PROBE, list[1])
    assert.same({ "server/discover", "subscriptions/listen", "tools/list", "tools/call", "server/discover" }, methods())
    for i = 2, #list do
      assert.same({
        ["io.modelcontextprotocol/protocolVersion"] = "2026-07-28",
        ["io.modelcontextprotocol/clientInfo"] = { name = "pintle", version = "scm" },
        ["io.modelcontextprotocol/clientCapabilities"] = { extensions = { ["io.modelcontextprotocol/tasks"] = {} } },
        ["io.modelcontextprotocol/logLevel"] = "info",
      }, json.decode(list[i]).params._meta)
    end
  end)

  it("receives the user's own members of _meta", function()
    local host <close> = new_host()
    local plugin = assert(start(host, "modern", { options = { client = { name = "me", version = "7" } } }))
    plugin:call("tools/list", { _meta = { traceparent = "00-1", ["io.modelcontextprotocol/logLevel"] = "alert" } })
    local meta = json.decode(lines()[4]).params._meta
    assert.same({ "00-1", "alert", "me" }, {
      meta.traceparent, meta["io.modelcontextprotocol/logLevel"], meta["io.modelcontextprotocol/clientInfo"].name,
    })
  end)

  it("is recognised when it is slow to start and supports only the modern era", function()
    local host <close> = new_host()
    local plugin = assert(start(host, "sleepy", { handshake_timeout = 2 }))
    assert.equal("new", plugin.manifest.name)
    assert.same({ "server/discover", "initialize", "server/discover" }, table.move(methods(), 1, 3, 1, {}))
  end)

  it("receives no initialize if the user sets the modern era", function()
    local host <close> = new_host()
    assert(start(host, "modern", { options = { era = "2026-07-28" } }))
    local _, err = start(host, "classic", { options = { era = "2026-07-28" } })
    assert.same({ "remote", -32601 }, { err.kind, err.code })
  end)

  it("receives the input that it asks for, in several rounds", function()
    local host <close> = new_host()
    local plugin = assert(start(host, "modern", {
      options = { roots = { "/tmp", { uri = "file:///x", name = "X" } } },
      handlers = { ["elicitation/create"] = function(params)
        return { action = "accept", content = { name = params.message } }
      end },
    }))
    local result = assert(plugin:call("resources/read", { uri = "x:" }))
    assert.same({
      { where = { roots = { { uri = "file:///tmp" }, { uri = "file:///x", name = "X" } } },
        who = { action = "accept", content = { name = "Who?" } } }, "opaque",
    }, result.contents)
    local list = lines()
    local first, second = json.decode(list[#list - 1]), json.decode(list[#list])
    assert.not_equal(first.id, second.id)
    assert.equal("x:", second.params.uri)
    local capabilities = second.params._meta["io.modelcontextprotocol/clientCapabilities"]
    local extensions = { ["io.modelcontextprotocol/tasks"] = {} }
    assert.same({ roots = {}, elicitation = {}, extensions = extensions }, capabilities)
  end)

  it("fails the call if it asks for unknown input, or asks again and again", function()
    local host <close> = new_host()
    local plugin = assert(start(host, "modern"))
    local _, err = plugin:call("resources/read", { uri = "x:" })
    assert.equal("invalid", err.kind)
    assert.matches("^it asks for .*: Method not found: ", err.message)
    _, err = plugin:call("prompts/get", { name = "p" })
    assert.same({ "protocol", "it still asks for more after 10 rounds" }, { err.kind, err.message })
  end)

  it("fails the call if the type of its result is unknown", function()
    local host <close> = new_host()
    local _, err = assert(start(host, "peculiar")):execute "hold"
    assert.same({ "protocol", 'its result of "hold": of the type hologram' }, { err.kind, err.message })
  end)

  it("has its tools listed again when they change", function()
    local host <close> = new_host()
    local plugin = assert(start(host, "modern"))
    assert(plugin:call "grow")
    wait_until(function() return plugin.manifest.operations.new end)
    assert.equal("called", assert(plugin:execute "new").message)
  end)
end)
