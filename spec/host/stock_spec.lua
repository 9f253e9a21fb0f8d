-- That specs which leave something behind are found out.
local children = require "spec.support.children"
local core = require "pintle.core"

describe("taking stock", function()
  it("sees a descriptor that stays, and one that is gone", function()
    local nothing_left = children.stock()
    local file = io.open "/dev/null"
    assert.has_error(nothing_left)
    local nothing_gone = children.stock()
    file:close()
    nothing_left()
    assert.has_error(nothing_gone)
  end)

  it("sees a child that stays", function()
    local nothing_left = children.stock()
    local process = assert(core.spawn { command = { "sleep", "600" }, stdin = "null", stdout = "null" })
    assert.has_error(nothing_left)
    process:close()
    nothing_left()
  end)

  it("does not mind what garbage holds", function()
    local nothing_left = children.stock()
    assert.truthy(io.open "/dev/null")
    assert(core.spawn { command = { "sleep", "600" }, stdin = "null", stdout = "null" })
    nothing_left()
  end)
end)
