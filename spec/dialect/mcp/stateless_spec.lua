-- The server's side of the Model Context Protocol, without a handshake.
local children = require "spec.support.children"
local extension = require "spec.support.extension"
local json = require("pintle.core").json
local mcp = require "spec.support.mcp_client"

children.leave_nothing()

local SERVER = '"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"toolbox","title":"Toolbox","version":"1.0.0"}}'

local start, with_meta, call = mcp.start, mcp.with_meta, mcp.call
local ask_modern, call_modern = mcp.ask_modern, mcp.call_modern

describe("a plugin in the modern era", function()
  it("requires version and capabilities in every request", function()
    local plugin <close> = start()
    local function wrong(meta)
      return plugin:call("tools/list", { _meta = meta }, 7).error
    end
    assert.same({ code = -32602, message = "Invalid params: _meta: io.modelcontextprotocol/clientCapabilities is "
      .. "missing" }, wrong { ["io.modelcontextprotocol/protocolVersion"] = "2026-07-28" })
    assert.same({ code = -32602, message = "Invalid params: _meta: io.modelcontextprotocol/protocolVersion is missing, "
      .. "and there was no initialize" }, wrong { ["io.modelcontextprotocol/clientCapabilities"] = {} })
    assert.same({ code = -32602, message = "Invalid params: _meta: io.modelcontextprotocol/clientCapabilities: "
      .. "object expected, got array" },
      wrong { ["io.modelcontextprotocol/protocolVersion"] = "2026-07-28",
        ["io.modelcontextprotocol/clientCapabilities"] = json.array() })
    assert.same({ code = -32602, message = "Invalid params: _meta: io.modelcontextprotocol/protocolVersion: "
      .. "string expected, got number" }, wrong { ["io.modelcontextprotocol/protocolVersion"] = 1 })
    local err = ask_modern(plugin, "tools/list", nil, { ["io.modelcontextprotocol/clientInfo"] = 1 }).error
    assert.equal(-32602, err.code)
    assert.same({ code = -32602, message = "Invalid params: _meta: object expected, got string" }, wrong "x")
  end)

  it("lists the supported versions when the requested one is unknown", function()
    local plugin <close> = start()
    local text = plugin:ask('{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":'
      .. '{"io.modelcontextprotocol/protocolVersion":"1900-01-01"}}}')
    assert.equal('{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"Unsupported protocol version",'
      .. '"data":{"supported":["2026-07-28"],"requested":"1900-01-01"}}}', text)
  end)

  it("answers server/discover", function()
    local plugin <close> = extension.start "examples/greeter/plugin.lua"
    plugin:say('{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{"_meta":'
      .. '{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}')
    assert.equal('{"jsonrpc":"2.0","id":"d","result":{"resultType":"complete","supportedVersions":["2026-07-28"],'
      .. '"capabilities":{"tools":{"listChanged":true},"logging":{}},"ttlMs":300000,"cacheScope":"private","_meta":'
      .. '{"io.modelcontextprotocol/serverInfo":{"name":"greeter","version":"1.0.0","description":"Says hello"}}}}',
      plugin:line())
    local other <close> = start()
    local told = ask_modern(other, "server/discover").result
    assert.equal("Mind your fingers.", told.instructions)
    assert.same({ listChanged = true, subscribe = true }, told.capabilities.resources)
  end)

  it("adds the result type and serverInfo to results", function()
    local plugin <close> = start()
    plugin:say(json.encode { jsonrpc = "2.0", id = 2, method = "tools/call",
      params = with_meta { name = "sum", arguments = { a = 2, b = 3 } } })
    assert.equal('{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[{"type":"text","text":"added"},'
      .. '{"type":"text","text":"{\\"sum\\":5}"}],"structuredContent":{"sum":5},' .. SERVER .. "}}", plugin:line())
    local page = ask_modern(plugin, "tools/list").result
    assert.same({ "complete", 300000, "private", 3 }, { page.resultType, page.ttlMs, page.cacheScope, #page.tools })
    assert.truthy(page.nextCursor)
  end)

  it("adds them to results of raw methods as well", function()
    local plugin <close> = start()
    local list = ask_modern(plugin, "resources/list").result
    assert.same({ "complete", 0, "private", {} }, { list.resultType, list.ttlMs, list.cacheScope, list.resources })
    assert.equal("toolbox", list._meta["io.modelcontextprotocol/serverInfo"].name)
    local kept = ask_modern(plugin, "resources/read", { uri = "kept:" }).result
    assert.same({ 5, "public" }, { kept.ttlMs, kept.cacheScope })
    local asking = ask_modern(plugin, "prompts/get", { name = "p" }).result
    assert.same({ "input_required", "s" }, { asking.resultType, asking.requestState })
  end)

  it("uses the modern error code for a missing resource", function()
    local plugin <close> = start()
    assert.same({ code = -32602, message = "Resource not found", data = { uri = "y:" } },
      ask_modern(plugin, "resources/read", { uri = "y:" }).error)
    assert.equal(-32603, ask_modern(plugin, "resources/read", { uri = "text:" }).error.code)
  end)

  it("returns the same results for failures as the classic era", function()
    local plugin <close> = start()
    assert.is_true(call_modern(plugin, "fail").result.isError)
    assert.equal("Unknown tool: smu", call_modern(plugin, "smu").error.message)
    local wrong = call_modern(plugin, "sum", { a = "x", b = 1 }).result
    assert.same({ "complete", true, 'Invalid params for "sum": at /a: expected integer, got string "x"' },
      { wrong.resultType, wrong.isError, wrong.content[1].text })
  end)

  it("returns structured content of any type", function()
    local plugin <close> = start()
    assert.same({ "a" }, call_modern(plugin, "list-output").result.structuredContent)
  end)

  it("refuses methods of the classic era", function()
    local plugin <close> = start()
    for _, method in ipairs { "initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe",
      "unheard/of" } do
      assert.same({ code = -32601, message = "Method not found: " .. method }, ask_modern(plugin, method).error)
    end
  end)

  it("sends logs from the requested level upwards", function()
    local plugin <close> = start()
    local function heard(level)
      local count, answer = 0, call_modern(plugin, "log", nil, { ["io.modelcontextprotocol/logLevel"] = level })
      while not answer.id do
        assert.equal("notifications/message", answer.method)
        count, answer = count + 1, json.decode(plugin:line())
      end
      return answer.error and answer.error.message or count
    end
    assert.equal(0, heard(nil))
    assert.equal(4, heard "debug")
    assert.equal(2, heard "notice")
    assert.equal(0, heard "alert")
    assert.equal(0, heard(nil))
    assert.equal("Invalid params: _meta: io.modelcontextprotocol/logLevel: there is no loud", heard "loud")
    local _, _, complaints = plugin:finish()
    assert.equal('toolbox: info: begun\ntoolbox: info: something {"n":1}\ntoolbox: warn: careful\n'
      .. "toolbox: error: trouble\n", complaints:match "^(.-trouble\n)")
  end)

  it("sends progress if the request asks for it", function()
    local plugin <close> = start()
    local first = call_modern(plugin, "progress", nil, { progressToken = 9 })
    assert.same({ progressToken = 9, progress = 0, total = 1 }, first.params)
  end)

  it("uses the token of each request, whether its _meta repeats or changes", function()
    local plugin <close> = start()
    for _, token in ipairs { 9, 9, 10, 9 } do
      local report = call_modern(plugin, "progress", nil, { progressToken = token })
      assert.equal(token, report.params.progressToken)
      while json.decode(plugin:line()).id == nil do end
    end
  end)

  it("stops a cancelled request and sends no more messages about it", function()
    local plugin <close> = start()
    local meta = { progressToken = 9, ["io.modelcontextprotocol/logLevel"] = "debug" }
    local first = call_modern(plugin, "hold", nil, meta)
    assert.equal(0, first.params.progress)
    plugin:say '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}'
    assert.equal(-32601, ask_modern(plugin, "ping").error.code)
    local rest, status = plugin:finish()
    assert.same({ "", 0 }, { rest, status })
  end)

  it("keeps no state of earlier requests", function()
    local plugin <close> = start()
    local text = call_modern(plugin, "client", nil,
      { ["io.modelcontextprotocol/clientCapabilities"] = { sampling = {} } }).result.content[1].text
    assert.equal("[false,true]", text)
    assert.equal("[false,false]", call_modern(plugin, "client").result.content[1].text)
  end)

  it("can be mixed with the classic era in one conversation", function()
    local plugin <close> = start()
    assert.equal("complete", ask_modern(plugin, "server/discover").result.resultType)
    assert.equal("complete", call_modern(plugin, "nothing").result.resultType)
    assert.equal("2025-11-25", json.decode(plugin:ask(mcp.INITIALIZE)).result.protocolVersion)
    assert.is_nil(call(plugin, "nothing").result.resultType)
    assert.equal("complete", call_modern(plugin, "nothing").result.resultType)
  end)

  describe("subscriptions/listen", function()
    local function listen(plugin, filter, id)
      return plugin:call("subscriptions/listen", with_meta { notifications = filter }, id)
    end

    it("acknowledges the supported notifications", function()
      local plugin <close> = start()
      local told = listen(plugin, {
        toolsListChanged = true, promptsListChanged = true, resourcesListChanged = true,
        resourceSubscriptions = { "x:/1" },
      }, "s")
      assert.same({
        jsonrpc = "2.0", method = "notifications/subscriptions/acknowledged",
        params = {
          _meta = { ["io.modelcontextprotocol/subscriptionId"] = "s" },
          notifications = {
            toolsListChanged = true, resourcesListChanged = true, resourceSubscriptions = { "x:/1" },
          },
        },
      }, told)
    end)

    it("receives the requested notifications, with its id", function()
      local plugin <close> = start()
      listen(plugin, { resourcesListChanged = true }, 11)
      listen(plugin, { resourceSubscriptions = { "x:/1" } }, "b")
      listen(plugin, { resourceSubscriptions = { "x:/2" } }, "c")
      local first = call_modern(plugin, "change")
      assert.same({ "notifications/resources/list_changed", 11 },
        { first.method, first.params._meta["io.modelcontextprotocol/subscriptionId"] })
      assert.same({ uri = "x:/1", _meta = { ["io.modelcontextprotocol/subscriptionId"] = "b" } },
        json.decode(plugin:line()).params)
      assert.equal("custom/thing", json.decode(plugin:line()).method)
      assert.equal("complete", json.decode(plugin:line()).result.resultType)
    end)

    it("ends when it is cancelled", function()
      local plugin <close> = start()
      listen(plugin, { resourcesListChanged = true }, 11)
      plugin:say '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":11}}'
      assert.equal("custom/thing", call_modern(plugin, "change").method)
    end)

    it("does not prevent the plugin from exiting", function()
      local plugin <close> = start()
      listen(plugin, { resourcesListChanged = true }, 11)
      local rest, status = plugin:finish()
      assert.same({ "", 0 }, { rest, status })
    end)

    it("requires the list of notifications", function()
      local plugin <close> = start()
      assert.equal("Invalid params: notifications is missing",
        ask_modern(plugin, "subscriptions/listen").error.message)
      assert.equal("Invalid params: notifications.resourceSubscriptions: array expected, got string",
        listen(plugin, { resourceSubscriptions = "x" }).error.message)
    end)

    it("is refused beyond the limit", function()
      local plugin <close> = start()
      for id = 1, 64 do assert.is_nil(listen(plugin, {}, id).error) end
      assert.same({ code = -32600, message = "Invalid Request: there are 64 subscriptions already" },
        listen(plugin, {}, 65).error)
    end)
  end)
end)
