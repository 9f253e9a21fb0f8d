local core = require "pintle.core"

-- What a program prints until it ends, and how it ends.
local function run(...)
  local process <close> = assert(core.spawn { command = { "lua5.4", ... }, stdin = "null", stderr = "null" })
  local poller <close> = assert(core.poller())
  poller:set(process.stdout, "r", true)
  local parts, deadline = {}, core.now() + 60
  repeat
    local data = process.stdout:read()
    if data then parts[#parts + 1] = data end
    if data == false then assert.truthy(poller:wait(deadline - core.now()) > 0, "no output in a minute") end
  until data == "" or data == nil
  poller:set(process.stdout)
  return table.concat(parts), process:wait(60)
end

describe("examples/echo", function()
  it("shows the exchange with a child, and how the child ends", function()
    local output, code = run "examples/echo/host.lua"
    assert.equal(0, code)
    assert.truthy(output:find('← result [9223372036854775807,1.0,0.1,[],{},null,"naïve 😀\\u0000"]', 1, true), output)
    assert.truthy(output:find("Method not found: ehco", 1, true), output)
    assert.truthy(output:find("The child ended with status 3.", 1, true), output)
  end)
end)
