-- The plugin of docs/dialects/reginald.md is taken by hosts of both releases.
local cli = require "spec.support.cli"
local folders = require "spec.support.folder"
local july_host = require "spec.support.reginald.july_host"
local june_host = require "spec.support.reginald.june_host"

describe("the page on Reginald", function()
  it("has a plugin that hosts of both releases take", function()
    local folder <close> = folders.new()
    local path = folder.path .. "/plugin.lua"
    cli.write(path, cli.slurp "docs/dialects/reginald.md":match "\n```lua\n(.-)```")
    local june <close> = june_host { "lua5.4", path }
    june:call("handshake", '{"protocol":"rpp","protocolVersion":0}')
    june:call("setupCommand", '{"name":"link.add","config":[{"key":"file","value":"a","type":"string"},'
      .. '{"key":"force","value":true,"type":"bool"}]}')
    june:call("runCommand", '{"name":"link.add"}')
    assert.equal("linked a to / by force", june.logged[1].msg)
    assert.is_nil(june.last_mistake)
    local july <close> = july_host { "lua5.4", path }
    july:call("handshake", '{"protocol":"reginald","protocolVersion":0}')
    july:call("runCommand", '{"cmd":"link.plus","config":[{"key":"file","value":"a","type":"path"}],'
      .. '"pluginConfig":[{"key":"root","value":"/r","type":"path"}]}')
    assert.equal("linked a to /r", july.logged[1].msg)
  end)
end)
