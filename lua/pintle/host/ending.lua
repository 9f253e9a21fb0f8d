-- Every way out of the program stops the plugins: its normal end, an error, os.exit, SIGTERM, SIGHUP, and SIGINT where
-- the interpreter leaves it alone. Against SIGKILL there is the death signal.

local core = require "pintle.core"
local exits = require "pintle.exit"
local loop = require "pintle.loop"
local tasks = require "pintle.task"

core.protect()

local SIGNALS = { "TERM", "HUP", "INT" }

local ending = {}

local running = {} ---@type table<pintle.supervisor, true>
local guard ---@type table? finalized when the state is closed
local signals ---@type pintle.signals? those that are watched while a plugin runs
local watcher = {}
local is_exit_seen_to = false

local function let_signals_go()
  if not signals then return end
  loop.unwatch(signals:fd(), watcher)
  signals:close()
  signals = nil
end

---Stops all plugins of all hosts, at once, and waits until they are gone, also in a task that was cancelled.
function ending.stop_all()
  local stopping = {}
  for supervisor in pairs(running) do
    if supervisor:is_own() then stopping[#stopping + 1] = supervisor end
  end
  if #stopping == 0 then return end
  for i, supervisor in ipairs(stopping) do stopping[i] = tasks.start(supervisor.stop, supervisor) end
  for _, task in ipairs(stopping) do
    task:await()
    loop.turn_while(function() return task.state == "running" end)
  end
  let_signals_go()
end

local function leave(name)
  ending.stop_all()
  core.raise(name)
end

function watcher.on_ready()
  local name = signals:next()
  if name then tasks.start(leave, name) end
end

-- A task that computes does not let the loop turn: the signal is looked for in its stead.
local function look_for_signal()
  local name = signals and signals:next()
  if name then leave(name) end
end

local is_looking = false

local function watch_signals()
  if signals then return end
  if not is_looking then loop.while_computing(look_for_signal) end
  is_looking = true
  signals = core.signals(SIGNALS)
  if signals then loop.watch(signals:fd(), "r", watcher) end
end

local function see_to_exit()
  if is_exit_seen_to then return end
  is_exit_seen_to = true
  exits.before(ending.stop_all)
end

-- Finalizers run in the opposite order of their objects' making, so the guard has to be younger than what is needed to
-- stop a process: its streams and the process itself.
local function renew_guard()
  if guard then guard.is_old = true end
  guard = setmetatable({}, {
    __gc = function(old)
      if not old.is_old then ending.stop_all() end
    end,
  })
end

---Takes note of a plugin that has to be stopped at the end. Called again for each of its processes.
---@param supervisor pintle.supervisor
function ending.include(supervisor)
  running[supervisor] = true
  see_to_exit()
  watch_signals()
  renew_guard()
end

---@param supervisor pintle.supervisor
function ending.exclude(supervisor)
  running[supervisor] = nil
  if next(running) == nil then let_signals_go() end
end

return ending
