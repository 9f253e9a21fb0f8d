-- Two connected streams.
local core = require "pintle.core"
local streams = require "spec.support.stream"

local pair = {}

---The options of several tables; later ones win.
function pair.merge(...)
  local all = {}
  for _, options in ipairs { ... } do
    for name, value in pairs(options) do all[name] = value end
  end
  return all
end

-- Over a socket pair, with options for both streams and for each.
function pair.open(both, one, other)
  local near, far = core.socketpair()
  local usual = { framing = "line" }
  return assert(streams.open(pair.merge(usual, both, { read = near, write = near }, one or {}))),
    assert(streams.open(pair.merge(usual, both, { read = far, write = far }, other or {})))
end

-- Over two pipes.
function pair.pipes(both, one, other)
  local near_in, far_out = core.pipe()
  local far_in, near_out = core.pipe()
  local usual = { framing = "line" }
  return assert(streams.open(pair.merge(usual, both, { read = near_in, write = near_out }, one or {}))),
    assert(streams.open(pair.merge(usual, both, { read = far_in, write = far_out }, other or {})))
end

-- Sends the queued output of `from`, as much as `to` must read, and returns the next message.
function pair.pass(from, to)
  while true do
    assert(from:flush() ~= nil)
    local kind, id, what, payload = to:receive()
    if kind ~= false then return kind, id, what, payload end
    if from:queued() == 0 then
      kind, id, what, payload = to:receive()
      return kind, id, what, payload
    end
  end
end

return pair
