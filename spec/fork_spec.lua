-- A program that hosts plugins may fork, by a module of its own. They are the parent's.
local children = require "spec.support.children"
local core = require "pintle.core"

local PROGRAM = [[
  package.cpath = "%s/?.so;" .. package.cpath
  local fork = require "fork"
  local host <close> = require("pintle").host { log = false }
  local greeter = assert(host:start { command = { "lua5.4", "spec/support/plugins/greeter.lua" } })
  if fork() then %s end
  local outcome, err = greeter:execute("greet", { name = "Ada" })
  print(outcome and outcome.message or err)
]]

describe("the fork of a host leaves the plugins alone when it", function()
  local folder, nothing_left

  setup(function()
    folder = os.tmpname()
    os.remove(folder)
    assert(os.execute(("mkdir %s && ${CC:-cc} -shared -fPIC -o %s/fork.so spec/support/fork.c"):format(folder, folder)))
  end)

  teardown(function() os.execute("rm -r " .. folder) end)

  before_each(function() nothing_left = children.stock() end)
  after_each(function() nothing_left() end)

  for way, code in pairs {
    exits = "os.exit()",
    ["exits and closes its state"] = "os.exit(0, true)",
    ["comes to its end"] = "return",
    ["stops its host"] = "host:stop() os.exit()",
    fails = "io.stderr:close() error 'no use'",
  } do
    it(way, function()
      local command = children.lua(PROGRAM:format(folder, code))
      local process <close> = assert(core.spawn { command = command, stderr = "null" })
      assert.equal("Hello, Ada\n", children.read(process.stdout))
      assert.equal(0, (process:wait(children.patience)))
    end)
  end
end)
