-- The processes of one plugin: starts as many as its pool has, restarts those that die, picks the least busy one for a
-- call, and stops all of them.

local core = require "pintle.core"
local errors = require "pintle.error"
local instances = require "pintle.host.instance"
local loop = require "pintle.loop"
local tasks = require "pintle.task"

core.protect()

---The place of a process: after it has died, another one takes the place.
---@class pintle.slot
---@field budget pintle.budget? if it is restarted
---@field way pintle.way? where its process runs or starts
---@field failed_way pintle.way? where it could not be started the last time

---@class pintle.supervisor
---@field spec table the settings of the plugin, as `settings.plugin` returns them
---@field name string
---@field dialect pintle.dialect
---@field logger pintle.logger
---@field members pintle.instance[] the processes that take calls
---@field opening table<pintle.instance, true> the processes whose handshake is not done
---@field coming integer how many processes wait for their restart or for the end of their handshake
---@field restarts table<table, pintle.task> the tasks that restart a process
---@field manifest pintle.manifest?
---@field raw_manifest any the manifest of the last started process, as it was received
---@field failure pintle.error? why no process is left
---@field slots pintle.slot[]
---@field is_started boolean
---@field is_failing boolean whether one of the processes that `start` starts at once has failed
---@field is_stopped boolean whether `stop` was called
local methods = {}

local metatable = { __name = "pintle.supervisor", __index = methods }

local supervisors = {}

-- {====== The restart budget ======

---@class pintle.restart
---@field max? integer maximum number of restarts within `within`; default: 5
---@field within? number|string default: 60s
---@field backoff? number|string time before the first restart; default: 0.1s
---@field factor? number each further restart waits this many times as long; default: 2
---@field max_backoff? number|string maximum time before a restart; default: 30s
---@field jitter? number the part by which the time varies at random, so that many plugins do not restart at once;
---default: 0.2

local DEFAULTS = { max = 5, within = 60, backoff = 0.1, factor = 2, max_backoff = 30, jitter = 0.2 }

---@class pintle.budget
---@field policy pintle.restart times in seconds
---@field times number[] times of the restarts of the last `within` seconds

---@param policy pintle.restart|true
---@return pintle.budget
function supervisors.new_budget(policy)
  local given, full = policy == true and {} or policy, {}
  for name, default in pairs(DEFAULTS) do full[name] = given[name] or default end
  return { policy = full, times = {} }
end

---Spends one restart. Returns how many seconds to wait before it, or nil if none is left.
---@param budget pintle.budget
---@return number?
function supervisors.spend_restart(budget)
  local policy, now, recent = budget.policy, loop.now(), {}
  for _, time in ipairs(budget.times) do
    if time > now - policy.within then recent[#recent + 1] = time end
  end
  budget.times = recent
  local n = #recent
  if n >= policy.max then return nil end
  recent[n + 1] = now
  local wait = math.min(policy.backoff * policy.factor ^ n, policy.max_backoff)
  return wait * (1 + policy.jitter * (2 * math.random() - 1))
end

---"5 restarts within 60s"
---@param budget pintle.budget
---@return string
function supervisors.describe_budget(budget)
  local max = budget.policy.max
  return ("%d restart%s within %gs"):format(max, max == 1 and "" or "s", budget.policy.within)
end

-- }======

local function log_supervisor_entry(self, level, message) self.logger:add(self.name, "host", level, message) end

-- A log entry shows the plugin's name already.
local function log_supervisor_error(self, err)
  local message, prefix = tostring(err), self.name .. " "
  if message:sub(1, #prefix) == prefix then message = message:sub(#prefix + 1) end
  log_supervisor_entry(self, "error", message)
end

local function supervisor_stopped_error(self) return errors.new("closed", self.name .. " was stopped") end

-- {====== The end of the program ======

-- Plugins are stopped however the program ends: normally, by an error, by os.exit, by SIGTERM or SIGHUP, and by SIGINT
-- if the interpreter does not handle it. After SIGKILL, the parent death signal ends them.

local SIGNALS = { "TERM", "HUP", "INT" }

local running = {} ---@type table<pintle.supervisor, true>
local guard ---@type table? finalized when the Lua state is closed
local signals ---@type pintle.signals? watched while a plugin runs
local watcher = {}
local is_prepared = false

local function unwatch_host_signals()
  if not signals then return end
  loop.unwatch(signals:fd(), watcher)
  signals:close()
  signals = nil
end

-- Stops the plugins of all hosts at once, and waits until they have ended, even in a cancelled task.
local function stop_all_supervisors()
  local stopping = {}
  for supervisor in pairs(running) do
    if supervisor:is_own() then stopping[#stopping + 1] = supervisor end
  end
  if #stopping == 0 then return end
  for i, supervisor in ipairs(stopping) do stopping[i] = tasks.start(supervisor.stop, supervisor) end
  for _, task in ipairs(stopping) do
    task:await()
    loop.run_while(function() return task.state == "running" end)
  end
  unwatch_host_signals()
end

local function end_host_by_signal(name)
  stop_all_supervisors()
  core.raise(name)
end

function watcher.on_ready()
  local name = signals:next()
  if name then tasks.start(end_host_by_signal, name) end
end

-- While a task computes without waiting, the loop does not turn, and the watcher is not called.
local function check_host_signals()
  local name = signals and signals:next()
  if name then end_host_by_signal(name) end
end

-- Finalizers run in the reverse order of creation. So the guard has to be newer than the streams and the process that
-- are needed to stop a plugin.
local function renew_supervisor_exit_guard()
  if guard then guard.is_old = true end
  guard = setmetatable({}, {
    __gc = function(old)
      if not old.is_old then stop_all_supervisors() end
    end,
  })
end

-- Stops the plugin at the end of the program. Called for each of its processes.
local function register_supervisor(supervisor)
  running[supervisor] = true
  if not is_prepared then
    is_prepared = true
    loop.before_exit(stop_all_supervisors)
    loop.while_busy(check_host_signals)
  end
  if not signals then
    signals = core.signals(SIGNALS)
    if signals then loop.watch(signals:fd(), "r", watcher) end
  end
  renew_supervisor_exit_guard()
end

local function unregister_supervisor(supervisor)
  running[supervisor] = nil
  if next(running) == nil then unwatch_host_signals() end
end

-- }======

-- {====== Waiting for a process ======

-- Wakes all waiting calls: they look for a process again, or fail with `err`.
local function wake_supervisor_waiters(self, err)
  local waiters = self.waiters
  self.waiters = {}
  for event in pairs(waiters) do event:set(not err or nil, err) end
end

-- The first waiting call starts a lazy plugin.
local function wait_for_supervisor_change(self, deadline)
  local event = loop.event()
  self.waiters[event] = true
  if not self.is_started then tasks.start(self.start, self) end
  local timeout_error = errors.new("timeout", self.name .. " was not ready in time")
  local ok, err = event:wait(deadline and math.max(deadline - loop.now(), 0), timeout_error)
  self.waiters[event] = nil
  return ok, err
end

-- }======

-- {====== Starting and restarting a process ======

local restart_supervised_process

local function count_slots(self, way)
  local count = 0
  for _, slot in ipairs(self.slots) do count = count + (slot.way == way and 1 or 0) end
  return count
end

-- The way that has the fewest processes. After a failed start, another one.
local function choose_way(self, slot)
  local ways, best, least = self.spec.ways or {}, nil, nil
  for _, way in ipairs(ways) do
    local count = count_slots(self, way)
    if (way ~= slot.failed_way or not ways[2]) and (not best or count < least) then best, least = way, count end
  end
  return best
end

local function start_supervised_process(self, slot)
  slot.way = choose_way(self, slot)
  local instance, err = instances.start(self, slot.way)
  if self.is_stopped then
    if instance then instance:stop() end
    return nil, supervisor_stopped_error(self)
  end
  if not instance or instance.dead then
    slot.failed_way, slot.way = slot.way, nil
    return nil, err or instance.dead
  end
  instance.slot, slot.failed_way = slot, nil
  self.members[#self.members + 1] = instance
  self.manifest, self.raw_manifest, self.failure = instance.manifest, instance.raw_manifest, nil
  local opened = self.dialect.host.opened
  if opened then tasks.start(opened, instance) end
  return true
end

-- A mistake in the settings or in the dialect raises. Calls may wait for the outcome, so it becomes an error value.
local function try_supervised_start(self, slot)
  self.coming = self.coming + 1
  local ok, started, err = pcall(start_supervised_process, self, slot)
  self.coming = self.coming - 1
  if ok then return started, err end
  return nil, errors.new("invalid", ("%s cannot be started: %s"):format(self.name, tostring(started)))
end

-- `key` identifies the restart; it is removed from `restarts` when the plugin is stopped.
local function restart_supervised_process_after(self, slot, key, wait)
  self.coming = self.coming + 1
  loop.sleep(wait)
  self.coming = self.coming - 1
  if not self.restarts[key] then return end
  local ok, err = try_supervised_start(self, slot)
  if not self.restarts[key] then return end
  self.restarts[key] = nil
  if not ok then
    log_supervisor_error(self, err)
    return restart_supervised_process(self, slot, err)
  end
  log_supervisor_entry(self, "info", slot.way and "restarted via " .. slot.way.place or "restarted")
  wake_supervisor_waiters(self)
end

local function give_up_supervised_restart(self, slot, err)
  if slot.budget then
    local message = ("given up after %s: %s"):format(supervisors.describe_budget(slot.budget), err.message)
    log_supervisor_entry(self, "error", message)
    err = errors.new("closed", self.name .. " was " .. message,
      { exit = err.exit, stderr = err.stderr, noise = err.noise })
  end
  if #self.members > 0 or self.coming > 0 then return end
  self.failure = err
  wake_supervisor_waiters(self, err)
end

function restart_supervised_process(self, slot, err)
  if self.is_stopped then return end
  local wait = slot.budget and supervisors.spend_restart(slot.budget)
  if not wait then return give_up_supervised_restart(self, slot, err) end
  log_supervisor_entry(self, "warn", ("restarting in %.2fs"):format(wait))
  local key = {}
  self.restarts[key] = tasks.start(restart_supervised_process_after, self, slot, key, wait)
end

---Called by an instance when its process runs and its handshake begins.
---@private
---@param instance pintle.instance
function methods:process_started(instance)
  self.opening[instance] = true
  self.parent = core.getpid()
  register_supervisor(self)
end

---Called by an instance whose process ended without having been stopped. Failing to start is reported by `start`.
---@private
---@param instance pintle.instance
function methods:process_died(instance)
  for i, member in ipairs(self.members) do
    if member == instance then
      table.remove(self.members, i)
      instance.slot.way = nil
      log_supervisor_error(self, instance.dead)
      return restart_supervised_process(self, instance.slot, instance.dead)
    end
  end
end

-- }======

-- {====== Starting and stopping all processes ======

-- Stops whatever runs or starts, and waits for it.
local function stop_supervised_processes(self)
  local members, opening, restarts = self.members, self.opening, self.restarts
  self.members, self.opening, self.restarts = {}, {}, {}
  local stopping = {}
  for _, member in ipairs(members) do stopping[#stopping + 1] = tasks.start(member.stop, member) end
  for instance in pairs(opening) do stopping[#stopping + 1] = tasks.start(instance.kill, instance) end
  for _, task in pairs(restarts) do task:cancel(self.name .. " was stopped") end
  for _, task in ipairs(stopping) do task:await() end
  unregister_supervisor(self)
end

local function start_first_process(self, slot)
  local ok, err = try_supervised_start(self, slot)
  self.is_failing = self.is_failing or not ok
  return ok, err
end

---Starts all processes at once. If one cannot be started, all are stopped, and the plugin can be started again.
---@return true?, pintle.error?
function methods:start()
  self.is_started, self.is_failing, self.slots = true, false, {}
  local policy, starting, failure = self.spec.restart, {}, nil
  for i = 1, self.spec.pool do
    self.slots[i] = { budget = policy and supervisors.new_budget(policy) or nil }
    starting[i] = tasks.start(start_first_process, self, self.slots[i])
  end
  for _, task in ipairs(starting) do
    local ok, err = task:await()
    if not ok then failure = failure or err end
  end
  if failure then
    stop_supervised_processes(self)
    self.is_started, self.is_failing, self.failure = false, false, nil
  end
  wake_supervisor_waiters(self, failure)
  return not failure or nil, failure
end

---Whether a process that has not been started yet is needed no more.
---@return boolean
function methods:is_given_up() return self.is_stopped or self.is_failing end

---Whether its processes are children of this process. After a fork, the child process has a copy of the supervisor,
---which must not stop them.
---@return boolean
function methods:is_own() return not self.parent or self.parent == core.getpid() end

---Stops all processes at once, including those that are starting. Every caller waits until they have ended.
function methods:stop()
  if not self:is_own() then return end
  if not self.is_stopped then
    self.is_stopped = true
    wake_supervisor_waiters(self)
    self.stopping = tasks.start(stop_supervised_processes, self)
  end
  if self.stopping then self.stopping:await() end
end

-- }======

-- {====== Picking a process ======

---The process with the fewest pending calls, of those that can be called.
---@return pintle.instance?
function methods:least_busy()
  local members = self.members
  local best, least = members[1], nil
  if best and not members[2] and not best.peer.lost then return best end
  best = nil
  for _, member in ipairs(members) do
    local calls = member.peer.stream:waiting()
    if not member.peer.lost and (not best or calls < least) then best, least = member, calls end
  end
  return best
end

---The process for the next call. Starts a lazy plugin, and waits for a process that starts or restarts. Starting
---continues after the deadline, for later calls.
---@param deadline? number by the clock of the loop
---@return pintle.instance?, pintle.error?
function methods:pick(deadline)
  while true do
    local best = self:least_busy()
    if best then return best end
    if self.is_stopped then return nil, supervisor_stopped_error(self) end
    if self.failure then return nil, self.failure end
    local ok, err = wait_for_supervisor_change(self, deadline)
    if not ok then return nil, err end
  end
end

---Whether a call that failed with this error may be made again with another process.
---@param err pintle.error
---@return boolean
function methods:can_retry(err)
  return err.kind == "closed" and not self.is_stopped and not self.failure
    and (#self.members > 0 or self.coming > 0)
end

-- }======

---@param spec table as `settings.plugin` returns it
---@param dialect pintle.dialect
---@param logger pintle.logger
---@return pintle.supervisor
function supervisors.new(spec, dialect, logger)
  return setmetatable({
    spec = spec, name = spec.name, dialect = dialect, logger = logger,
    members = {}, opening = {}, coming = 0, restarts = {}, waiters = {}, slots = {}, is_started = false,
    is_failing = false, is_stopped = false,
  }, metatable)
end

return supervisors
