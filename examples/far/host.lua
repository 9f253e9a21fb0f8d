-- Primes counted on several machines: script/lua examples/far/host.lua [HOST…]
-- Each HOST is one of ssh, and has pintle and this folder, at the same path as here. Without any, two relays on this
-- machine stand in for them.

local lfs = require "lfs"
local pintle = require "pintle"

local ways = {}
for i, name in ipairs(arg) do ways[i] = { ssh = name } end
if not ways[1] then ways = { {}, {} } end

local here = arg[0]:match "^(.*)/" or "."
if here:sub(1, 1) ~= "/" then here = lfs.currentdir() .. "/" .. here end

local host <close> = pintle.host { log = print, restart = true }
local primes = assert(host:start {
  command = { "lua5.4", here .. "/plugin.lua" },
  pool = { size = 2 * #ways, via = ways },
})
print(("%d processes over %d ways"):format(#primes:pids(), #ways))

-- Each call goes to the least busy process. One that is lost with its machine is made again elsewhere.
local calls = {}
for i = 1, 10 do
  local range = { from = 10000 * (i - 1), to = 10000 * i - 1 }
  calls[i] = function() return assert(primes:execute("count", range, { idempotent = true })).message end
end

local sum = 0
for _, count in ipairs(pintle.all(calls)) do sum = sum + math.tointeger(tonumber(count)) end
print(("%d primes below 100000"):format(sum))
