-- Exit statuses of the command (docs/cli.md lists them for users), and the signals that interrupt it.

local lazy = require "pintle.lazy"

local core = lazy "pintle.core"
local loop = lazy "pintle.loop"
local tasks = lazy "pintle.task"

local status = {
  DONE = 0,
  FAILED = 1, -- the work was done, and the answer is negative
  BROKEN = 2, -- the work could not be done
  LATE = 3, -- a timeout
  USAGE = 64, -- the command line or the arguments are wrong; nothing was done
  BUG = 70, -- a bug in pintle
}

local NUMBERS = { HUP = 1, INT = 2, QUIT = 3, TERM = 15 }
local BY_KIND = { invalid = status.USAGE, timeout = status.LATE }

---@param err pintle.error
---@return integer
function status.of_error(err) return BY_KIND[err.kind] or status.BROKEN end

---The status a shell reports for a program that a signal ended.
---@param signal pintle.signal
---@return integer
function status.of_signal(signal) return 128 + (NUMBERS[signal] or 0) end

---Ends this process by the signal that ended another one. A signal without a name is given by its number; it cannot be
---raised, so the result is the status that a shell reports.
---@param signal pintle.signal
---@return integer status if the process did not end
function status.end_by_signal(signal)
  local number = math.tointeger(tonumber(signal))
  if number then return 128 + number end
  pcall(core.raise, signal) -- a recording made on another system may name a signal that this one does not have
  return status.BROKEN
end

local SIGNALS = { "INT", "TERM", "HUP" }

---Runs `fn` in a task. The first signal (Ctrl-C, TERM, HUP) cancels the task; later signals have their default effect.
---@param fn function
---@return pintle.signal? signal the signal that arrived, any ... results of the function
function status.run_interruptible(fn)
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

return status
