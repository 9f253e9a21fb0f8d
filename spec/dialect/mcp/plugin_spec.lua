-- The server's side of the Model Context Protocol, with a handshake.
local children = require "spec.support.children"
local core = require "pintle.core"
local dialects = require "pintle.dialect"
local extension = require "spec.support.extension"
local loop = require "pintle.loop"
local mcp = require "spec.support.mcp_client"
local plugins = require "pintle.plugin"
local test = require "pintle.test"

local json = core.json

children.leave_nothing()

local start, classic, ask, call = mcp.start, mcp.classic, mcp.ask, mcp.call

describe("the first message", function()
  local function recognised(method, params, framing)
    local dialect = dialects.recognise(method, params, framing or "line")
    return dialect and dialect.name
  end

  it("is recognised by its version, its clientInfo, or its method", function()
    assert.equal("mcp", recognised("initialize", { protocolVersion = "2024-11-05" }))
    assert.equal("mcp", recognised("initialize", { protocolVersion = "DRAFT", clientInfo = {} }))
    assert.equal("mcp", recognised("anything", { _meta = mcp.META }))
    for _, method in ipairs { "server/discover", "tools/list", "tools/call", "resources/read", "prompts/get", "ping",
      "completion/complete", "logging/setLevel", "notifications/cancelled" } do
      assert.equal("mcp", recognised(method))
    end
  end)

  it("is left to other dialects if they define it", function()
    assert.equal("gevals", recognised("initialize", { protocolVersion = "0.0.1" }))
    assert.equal("gevals", recognised("execute", {}))
    assert.not_equal("mcp", recognised("initialize", { clientInfo = {} }, "header"))
    assert.not_equal("mcp", recognised("tools/list", {}, "header"))
    assert.is_nil(recognised("unheard/of", {}))
  end)
end)

describe("a plugin in the classic era", function()
  describe("initialize", function()
    it("returns the description of the server", function()
      local plugin <close> = start()
      plugin:say(mcp.INITIALIZE)
      assert.equal('{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"toolbox",'
        .. '"data":"begun"}}', plugin:line())
      local told = json.decode(plugin:line()).result
      assert.same({
        protocolVersion = "2025-11-25", instructions = "Mind your fingers.",
        serverInfo = { name = "toolbox", title = "Toolbox", version = "1.0.0" },
        capabilities = {
          tools = { listChanged = true }, logging = {}, prompts = {},
          resources = { subscribe = true, listChanged = true },
          experimental = { x = {} },
        },
      }, told)
    end)

    it("returns the same bytes every time", function()
      local plugin <close> = extension.start "examples/greeter/plugin.lua"
      assert.equal('{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25",'
        .. '"capabilities":{"tools":{"listChanged":true},"logging":{}},'
        .. '"serverInfo":{"name":"greeter","version":"1.0.0","description":"Says hello"}}}', plugin:ask(mcp.INITIALIZE))
    end)

    it("returns the requested version, or the newest", function()
      for asked, agreed in pairs {
        ["2024-11-05"] = "2024-11-05", ["2025-03-26"] = "2025-03-26", ["2025-06-18"] = "2025-06-18",
        ["2025-11-25"] = "2025-11-25", ["2020-01-01"] = "2025-11-25", ["2026-07-28"] = "2025-11-25",
      } do
        local plugin <close> = extension.start "examples/greeter/plugin.lua"
        local answer = ask(plugin, "initialize", { protocolVersion = asked, capabilities = {}, clientInfo = {} })
        assert.equal(agreed, answer.result.protocolVersion)
      end
    end)

    it("refuses params with missing or invalid members", function()
      local plugin <close> = extension.plugin("greeter", { "--dialect=mcp" })
      local function wrong(params) return ask(plugin, "initialize", params).error end
      assert.same({ code = -32602, message = "Invalid params: params is missing" }, wrong(nil))
      assert.same({ code = -32602, message = "Invalid params: protocolVersion is missing" }, wrong {})
      assert.same({ code = -32602, message = "Invalid params: protocolVersion: string expected, got number" },
        wrong { protocolVersion = 1 })
      assert.same({ code = -32602, message = "Invalid params: capabilities: object expected, got array" },
        wrong { protocolVersion = "2025-11-25", capabilities = json.array() })
      assert.same({ code = -32602, message = "Invalid params: clientInfo: object expected, got string" },
        wrong { protocolVersion = "2025-11-25", clientInfo = "me" })
      assert.same({ code = -32602, message = "Invalid params: params: object expected, got array" },
        wrong(json.array { 1 }))
    end)

    it("is refused the second time", function()
      local plugin <close> = classic()
      assert.same({ code = -32600, message = "Invalid Request: initialize was sent already" },
        ask(plugin, "initialize", { protocolVersion = "2025-11-25" }).error)
      assert.equal("[true,true]", call(plugin, "client").result.content[1].text)
    end)

    it("cannot be cancelled", function()
      local plugin <close> = start { slow = 0.2 }
      plugin:say(mcp.INITIALIZE, '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}')
      assert.matches('"data":"begun"', plugin:line())
      assert.matches('"id":1,"result"', plugin:line())
    end)

    it("returns the error of an initializer", function()
      local plugin <close> = start { fail = "no folder" }
      local params = { protocolVersion = "2025-11-25" }
      assert.same({ code = -32603, message = "no folder" }, ask(plugin, "initialize", params).error)
      assert.equal(-32602, ask(plugin, "tools/list").error.code)
    end)

    it("is required before other requests, except ping", function()
      local plugin <close> = extension.plugin("greeter", { "--dialect", "mcp" })
      assert.same({}, ask(plugin, "ping").result)
      for _, method in ipairs { "tools/list", "logging/setLevel", "unheard/of" } do
        assert.same({ code = -32602, message = "Invalid params: _meta: io.modelcontextprotocol/protocolVersion is "
          .. "missing, and there was no initialize" }, ask(plugin, method).error)
      end
    end)

    it("gives the plugin the client's capabilities", function()
      local plugin <close> = classic()
      assert.equal("[true,true]", call(plugin, "client").result.content[1].text)
    end)
  end)

  it("answers ping", function()
    local plugin <close> = classic()
    assert.equal('{"jsonrpc":"2.0","id":"p","result":{}}', plugin:ask '{"jsonrpc":"2.0","id":"p","method":"ping"}')
  end)

  it("refuses methods of the modern era", function()
    local plugin <close> = classic()
    assert.same({ code = -32601, message = "Method not found: server/discover" }, ask(plugin, "server/discover").error)
    assert.same({ code = -32601, message = "Method not found: unheard/of" }, ask(plugin, "unheard/of").error)
    plugin:say '{"jsonrpc":"2.0","method":"notifications/unheard_of"}'
    assert.same({}, ask(plugin, "ping").result)
  end)

  describe("tools/list", function()
    it("returns pages in the order of declaration", function()
      local plugin <close> = classic()
      local names, cursor, pages = {}, nil, 0
      repeat
        local page = ask(plugin, "tools/list", { cursor = cursor }).result
        for _, tool in ipairs(page.tools) do names[#names + 1] = tool.name end
        cursor, pages = page.nextCursor, pages + 1
      until not cursor
      assert.equal(5, pages)
      assert.same({ "sum", "fail", "nothing", "list-output", "raise", "code", "need", "log", "progress", "hold", "ask",
        "client", "change" }, names)
    end)

    it("returns all declared members of a tool", function()
      local plugin <close> = classic()
      local text = plugin:ask '{"jsonrpc":"2.0","id":2,"method":"tools/list"}'
      assert.equal('{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"sum","title":"Sum","description":"Adds up",'
        .. '"inputSchema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer","default":1}},'
        .. '"required":["a"]},"outputSchema":{"type":"object","properties":{"sum":{"type":"integer"}},'
        .. '"required":["sum"]},"annotations":{"readOnlyHint":true}},'
        .. '{"name":"fail","inputSchema":{"type":"object"}},{"name":"nothing","inputSchema":{"type":"object"}}],'
        .. '"nextCursor":"after-3"}}', text)
    end)

    it("refuses an unknown cursor", function()
      local plugin <close> = classic()
      for _, cursor in ipairs { "", "x", "after-0", "after-13", "after--3", "after-1.5" } do
        assert.same({ code = -32602, message = ('Invalid params: cursor: there is no "%s"'):format(cursor) },
          ask(plugin, "tools/list", { cursor = cursor }).error)
      end
      assert.equal("Invalid params: cursor: string expected, got number",
        ask(plugin, "tools/list", { cursor = 3 }).error.message)
    end)
  end)

  describe("tools/call", function()
    it("returns a message as text, and outputs as structured content and as text", function()
      local plugin <close> = classic()
      assert.same({ sum = 3 }, call(plugin, "sum", { a = 2 }).result.structuredContent)
      plugin:say '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"sum","arguments":{"a":2,"b":3}}}'
      assert.equal('{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"added"},'
        .. '{"type":"text","text":"{\\"sum\\":5}"}],"structuredContent":{"sum":5}}}', plugin:line())
      assert.same({ content = {} }, call(plugin, "nothing").result)
      assert.same({ content = {} }, ask(plugin, "tools/call", { name = "nothing", arguments = json.null }).result)
    end)

    it("returns structured content if the tool has an output schema", function()
      local plugin <close> = extension.plugin "declared"
      plugin:ask(mcp.INITIALIZE)
      assert.same({
        structuredContent = {}, content = {
          { type = "text", text = "nothing to count" }, { type = "text", text = "{}" },
        },
      }, call(plugin, "offer").result)
      assert.is_nil(call(plugin, "give", { what = "failed" }).result.structuredContent)
    end)

    it("returns a result with isError if the tool fails", function()
      local plugin <close> = classic()
      assert.same({
        isError = true, structuredContent = { tries = 2 }, content = {
          { type = "text", text = "no" }, { type = "text", text = "why" }, { type = "text", text = '{"tries":2}' },
        },
      }, call(plugin, "fail").result)
    end)

    it("returns an error for an unknown tool", function()
      local plugin <close> = classic()
      assert.same({ code = -32602, message = "Unknown tool: smu", data = { tool = "smu", suggestion = "sum" } },
        call(plugin, "smu").error)
      assert.same({ code = -32602, message = "Unknown tool: xyzzyx", data = { tool = "xyzzyx" } },
        call(plugin, "xyzzyx").error)
    end)

    it("returns outputs that are not an object as text only", function()
      local plugin <close> = classic()
      assert.same({ content = { { type = "text", text = '["a"]' } } }, call(plugin, "list-output").result)
    end)

    it("returns a result with isError for wrong arguments", function()
      local plugin <close> = classic()
      assert.same({ isError = true, content = { { type = "text",
        text = 'Invalid params for "sum": at /a: expected integer, got string "x"' } } },
        call(plugin, "sum", { a = "x", b = 1 }).result)
    end)

    it("returns an error for wrong arguments before 2025-11-25, and always for malformed requests", function()
      local plugin <close> = start()
      plugin:ask((mcp.INITIALIZE:gsub("2025%-11%-25", "2025-06-18")))
      plugin:line()
      local err = call(plugin, "sum", { a = "x", b = 1 }).error
      assert.same({ -32602, 'Invalid params for "sum": at /a: expected integer, got string "x"' },
        { err.code, err.message })
      assert.same({ path = "/a", reason = 'expected integer, got string "x"', schema = "/properties/a/type" }, err.data)
      assert.same({ code = -32602, message = "Invalid params: name is missing" }, ask(plugin, "tools/call", {}).error)
      assert.same({ code = -32602, message = "Invalid params: arguments: object expected, got array" },
        ask(plugin, "tools/call", { name = "sum", arguments = json.array() }).error)
      assert.same({ code = -32602, message = "Invalid params: params is missing" }, ask(plugin, "tools/call").error)
    end)

    it("returns any other failure as an error with an allowed code", function()
      local plugin <close> = classic()
      local err = call(plugin, "raise").error
      assert.equal(-32603, err.code)
      assert.matches("^Internal error: .*boom$", err.message)
      assert.same({ code = -32050, message = "refused" }, call(plugin, "code").error)
      err = call(plugin, "need").error
      assert.equal(-32603, err.code)
      assert.matches("pintle-no-such-command", err.message, 1, true)
    end)

    it("can send a request to the client while it runs", function()
      local plugin <close> = classic()
      local question = call(plugin, "ask")
      assert.same({ "sampling/createMessage", { maxTokens = 1 } }, { question.method, question.params })
      plugin:say(json.encode { jsonrpc = "2.0", id = question.id, result = { content = { text = "well" } } })
      assert.equal("well", json.decode(plugin:line()).result.content[1].text)
    end)
  end)

  describe("progress", function()
    it("is sent with the token of the request, and only if it increases", function()
      local plugin <close> = classic()
      plugin:say('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"progress",'
        .. '"_meta":{"progressToken":"t"}}}')
      local START = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t",'
      assert.equal(START .. '"progress":0,"total":1}}', plugin:line())
      assert.equal(START .. '"progress":0.5,"total":1,"message":"half"}}', plugin:line())
      assert.equal(START .. '"progress":1,"total":1}}', plugin:line())
      assert.equal('{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"there"}]}}', plugin:line())
    end)

    it("is not sent without a token", function()
      local plugin <close> = classic()
      assert.equal("there", call(plugin, "progress").result.content[1].text)
    end)

    it("requires a token that is a string or a number", function()
      local plugin <close> = classic()
      local err = call(plugin, "progress", nil, { progressToken = json.array() }).error
      assert.same({ code = -32602, message = "Invalid params: _meta: progressToken: string or number expected, "
        .. "got array" }, err)
      assert.equal("notifications/progress", call(plugin, "progress", nil, { progressToken = 5 }).method)
    end)

    it("is sent for raw methods as well", function()
      local plugin <close> = classic()
      ask(plugin, "resources/list", { _meta = { progressToken = 1 } })
      assert.matches('"progressToken":1,"progress":0.5', plugin:line())
      assert.same({ resources = {} }, json.decode(plugin:line()).result)
    end)
  end)

  describe("notifications/cancelled", function()
    it("stops the tool, and no more messages are sent about it", function()
      local plugin <close> = classic()
      plugin:say '{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"hold","_meta":{"progressToken":1}}}'
      assert.matches('"progress":0,', plugin:line())
      plugin:say '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x","reason":"enough"}}'
      assert.equal('{"jsonrpc":"2.0","id":3,"result":{}}', plugin:ask '{"jsonrpc":"2.0","id":3,"method":"ping"}')
      local rest, status, complaints = plugin:finish()
      assert.same({ "", 0, "" }, { rest, status, complaints })
    end)

    it("is ignored if there is nothing to stop", function()
      local plugin <close> = classic()
      plugin:say('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}',
        '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}',
        '{"jsonrpc":"2.0","method":"notifications/cancelled"}')
      assert.same({}, ask(plugin, "ping").result)
    end)
  end)

  describe("logging", function()
    local function heard(plugin)
      local lines = {}
      local answer = call(plugin, "log")
      while not answer.id do
        lines[#lines + 1] = answer.params
        answer = json.decode(plugin:line())
      end
      return lines
    end

    it("sends messages from level info on by default", function()
      local plugin <close> = classic()
      assert.same({
        { level = "info", logger = "toolbox", data = { message = "something", data = { n = 1 } } },
        { level = "warning", logger = "toolbox", data = "careful" },
        { level = "error", logger = "toolbox", data = "trouble" },
      }, heard(plugin))
    end)

    it("follows the level that the client sets", function()
      local plugin <close> = classic()
      local COUNTS = { debug = 4, info = 3, notice = 2, warning = 2, error = 1, critical = 0, emergency = 0 }
      for level, count in pairs(COUNTS) do
        assert.same({}, ask(plugin, "logging/setLevel", { level = level }).result)
        assert.equal(count, #heard(plugin))
      end
      assert.same({ code = -32602, message = 'Invalid params: level: there is no "loud"' },
        ask(plugin, "logging/setLevel", { level = "loud" }).error)
      assert.equal(-32602, ask(plugin, "logging/setLevel", {}).error.code)
      assert.equal(-32602, ask(plugin, "logging/setLevel").error.code)
    end)
  end)

  describe("raw methods", function()
    it("return their result unchanged, and an empty object for nothing", function()
      local plugin <close> = classic()
      assert.same({}, ask(plugin, "resources/subscribe", { uri = "x:" }).result)
      assert.same({ contents = {}, ttlMs = 5, cacheScope = "public" },
        ask(plugin, "resources/read", { uri = "kept:" }).result)
    end)

    it("fail with an error code in any case", function()
      local plugin <close> = classic()
      assert.same({ code = -32002, message = "Resource not found", data = { uri = "y:" } },
        ask(plugin, "resources/read", { uri = "y:" }).error)
      assert.same({ code = -32603, message = "no such thing" }, ask(plugin, "resources/read", { uri = "text:" }).error)
      assert.same({ code = -32603, message = "no such table", data = { n = 1 } },
        ask(plugin, "resources/read", { uri = "table:" }).error)
      local err = ask(plugin, "resources/read", { uri = "bad:" }).error
      assert.same({ code = -32603, message = 'Internal error: method "resources/read" returned string; '
        .. "an object expected" }, err)
    end)

    it("can notify of changes at any time", function()
      local plugin <close> = classic()
      local lines = { call(plugin, "change").method }
      for i = 2, 4 do lines[i] = json.decode(plugin:line()).method end
      assert.same({ "notifications/resources/list_changed", "notifications/resources/updated",
        "notifications/tools/list_changed", "custom/thing" }, lines)
    end)
  end)

  it("accepts batches, which one version has", function()
    local plugin <close> = classic()
    plugin:say '[{"jsonrpc":"2.0","id":5,"method":"ping"},{"jsonrpc":"2.0","id":6,"method":"ping"}]'
    assert.equal('[{"jsonrpc":"2.0","id":5,"result":{}},{"jsonrpc":"2.0","id":6,"result":{}}]', plugin:line())
  end)

  it("exits when its input ends", function()
    local plugin <close> = classic()
    local rest, status, complaints = plugin:finish()
    assert.same({ "", 0, "" }, { rest, status, complaints })
  end)
end)

describe("the declaration for the dialect", function()
  it("is checked when the plugin is made", function()
    local declare = dialects.get("mcp").declare
    assert.is_nil(declare(nil, { title = "T", instructions = "I", page_size = 1, capabilities = {}, icons = {} }))
    assert.equal('there is no "colour"', declare(nil, { colour = "red" }))
    assert.equal("title: string expected, got number", declare(nil, { title = 1 }))
    assert.equal("page_size: an integer of 1 or more expected", declare(nil, { page_size = 0 }))
    assert.equal("page_size: an integer of 1 or more expected", declare(nil, { page_size = 1.5 }))
    for _, seconds in ipairs { -1, math.huge, 0 / 0 } do
      assert.equal("limits: task_time: a finite number of 0 or more expected",
        declare(nil, { limits = { task_time = seconds } }))
    end
  end)
end)

describe("the handler of a notification", function()
  it("can report progress, which is dropped", function()
    local plugin, reported = plugins.new { name = "reporter", version = "1.0.0" }, loop.event()
    plugin:method("notifications/news", function(_, ctx) reported:set((pcall(ctx.progress, ctx, 0.5))) end)
    local hosted <close> = assert(test.host(plugin, { dialect = "mcp" }))
    assert(hosted:notify("notifications/news", {}))
    assert.is_true((reported:wait(children.patience)))
  end)
end)

describe("--manifest=mcp", function()
  it("prints the description of the server and all its tools", function()
    local text, status = children.run { command = { "lua5.4", "spec/support/plugins/toolbox.lua", "--manifest=mcp" } }
    assert.equal(0, status)
    local manifest = json.decode(text)
    assert.same({ name = "toolbox", title = "Toolbox", version = "1.0.0" }, manifest.serverInfo)
    assert.equal(13, #manifest.tools)
  end)
end)
