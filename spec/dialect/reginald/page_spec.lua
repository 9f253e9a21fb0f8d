-- Hosts of both releases accept the plugin of docs/dialects/reginald.md.
local children = require "spec.support.children"
local files = require "spec.support.files"
local json = require("pintle.core").json
local july_host = require "spec.support.reginald.july_host"
local june_host = require "spec.support.reginald.june_host"
local lfs = require "lfs"

-- The file that the page shows first.
local function write_plugin(folder)
  local path = folder.path .. "/plugin.lua"
  files.write(path, files.read "docs/dialects/reginald.md":match "\n```lua\n(.-)```")
  return path
end

describe("the page on Reginald", function()
  it("has a plugin that hosts of june accept", function()
    local folder <close> = files.folder()
    local path = write_plugin(folder)
    local june <close> = june_host { "lua5.4", path }
    june:call("handshake", '{"protocol":"rpp","protocolVersion":0}')
    june:call("setupCommand", '{"name":"link.add","config":[{"key":"file","value":"a","type":"string"},'
      .. '{"key":"force","value":true,"type":"bool"}]}')
    june:call("runCommand", '{"name":"link.add"}')
    assert.equal("linked a to / by force", june.logged[1].msg)
    assert.is_nil(june.last_mistake)
  end)

  it("has a plugin that hosts of july accept, with the settings of its commands", function()
    local folder <close> = files.folder()
    local path = write_plugin(folder)
    local manifest = children.run { command = { "lua5.4", path, "--manifest", "reginald" }, stdin = "null" }
    for _, word in ipairs { "configs", "map", "anything" } do
      local july <close> = july_host { "lua5.4", path }
      july.nested_type = word
      july:load(json.decode(manifest), { root = "/r", link = { add = { force = true } } })
      july:call("handshake", '{"protocol":"reginald","protocolVersion":0}')
      assert.same({}, july:run("link.add", { file = "a" }))
      assert.equal(("linked %s/a to /r by force"):format(lfs.currentdir()), july.logged[1].msg)
      july:stop()
    end
  end)
end)
