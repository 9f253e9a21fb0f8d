-- Ctrl-C and its like, as something that work is cancelled by: the first time politely, the second at once.

local core = require "pintle.core"
local loop = require "pintle.loop"
local tasks = require "pintle.task"

local SIGNALS = { "INT", "TERM", "HUP" }

local interrupt = {}

---Runs `fn` in a task that is cancelled when a signal comes. From then on the signals do what they always do.
---@param fn function
---@return pintle.signal? signal that has come, any ... what the function returned
function interrupt.run(fn)
  local signals <close> = assert(core.signals(SIGNALS, true))
  local task, name = nil, nil
  local watcher = {}
  function watcher.on_ready()
    name = signals:next() or name
    if name then task:cancel("interrupted") end
  end
  assert(loop.watch(signals:fd(), "r", watcher))
  task = tasks.start(fn)
  local results = table.pack(pcall(task.await, task))
  loop.unwatch(signals:fd(), watcher)
  if not results[1] then error(results[2], 0) end
  return name, table.unpack(results, 2, results.n)
end

return interrupt
