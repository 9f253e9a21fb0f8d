-- What torture/threads.c runs in each thread: peers, tasks, timers, processes, numbers, and a handler that computes.
local core = require "pintle.core"
local pintle = require "pintle"

local one, other = pintle.pair()
other:on("double", function(params) return params[1] * 2 end)
other:on("compute", function() -- several ticks of the watchdog
  local ended = core.now() + 0.3
  while core.now() < ended do core.json.decode "[1.5e10,2,{}]" end
  return true
end)

local tasks = {}
for i = 1, 20 do tasks[i] = pintle.task(function() assert(one:call("double", { i }) == 2 * i) end) end
assert(pintle.all(tasks))
assert(one:call("compute", {}, { timeout = 60 }))
pintle.sleep(0.01)

local child = assert(core.spawn { command = { "true" }, stdin = "null", stdout = "null" })
assert(child:wait(60) == 0)
child:close()

assert(core.json.decode(core.json.encode { 0.1, 1e300, 3 })[1] == 0.1)
assert(#core.sha256 "README.md" == 64)
one:close()
other:close()
