-- Resources, prompts and completion of the Model Context Protocol, as a plugin declares them.
local children = require "spec.support.children"
local extension = require "spec.support.extension"
local json = require("pintle.core").json
local mcp = require "spec.support.mcp_client"
local pintle = require "pintle"
require "pintle.loop" -- keeps its descriptor open
local uri_templates = require "pintle.dialect.mcp.uri_template"

children.leave_nothing()

-- A plugin after the handshake.
local function classic(name)
  local plugin = extension.plugin(name or "catalog")
  plugin:say(mcp.INITIALIZE, '{"jsonrpc":"2.0","method":"notifications/initialized"}')
  assert(plugin:line():find('"id":1,"result"', 1, true))
  return plugin
end

local ask, ask_modern = mcp.ask, mcp.ask_modern

-- The next message that is not a log.
local function next_message(plugin)
  repeat
    local message = json.decode(plugin:line())
    if message.method ~= "notifications/message" then return message end
  until false
end

local function read(plugin, uri)
  plugin:say(json.encode { jsonrpc = "2.0", id = 7, method = "resources/read", params = { uri = uri } })
  return next_message(plugin)
end

describe("resources", function()
  it("are listed in pages, with the resources that templates list", function()
    local plugin <close> = classic()
    local list, cursor = {}, nil
    repeat
      local page = ask(plugin, "resources/list", { cursor = cursor }).result
      assert.is_true(#page.resources <= 3)
      for _, resource in ipairs(page.resources) do list[#list + 1] = resource end
      cursor = page.nextCursor
    until not cursor
    assert.equal(11, #list)
    assert.same({
      uri = "book:///index", name = "index", title = "The index", description = "All books", mimeType = "text/plain",
      size = 7, annotations = { priority = 1 }, _meta = { shelf = 1 },
    }, list[1])
    assert.same({ uri = "book:///cover", name = "cover", mimeType = "image/x-own" }, list[2])
    assert.same({ uri = "book:///a/chapters/end", name = "end", title = "end", mimeType = "text/plain" }, list[11])
    assert.equal(-32602, ask(plugin, "resources/list", { cursor = "after-11" }).error.code)
  end)

  it("are read as text, bytes, or several contents", function()
    local plugin <close> = classic()
    assert.same({ contents = { { uri = "book:///index", mimeType = "text/plain", text = "a\nb\nc\n" } } },
      read(plugin, "book:///index").result)
    assert.same({ contents = { { uri = "book:///cover", mimeType = "image/x-own", blob = "iVBORw0KGgo=" } } },
      read(plugin, "book:///cover").result)
    assert.same({ contents = {
      { uri = "book:///all", text = "first" }, { uri = "book:///all", mimeType = "image/png", blob = "AAE=" },
      { uri = "book:///all/3", mimeType = "text/x", text = "third" },
    } }, read(plugin, "book:///all").result)
  end)

  it("of a template receive the decoded variables of the URI", function()
    local plugin <close> = classic()
    assert.equal("end of a b (book:///a%20b/chapters/end)",
      read(plugin, "book:///a%20b/chapters/end").result.contents[1].text)
    assert.equal("a/b.txt", read(plugin, "file:///a/b.txt").result.contents[1].text)
    assert.same({ { uriTemplate = "book:///{book}/chapters/{chapter}", name = "chapter", description = "A chapter",
      mimeType = "text/plain" }, { uriTemplate = "file:///{+path}", name = "path" } },
      ask(plugin, "resources/templates/list").result.resourceTemplates)
  end)

  it("fail with the error code of the era if they are missing or raise", function()
    local plugin <close> = classic()
    for _, uri in ipairs { "book:///gone", "book:///unheard", "book:///a/chapters/none", "http" } do
      local err = read(plugin, uri).error
      assert.same({ -32002, "Resource not found: " .. uri, { uri = uri } }, { err.code, err.message, err.data })
      err = ask_modern(plugin, "resources/read", { uri = uri }).error
      assert.same({ -32602, { uri = uri } }, { err.code, err.data })
    end
    assert.same({ code = -32603, message = "it is locked" }, read(plugin, "book:///locked").error)
    assert.same({ code = -32050, message = "refused" }, read(plugin, "book:///coded").error)
    assert.matches("wrong content: %[1%]: a table expected, got number", read(plugin, "book:///wrong").error.message)
    assert.matches("torn", read(plugin, "book:///raises").error.message)
    assert.equal(-32602, read(plugin, 5).error.code)
    assert.equal(-32602, ask(plugin, "resources/read").error.code)
  end)

  it("can be subscribed to in the classic era, up to a limit", function()
    local plugin <close> = classic()
    local function subscribe(uri, method) return ask(plugin, method or "resources/subscribe", { uri = uri }) end
    assert.same({}, subscribe("book:///index").result)
    assert.same({}, subscribe("book:///index").result)
    assert.same({}, subscribe("file:///x").result)
    assert.equal(-32002, subscribe("book:///unheard").error.code)
    assert.equal("Invalid Request: there are 2 subscriptions already", subscribe("book:///all").error.message)
    local updated = mcp.call(plugin, "touch", { uri = "book:///index" })
    assert.same({ "notifications/resources/updated", { uri = "book:///index" } }, { updated.method, updated.params })
    assert.equal(7, json.decode(plugin:line()).id)
    assert.same({}, subscribe("book:///index", "resources/unsubscribe").result)
    assert.equal(7, mcp.call(plugin, "touch", { uri = "book:///index" }).id)
  end)

  it("can be subscribed to in the modern era", function()
    local plugin <close> = extension.plugin "catalog"
    local told = plugin:call("subscriptions/listen", mcp.with_meta { notifications = {
      toolsListChanged = true, promptsListChanged = true, resourcesListChanged = true,
      resourceSubscriptions = { "book:///index" },
    } }, "s")
    assert.same({ toolsListChanged = true, promptsListChanged = true, resourcesListChanged = true,
      resourceSubscriptions = { "book:///index" } }, told.params.notifications)
    assert.equal(7, mcp.call_modern(plugin, "touch", { uri = "book:///cover" }).id)
    local updated = mcp.call_modern(plugin, "touch", { uri = "book:///index" })
    assert.same({ uri = "book:///index", _meta = { ["io.modelcontextprotocol/subscriptionId"] = "s" } }, updated.params)
  end)

  it("are not offered by a plugin that declares none", function()
    local plugin <close> = classic "greeter"
    for _, method in ipairs { "resources/list", "resources/read", "prompts/list", "completion/complete" } do
      assert.same({ code = -32601, message = "Method not found: " .. method }, ask(plugin, method, {}).error)
    end
  end)
end)

describe("prompts", function()
  it("are listed in pages", function()
    local plugin <close> = classic()
    local page = ask(plugin, "prompts/list").result
    assert.same({ name = "review", title = "Review", description = "Reviews a book", arguments = {
      { name = "book", description = "Its name", required = true }, { name = "style" },
    } }, page.prompts[1])
    assert.same({ name = "talk" }, page.prompts[2])
    assert.equal("empty", ask(plugin, "prompts/list", { cursor = page.nextCursor }).result.prompts[1].name)
  end)

  it("return messages made of texts, bytes and tables", function()
    local plugin <close> = classic()
    local function get(name, args) return ask(plugin, "prompts/get", { name = name, arguments = args }) end
    assert.same({ description = "Reviews a book", messages = {
      { role = "user", content = { type = "text", text = "Review b, anyhow" } },
    } }, get("review", { book = "b", other = "x" }).result)
    assert.same({ description = "A talk", messages = {
      { role = "user", content = { type = "text", text = "Look:" } },
      { role = "user", content = { type = "image", data = "AA==", mimeType = "image/png" } },
      { role = "assistant", content = { type = "text", text = "I see." } },
    } }, get("talk").result)
  end)

  it("have their arguments checked", function()
    local plugin <close> = classic()
    local function refusal(name, args)
      local err = ask(plugin, "prompts/get", { name = name, arguments = args }).error
      return { err.code, err.message }
    end
    assert.same({ -32602, "Invalid params: arguments: book is missing" }, refusal("review", {}))
    assert.same({ -32602, "Invalid params: arguments: style: string expected, got number" },
      refusal("review", { book = "b", style = 1 }))
    assert.same({ -32602, 'Invalid params: there is no prompt "unheard"' }, refusal "unheard")
    assert.same({ -32602, "Invalid params: name is missing" }, refusal())
    assert.same({ -32603, "out of words" }, refusal "fails")
    assert.equal(-32603, refusal("empty")[1])
    assert.matches("role: user or assistant expected", refusal("wrong")[2])
  end)
end)

describe("completion", function()
  local function complete(plugin, ref, name, value, others)
    return ask(plugin, "completion/complete", {
      ref = ref, argument = { name = name, value = value }, context = others and { arguments = others },
    })
  end
  local REVIEW = { type = "ref/prompt", name = "review" }
  local CHAPTER = { type = "ref/resource", uri = "book:///{book}/chapters/{chapter}" }

  it("returns the values of a list that begin with the typed text", function()
    local plugin <close> = classic()
    assert.same({ values = { "short", "Sharp" }, total = 2, hasMore = false },
      complete(plugin, REVIEW, "style", "sH").result.completion)
    assert.same({ values = { "begin", "between" }, total = 2, hasMore = false },
      complete(plugin, CHAPTER, "chapter", "be").result.completion)
    assert.same({ values = {}, total = 0, hasMore = false }, complete(plugin, REVIEW, "book", "").result.completion)
  end)

  it("calls a function with the values of the other arguments, and sends at most 100 values", function()
    local plugin <close> = classic()
    assert.same({ values = { "x!", "completion/complete", "end" }, total = 1000, hasMore = true },
      complete(plugin, CHAPTER, "book", "x", { chapter = "end" }).result.completion)
    local all = complete(plugin, CHAPTER, "book", "").result.completion
    assert.same({ 100, "book100", 250, true }, { #all.values, all.values[100], all.total, all.hasMore })
    assert.same({ code = -32603, message = "no such letter" }, complete(plugin, CHAPTER, "book", "?").error)
  end)

  it("refuses malformed requests", function()
    local plugin <close> = classic()
    for message, params in pairs {
      ["ref is missing"] = {},
      ["ref: type: ref/prompt or ref/resource expected"] = {
        ref = { type = "x" }, argument = { name = "", value = "" },
      },
      ["ref: there is no unheard"] = {
        ref = { type = "ref/prompt", name = "unheard" }, argument = { name = "a", value = "" },
      },
      ["argument: value is missing"] = { ref = REVIEW, argument = { name = "style" } },
      ["context: object expected, got number"] = {
        ref = REVIEW, argument = { name = "style", value = "" }, context = 1,
      },
    } do
      assert.same({ code = -32602, message = "Invalid params: " .. message },
        ask(plugin, "completion/complete", params).error)
    end
  end)
end)

describe("what a plugin declares while it serves", function()
  it("is announced once for each list, in the classic era", function()
    local plugin <close> = classic()
    mcp.call(plugin, "grow")
    local said = {}
    for _ = 1, 3 do said[#said + 1] = json.decode(plugin:line()).method end
    table.sort(said)
    assert.same({ "notifications/prompts/list_changed", "notifications/resources/list_changed",
      "notifications/tools/list_changed" }, said)
    assert.equal("grown", mcp.call(plugin, "grown2").result.content[1].text)
    assert.equal("new", read(plugin, "book:///new").result.contents[1].text)
    assert.equal("new", ask(plugin, "prompts/get", { name = "new" }).result.messages[1].content.text)
    assert.same({ true, true, true }, (function()
      local capabilities = ask_modern(plugin, "server/discover").result.capabilities
      return { capabilities.tools.listChanged, capabilities.prompts.listChanged, capabilities.resources.listChanged }
    end)())
  end)

  it("is no longer listed or read after it was removed", function()
    local plugin <close> = extension.plugin "catalog"
    assert.equal(300000, ask_modern(plugin, "tools/list").result.ttlMs)
    assert.equal("shrunk", mcp.call_modern(plugin, "shrink").result.content[1].text)
    assert.equal("Unknown tool: shrink", mcp.call_modern(plugin, "shrink").error.message)
    assert.equal(-32602, ask_modern(plugin, "resources/read", { uri = "book:///index" }).error.code)
    assert.equal(-32602, ask_modern(plugin, "resources/read", { uri = "file:///x" }).error.code)
    assert.equal(-32602, ask_modern(plugin, "prompts/get", { name = "review", arguments = { book = "b" } }).error.code)
    local page = ask_modern(plugin, "tools/list").result
    assert.same({ 2, 0 }, { #page.tools, page.ttlMs })
  end)

  it("is not announced before the handshake", function()
    local plugin <close> = extension.plugin "growing"
    assert.equal(1, json.decode(plugin:ask(mcp.INITIALIZE)).id)
    assert.equal(7, ask(plugin, "ping").id)
  end)
end)

describe("declaring", function()
  it("raises at the line of the invalid declaration", function()
    local plugin = pintle.plugin { name = "p", version = "1.0.0" }
    local function none() end
    plugin:resource("x:///y", {}, none)
    plugin:prompt("p", {}, none)
    for message, mistake in pairs {
      ['resource "x:///y" is already declared'] = function() plugin:resource("x:///y", {}, none) end,
      ['resource "y": a URI with a scheme expected, such as note:///tea'] =
        function() plugin:resource("y", {}, none) end,
      ['resource "x:": a function expected, got nil'] = function() plugin:resource("x:", {}) end,
      ['resource "x:": there is no option "sise"'] = function() plugin:resource("x:", { sise = 1 }, none) end,
      ['resource template "x:{y": "x:{y" has a brace without its other one'] =
        function() plugin:resource_template("x:{y", {}, none) end,
      ['resource template "x:{y}": complete: there is no z'] =
        function() plugin:resource_template("x:{y}", { complete = { z = {} } }, none) end,
      ['prompt "q": complete: year[2]: a string expected, got number'] =
        function() plugin:prompt("q", { arguments = { "year" }, complete = { year = { "1", 2 } } }, none) end,
      ['prompt "p" is already declared'] = function() plugin:prompt("p", {}, none) end,
      ['prompt "q": arguments[1]: name is missing'] = function() plugin:prompt("q", { arguments = { {} } }, none) end,
      ['remove_prompt: there is no prompt "q"'] = function() plugin:remove_prompt "q" end,
      ['remove_resource: there is no resource "q"'] = function() plugin:remove_resource "q" end,
      ['remove_operation: there is no operation "q"'] = function() plugin:remove_operation "q" end,
      ['operation "o": dialects.mcp: task: optional or required expected'] =
        function() plugin:operation("o", { dialects = { mcp = { task = "maybe" } } }, none) end,
    } do
      local line = debug.getinfo(mistake, "S").linedefined
      local ok, raised = pcall(mistake)
      assert.is_false(ok)
      assert.equal(("%s:%d: %s"):format(debug.getinfo(1, "S").short_src, line, message), raised)
    end
    assert.is_nil(plugin.manifest.operations.o)
  end)
end)

describe("a URI template", function()
  local function match(template, uri) return assert(uri_templates.read(template)):match(uri) end

  it("finds the values of its variables", function()
    assert.same({ name = "tea" }, match("note:///{name}", "note:///tea"))
    assert.is_nil(match("note:///{name}", "note:///a/b"))
    assert.is_nil(match("note:///{name}", "note:///"))
    assert.same({ path = "a/b c" }, match("file:///{+path}", "file:///a/b%20c"))
    assert.same({ a = "1", b = "2-3" }, match("x://{a}-{b}/z", "x://1-2-3/z"))
    assert.same({ a = "1 1", b = "2" }, match("q://s{?a,b}", "q://s?b=2&a=1+1&c=3"))
    assert.same({}, match("q://s{?a,b}", "q://s"))
    assert.same({ p = { "a", "b" }, f = "x" }, match("q://s{/p*}{#f}", "q://s/a/b#x"))
    assert.same({ ext = "txt" }, match("f{.ext}", "f.txt"))
    assert.same({ x = "1", y = "2" }, match("q:{x}?f=1{&y}", "q:1?f=1&y=2"))
  end)

  it("refuses unsupported expressions", function()
    for _, template in ipairs { "a{b", "a}", "a{;b}", "a{b}{b}", "plain", "a{b,c}", "a{b:3}", "a{}", "a{b*}" } do
      assert.is_nil(uri_templates.read(template), template)
    end
  end)

  it("is matched in bounded time, whatever the URI is", function()
    local begun = os.clock()
    assert.is_nil(match("x:{a}x{b}x{c}x{d}x{e}x{f}!", "x:" .. ("x"):rep(4000)))
    assert.is_nil(match("x:{+a}x{b}/x{+c}x{d}/x{e}x{f}!", "x:" .. ("xx/"):rep(1300)))
    assert.is_nil(match("x:{+a}{+b}{+c}{+d}!", "x:" .. ("x"):rep(4000)))
    assert.is_nil(match("x:{+a}", "x:" .. ("x"):rep(5000)))
    assert.is_true(os.clock() - begun < 10)
  end)
end)
