-- The programs of pages that show a server, a client and what that prints.
local children = require "spec.support.children"
local folders = require "spec.support.folder"

local function read(path)
  local file <close> = assert(io.open(path))
  return file:read "a"
end

local function write(path, text)
  local file <close> = assert(io.open(path, "w"))
  assert(file:write(text))
end

for _, name in ipairs { "lsp", "mcp" } do
  describe("the page on " .. name, function()
    it("shows what works", function()
      local page, folder <close> = read("docs/dialects/" .. name .. ".md"), folders.new()
      for file, code in page:gmatch "\n```lua\n%-%- (%S+)\n(.-)```" do write(folder.path .. "/" .. file, code) end
      local output, status = children.run {
        command = { "lua5.4", "client.lua" }, cwd = folder.path, stdin = "null",
        env = { LUA_PATH = os.getenv "LUA_PATH", LUA_CPATH = os.getenv "LUA_CPATH" },
      }
      assert.same({ page:match "\n```\n```\n(.-)```", 0 }, { output, status })
    end)
  end)
end
