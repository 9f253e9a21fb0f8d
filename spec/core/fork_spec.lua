-- A program that hosts plugins may fork, through another module. The plugins stay with the parent.
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

-- A handler that forks; the child runs another handler, which does not check the time.
local COMPUTING = [[
  package.cpath = "%s/?.so;" .. package.cpath
  local fork = require "fork"
  local pintle = require "pintle"
  local function ask(handler)
    local one, other = pintle.pair()
    other:on("m", handler)
    return one:call "m"
  end
  local function compute(_, ctx)
    ctx:set_deadline(0.05)
    local latest = pintle.loop.now() + 10
    repeat until pintle.loop.now() > latest
  end
  ask(function(_, ctx)
    if not fork() then return end
    local _, err = ask(compute)
    print(err)
    os.exit()
  end)
]]

local folder, nothing_left

local function build()
  folder = os.tmpname()
  os.remove(folder)
  assert(os.execute(("mkdir %s && ${CC:-cc} -shared -fPIC -o %s/fork.so spec/support/fork.c"):format(folder, folder)))
end

local function remove() os.execute("rm -r " .. folder) end

describe("the fork of a host leaves the plugins alone when it", function()
  setup(build)
  teardown(remove)
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

describe("a handler that computes", function()
  setup(build)
  teardown(remove)

  it("is interrupted in a fork that was made while another handler ran", function()
    local text = children.run { command = children.lua(COMPUTING:format(folder)), stderr = "null" }
    assert.equal("the request timed out after 50ms (code -32001)\n", text)
  end)
end)
