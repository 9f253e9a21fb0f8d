-- Turns the loop until a condition is true, and fails if that takes too long.
local children = require "spec.support.children"
local core = require "pintle.core"
local loop = require "pintle.loop"

return function(condition)
  local latest = core.now() + children.patience
  while not condition() do
    assert(core.now() < latest, "the condition did not become true in time")
    loop.step(0.01)
  end
end
