-- The examples of docs/peers.md do what the page lets one expect.
local children = require "spec.support.children"

local function read(path)
  local file <close> = assert(io.open(path))
  return file:read "a"
end

local function write(path, text)
  local file <close> = assert(io.open(path, "w"))
  assert(file:write(text))
end

describe("the page on peers", function()
  local folder, examples

  before_each(function()
    folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir " .. folder))
    examples = {}
    for code in read("docs/peers.md"):gmatch "\n```lua\n(.-)```" do examples[#examples + 1] = code end
  end)

  after_each(function() os.execute("rm -r " .. folder) end)

  -- In the order of the page; the second is the program that the first starts.
  local prints = {
    "Hello, Ada\n", nil, "2\t4\n6\nnil\tremote\tMethod not found: triple (code -32601)\n", "13\n",
    "enough\nstopped counting\n", "done by a task\n2\tfirst\n", "done\n",
  }

  it("has the examples that are tried here", function() assert.equal(7, #examples) end)

  for i = 1, 7 do
    if prints[i] then
      it("shows what works: example " .. i, function()
        write(folder .. "/server.lua", examples[2])
        write(folder .. "/example.lua", examples[i])
        local output, code = children.run {
          command = { "lua5.4", "example.lua" }, cwd = folder, stdin = "null",
          env = { LUA_PATH = os.getenv "LUA_PATH", LUA_CPATH = os.getenv "LUA_CPATH" },
        }
        assert.same({ prints[i], 0 }, { output, code })
      end)
    end
  end
end)
