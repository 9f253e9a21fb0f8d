-- Specs that leave processes or descriptors behind fail.
local children = require "spec.support.children"
local core = require "pintle.core"

describe("taking stock", function()
  it("finds a descriptor that stays open, and one that was closed", function()
    local nothing_left = children.stock()
    local file = io.open "/dev/null"
    assert.has_error(nothing_left)
    local nothing_gone = children.stock()
    file:close()
    nothing_left()
    assert.has_error(nothing_gone)
  end)

  it("finds a child that is still there", function()
    local nothing_left = children.stock()
    local process = assert(core.spawn { command = { "sleep", "600" }, stdin = "null", stdout = "null" })
    assert.has_error(nothing_left)
    process:close()
    nothing_left()
  end)

  it("ignores what garbage holds", function()
    local nothing_left = children.stock()
    assert.truthy(io.open "/dev/null")
    assert(core.spawn { command = { "sleep", "600" }, stdin = "null", stdout = "null" })
    nothing_left()
  end)
end)
