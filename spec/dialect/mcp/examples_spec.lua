-- The examples for the Model Context Protocol, run as described in their README.
local children = require "spec.support.children"
local extension = require "spec.support.extension"
local files = require "spec.support.files"
local hosts = require "pintle.host"
local json = require("pintle.core").json
local lfs = require "lfs"
local mcp = require "spec.support.mcp_client"

local PLUGIN = "examples/notes-mcp/plugin.lua"

local folder

children.leave_nothing()
files.give_each_a_folder(function(path) folder = path end)

local function write(name, text) files.write(folder .. "/" .. name, text) end

-- Starts the plugin, and returns a function that executes its tools.
local function open(host, options)
  local given = { command = { "lua5.4", PLUGIN, folder }, dialect = "mcp" }
  for name, value in pairs(options or {}) do given[name] = value end
  local plugin = assert(host:start(given))
  return function(name, args) return assert(plugin:execute(name, args)) end, plugin
end

describe("examples/notes-mcp", function()
  it("stores notes under names derived from their titles", function()
    local host <close> = hosts { log = false }
    local execute = open(host)
    local outcome = execute("add", { title = "Tea, in May!", text = "Assam" })
    assert.same({ "Added tea-in-may", { name = "tea-in-may", uri = "note:///tea-in-may" } },
      { outcome.message, outcome.outputs })
    assert.equal("# Tea, in May!\n\nAssam\n", execute("read", { name = "tea-in-may" }).message)
    assert.equal("note", execute("add", { title = "?!", text = "" }).outputs.name)
    outcome = execute("add", { title = "tea in may", text = "" })
    assert.same({ false, 'there is a note "tea-in-may" already' }, { outcome.success, outcome.error })
    assert.is_true(execute("add", { title = "tea in may", text = "Oolong", replace = true }).success)
    assert.matches("Oolong", execute("read", { name = "tea-in-may" }).message)
  end)

  it("lists, searches and deletes notes", function()
    local host <close> = hosts { log = false }
    local execute = open(host)
    assert.same({ "0 notes", {} }, { execute("list").message, execute("list").outputs.notes })
    execute("add", { title = "Tea", text = "Assam\nDarjeeling" })
    execute("add", { title = "Coffee", text = "tea is better" })
    local notes = execute("list").outputs.notes
    assert.same({ "coffee", "tea" }, { notes[1].name, notes[2].name })
    assert.same({ "Tea", 24 }, { notes[2].title, notes[2].bytes })
    assert.matches("^%d+%-%d%d%-%d%dT%d%d:%d%d:%d%dZ$", notes[2].changed)
    local found = execute("search", { query = "TEA" })
    assert.equal("2 lines", found.message)
    assert.same({ { name = "coffee", line = 3, text = "tea is better" }, { name = "tea", line = 1, text = "# Tea" } },
      found.outputs.matches)
    assert.equal("1 line", execute("search", { query = "TEA", limit = 1 }).message)
    assert.equal("Deleted tea", execute("delete", { name = "tea" }).message)
    assert.equal('there is no note "tea"', execute("delete", { name = "tea" }).error)
    assert.equal("1 note", execute("list").message)
  end)

  it("stays in its folder, and skips files that are not notes", function()
    local host <close> = hosts { log = false }
    local execute, plugin = open(host)
    execute("list")
    write("a b.md", "x")
    write("other.txt", "x")
    write("binary.md", "\xff\xfe")
    assert(lfs.mkdir(folder .. "/dir.md"))
    for _, name in ipairs { "../x", "a b", "dir", "", "x/y", ("x"):rep(65) } do
      assert.is_false(execute("read", { name = name }).success)
      assert.is_false(execute("delete", { name = name }).success)
    end
    assert.equal('note "binary" is no UTF-8 text', execute("read", { name = "binary" }).error)
    assert.equal("1 note", execute("list").message)
    local _, err = plugin:call("resources/read", { uri = "note:///../x" })
    assert.equal(-32602, err.code)
  end)

  it("takes its folder from the command line or its configuration, and reports a missing one", function()
    local plugin <close> = extension.start(PLUGIN)
    assert.same({ code = -32603, message = "the folder is missing: notes-mcp/plugin.lua FOLDER" },
      json.decode(plugin:ask(mcp.INITIALIZE)).error)
    local other <close> = extension.start(PLUGIN, { "--config", json.encode { folder = folder } })
    assert.matches('"serverInfo"', other:ask(mcp.INITIALIZE))
    assert.equal("directory", lfs.attributes(folder, "mode"))
    local wrong <close> = extension.start(PLUGIN, { "/dev/null" })
    assert.equal("/dev/null is no folder", json.decode(wrong:ask(mcp.INITIALIZE)).error.message)
  end)

  it("has notes as resources, a prompt, and completions", function()
    local host <close> = hosts { log = false }
    local execute, plugin = open(host)
    execute("add", { title = "Tea", text = "Assam" })
    local list = assert(plugin:call("resources/list", {})).resources
    assert.same({ uri = "note:///tea", name = "tea", title = "Tea", mimeType = "text/markdown", size = 13 }, list[1])
    assert.equal("note:///{name}", assert(plugin:call "resources/templates/list").resourceTemplates[1].uriTemplate)
    assert.equal("summarize", assert(plugin:call "prompts/list").prompts[1].name)
    local prompt = assert(plugin:call("prompts/get", { name = "summarize", arguments = { name = "tea" } }))
    assert.matches("Assam", prompt.messages[1].content.text)
    local wrong = { { name = "x" }, { name = "summarize" }, { name = "summarize", arguments = { name = "x" } } }
    for _, params in ipairs(wrong) do
      local _, err = plugin:call("prompts/get", params)
      assert.equal(-32602, err.code)
    end
    local completion = { ref = { type = "ref/prompt", name = "summarize" }, argument = { name = "name", value = "t" } }
    assert.same({ "tea" }, assert(plugin:call("completion/complete", completion)).completion.values)
    assert.equal(-32602, (select(2, plugin:call("resources/read", {}))).code)
  end)

  it("notifies subscribers when notes are added and deleted", function()
    local changes, host <close> = 0, hosts { log = false }
    local execute, plugin = open(host, {
      options = { era = "2025-11-25" },
      handlers = { ["notifications/resources/list_changed"] = function() changes = changes + 1 end },
    })
    execute("add", { title = "Tea", text = "Assam" })
    execute("delete", { name = "tea" })
    execute "list" -- whose answer comes after the notification
    assert.equal(2, changes)
    assert.same({ listChanged = true, subscribe = true }, plugin.raw_manifest.capabilities.resources)
  end)

  it("draws a chart, and asks before it deletes", function()
    local asked, action, host <close> = nil, "decline", hosts { log = false }
    local execute = open(host, {
      handlers = {
        ["elicitation/create"] = function(params)
          asked = params.message
          return { action = action, content = action == "accept" and { delete = true } or nil }
        end,
      },
    })
    execute("add", { title = "Tea", text = "Assam" })
    local picture = execute("chart").content[2]
    assert.same({ "image", "image/svg+xml" }, { picture.type, picture.mimeType })
    assert.matches('^<svg .*<text x="206" y="13">tea</text></svg>$', tostring(picture.data))
    assert.equal("The user wants to keep tea", execute("delete", { name = "tea" }).error)
    assert.equal('Delete the note "tea"?', asked)
    action = "accept"
    assert.equal("Deleted tea", execute("delete", { name = "tea" }).message)
  end)
end)

-- What the README shows.
describe("the README of examples/notes-mcp", function()
  local here = lfs.currentdir()

  local function blocks(language)
    local file <close> = assert(io.open "examples/notes-mcp/README.md")
    local list = {}
    for kind, code in file:read("a"):gmatch "\n```(%l*)\n(.-)```" do
      local text = code:gsub("/path/to/pintle", here):gsub("/path/to/notes", folder)
      if kind == language then list[#list + 1] = text end
    end
    return list
  end

  it("shows configurations with which clients find the server", function()
    local configurations = blocks "json"
    assert.equal(2, #configurations)
    for _, text in ipairs(configurations) do
      local server = assert(json.decode(text)).mcpServers.notes
      local host <close> = hosts { log = false, dialect = "mcp" }
      local plugin = assert(host:start { command = { server.command, table.unpack(server.args) } })
      assert.equal("notes", plugin.manifest.name)
      assert.is_true(assert(plugin:execute "list").success)
    end
  end)

  it("shows the actual output in Lua and in a shell", function()
    local shown = blocks ""
    local command, expected = shown[2]:match "^%$ ([^\n]+)\n(.*)$"
    assert.equal(expected, (children.run { command = children.sh(command) }))
    assert.equal(shown[1], (children.run { command = children.lua(blocks("lua")[1]) }))
  end)
end)
