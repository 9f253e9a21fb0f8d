-- What a way adds: runs operations of bench/operations.lua on this machine and at the far end, in turn, and prints both
-- figures of each round on a line. WAY is "none", the relay without a client, or "ssh", with a server of its own on
-- this machine; without sshd it prints why it is skipped.
--   far_host.lua call WAY SECONDS ROUNDS    seconds for plugin:execute
--   far_host.lua start WAY SECONDS ROUNDS   seconds for host:start, handshake included
--   far_host.lua pool WAY SECONDS ROUNDS N  calls a second of a pool of N, as many in flight
--   far_host.lua launch WAY SECONDS ROUNDS N  seconds until a pool of N has started

local measure = require "bench.measure"
local pintle = require "pintle"

local ARGS = { a = 2, b = 3 }

local mode, way_name, seconds, rounds, n = arg[1], arg[2], tonumber(arg[3]), tonumber(arg[4]), math.tointeger(arg[5])

local root = require("pintle.core").realpath "."
local COMMAND = { "lua5.4", root .. "/bench/operations.lua" }
local ENV = { LUA_PATH = os.getenv "LUA_PATH", LUA_CPATH = os.getenv "LUA_CPATH" }

-- The far end ends with this process.
local function open_way()
  if way_name == "none" then return {} end
  local server, reason = require("spec.support.engines.sshd").new()
  if server then return { ssh = { host = "node", config = server.config } }, server end
  print("skipped: " .. reason)
  os.exit()
end

local function start(host, way)
  return assert(host:start { command = COMMAND, env = ENV, via = way, pool = n })
end

-- Seconds from a start to its end; the plugin is stopped afterwards.
local function time_start(host, way)
  local begun = measure.now()
  local plugin = start(host, way)
  local spent = measure.now() - begun
  plugin:stop()
  return spent
end

-- Each returns a function that measures once.
local modes = {}

function modes.call(host, way)
  local plugin = start(host, way)
  return function() return measure.in_turn(seconds, function() assert(plugin:execute("add", ARGS)) end) end
end

function modes.start(host, way)
  return function() return measure.median(seconds, function() return time_start(host, way) end) end
end

function modes.pool(host, way)
  local plugin, calls = start(host, way), {}
  for i = 1, n do calls[i] = function() assert(plugin:execute("add", ARGS)) end end
  return function() return measure.at_once(seconds, calls) end
end

function modes.launch(host, way)
  return function() return time_start(host, way) end
end

local way, server = open_way()
do
  local host <close> = pintle.host { log = function() end }
  local here, there = modes[mode](host, false), modes[mode](host, way)
  for _ = 1, rounds do print(here(), there()) end
end
if server then server:close() end
