-- The methods of a host for an MCP server beside `execute`: resources, prompts, completion and changes.
local bytes = require "pintle.bytes"
local children = require "spec.support.children"
local hosts = require "pintle.host"
local json = require("pintle.core").json
local loop = require "pintle.loop"
local stage = require "spec.support.mcp_stage"
local tasks = require "pintle.task"

local new_host, lines, wait_until = stage.host, stage.lines, stage.wait_until

local function start(host, era, options) return stage.start(host, era, options, "spec/support/mcp_library.lua") end

before_each(stage.set)
after_each(stage.clear)

-- Asserts that `fn` raises, at a line of this file.
local function raises(message, fn)
  local ok, raised = pcall(fn)
  assert.is_false(ok)
  local blamed, rest = raised:match "^(.-):%d+: (.*)$"
  assert.same({ "spec/dialect/mcp/handle_spec.lua", message }, { blamed, rest })
end

-- The requests with this method that the server has received.
local function heard(method)
  local list = {}
  for _, line in ipairs(lines()) do
    local message = json.decode(line)
    if message.method == method then list[#list + 1] = message end
  end
  return list
end

-- Has the server send a notification. `stream` is the URI of the subscription, if it differs.
local function notify(plugin, method, uri, stream)
  assert(plugin:execute("notify", { method = "notifications/" .. method, uri = uri, stream = stream }))
end

for _, era in ipairs { "classic", "modern" } do
  describe("a server of the " .. era .. " era", function()
    it("lists resources and templates, page by page", function()
      local host <close> = new_host()
      local plugin = assert(start(host, era))
      local list = assert(plugin:resources())
      assert.same({ "Emma", "book:cover", 8 }, { list[1].title, list[2].uri, list[2].size })
      assert.equal(2, #heard "resources/list")
      list = assert(plugin:resource_templates { timeout = "5s" })
      assert.same({ 1, "book:{title}" }, { #list, list[1].uriTemplate })
    end)

    it("returns contents of resources, with blobs as bytes", function()
      local host <close> = new_host()
      local plugin = assert(start(host, era))
      local contents = assert(plugin:read "book:emma")
      assert.equal("Emma Woodhouse, handsome, …", contents[1].text)
      contents = assert(plugin:read "book:cover")
      assert.is_true(bytes.is(contents[1].blob))
      local blob = contents[1].blob
      assert.same({ "\x89PNG\r\n\x1a\n", "image/png" }, { tostring(blob), bytes.mime_type(blob) })
    end)

    it("reports an unknown resource, a timeout and a malformed answer as errors", function()
      local host <close> = new_host()
      local plugin = assert(start(host, era))
      local _, err = plugin:read "book:none"
      assert.same({ "remote", -32002 }, { err.kind, err.code })
      _, err = plugin:read("book:slow", { timeout = 0.1 })
      assert.equal("timeout", err.kind)
      _, err = plugin:read "book:odd"
      assert.same({ "protocol", "its answer to resources/read has no list of contents" }, { err.kind, err.message })
    end)

    it("returns prompts, with images as bytes", function()
      local host <close> = new_host()
      local plugin = assert(start(host, era))
      assert.equal("title", assert(plugin:prompts())[1].arguments[1].name)
      local prompt = assert(plugin:prompt("praise", { title = "Emma" }))
      assert.same({ "Praises a book", 2, "user", "Praise Emma" },
        { prompt.description, #prompt.messages, prompt.messages[1].role, prompt.messages[1].content.text })
      assert.is_true(bytes.is(prompt.messages[2].content.data))
      assert.equal("string", type(prompt.result.messages[2].content.data))
      assert.equal("Praise nil", assert(plugin:prompt "praise").messages[1].content.text)
    end)

    it("completes arguments of prompts, and variables of templates", function()
      local host <close> = new_host()
      local plugin = assert(start(host, era))
      local completion = assert(plugin:complete {
        prompt = "praise", argument = "title", value = "E", arguments = { author = "Austen" },
      })
      assert.same({ { "ref/prompt", "praise", "title", "E", "Austen" }, 7, true },
        { completion.values, completion.total, completion.has_more })
      completion = assert(plugin:complete { template = "book:{title}", argument = "title" })
      assert.same({ "ref/resource", "book:{title}", "title", "", "nothing known" }, completion.values)
    end)

    it("notifies of a change of a resource while the host is subscribed", function()
      local host <close> = new_host()
      local plugin = assert(start(host, era))
      local changed = {}
      assert(plugin:subscribe("book:emma", function(uri) changed[#changed + 1] = uri end))
      notify(plugin, "resources/updated", "book:emma")
      notify(plugin, "resources/updated", "book:other")
      wait_until(function() return #changed > 0 end)
      assert.same({ "book:emma" }, changed)
      assert(plugin:unsubscribe "book:emma")
      notify(plugin, "resources/updated", "book:emma")
      assert(plugin:resources())
      assert.same({ "book:emma" }, changed)
      assert.is_true(plugin:unsubscribe "book:emma")
    end)

    it("calls the subscriber of a resource for a change in a part of it", function()
      local host <close> = new_host()
      local plugin = assert(start(host, era))
      local changed
      assert(plugin:subscribe("file:///a", function(uri) changed = uri end))
      notify(plugin, "resources/updated", "file:///ab")
      notify(plugin, "resources/updated", "file:///a/b", "file:///a")
      wait_until(function() return changed end)
      assert.equal("file:///a/b", changed)
    end)

    it("calls only the last subscriber of a resource, which may wait", function()
      local host <close> = new_host()
      local plugin = assert(start(host, era))
      local text
      assert(plugin:subscribe("book:emma", function() text = "not this one" end))
      assert(plugin:subscribe("book:emma", function(uri) text = assert(plugin:read(uri))[1].text end))
      notify(plugin, "resources/updated", "book:emma")
      wait_until(function() return text end)
      assert.matches("^Emma Woodhouse", text)
      assert.equal(1, #heard(era == "classic" and "resources/subscribe" or "subscriptions/listen")
        - (era == "classic" and 0 or 1))
    end)

    it("fails a subscription that is refused or not acknowledged", function()
      local host <close> = new_host()
      local plugin = assert(start(host, era))
      local _, err = plugin:subscribe("refused:it", function() end)
      local expected = era == "classic" and { "remote", "cannot be subscribed to" }
        or { "protocol", "it does not notify of changes of refused:it" }
      assert.same(expected, { err.kind, err.message })
      _, err = plugin:subscribe("silent:it", function() end, { timeout = 0.1 })
      assert.equal("timeout", err.kind)
      wait_until(function() return #heard "notifications/cancelled" > 0 end)
      notify(plugin, "resources/updated", "silent:it")
    end)

    it("gives concurrent subscriptions of the same resource the same outcome", function()
      local host <close> = new_host()
      local plugin = assert(start(host, era))
      local function subscribe(uri, options)
        local changed = {}
        local task = tasks.start(function()
          return plugin:subscribe(uri, function(part) changed[#changed + 1] = part end, options)
        end)
        return task, changed
      end
      local first = subscribe("silent:it", { timeout = 0.1 })
      local second = subscribe "silent:it"
      for _, task in ipairs { first, second } do
        local ok, err = task:await(children.patience)
        assert.same({ nil, "timeout" }, { ok, err and err.kind })
      end
      local changed, unused
      first, unused = subscribe "book:emma"
      second, changed = subscribe "book:emma"
      assert.same({ true, true }, { first:await(children.patience), second:await(children.patience) })
      notify(plugin, "resources/updated", "book:emma")
      wait_until(function() return #changed > 0 end)
      assert.same({ {}, { "book:emma" } }, { unused, changed })
    end)

    it("receives the subscriptions again after a restart", function()
      local host <close> = new_host { restart = { backoff = 0.01 } }
      local plugin = assert(start(host, era))
      local changed = 0
      assert(plugin:subscribe("book:emma", function() changed = changed + 1 end))
      plugin:execute "die"
      wait_until(function() return changed == 1 end)
      notify(plugin, "resources/updated", "book:emma")
      wait_until(function() return changed == 2 end)
    end)

    it("receives all subscriptions again, even if a subscriber waits", function()
      local host <close> = new_host { restart = { backoff = 0.01 } }
      local plugin = assert(start(host, era))
      local is_called
      assert(plugin:subscribe("book:a", function() loop.sleep(60) end))
      assert(plugin:subscribe("book:b", function() is_called = true end))
      plugin:execute "die"
      wait_until(function() return is_called end)
    end)

    it("fails a pending subscription if it exits for good", function()
      local host <close> = new_host()
      local plugin = assert(start(host, era))
      local subscribing = tasks.start(function() return plugin:subscribe("silent:it", function() end) end)
      plugin:execute "die"
      local ok, err = subscribing:await(10)
      assert.same({ nil, "closed" }, { ok, err and err.kind })
    end)

    it("receives a subscription in each process of a pool", function()
      local host <close> = new_host()
      local plugin = assert(start(host, era, { pool = 2, lazy = true }))
      assert(plugin:subscribe("book:emma", function() end))
      local method = era == "classic" and "resources/subscribe" or "subscriptions/listen"
      local count = 0
      for _, message in ipairs(heard(method)) do
        local filter = message.params.notifications
        if era == "classic" or filter.resourceSubscriptions then count = count + 1 end
      end
      assert.equal(2, count)
    end)

    it("notifies of changes of its lists", function()
      local host <close> = new_host()
      local plugin = assert(start(host, era))
      local changed = {}
      plugin:on_change(function(what) changed[#changed + 1] = what end)
      for _, what in ipairs { "resources", "prompts", "tools" } do notify(plugin, what .. "/list_changed") end
      wait_until(function() return #changed == 3 end)
      assert.same({ "resources", "prompts", "tools" }, changed)
      plugin:on_change(nil)
      notify(plugin, "prompts/list_changed")
      assert.equal(3, #changed)
    end)

    it("delays calls while it restarts", function()
      local host <close> = new_host { restart = { backoff = 0.01 } }
      local plugin = assert(start(host, era))
      plugin:execute "die"
      assert.equal(2, #assert(plugin:resources()))
    end)
  end)
end

describe("a subscription of the modern era", function()
  for _, how in ipairs { "finish", "cancel" } do
    it(("is opened again if the server ends it (%s)"):format(how), function()
      local host <close> = new_host()
      local plugin = assert(start(host, "modern"))
      local changed = 0
      assert(plugin:subscribe("book:emma", function() changed = changed + 1 end))
      assert(plugin:execute(how, { uri = "book:emma" }))
      wait_until(function() return changed == 1 end)
      notify(plugin, "resources/updated", "book:emma")
      wait_until(function() return changed == 2 end)
      assert.same({ "it has ended the subscription of book:emma" }, stage.said "warn")
    end)
  end
end)

describe("the notifications of changes of lists, in the modern era,", function()
  for _, how in ipairs { "finish", "cancel" } do
    it(("are requested again if the server ends them (%s)"):format(how), function()
      local host <close> = new_host()
      local plugin = assert(start(host, "modern"))
      local changed
      plugin:on_change(function(what) changed = what end)
      assert(plugin:execute(how))
      wait_until(function() return #heard "subscriptions/listen" == 2 end)
      notify(plugin, "prompts/list_changed")
      wait_until(function() return changed end)
      assert.equal("prompts", changed)
      assert.same({ "it does not notify of changes of its lists any more" }, stage.said "warn")
    end)
  end
end)

describe("the handle of a server", function()
  it("raises for invalid arguments at the line of the caller", function()
    local host <close> = new_host()
    local plugin = assert(start(host, "classic"))
    raises("uri: string expected, got nil", function() plugin:read() end)
    raises("name: string expected, got table", function() plugin:prompt {} end)
    raises("args: strings by name expected, got number at n", function() plugin:prompt("praise", { n = 1 }) end)
    raises("fn: function expected, got nil", function() plugin:subscribe "book:emma" end)
    raises("template: string expected, got nil", function() plugin:complete { argument = "a" } end)
    raises("argument: string expected, got nil", function() plugin:complete { prompt = "p" } end)
    raises('no option "timout"', function() plugin:resources { timout = 1 } end)
    raises("fn: function expected, got string", function() plugin:on_change "tools" end)
  end)

  it("has these methods only in the MCP dialect", function()
    local host <close> = hosts { log = false }
    local plugin = assert(host:start { command = { "lua5.4", "spec/support/plugins/greeter.lua" } })
    assert.is_nil(plugin.resources)
    assert.is_nil(plugin.on_change)
  end)

  it("returns an error once the server is stopped", function()
    local host <close> = new_host()
    local plugin = assert(start(host, "classic"))
    plugin:stop()
    local _, err = plugin:read "book:emma"
    assert.equal("closed", err.kind)
    local began = loop.now()
    _, err = plugin:subscribe("book:emma", function() end)
    assert.equal("closed", err.kind)
    assert.truthy(loop.now() - began < children.patience)
  end)
end)
