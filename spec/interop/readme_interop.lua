-- The configurations in README.md, used by the clients that they are for. The plugin of the first block becomes a tool
-- in an AI client, and a command in Neovim.
local children = require "spec.support.children"
local core = require "pintle.core"
local files = require "spec.support.files"
local pages = require "spec.support.pages"

local folder

children.leave_nothing()
files.give_each_a_folder(function(path) folder = path end)

local function write(name, text) files.write(folder .. "/" .. name, text) end

-- Writes the plugin, and returns the block that has this text, with the path of the plugin in it.
local function block_with(text)
  local blocks = pages.blocks(files.read "README.md")
  assert.truthy(blocks[1].text:find("-- plugin.lua", 1, true))
  write("plugin.lua", blocks[1].text)
  for _, block in ipairs(blocks) do
    if block.text:find(text, 1, true) then return (block.text:gsub("/home/ada", folder)) end
  end
  error("no block has " .. text)
end

describe("the plugin of the README", function()
  for _, client in ipairs { "classic", "modern" } do
    it("is a tool in an AI client with the SDK of MCP, " .. client, function()
      local configuration = core.json.decode(block_with "mcpServers").mcpServers.greeter
      local text, code = children.run {
        command = {
          "node", ("spec/interop/mcp_%s_client.cjs"):format(client), "greeter", configuration.command,
          table.unpack(configuration.args),
        },
      }
      assert.equal(0, code, text)
      assert.truthy(text:find('"text":"Hello, Ada"', 1, true), text)
    end)
  end

  it("is a command in Neovim", function()
    local start, call = block_with("vim.lsp.start"):match "^(.-\n)(vim.lsp.buf_request.*)$"
    write("start.lua", start)
    write("call.lua", call)
    write("notes.txt", "notes\n")
    local _, status = children.run {
      command = { "nvim", "--headless", "--clean", folder .. "/notes.txt", "-c",
        "luafile spec/interop/readme_neovim.lua" },
      env = { PINTLE_FOLDER = folder, HOME = folder }, stdin = "null", stderr = "null",
    }
    assert.equal(0, status)
    assert.same({ "Hello, Ada" }, core.json.decode(files.read(folder .. "/seen")))
  end)
end)
