-- A dialect that is not part of pintle: found by the name of its module, and spoken by both sides.
local children = require "spec.support.children"
local core = require "pintle.core"
local extension = require "spec.support.extension"
local pintle = require "pintle"
require "pintle.host"

local json = core.json

local FOLDER = "examples/openrpc/?.lua;"
local ENV = { PINTLE_DIALECT = "openrpc", LUA_PATH = FOLDER .. package.path }

local nothing_left, path

before_each(function()
  nothing_left, path = children.stock(), package.path
  package.path = FOLDER .. path
end)

after_each(function()
  package.path = path
  nothing_left()
end)

local function start(host)
  return assert(host:start { command = { "lua5.4", "examples/greeter/plugin.lua" }, env = ENV })
end

describe("a dialect that is not built in", function()
  it("is used by a host and an unchanged plugin", function()
    local said = {}
    local host <close> = pintle.host { dialect = "openrpc", log = function(entry) said[#said + 1] = entry end }
    local greeter = start(host)
    assert.same({ "greeter", "1.0.0", { "greet" } },
      { greeter.manifest.name, greeter.manifest.version, greeter.manifest.names })
    local outcome = assert(greeter:execute("greet", { name = "Ada" }))
    assert.same({ success = true, message = "Hello, Ada", result = "Hello, Ada" }, outcome)
    outcome = assert(greeter:execute("greet", { name = "" }))
    assert.same({ success = false, message = "nobody to greet", error = "nobody to greet" }, outcome)
    assert.equal("invalid", select(2, greeter:execute("greet", { name = 5 })).kind)
    assert.equal("Unknown operation: leave", select(2, greeter:execute("leave", {})).message)
    greeter:stop()
    assert.equal("stderr", said[1].source)
  end)

  it("is given on the command line of a plugin", function()
    local greeter <close> = extension.start("examples/greeter/plugin.lua", { "--dialect", "openrpc" },
      { LUA_PATH = ENV.LUA_PATH })
    local discovered = greeter:call("rpc.discover", {}).result
    assert.same({ "1.3.2", "greeter", "greet" },
      { discovered.openrpc, discovered.info.title, discovered.methods[1].name })
    assert.equal('{"jsonrpc":"2.0","id":2,"result":"Hello, Ada"}',
      greeter:ask '{"jsonrpc":"2.0","id":2,"method":"greet","params":{"name":"Ada"}}')
    assert.equal(-32602, greeter:call("greet", { name = json.null }).error.code)
    local _, status = greeter:finish()
    assert.equal(0, status)
  end)

  it("is reported by name if it is missing or invalid", function()
    assert.matches('no dialect "nonesuch"; there are .*gevals', select(2, pintle.dialect.get "nonesuch"))
    assert.is_nil((pintle.dialect.get "../openrpc"))
    assert.has_error(function() pintle.dialect.add { name = "half", framing = "line" } end,
      "dialect: recognises: a function expected, got nil")
    assert.has_error(function() pintle.dialect.add "openrpc" end, "dialect: a table expected, got string")
  end)
end)
