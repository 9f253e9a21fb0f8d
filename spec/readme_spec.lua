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

-- The pieces of Lua code under a heading of the README.
local function snippets(heading)
  local text = read "README.md"
  local _, start = text:find("## " .. heading .. "\n", 1, true)
  assert(start, "no heading " .. heading)
  local section = text:sub(start + 1, (text:find("\n## ", start, true)))
  local pieces = {}
  for code in section:gmatch "```lua\n(.-\n)```" do pieces[#pieces + 1] = code end
  assert(#pieces > 0, "no code under " .. heading)
  return pieces
end

describe("the README", function()
  local folder

  before_each(function()
    folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir " .. folder))
  end)

  after_each(function() os.execute("rm -r " .. folder) end)

  local function run(name)
    local process <close> = assert(core.spawn { command = { "lua5.4", name }, cwd = folder, stdin = "null" })
    local printed = children.read(process.stdout)
    assert.equal(0, (process:wait(children.patience)))
    return printed
  end

  it("shows a host and a plugin that work together", function()
    write(folder .. "/plugin.lua", snippets "A plugin in fifteen lines"[1])
    write(folder .. "/host.lua", snippets "A host in fifteen lines"[1])
    assert.equal('greeter\t1.0.0\ninfo  plugin: greeting {"name":"Ada"}\nHello, Ada\n', run "host.lua")
  end)

  it("shows two peers that ask each other", function()
    local host, peer = table.unpack(snippets "Any JSON-RPC peer")
    write(folder .. "/host.lua", host)
    write(folder .. "/peer.lua", peer)
    assert.equal("42\tnil\n", run "host.lua")
  end)

  it("keeps both within fifteen lines or so", function()
    for _, heading in ipairs { "A plugin in fifteen lines", "A host in fifteen lines" } do
      local _, lines = snippets(heading)[1]:gsub("\n", "")
      assert.is_true(lines <= 17, heading)
    end
  end)
end)

describe("the page on hosts", function()
  it("shows a host that works", function()
    local code = read("docs/hosts.md"):match "```lua\n(.-\n)```"
    local process <close> = assert(core.spawn { command = children.lua(code), stdin = "null" })
    assert.equal('info  plugin: greeting {"name":"Ada"}\nHello, Ada\n', children.read(process.stdout))
    assert.equal(0, (process:wait(children.patience)))
  end)
end)

describe("the page on plugins", function()
  it("shows a plugin, and how to try it from a shell", function()
    local page = read "docs/plugins.md"
    local path = os.tmpname()
    write(path, page:match "```lua\n(.-\n)```")
    local input, answer = page:match "%$ echo '(.-)' | lua5%.4 greeter%.lua\n(.-\n)"
    local shell = "printf '%s\\n' \"$2\" | lua5.4 \"$1\" 2>/dev/null"
    local printed = children.run { command = children.sh(shell, path, input) }
    os.remove(path)
    assert.equal(answer, printed)
  end)
end)
