-- The programs of docs/dialects/mcp.md print what the page says.
local children = require "spec.support.children"

local function read(path)
  local file <close> = assert(io.open(path))
  return file:read "a"
end

local function write(path, text)
  local file <close> = assert(io.open(path, "w"))
  assert(file:write(text))
end

describe("the page on MCP", function()
  it("shows what works", function()
    local page, folder = read "docs/dialects/mcp.md", os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir " .. folder))
    for name, code in page:gmatch "\n```lua\n%-%- (%S+)\n(.-)```" do write(folder .. "/" .. name, code) end
    local output, code = children.run {
      command = { "lua5.4", "client.lua" }, cwd = folder, stdin = "null",
      env = { LUA_PATH = os.getenv "LUA_PATH", LUA_CPATH = os.getenv "LUA_CPATH" },
    }
    os.execute("rm -r " .. folder)
    assert.same({ page:match "\n```\n```\n(.-)```", 0 }, { output, code })
  end)
end)
