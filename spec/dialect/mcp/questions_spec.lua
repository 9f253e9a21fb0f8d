-- Questions of an MCP server to its client while it handles a request, in both eras.
local children = require "spec.support.children"
local extension = require "spec.support.extension"
local hosts = require "pintle.host"
local json = require("pintle.core").json
local loop = require "pintle.loop"
local mcp = require "spec.support.mcp_client"
local plugins = require "pintle.plugin"
local stage = require "spec.support.mcp_stage"
local tasks = require "pintle.task"
local test = require "pintle.test"

children.leave_nothing()

local ALL = { ["io.modelcontextprotocol/clientCapabilities"] = { elicitation = {}, sampling = {}, roots = {} } }

local function start(env) return extension.plugin("curious_server", nil, env) end

local id = 100

-- Sends a request of the modern era. The next message need not be the response.
local function send(plugin, method, params, meta)
  id = id + 1
  local full = {}
  for _, set in ipairs { ALL, meta or {} } do
    for name, value in pairs(set) do full[name] = value end
  end
  return plugin:call(method, mcp.with_meta(params, full), id)
end

local function call(plugin, tool, answers, state, meta)
  return send(plugin, "tools/call", {
    name = tool, arguments = {}, inputResponses = answers, requestState = state,
  }, meta)
end

local function name_is(name) return { action = "accept", content = { name = name } } end

local function text_of(message) return message.result.content[1].text end

describe("without a handshake", function()
  it("a question answers the request, and the repeated request continues the same handler", function()
    local plugin <close> = start()
    local asked = call(plugin, "greet").result
    assert.same({
      resultType = "input_required", requestState = asked.requestState, _meta = asked._meta,
      inputRequests = { ["question-1"] = {
        method = "elicitation/create", params = { message = "Your name?", requestedSchema = { type = "object" } },
      } },
    }, asked)
    assert.equal("curious", asked._meta["io.modelcontextprotocol/serverInfo"].name)
    assert.equal(32, #asked.requestState)
    local done = call(plugin, "greet", { ["question-1"] = name_is "Ada" }, asked.requestState)
    assert.same({ id, "complete", "Hello, Ada (run 1)" }, { done.id, done.result.resultType, text_of(done) })
  end)

  it("progress is sent with the token of the current request", function()
    local plugin <close> = start()
    local first = call(plugin, "greet", nil, nil, { progressToken = "a" })
    assert.same({ "a", 0.5 }, { first.params.progressToken, first.params.progress })
    local asked = json.decode(plugin:line()).result
    local second = call(plugin, "greet", { ["question-1"] = { action = "decline" } }, asked.requestState,
      { progressToken = "b" })
    assert.same({ "b", 1 }, { second.params.progressToken, second.params.progress })
    assert.equal("Hello, decline (run 1)", text_of(json.decode(plugin:line())))
  end)

  it("each of several questions in a row has its own requestState", function()
    local plugin <close> = start()
    local first = call(plugin, "twice").result
    assert.truthy(first.inputRequests.name)
    local second = call(plugin, "twice", { name = name_is "Ada" }, first.requestState).result
    assert.truthy(second.inputRequests["name-2"])
    assert.not_equal(first.requestState, second.requestState)
    assert.equal(-32602, call(plugin, "twice", { name = name_is "Eve" }, first.requestState).error.code)
    assert.equal("Hello, Ada; Hello, Bob",
      text_of(call(plugin, "twice", { ["name-2"] = name_is "Bob" }, second.requestState)))
  end)

  it("questions of several tasks are sent together, and unanswered ones are sent again", function()
    local plugin <close> = start()
    local asked = call(plugin, "parallel").result
    assert.same({ "elicitation/create", "sampling/createMessage", "roots/list" }, {
      asked.inputRequests["question-1"].method, asked.inputRequests["question-2"].method,
      asked.inputRequests["question-3"].method,
    })
    asked = call(plugin, "parallel", {
      ["question-1"] = name_is "Ada", ["question-3"] = { roots = json.array() }, unknown = {},
    }, asked.requestState).result
    assert.is_nil(asked.inputRequests["question-1"])
    assert.is_nil(asked.inputRequests["question-3"])
    assert.equal("sampling/createMessage", asked.inputRequests["question-2"].method)
  end)

  it("a question is sent again if its answer is malformed", function()
    local plugin <close> = start()
    local asked = call(plugin, "parallel").result
    asked = call(plugin, "parallel", {
      ["question-1"] = 5, ["question-2"] = { role = "assistant", content = { type = "text", text = "hi" } },
      ["question-3"] = { roots = json.array() },
    }, asked.requestState).result
    assert.equal("question-1", (next(asked.inputRequests)))
    asked = call(plugin, "parallel", { ["question-1"] = { action = "maybe" } }, asked.requestState).result
    local done = call(plugin, "parallel", { ["question-1"] = name_is "Ada" }, asked.requestState)
    assert.equal("Ada, hi, 0 roots", text_of(done))
  end)

  it("resources and prompts can ask; lists cannot", function()
    local plugin <close> = start()
    local asked = send(plugin, "resources/read", { uri = "greeting:///me" }).result
    local read = send(plugin, "resources/read", {
      uri = "greeting:///me", requestState = asked.requestState, inputResponses = { ["question-1"] = name_is "Ada" },
    }).result
    assert.same({ { uri = "greeting:///me", text = "Hello, Ada" } }, read.contents)
    local params = { name = "greeting", arguments = { tone = "!" } }
    params.requestState = send(plugin, "prompts/get", params).result.requestState
    params.inputResponses = { ["question-1"] = name_is "Ada" }
    assert.equal("Hello, Ada!", send(plugin, "prompts/get", params).result.messages[1].content.text)
    assert.matches("takes no such request while resources/list is handled",
      send(plugin, "resources/list", {}).error.message)
    assert.matches("custom/thing: a client without a handshake takes no such request",
      call(plugin, "custom").error.message)
  end)

  it("a capability that the client has not declared is an error", function()
    local plugin <close> = start()
    local none = { ["io.modelcontextprotocol/clientCapabilities"] = {} }
    assert.same({ code = -32021, message = "Missing required client capability: elicitation",
      data = { requiredCapabilities = { elicitation = {} } } }, call(plugin, "greet", nil, nil, none).error)
    assert.same({ code = -32021, message = "Missing required client capability: elicitation.url",
      data = { requiredCapabilities = { elicitation = { url = {} } } } }, call(plugin, "link").error)
    assert.equal("invalid", text_of(call(plugin, "unsendable")))
  end)

  it("a requestState that is unknown or belongs to another request is refused", function()
    local plugin <close> = start()
    local state = call(plugin, "greet").result.requestState
    for _, wrong in ipairs { state .. "x", "", "y" } do
      assert.equal(-32602, call(plugin, "greet", {}, wrong).error.code)
    end
    assert.equal(-32602, call(plugin, "named", {}, state).error.code)
    assert.equal("Invalid params: requestState: string expected, got number",
      call(plugin, "greet", {}, 5).error.message)
    assert.equal("Invalid params: inputResponses: object expected, got string",
      call(plugin, "greet", "x", state).error.message)
    assert.equal("Hello, Ada (run 1)", text_of(call(plugin, "greet", { ["question-1"] = name_is "Ada" }, state)))
  end)

  it("an answer is accepted before its question if the author has set the key", function()
    local plugin <close> = start()
    assert.equal("Hello, Ada", text_of(call(plugin, "named", { name = name_is "Ada", other = {} })))
    assert.equal("input_required", call(plugin, "named", { name = 5 }).result.resultType)
  end)

  it("the number of waiting requests is limited", function()
    local plugin <close> = start()
    local state = call(plugin, "greet").result.requestState
    call(plugin, "greet")
    assert.same({ code = -32603, message = "2 requests wait for answers of the client already" },
      call(plugin, "greet").error)
    assert.equal("Hello, Ada (run 3)", text_of(call(plugin, "greet", { ["question-1"] = name_is "Ada" }, state)))
    assert.equal("input_required", call(plugin, "greet").result.resultType)
  end)

  it("a question fails after a limited time if the client does not repeat the request", function()
    local plugin <close> = start { QUESTION_TIME = "0.05" }
    local state = call(plugin, "greet").result.requestState
    assert.matches("^curious: warn: elicitation/create: the client has not answered; the result is dropped\n",
      plugin:complaints "\n")
    assert.equal(-32602, call(plugin, "greet", { ["question-1"] = name_is "Ada" }, state).error.code)
    local other <close> = start()
    call(other, "soon")
    assert.matches("dropped", other:complaints "\n")
    assert.equal("input_required", call(other, "greet").result.resultType)
  end)

  it("the plugin exits at once when its input ends while a question waits", function()
    local plugin <close> = start()
    call(plugin, "greet")
    local rest, status = plugin:finish()
    assert.same({ "", 0 }, { rest, status })
  end)

  it("cancelling the repeated request stops the handler", function()
    local plugin <close> = start()
    local first = call(plugin, "twice").result
    local second = call(plugin, "twice", { name = name_is "Ada" }, first.requestState).result
    plugin:say(json.encode {
      jsonrpc = "2.0", id = 5, method = "tools/call", params = mcp.with_meta({
        name = "twice", arguments = {}, requestState = second.requestState, inputResponses = { ["name-2"] = 5 },
      }, ALL),
    })
    -- It asks again, in the response to 5; a cancellation of an answered request changes nothing.
    local third = json.decode(plugin:line())
    assert.same({ 5, "input_required" }, { third.id, third.result.resultType })
    plugin:say '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}'
    local done = call(plugin, "twice", { ["name-2"] = name_is "Bob" }, third.result.requestState)
    assert.equal("Hello, Ada; Hello, Bob", text_of(done))
  end)

  it("ids are sent back unchanged", function()
    local plugin <close> = start()
    local function ask(raw_id, more)
      local meta = json.encode(mcp.with_meta({}, ALL)._meta)
      return plugin:ask(('{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"named","arguments":{},'
        .. '"_meta":%s%s}}'):format(raw_id, meta, more or ""))
    end
    local line = ask "1.0"
    assert.matches('^{"jsonrpc":"2.0","id":1.0,"result":{"resultType":"input_required"', line)
    local state = json.decode(line).result.requestState
    line = ask("2e0", (',"requestState":%q,"inputResponses":{"name":{"action":"cancel"}}'):format(state))
    assert.matches('^{"jsonrpc":"2.0","id":2e0,"result":{"resultType":"complete"', line)
  end)

  it("a question that is asked after the request was answered fails", function()
    local plugin <close> = start()
    assert.equal("left", text_of(call(plugin, "leave")))
    assert.equal("closed\n", plugin:complaints "\n")
    assert.equal("input_required", call(plugin, "greet").result.resultType)
  end)
end)

describe("with a handshake", function()
  it("a question is sent as a request", function()
    local plugin <close> = start()
    plugin:ask(mcp.INITIALIZE:gsub('"roots":{}', '"roots":{},"elicitation":{}'))
    local asked = mcp.call(plugin, "named")
    assert.same({ "elicitation/create", "Your name?" }, { asked.method, asked.params.message })
    plugin:say(json.encode { jsonrpc = "2.0", id = asked.id, result = name_is "Ada" })
    assert.equal("Hello, Ada", text_of(json.decode(plugin:line())))
  end)

  it("a capability that the client has not declared is an error", function()
    local plugin <close> = start()
    plugin:ask(mcp.INITIALIZE)
    assert.same({ code = -32603, message = "Missing required client capability: elicitation",
      data = { requiredCapabilities = { elicitation = {} } } }, mcp.call(plugin, "greet").error)
  end)
end)

describe("a pintle host", function()
  for name, version in pairs { ["with a handshake"] = "2025-11-25", ["without one"] = "2026-07-28" } do
    it("answers the questions of a plugin, " .. name, function()
      local host <close> = hosts { log = false, dialect = "mcp" }
      local plugin = assert(host:start {
        command = { "lua5.4", "spec/support/plugins/curious_server.lua" },
        options = { era = version, roots = { "/a" } },
        handlers = {
          ["elicitation/create"] = function() return name_is "Ada" end,
          ["sampling/createMessage"] = function()
            return { role = "assistant", model = "m", content = { type = "text", text = "hi" } }
          end,
        },
      })
      assert.equal("Hello, Ada; Hello, Ada", assert(plugin:execute "twice").message)
      assert.equal("Ada, hi, 1 roots", assert(plugin:execute "parallel").message)
      assert.equal("Hello, Ada", assert(plugin:call("resources/read", { uri = "greeting:///me" })).contents[1].text)
    end)
  end

  local function host_asker(options, handler)
    local plugin = plugins.new { name = "asker", version = "1.0.0" }
    plugin:operation("ask", { dialects = { mcp = options } }, function(_, ctx)
      return ctx:call("elicitation/create", { message = "?", requestedSchema = {} }) and "answered"
    end)
    return assert(test.host(plugin, {
      dialect = "mcp", log = function(entry) stage.entries[#stage.entries + 1] = entry end,
      handlers = { ["elicitation/create"] = handler },
    }))
  end

  for where, options in pairs { ["a call"] = {}, ["a task"] = { task = "required" } } do
    it("logs a handler that raises while " .. where .. " without a handshake waits", function()
      stage.entries = {}
      local plugin <close> = host_asker(options, function() error "torn" end)
      local outcome, err = plugin:execute("ask", {}, { timeout = children.patience })
      assert.same({ nil, "it asks for elicitation/create: Internal error" }, { outcome, err and err.message })
      assert.matches("handler of elicitation/create failed: .*torn", stage.said "error"[1])
    end)

    it("does not wait longer than the timeout for a handler while " .. where .. " without a handshake waits", function()
      local late
      local plugin <close> = host_asker(options, function()
        late = select(2, loop.sleep(children.patience))
        return nil, late
      end)
      local outcome, err = plugin:execute("ask", {}, { timeout = 1 })
      assert.same({ nil, "timeout" }, { outcome, err and err.kind })
      stage.wait_until(function() return late end)
      assert.equal("cancelled", late.kind)
    end)
  end
end)

describe("several questions without a handshake", function()
  it("end together once no answer can arrive", function()
    local plugin, message = plugins.new { name = "asker", version = "1.0.0" }, nil
    local ended = loop.event()
    local function ask(ctx, timeout)
      return select(2, ctx:call("elicitation/create", { message = "?", requestedSchema = {} }, { timeout = timeout }))
    end
    plugin:operation("ask", {}, function(_, ctx)
      tasks.start(function() ask(ctx, 0.1) end)
      message = tostring(ask(ctx))
      ended:set(true)
    end)
    local hosted <close> = assert(test.host(plugin, {
      dialect = "mcp", handlers = { ["elicitation/create"] = function() return nil, loop.sleep(children.patience) end },
    }))
    local calling = tasks.start(function() return hosted:execute "ask" end)
    assert.is_true((ended:wait(5)))
    assert.equal('no answer to "elicitation/create" within 0.1s', message)
    calling:cancel()
  end)
end)

describe("questions of as many requests as may be handled", function()
  it("leave room for the requests that bring the answers", function()
    local plugin = plugins.new { name = "asker", version = "1.0.0" }
    plugin:operation("ask", {}, function(_, ctx)
      local answer, err = ctx:call("elicitation/create", { message = "?", requestedSchema = {} })
      return answer and "answered", err
    end)
    function plugin:serve(options)
      options.limits = { requests = 2 }
      return plugins.methods.serve(self, options)
    end
    local hosted <close> = assert(test.host(plugin, {
      dialect = "mcp", timeout = 5, handlers = { ["elicitation/create"] = function() return name_is "Ada" end },
    }))
    local function ask() return hosted:execute "ask" or "refused" end
    local outcomes = assert(tasks.all { ask, ask })
    local results = { outcomes[1].message or outcomes[1], outcomes[2].message or outcomes[2] }
    table.sort(results)
    assert.same({ "answered", "refused" }, results)
  end)
end)

describe("a method that the author declares", function()
  local function host_prompter(handle)
    local plugin = plugins.new { name = "prompter", version = "1.0.0" }
    plugin:method("prompts/get", handle)
    return assert(test.host(plugin, {
      dialect = "mcp", handlers = { ["elicitation/create"] = function() return name_is "Ada" end },
    }))
  end

  local function message(text) return { messages = { { role = "user", content = { type = "text", text = text } } } } end

  it("can ask without a handshake, and runs once", function()
    local runs = 0
    local plugin <close> = host_prompter(function(_, ctx)
      runs = runs + 1
      local answer, err = ctx:call("elicitation/create", { message = "?", requestedSchema = {} }, { timeout = 5 })
      return answer and message(answer.content.name), err
    end)
    assert.equal("Ada", assert(plugin:prompt "any").messages[1].content.text)
    assert.equal(1, runs)
  end)

  it("can have a requestState of its own", function()
    local plugin <close> = host_prompter(function(params)
      if params.requestState then return message(params.requestState .. params.inputResponses.q.content.name) end
      return { resultType = "input_required", requestState = "mine: ", inputRequests = {
        q = { method = "elicitation/create", params = {} },
      } }
    end)
    assert.equal("mine: Ada", assert(plugin:prompt "any").messages[1].content.text)
  end)
end)
