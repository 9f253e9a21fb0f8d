local core = require "pintle.core"
local children = require "spec.support.children"

local function read(path)
  local file <close> = assert(io.open(path))
  return file:read "a"
end

local function write(path, text)
  local file <close> = assert(io.open(path, "w"))
  assert(file:write(text))
end

-- The Lua code under a heading of the README.
local function snippet(heading)
  local _, stop = read("README.md"):find("## " .. heading .. "\n```lua\n", 1, true)
  assert(stop, "no code under " .. heading)
  return read("README.md"):sub(stop + 1):match "^(.-\n)```"
end

describe("the README", function()
  local folder

  before_each(function()
    folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir " .. folder))
    write(folder .. "/plugin.lua", snippet "A plugin in fifteen lines")
    write(folder .. "/host.lua", snippet "A host in fifteen lines")
  end)

  after_each(function() os.execute("rm -r " .. folder) end)

  it("shows a host and a plugin that work together", function()
    local process <close> = assert(core.spawn {
      command = { "lua5.4", "host.lua" },
      cwd = folder,
      stdin = "null",
      env = { LUA_PATH = os.getenv "LUA_PATH", LUA_CPATH = os.getenv "LUA_CPATH" },
    })
    assert.equal("my call\t9223372036854775807\n", children.read(process.stdout))
    assert.equal(0, (process:wait(children.patience)))
  end)

  it("keeps both within fifteen lines or so", function()
    for _, heading in ipairs { "A plugin in fifteen lines", "A host in fifteen lines" } do
      local _, lines = snippet(heading):gsub("\n", "")
      assert.is_true(lines <= 16, heading)
    end
  end)

  it("shows what the demo prints", function()
    local transcript = read("README.md"):match "%$ script/demo\n(.-)```"
    local process <close> = assert(core.spawn {
      command = { "lua5.4", "examples/echo/host.lua" },
      stdin = "null",
      stderr = "null",
    })
    local printed = children.read(process.stdout)
    -- The members of an object have no order.
    assert.equal(#transcript, #printed)
    assert.equal(transcript:gsub("{.-}", ""), printed:gsub("{.-}", ""))
  end)
end)
