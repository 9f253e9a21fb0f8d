-- The programs of docs/dialects/reginald.md do what the page lets one expect.
local children = require "spec.support.children"
local july_host = require "spec.support.reginald.july_host"
local june_host = require "spec.support.reginald.june_host"

local function read(path)
  local file <close> = assert(io.open(path))
  return file:read "a"
end

local function write(path, text)
  local file <close> = assert(io.open(path, "w"))
  assert(file:write(text))
end

local ENV = { LUA_PATH = os.getenv "LUA_PATH", LUA_CPATH = os.getenv "LUA_CPATH" }

describe("the page on Reginald", function()
  local folder, examples

  before_each(function()
    folder = os.tmpname()
    os.remove(folder)
    assert(os.execute(("mkdir -p %s/plugins/tools"):format(folder)))
    examples = {}
    for code in read("docs/dialects/reginald.md"):gmatch "\n```lua\n(.-)```" do examples[#examples + 1] = code end
    write(folder .. "/plugins/tools/plugin.lua", "#!/usr/bin/env lua5.4\n" .. examples[1])
    assert(os.execute(("chmod 755 %s/plugins/tools/plugin.lua"):format(folder)))
  end)

  after_each(function() os.execute("rm -r " .. folder) end)

  local function run(directory, ...)
    return children.run { command = { "lua5.4", ... }, cwd = folder .. directory, stdin = "null", env = ENV }
  end

  it("has a plugin and a host, which find each other", function()
    assert.equal(2, #examples)
    write(folder .. "/plugins/notes.txt", "")
    local manifest, status = run("/plugins/tools", "plugin.lua", "--manifest", "reginald")
    assert.equal(0, status)
    write(folder .. "/plugins/tools/manifest.json", manifest)
    write(folder .. "/host.lua", examples[2])
    assert.same({ "passed over: its name does not begin with reginald-\ntools\tlink link.add\nlinked a to /\n", 0 },
      { run("", "host.lua") })
  end)

  it("has a plugin that hosts of both releases take", function()
    local command = { "lua5.4", folder .. "/plugins/tools/plugin.lua" }
    local june <close> = june_host(command)
    june:call("handshake", '{"protocol":"rpp","protocolVersion":0}')
    june:call("setupCommand", '{"name":"link.add","config":[{"key":"file","value":"a","type":"string"},'
      .. '{"key":"force","value":true,"type":"bool"}]}')
    june:call("runCommand", '{"name":"link.add"}')
    assert.equal("linked a to / by force", june.logged[1].msg)
    assert.is_nil(june.last_mistake)
    local july <close> = july_host(command)
    july:call("handshake", '{"protocol":"reginald","protocolVersion":0}')
    july:call("runCommand", '{"cmd":"link.plus","config":[{"key":"file","value":"a","type":"path"}],'
      .. '"pluginConfig":[{"key":"root","value":"/r","type":"path"}]}')
    assert.equal("linked a to /r", july.logged[1].msg)
  end)
end)
