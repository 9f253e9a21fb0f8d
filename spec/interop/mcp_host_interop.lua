-- A host with servers made with the SDKs, of both eras.
local bytes = require "pintle.bytes"
local children = require "spec.support.children"
local hosts = require "pintle.host"
local turn_until = require "spec.support.turning"

local nothing_left, entries

before_each(function() nothing_left, entries = children.stock(), {} end)
after_each(function() nothing_left() end)

local function new_host(verbosity)
  return hosts { dialect = "mcp", verbosity = verbosity or "debug", log = function(entry)
    if entry.source == "log" then entries[#entries + 1] = { entry.level, entry.message, entry.data } end
  end }
end

local HANDLERS = {
  ["sampling/createMessage"] = function(params)
    return { role = "assistant", model = "m", content = { type = "text", text = params.messages[1].content.text } }
  end,
  ["elicitation/create"] = function() return { action = "accept", content = { name = "Ada" } } end,
}

-- Checks for both eras.
local function use(plugin)
  assert.equal("pixel://one", assert(plugin:resources())[1].uri)
  assert.equal("hello://{name}", assert(plugin:resource_templates { timeout = 20 })[1].uriTemplate)
  assert.same({ "praise" }, { assert(plugin:prompts())[1].name })
  local outcome = assert(plugin:execute("add", { a = 2 }))
  assert.same({ true, nil, { sum = 3 } }, { outcome.success, outcome.message, outcome.outputs })
  assert.equal('{"sum":3}', outcome.result.content[1].text)
  local _, err = plugin:execute("add", { a = "two" })
  assert.equal('Invalid params for "add": at /a: expected number, got string "two"', err.message)
  outcome = assert(plugin:execute "fail")
  assert.same({ false, "it is broken" }, { outcome.success, outcome.error })

  local reports = {}
  outcome = assert(plugin:execute("count", { to = 4 }, {
    on_progress = function(fraction, message) reports[#reports + 1] = { fraction, message } end,
  }))
  assert.equal("counted to 4", outcome.message)
  assert.same({ { 0.25, "at 1" }, { 0.5, "at 2" }, { 0.75, "at 3" }, { 1, "at 4" } }, reports)

  assert(plugin:execute "log")
  assert.same({
    { "debug", "a detail" }, { "info", "something" }, { "error", "trouble", { message = "trouble", where = "here" } },
  }, entries)

  _, err = plugin:execute("wait", {}, { timeout = 0.2 })
  assert.equal("timeout", err.kind)
  turn_until(function() return plugin:execute("given").message ~= nil end)

  local changes = {}
  plugin:on_change(function(what) changes[what] = true end)
  assert.is_nil(plugin.manifest.operations.new)
  assert(plugin:execute "grow")
  turn_until(function() return plugin.manifest.operations.new end)
  assert.equal("brand new", assert(plugin:execute "new").message)

  turn_until(function() return changes.tools and changes.resources and changes.prompts end)

  assert.equal("Hello, world", assert(plugin:read "hello://world")[1].text)
  local pixel = assert(plugin:read "pixel://one")[1].blob
  assert.same({ "\x89PNG\r\n\x1a\n", "image/png" }, { tostring(pixel), bytes.mime_type(pixel) })
  _, err = plugin:read "nothing://here"
  assert.equal("remote", err.kind)

  local prompt = assert(plugin:prompt("praise", { what = "tea" }))
  assert.same({ "user", "Praise tea" }, { prompt.messages[1].role, prompt.messages[1].content.text })
  local completion = assert(plugin:complete { prompt = "praise", argument = "what", value = "te" })
  assert.same({ "tea" }, completion.values)
end

local function use_subscriptions(plugin)
  local changed = {}
  assert(plugin:subscribe("pixel://one", function(uri) changed[#changed + 1] = uri end))
  assert(plugin:execute("touch", { uri = "pixel://two" }))
  assert(plugin:execute("touch", { uri = "pixel://one" }))
  turn_until(function() return #changed > 0 end)
  assert(plugin:unsubscribe "pixel://one")
  assert(plugin:execute("touch", { uri = "pixel://one" }))
  assert.same({ "pixel://one" }, changed)
end

describe("a server with a handshake (@modelcontextprotocol/sdk)", function()
  local COMMAND = { "node", "spec/interop/mcp_classic_server.cjs" }

  it("is recognised and used", function()
    local host <close> = new_host()
    local plugin = assert(host:start { command = COMMAND })
    assert.same({ "classic", "1.2.3" }, { plugin.manifest.name, plugin.manifest.version })
    local sent = plugin.raw_manifest
    assert.same({ "2025-11-25", "Ask it anything." }, { sent.protocolVersion, sent.instructions })
    assert.equal("Adds two numbers", plugin.manifest.operations.add.description)
    use(plugin)
    use_subscriptions(plugin)
    local outcome = assert(plugin:execute "sample")
    assert.is_false(outcome.success)
    assert.matches("sampling", outcome.error, 1, true)
  end)

  it("sends the requests that the host offers to answer", function()
    local host <close> = new_host()
    local plugin = assert(host:start { command = COMMAND, handlers = HANDLERS, options = { roots = { "/a dir" } } })
    assert.equal("m: Say something", assert(plugin:execute "sample").message)
    assert.equal('[{"uri":"file:///a%20dir"}]', assert(plugin:execute "roots").message)
  end)

  it("uses the version that the host requests", function()
    local host <close> = new_host()
    local plugin = assert(host:start { command = COMMAND, options = { era = "2025-03-26" } })
    assert.equal("2025-03-26", plugin.raw_manifest.protocolVersion)
  end)

  it("sends no log entries below the requested level", function()
    local host <close> = new_host "error"
    local plugin = assert(host:start { command = COMMAND })
    assert(plugin:execute "log")
    assert.equal(1, #entries)
  end)
end)

describe("a server without a handshake (@modelcontextprotocol/server)", function()
  local COMMAND = { "node", "spec/interop/mcp_modern_server.cjs" }

  for legacy, what in pairs { serve = "that knows both eras", reject = "that knows no other era" } do
    it(what .. " is driven as one of the newer", function()
      local host <close> = new_host()
      local plugin = assert(host:start { command = COMMAND, handlers = HANDLERS, env = { MCP_LEGACY = legacy } })
      assert.same({ "modern", "3.2.1" }, { plugin.manifest.name, plugin.manifest.version })
      assert.equal("This is modern.", plugin.raw_manifest.instructions)
      use(plugin)
      use_subscriptions(plugin)
      assert.equal("accept: Ada", assert(plugin:execute "ask").message)
    end)
  end

  it("is subscribed to again after a restart", function()
    local host <close> = new_host()
    local plugin = assert(host:start { command = COMMAND, restart = { backoff = 0.01 } })
    local changed = 0
    assert(plugin:subscribe("pixel://one", function() changed = changed + 1 end))
    os.execute("kill -9 " .. plugin:pids()[1])
    turn_until(function() return changed == 1 end)
    assert(plugin:execute("touch", { uri = "pixel://one" }))
    turn_until(function() return changed == 2 end)
  end)

  it("sends no request that the host does not offer to answer", function()
    local host <close> = new_host()
    local plugin = assert(host:start { command = COMMAND })
    local _, err = plugin:execute "ask"
    assert.equal(-32021, err.code)
  end)

  it("uses the handshake if the option says so", function()
    local host <close> = new_host()
    local plugin = assert(host:start { command = COMMAND, handlers = HANDLERS, options = { era = "2025-06-18" } })
    local sent = plugin.raw_manifest
    assert.same({ "2025-06-18", "This is legacy." }, { sent.protocolVersion, sent.instructions })
    use(plugin)
  end)
end)

describe("the everything server", function()
  it("answers every kind of request", function()
    local host <close> = new_host()
    local plugin = assert(host:start { command = { "mcp-server-everything", "stdio" } })
    assert.equal("mcp-servers/everything", plugin.manifest.name)
    assert.is_table(plugin.raw_manifest.capabilities.prompts)
    assert.truthy(#plugin.manifest.names >= 12)
    assert.same({}, plugin.manifest.warnings)
    assert.equal("Echo: hello", assert(plugin:execute("echo", { message = "hello" })).message)
    assert.equal("The sum of 2 and 3 is 5.", assert(plugin:execute("get-sum", { a = 2, b = 3 })).message)
    local fractions = {}
    assert(plugin:execute("trigger-long-running-operation", { duration = 0.2, steps = 4 }, {
      on_progress = function(fraction) fractions[#fractions + 1] = fraction end,
    }))
    -- The last report and the result may arrive in one read; both must be handled.
    assert.same({ 0.25, 0.5, 0.75, 1 }, fractions)
    local weather = assert(plugin:execute("get-structured-content", { location = "Chicago" }))
    assert.same({ temperature = 36, conditions = "Light rain / drizzle", humidity = 82 }, weather.outputs)
    local image = assert(plugin:execute "get-tiny-image")
    assert.equal("image/png", image.result.content[2].mimeType)
    local resources = assert(plugin:resources())
    assert.truthy(#resources > 0)
    assert.is_string(assert(plugin:read(resources[1].uri))[1].text)
    assert.is_true(bytes.is(assert(plugin:read "demo://resource/dynamic/blob/1")[1].blob))
    assert.equal(2, #assert(plugin:resource_templates()))
    assert.truthy(#assert(plugin:prompts()) >= 4)
    assert.is_string(assert(plugin:prompt "simple-prompt").messages[1].content.text)
    local completion = assert(plugin:complete {
      prompt = "completable-prompt", argument = "name", value = "D", arguments = { department = "Sales" },
    })
    assert.same({ "David" }, completion.values)
    completion = assert(plugin:complete {
      template = "demo://resource/dynamic/text/{resourceId}", argument = "resourceId", value = "1",
    })
    assert.same({ "1" }, completion.values)
  end)

  it("notifies of changes of a resource", function()
    local host <close> = new_host()
    local plugin = assert(host:start { command = { "mcp-server-everything", "stdio" } })
    local changed
    assert(plugin:subscribe("demo://resource/dynamic/text/1", function(uri) changed = uri end))
    assert(plugin:execute "toggle-subscriber-updates")
    turn_until(function() return changed end)
    assert.equal("demo://resource/dynamic/text/1", changed)
  end)

  it("runs a tool as a task, which asks a question", function()
    local host <close> = new_host()
    local question
    local plugin = assert(host:start { command = { "mcp-server-everything", "stdio" }, handlers = {
      ["elicitation/create"] = function(params)
        question = params.message
        return { action = "accept", content = { interpretation = "technical" } }
      end,
    } })
    local reports = {}
    local outcome = assert(plugin:execute("simulate-research-query", { topic = "python", ambiguous = true }, {
      on_progress = function(_, message) reports[#reports + 1] = message end,
    }))
    assert.matches("^# Research Report: python %(technical%)", outcome.message)
    assert.matches('"python" could have multiple interpretations', question, 1, true)
    assert.equal("Gathering sources...", reports[1])
    local _, err = plugin:execute("simulate-research-query", { topic = "lua" }, { timeout = 0.5 })
    assert.equal("timeout", err.kind)
  end)
end)
