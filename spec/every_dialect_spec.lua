-- One plugin, unchanged, in every dialect: it finds out by itself which one its host speaks.
local children = require "spec.support.children"
local dialects = require "pintle.dialect"
local hosts = require "pintle.host"

local NAMES = { "editor", "gevals", "liquid", "lsp", "mcp", "reginald" }

local nothing_left

before_each(function() nothing_left = children.stock() end)
after_each(function() nothing_left() end)

-- The greeter of the examples, and all that its host was told.
local function start(name, options)
  local said = {}
  local host = hosts { dialect = name, verbosity = "debug", log = function(entry) said[#said + 1] = entry end }
  local spec = { command = { "lua5.4", "examples/greeter/plugin.lua" } }
  for option, value in pairs(options or {}) do spec[option] = value end
  return host, assert(host:start(spec)), said
end

local function find(said, message)
  for _, entry in ipairs(said) do
    if entry.message:find(message, 1, true) then return entry end
  end
end

describe("the names of all dialects", function()
  it("are these", function()
    for _, name in ipairs(NAMES) do assert.is_true(dialects.is_built_in(name), name) end
  end)
end)

for _, name in ipairs(NAMES) do
  describe("the greeter, driven by a host that speaks " .. name, function()
    local function check(options)
      local _ <close>, greeter, said = start(name, options)
      local outcome = assert(greeter:execute("greet", { name = "Ada", times = 2 }))
      assert.same({ true, "Hello, Ada" }, { outcome.success, outcome.message })
      outcome = assert(greeter:execute("greet", { name = "" }))
      assert.same({ false, "nobody to greet" }, { outcome.success, outcome.error })
      for _, asked in ipairs { { "greet", { name = 5 } }, { "greet", {} }, { "leave", {} } } do
        local err
        outcome, err = greeter:execute(asked[1], asked[2])
        assert.is_nil(outcome, asked[1])
        assert.truthy(err.kind == "invalid" or err.kind == "remote", tostring(err))
      end
      outcome = assert(greeter:execute("greet", { name = "Grace" }))
      assert.equal("Hello, Grace", outcome.message)
      local child = greeter.supervisor.members[1].peer.child
      greeter:stop()
      assert.equal(0, child.exit.code)
      assert.truthy(find(said, "greeting"), "its log is not heard")
    end

    it("greets when it finds out by itself", function() check() end)

    it("greets when it is told", function() check { env = { PINTLE_DIALECT = name } } end)
  end)
end
