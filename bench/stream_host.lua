-- Talks to a plugin that echoes for some seconds and prints one figure:
--   stream_host.lua sequential SECONDS CHILD…   seconds a call, one after another
--   stream_host.lua spin SECONDS CHILD…         the same, looking for 50 µs before it sleeps
--   stream_host.lua flight SECONDS N CHILD…     calls a second, N of them under way
--   stream_host.lua string SECONDS N CHILD…     bytes of JSON a second, a string of N bytes there and back
--   stream_host.lua array SECONDS N CHILD…      the same for an array of small objects

local conversation = require "bench.conversation"
local core = require "pintle.core"
local payloads = require "bench.payloads"

local SPIN = 50e-6
local BETWEEN_LOOKS = 100 -- calls from one look at the clock to the next

-- Seconds for one `step`, which may count for several.
local function time(seconds, steps_at_once, step)
  step()
  local count, spent = 0
  local begun = core.now()
  repeat
    for _ = 1, steps_at_once do count = count + (step() or 1) end
    spent = core.now() - begun
  until spent >= seconds
  return spent / count
end

local modes = {}

function modes.sequential(peer, seconds)
  local params = payloads.small()
  return time(seconds, BETWEEN_LOOKS, function() peer:call(params) end)
end

function modes.spin(peer, seconds)
  local params = payloads.small()
  return time(seconds, BETWEEN_LOOKS, function() peer:call(params, SPIN) end)
end

function modes.flight(peer, seconds, depth)
  local stream, params = peer.stream, payloads.small()
  local receive, request = stream.receive, stream.request
  for _ = 1, depth do request(stream, true, "echo", params) end
  return 1 / time(seconds, 1, function()
    local answers = 0
    stream:wait()
    repeat
      local kind, message, _, _, more = receive(stream)
      if kind == "result" then
        answers = answers + 1
        request(stream, true, "echo", params)
      elseif kind ~= false then
        error(message)
      end
    until not more
    return answers
  end)
end

local function large(peer, seconds, params)
  local size = #core.json.encode(params)
  return size / time(seconds, 1, function() peer:call(params) end)
end

function modes.string(peer, seconds, size)
  return large(peer, seconds, core.json.array { payloads.string(size) })
end

function modes.array(peer, seconds, size)
  return large(peer, seconds, payloads.array(size))
end

local mode, seconds, n = arg[1], tonumber(arg[2]), math.tointeger(arg[3])
local peer, process = conversation.start(table.move(arg, n and 4 or 3, #arg, 1, {}))
print(modes[mode](peer, seconds, n))
process:close()
