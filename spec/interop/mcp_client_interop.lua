-- Plugins with the clients of both SDKs, one of each era.
local children = require "spec.support.children"
local core = require "pintle.core"
local files = require "spec.support.files"

local json = core.json

local folder

children.leave_nothing()
files.give_each_a_folder(function(path) folder = path end)

local MANY = { "log", "progress", "changed", "onerror", "asked" }

-- The lines that the client prints, by their `what`. Events that may occur more than once are in a list.
local function drive(client, env, scenario, ...)
  local text, code = children.run {
    command = { "node", ("spec/interop/mcp_%s_client.cjs"):format(client), scenario, "lua5.4", ... }, env = env,
  }
  local said, lists = {}, {}
  for _, what in ipairs(MANY) do lists[what], said[what] = true, {} end
  for line in text:gmatch "[^\n]+" do
    local message = assert(json.decode(line), line)
    if lists[message.what] then
      table.insert(said[message.what], message.value)
    else
      said[message.what] = message.value
    end
  end
  assert.equal(0, code, text)
  assert.is_true(said.done, text)
  assert.same({}, said.onerror)
  return said
end

local function text_of(result) return result.content[1].text end

local CLIENTS = {
  ["with a handshake (@modelcontextprotocol/sdk)"] = { "classic", {} },
  ["without a handshake (@modelcontextprotocol/client)"] = { "modern", {}, is_modern = true },
  ["that tries the newer one first (@modelcontextprotocol/client)"] =
    { "modern", { MCP_MODE = "auto" }, is_modern = true },
}

for name, how in pairs(CLIENTS) do
  describe("a client " .. name, function()
    it("calls the greeter", function()
      local said = drive(how[1], how[2], "greeter", "examples/greeter/plugin.lua")
      assert.same({ name = "greeter", version = "1.0.0", description = "Says hello" }, said.server)
      assert.same({ tools = { listChanged = true }, logging = {} }, said.capabilities)
      assert.equal(how.is_modern and "2026-07-28" or nil, said.version)
      assert.equal(1, #said.tools.tools)
      assert.equal("greet", said.tools.tools[1].name)
      assert.same({ { type = "text", text = "Hello, Ada" } }, said.greet.content)
      assert.same({ level = "info", logger = "greeter", data = { message = "greeting", data = { name = "Ada" } } },
        said.log[1])
      assert.is_true(said.nobody.isError)
      assert.equal("nobody to greet", text_of(said.nobody))
      assert.equal(-32602, said.unknown.error.code)
      assert.same({ tool = "gret", suggestion = "greet" }, said.unknown.error.data)
      assert.is_true(said.wrong.isError)
      assert.matches("at /name: expected string", text_of(said.wrong))
      if how.is_modern then return end
      assert.same({}, said.ping)
      assert.equal("Hello, Bob", text_of(said.quiet))
      assert.equal(2, #said.log)
    end)

    it("receives progress, and cancels a call that takes too long", function()
      local said = drive(how[1], how[2], "patience", "spec/support/plugins/patient.lua")
      assert.equal("stepped", text_of(said.steps))
      local seen = {}
      for i, report in ipairs(said.progress) do seen[i] = { report.progress, report.total, report.message } end
      assert.same({ { 0.25, 1, "step 1" }, { 0.5, 1, "step 2" }, { 0.75, 1, "step 3" }, { 1, 1, "step 4" } }, seen)
      assert.matches("enough", said.slow.error.message)
      assert.equal("cancelled", text_of(said.after))
      assert.same({}, said.log)
    end)

    it("reads and writes notes", function()
      local said = drive(how[1], how[2], "notes", "examples/notes-mcp/plugin.lua", folder)
      assert.matches("^Search before adding", said.instructions)
      assert.same({ listChanged = true, subscribe = true }, said.capabilities.resources)
      assert.same({ listChanged = true }, said.capabilities.prompts)
      assert.same({}, said.capabilities.completions)
      assert.equal(6, #said.tools.tools)
      assert.equal("Add a note", said.tools.tools[1].title)
      assert.same({ readOnlyHint = true, openWorldHint = false }, said.tools.tools[2].annotations)
      assert.same({ name = "tea-in-may", uri = "note:///tea-in-may" }, said.add.structuredContent)
      assert.equal("Added tea-in-may", text_of(said.add))
      assert.is_true(said.again.isError)
      assert.equal("Tea, in May", said.list.structuredContent.notes[1].title)
      assert.same({ { name = "tea-in-may", line = 4, text = "Darjeeling" } }, said.search.structuredContent.matches)
      assert.equal("note:///tea-in-may", said.resources.resources[1].uri)
      assert.equal("note:///{name}", said.templates.resourceTemplates[1].uriTemplate)
      assert.equal("# Tea, in May\n\nAssam\nDarjeeling\n", said.read.contents[1].text)
      assert.equal(how.is_modern and -32602 or -32002, said.missing.error.code)
      assert.equal("summarize", said.prompts.prompts[1].name)
      assert.matches("Darjeeling", said.prompt.messages[1].content.text)
      assert.same({ "tea-in-may" }, said.completion.completion.values)
      assert.equal("image/svg+xml", said.chart.content[2].mimeType)
      assert.equal("The user wants to keep tea-in-may", text_of(said.keep))
      assert.equal("Deleted tea-in-may", text_of(said.delete))
      assert.same({ 'Delete the note "tea-in-may"?', 'Delete the note "tea-in-may"?' }, said.asked)
      assert.same({}, said.empty.resources)
      assert.same({ true, true }, said.changed)
    end)
  end)
end
