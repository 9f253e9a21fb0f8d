-- The messages that docs/dialects/editor.md shows are correct.
local core = require "pintle.core"
local editor = require "spec.support.editor"
local files = require "spec.support.files"

describe("the page on the editor's protocol", function()
  local page = files.read "docs/dialects/editor.md"

  it("shows the actual bytes of a message", function()
    local shown = page:match "```text\n(content%-type.-)\n```"
    assert.equal(editor.frame(shown:match "\n\n(.*)$"), (shown:gsub("\n", "\r\n")))
  end)

  it("shows the description of a server", function()
    local server <close> = editor.start "examples/greeter/plugin.lua"
    local described = server:initialize().result
    local shown = core.json.decode(page:match "```json\n(.-)```")
    assert.same({ server_info = shown.server_info, names = { shown.methods[1].name, shown.methods[1].description } },
      { server_info = described.server_info, names = { described.methods[1].name, described.methods[1].description } })
  end)
end)
