-- Starts a plugin that echoes, asks, waits for the answer; prints seconds from before the start to the answer,
-- the median of several: spawn_host.lua SECONDS MEGABYTES_OF_HEAP CHILD…

local conversation = require "bench.conversation"
local core = require "pintle.core"
local payloads = require "bench.payloads"

local function once(command, params)
  local begun = core.now()
  local peer, process = conversation.start(command)
  peer:call(params)
  local spent = core.now() - begun
  peer.stream:close()
  process:close()
  return spent
end

local seconds, megabytes = tonumber(arg[1]), math.tointeger(arg[2])
local command = table.move(arg, 3, #arg, 1, {})
local heap, times, params = {}, {}, payloads.small()
local kilobyte = ("x"):rep(1024)
for i = 1, megabytes do heap[i] = kilobyte:rep(1024) end

once(command, params)
local stop = core.now() + seconds
repeat times[#times + 1] = once(command, params) until core.now() > stop
table.sort(times)
print(times[#times // 2 + 1])
assert(#heap == megabytes)
