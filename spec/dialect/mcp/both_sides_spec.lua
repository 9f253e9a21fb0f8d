-- A host and a plugin of pintle: resources, prompts, completion, changes and tasks of the Model Context Protocol.
local bytes = require "pintle.bytes"
local children = require "spec.support.children"
local hosts = require "pintle.host"
local turn_until = require "spec.support.turning"

local COMMAND = { "lua5.4", "spec/support/plugins/catalog.lua" }

local nothing_left, host

before_each(function()
  nothing_left = children.stock()
  host = hosts { dialect = "mcp", log = false }
end)

after_each(function()
  host:stop()
  host = nil
  nothing_left()
end)

local function by(member, list)
  local found = {}
  for _, item in ipairs(list) do found[item[member]] = item end
  return found
end

for _, era in ipairs { "2024-11-05", "2025-11-25", "2026-07-28" } do
  describe("a host and a plugin that speak " .. era, function()
    local plugin

    before_each(function() plugin = assert(host:start { command = COMMAND, options = { era = era } }) end)

    it("exchange resources", function()
      local resources = by("uri", assert(plugin:resources()))
      assert.same({ "The index", 7 }, { resources["book:///index"].title, resources["book:///index"].size })
      assert.equal("begin", resources["book:///a/chapters/begin"].title)
      assert.truthy(by("uriTemplate", assert(plugin:resource_templates()))["file:///{+path}"])
      assert.equal("a\nb\nc\n", assert(plugin:read "book:///index")[1].text)
      assert.equal("\x89PNG\r\n\x1a\n", tostring(assert(plugin:read "book:///cover")[1].blob))
      local all = assert(plugin:read "book:///all")
      assert.same({ "first", true, "third" }, { all[1].text, bytes.is(all[2].blob), all[3].text })
      assert.matches("^end of a ", assert(plugin:read "book:///a/chapters/end")[1].text)
      local _, err = plugin:read "book:///gone"
      assert.same({ "remote", era < "2026" and -32002 or -32602 }, { err.kind, err.code })
    end)

    it("exchange prompts and completions", function()
      assert.truthy(by("name", assert(plugin:prompts())).review)
      local prompt = assert(plugin:prompt("review", { book = "Emma", style = "short" }))
      assert.equal("Review Emma, short", prompt.messages[1].content.text)
      local talk = assert(plugin:prompt "talk")
      assert.same({ "A talk", true, "assistant" },
        { talk.description, bytes.is(talk.messages[2].content.data), talk.messages[3].role })
      local _, err = plugin:prompt "review"
      assert.same({ "remote", -32602 }, { err.kind, err.code })
      local completion = assert(plugin:complete { prompt = "review", argument = "style", value = "sh" })
      assert.same({ "short", "Sharp" }, completion.values)
      completion = assert(plugin:complete {
        template = "book:///{book}/chapters/{chapter}", argument = "book", value = "x",
      })
      assert.same({ "x!", 1000, true }, { completion.values[1], completion.total, completion.has_more })
    end)

    it("exchange notifications of changes", function()
      local changed, lists = {}, {}
      plugin:on_change(function(what) lists[what] = true end)
      assert(plugin:subscribe("book:///index", function(uri) changed[#changed + 1] = uri end))
      assert(plugin:execute("touch", { uri = "book:///cover" }))
      assert(plugin:execute("touch", { uri = "book:///index" }))
      turn_until(function() return #changed > 0 end)
      assert(plugin:unsubscribe "book:///index")
      assert(plugin:execute("touch", { uri = "book:///index" }))
      assert(plugin:execute "grow")
      turn_until(function() return lists.tools and lists.resources and lists.prompts end)
      assert.equal("grown", assert(plugin:execute "grown1").message)
      assert.same({ "book:///index" }, changed)
    end)
  end)
end

local HANDLERS = {
  ["elicitation/create"] = function() return { action = "accept", content = { name = "Ada" } } end,
}

-- Only the newest version has tasks on the plugin's side; for the host there is no difference.
for _, era in ipairs { "2025-11-25", "2026-07-28" } do
  describe("an operation that runs as a task, in " .. era .. ",", function()
    local plugin

    before_each(function()
      plugin = assert(host:start {
        command = { "lua5.4", "spec/support/plugins/errand.lua" }, options = { era = era }, handlers = HANDLERS,
      })
    end)

    it("reports progress, asks its question, and returns its outcome", function()
      local messages = {}
      local outcome = assert(plugin:execute("run", { steps = 3 }, {
        on_progress = function(_, message) messages[#messages + 1] = message end,
      }))
      assert.equal("done for Ada", outcome.message)
      assert.equal("step 3", messages[#messages])
    end)

    it("fails after its timeout", function()
      local _, err = plugin:execute("run", { steps = 100000 }, { timeout = 0.3 })
      assert.equal("timeout", err.kind)
      turn_until(function() return assert(plugin:execute "running").message == "0" end)
    end)

    it("can exceed its timeout while it reports progress", function()
      local outcome = assert(plugin:execute("run", { steps = 100 }, { timeout = 1.5, extend_on_progress = true }))
      assert.equal("done for Ada", outcome.message)
    end)
  end)
end
