-- Talks to a plugin that echoes for some seconds, through the public interface, and prints one figure:
--   peer_host.lua sequential SECONDS CHILD…   seconds a call, one after another
--   peer_host.lua spin SECONDS CHILD…         the same, looking for 50 µs before it sleeps
--   peer_host.lua flight SECONDS N CHILD…     calls a second, N of them under way, each in a task
--   peer_host.lua string SECONDS N CHILD…     bytes of JSON a second, a string of N bytes there and back
--   peer_host.lua array SECONDS N CHILD…      the same for an array of small objects
--   peer_host.lua turn SECONDS N CHILD…       calls a second, one to each of N plugins after the other
--   peer_host.lua each SECONDS N CHILD…       calls a second, one under way at each of N plugins
--   peer_host.lua idle SECONDS N CHILD…       seconds a call, with N idle plugins beside
--   peer_host.lua start SECONDS N CHILD…      seconds from before the start of a plugin to its first answer, from a
--                                             host with N MB of heap
--   peer_host.lua memory SECONDS N CHILD…     megabytes that the plugin (N = 0) or the host (N = 1) holds at rest

local measure = require "bench.measure"
local payloads = require "bench.payloads"
local pintle = require "pintle"

local now = measure.now

local SPIN = 50e-6

local mode, seconds, n = arg[1], tonumber(arg[2]), math.tointeger(arg[3])
local command = table.move(arg, n and 4 or 3, #arg, 1, {})

local function open(options)
  options = options or {}
  options.command, options.framing = command, "header"
  return assert(pintle.connect(options))
end

local function open_many(count)
  local peers = {}
  for i = 1, count do peers[i] = open() end
  for _, peer in ipairs(peers) do assert(peer:call("echo", payloads.small())) end
  return peers
end

local function close_all(peers)
  local closing = {}
  for i, peer in ipairs(peers) do closing[i] = function() peer:close() end end
  pintle.all(closing)
end

local function sequential(peer)
  local params = payloads.small()
  return measure.in_turn(seconds, function() peer:call("echo", params) end)
end

local function in_tasks(peers)
  local params, functions = payloads.small(), {}
  for i, peer in ipairs(peers) do functions[i] = function() peer:call("echo", params) end end
  return measure.at_once(seconds, functions)
end

local function large(params)
  local peer <close> = open()
  local size = #pintle.json.encode(params)
  return size / measure.time(seconds, 1, function() assert(peer:call("echo", params)) end)
end

local function resident(pid)
  local file <close> = assert(io.open(("/proc/%s/statm"):format(pid)))
  local _, pages = file:read("n", "n")
  return pages * 4096 / 1e6
end

local modes = {}

function modes.sequential()
  local peer <close> = open()
  return sequential(peer)
end

function modes.spin()
  local peer <close> = open { spin = SPIN }
  return sequential(peer)
end

function modes.flight()
  local peer <close> = open()
  local peers = {}
  for i = 1, n do peers[i] = peer end
  return in_tasks(peers)
end

function modes.string() return large(pintle.array { payloads.string(n) }) end

function modes.array() return large(payloads.array(n)) end

function modes.turn()
  local peers, params = open_many(n), payloads.small()
  local each = measure.time(seconds, n, function()
    for _, peer in ipairs(peers) do peer:call("echo", params) end
  end)
  close_all(peers)
  return 1 / each
end

function modes.each()
  local peers = open_many(n)
  local rate = in_tasks(peers)
  close_all(peers)
  return rate
end

function modes.idle()
  local others = open_many(n)
  local peer <close> = open()
  local each = sequential(peer)
  close_all(others)
  return each
end

function modes.start()
  local heap, kilobyte = {}, ("x"):rep(1024)
  for i = 1, n do heap[i] = kilobyte:rep(1024) end
  local median = measure.median(seconds, function()
    local begun = now()
    local peer <close> = open()
    assert(peer:call("echo", payloads.small()))
    return now() - begun
  end)
  assert(#heap == n)
  return median
end

function modes.memory()
  local peer <close> = open()
  assert(peer:call("echo", payloads.small()))
  collectgarbage()
  return resident(n == 0 and peer.child.pid or "self")
end

print(modes[mode]())
