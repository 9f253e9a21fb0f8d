-- The core opens each of its parts when one of the part's names is first used.
local children = require "spec.support.children"
local core = require "pintle.core"
local files = require "spec.support.files"

local function names()
  local list, contract = {}, files.read "lua/pintle/_meta/core.lua"
  local class = contract:match "@class pintle%.core\n(.-)\nlocal core"
  for name in class:gmatch "@field ([%l%d_]+)" do list[#list + 1] = name end
  for name in contract:gmatch "\n%l* ?core%.([%l%d_]+)[ (]" do list[#list + 1] = name end
  return list
end

-- The output of a program that has not used the core before.
local function said_by(code)
  local text = children.run { command = children.lua("local core = require 'pintle.core' " .. code) }
  return text
end

describe("the core", function()
  it("has every name of its contract, whichever is used first", function()
    local list = names()
    assert.truthy(#list > 25)
    for _, name in ipairs(list) do
      assert.not_nil(core[name], name)
      assert.equal("true", said_by(("io.write(tostring(core.%s ~= nil))"):format(name)), name)
    end
  end)

  it("has no others", function()
    for _, name in ipairs { "", "a", "peer ", "overdue peer", "peers", "atty", "\0", "json\0s", 1, 0.5 } do
      assert.is_nil(core[name])
    end
    assert.is_nil(core[true])
  end)

  it("creates complete objects, whatever was used before", function()
    assert.equal("hello", said_by [[
      local process <close> = core.spawn { command = { "cat" } }
      process.stdin:write "hello"
      process.stdin:close()
      process:wait(5)
      io.write(process.stdout:read())
    ]])
    assert.equal("function", said_by "io.write(type(core.loop.start))")
    assert.equal('{"a":[]} pintle.fd', said_by [[
      local input, output = core.socketpair()
      local function request(_, _, _, _, params) io.write(tostring(params), " ", getmetatable(output).__name) end
      local peer = core.peer({ read = input, write = 1, framing = "line", raw = true }, {}, {
        policy = { request = request }, handlers = {}, controls = {}, context = {}, requests = 1,
      })
      peer:begin()
      output:write '{"jsonrpc":"2.0","method":"m","params":{"a":[]}}\n'
      core.loop.step(5)
    ]])
  end)
end)
