-- A stream whose other end is a descriptor that the spec reads and writes.
local children = require "spec.support.children"
local core = require "pintle.core"
local streams = require "spec.support.stream"

local wire = {}

-- A stream on one end of a socket pair, and the other end.
function wire.open(options)
  local near, far = core.socketpair()
  local given = { read = near, write = near, framing = "line" }
  for name, value in pairs(options or {}) do given[name] = value end
  return assert(streams.open(given)), far
end

-- Gives each spec of a file or block a stream and the other end: calls the function with them before, and closes them
-- afterwards. Then no descriptor may be left. To be called outside of specs.
function wire.give_each_a_stream(options, take)
  local busted, nothing_left, stream, far = require "busted", nil, nil, nil
  busted.before_each(function()
    nothing_left = children.stock()
    stream, far = wire.open(options)
    take(stream, far)
  end)
  busted.after_each(function()
    stream:close()
    far:close()
    nothing_left()
  end)
end

-- Writes the whole text, for which there must be room.
function wire.write(far, bytes)
  local at = 1
  while at <= #bytes do at = at + assert(far:write(bytes:sub(at))) end
end

-- The bytes of a text, each a piece of its own.
function wire.split(text)
  local pieces = {}
  for i = 1, #text do pieces[i] = text:sub(i, i) end
  return pieces
end

-- The results of a call to receive, as one line.
local function describe(kind, id, what, payload)
  if kind == "notification" then return "got " .. what end
  if kind == "noise" then return ("noise %q of %d bytes"):format(payload.text, payload.bytes) end
  if kind == "invalid" then
    return ("invalid %d %s: %q of %d bytes"):format(payload.code, payload.message, payload.text, payload.bytes)
  end
  return ("%s %s %s"):format(kind, id, what)
end

-- Appends all events that have arrived to `events`. Returns true unless the stream has ended.
function wire.collect(stream, events)
  while true do
    local kind, id, what, payload = stream:receive()
    if kind == false then return true end
    if kind == nil then
      assert(what == "closed", id)
      return false
    end
    events[#events + 1] = describe(kind, id, what, payload)
  end
end

-- The message that has arrived. After a read of all input, a stream reports once that there is no more before it reads.
function wire.next(stream)
  local kind, id, what, payload = stream:receive()
  if kind == false then
    kind, id, what, payload = stream:receive()
  end
  return kind, id, what, payload
end

-- The events for these pieces and the end of input; then the framing and the counts.
function wire.play(options, pieces)
  local stream, far <close> = wire.open(options)
  local events = {}
  for _, piece in ipairs(pieces) do
    wire.write(far, piece)
    assert(wire.collect(stream, events))
  end
  far:close()
  while wire.collect(stream, events) do end
  local stats = stream:stats()
  events[#events + 1] = ("%s: received %d, noise %d (%d bytes), invalid %d"):format(stream:framing(), stats.received,
    stats.noise, stats.noise_bytes, stats.invalid)
  stream:close()
  return events
end

return wire
