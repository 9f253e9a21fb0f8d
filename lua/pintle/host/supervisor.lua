-- The processes behind one plugin's name: as many as its pool has, started again when they die, the least busy first.

local core = require "pintle.core"
local errors = require "pintle.error"
local exits = require "pintle.exit"
local instances = require "pintle.host.instance"
local loop = require "pintle.loop"
local tasks = require "pintle.task"

core.protect()

---@class pintle.supervisor
---@field spec table what the plugin is started with
---@field name string
---@field members pintle.instance[] those that run
---@field opening table<pintle.instance, true> those that are shaking hands
---@field coming integer how many are about to run, whether they wait for their turn or shake hands
---@field returns table<table, pintle.task> who sees to those that are started again
---@field manifest pintle.manifest?
---@field told any what the last that was started said of itself, as it came
---@field failure pintle.error? why there is none left
---@field is_started boolean
---@field is_stopped boolean for good
local methods = {}

local metatable = { __name = "pintle.supervisor", __index = methods }

local supervisors = {}

-- {====== The budget of restarts ======

---@class pintle.restart
---@field max? integer how many restarts, …: 5
---@field within? number|string … in which time: 60s
---@field backoff? number|string before the first; each next one waits `factor` times as long: 0.1s
---@field factor? number 2
---@field longest? number|string at most, between two: 30s
---@field jitter? number by which part of it a wait may be shorter or longer, so that many do not come back at once: 0.2

local DEFAULTS = { max = 5, within = 60, backoff = 0.1, factor = 2, longest = 30, jitter = 0.2 }

---@class pintle.budget
---@field policy pintle.restart its spans of time in seconds
---@field times number[] when the restarts of the last `within` seconds were

---@param policy pintle.restart|true
---@return pintle.budget
function supervisors.budget(policy)
  local given, full = policy == true and {} or policy, {}
  for name, default in pairs(DEFAULTS) do full[name] = given[name] or default end
  return { policy = full, times = {} }
end

---Spends one restart: how many seconds to wait before it, or nil when there is none left.
---@param budget pintle.budget
---@return number?
function supervisors.spend(budget)
  local policy, now, recent = budget.policy, loop.now(), {}
  for _, time in ipairs(budget.times) do
    if time > now - policy.within then recent[#recent + 1] = time end
  end
  budget.times = recent
  local n = #recent
  if n >= policy.max then return nil end
  recent[n + 1] = now
  local wait = math.min(policy.backoff * policy.factor ^ n, policy.longest)
  return wait * (1 + policy.jitter * (2 * math.random() - 1))
end

---"5 restarts within 60s"
---@param budget pintle.budget
---@return string
function supervisors.describe(budget)
  local max = budget.policy.max
  return ("%d restart%s within %gs"):format(max, max == 1 and "" or "s", budget.policy.within)
end

-- }======

---@param spec table as `settings.plugin` made it
---@param dialect pintle.dialect
---@param logger pintle.logger
---@return pintle.supervisor
function supervisors.new(spec, dialect, logger)
  return setmetatable({
    spec = spec,
    name = spec.name,
    dialect = dialect,
    logger = logger,
    budget = spec.restart and supervisors.budget(spec.restart),
    members = {},
    opening = {},
    coming = 0,
    returns = {},
    waiters = {},
    is_started = false,
    is_stopped = false,
  }, metatable)
end

local function say(self, level, message, ...)
  self.logger:entry { plugin = self.name, source = "host", level = level, message = message:format(...) }
end

-- An entry of the log has the name already.
local function say_error(self, err)
  local message = tostring(err)
  if message:sub(1, #self.name + 1) == self.name .. " " then message = message:sub(#self.name + 2) end
  say(self, "error", "%s", message)
end

local function stopped(self) return errors.new("closed", self.name .. " was stopped") end

-- {====== The end of the program ======

-- Every way out of the program stops the plugins: its normal end, an error, os.exit, SIGTERM, SIGHUP, and SIGINT where
-- the interpreter leaves it alone. Against SIGKILL there is the death signal.

local SIGNALS = { "TERM", "HUP", "INT" }

local running = {} ---@type table<pintle.supervisor, true>
local guard ---@type table? finalized when the state is closed
local signals ---@type pintle.signals? watched while a plugin runs
local watcher = {}
local is_prepared = false

local function let_signals_go()
  if not signals then return end
  loop.unwatch(signals:fd(), watcher)
  signals:close()
  signals = nil
end

-- Stops all plugins of all hosts, at once, and waits until they are gone, also in a task that was cancelled.
local function stop_all()
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
  stop_all()
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

local function prepare()
  if is_prepared then return end
  is_prepared = true
  exits.before(stop_all)
  loop.while_computing(look_for_signal)
end

local function watch_signals()
  if signals then return end
  signals = core.signals(SIGNALS)
  if signals then loop.watch(signals:fd(), "r", watcher) end
end

-- Finalizers run in the opposite order of their objects' making, so the guard has to be younger than what is needed to
-- stop a process: its streams and the process itself.
local function renew_guard()
  if guard then guard.is_old = true end
  guard = setmetatable({}, {
    __gc = function(old)
      if not old.is_old then stop_all() end
    end,
  })
end

-- Takes note of a plugin that has to be stopped at the end. Called again for each of its processes.
local function include(supervisor)
  running[supervisor] = true
  prepare()
  watch_signals()
  renew_guard()
end

local function exclude(supervisor)
  running[supervisor] = nil
  if next(running) == nil then let_signals_go() end
end

-- }======

-- {====== Waiting for a change ======

-- Those who wait look again; or they are told that it is no use.
local function announce(self, err)
  local waiters = self.waiters
  self.waiters = {}
  for event in pairs(waiters) do event:set(not err or nil, err) end
end

-- Whoever is first, where it was left for later, has it started.
local function wait_for_change(self, deadline)
  local event = loop.event()
  self.waiters[event] = true
  if not self.is_started then tasks.start(self.start, self) end
  local late = errors.new("timeout", self.name .. " was not ready in time")
  local seconds = deadline and math.max(deadline - loop.now(), 0)
  local ok, err = event:wait(seconds, late)
  self.waiters[event] = nil
  return ok, err
end

-- }======

-- {====== One process ======

local come_back

local function remove(self, instance)
  for i, member in ipairs(self.members) do
    if member == instance then return table.remove(self.members, i) end
  end
end

-- One that never became a member has failed to start, which is another matter.
local function die(self, instance)
  if not remove(self, instance) then return end
  say_error(self, instance.dead)
  come_back(self, instance.dead)
end

local function start_one(self)
  local opened
  local instance, err = instances.start(self.spec, {
    dialect = self.dialect,
    logger = self.logger,
    on_start = function(started)
      opened = started
      self.opening[started] = true
      self.parent = core.getpid()
      include(self)
    end,
    on_death = function(dead) die(self, dead) end,
    on_renewal = function(renewed) self.manifest = renewed.manifest end,
  })
  if opened then self.opening[opened] = nil end
  if self.is_stopped and instance then instance:stop() end
  if self.is_stopped then return nil, stopped(self) end
  if not instance or instance.dead then return nil, err or instance.dead end
  self.members[#self.members + 1] = instance
  self.manifest, self.told, self.failure = instance.manifest, instance.told, nil
  return true
end

-- What raises here is a mistake in what was given, or in the dialect; somebody may be waiting for the outcome.
local function bring_up(self)
  self.coming = self.coming + 1
  local ok, started, err = pcall(start_one, self)
  self.coming = self.coming - 1
  if ok then return started, err end
  return nil, errors.new("invalid", ("%s cannot be started: %s"):format(self.name, tostring(started)))
end

-- }======

-- {====== Coming back ======

-- Without its ticket it was called off.
local function try_again(self, ticket, wait)
  self.coming = self.coming + 1
  loop.sleep(wait)
  self.coming = self.coming - 1
  if not self.returns[ticket] then return end
  local ok, err = bring_up(self)
  if not self.returns[ticket] then return end
  self.returns[ticket] = nil
  if ok then
    say(self, "info", "is back")
    return announce(self)
  end
  say_error(self, err)
  come_back(self, err)
end

local function give_up(self, err)
  if self.budget then
    local message = ("given up after %s: %s"):format(supervisors.describe(self.budget), err.message)
    say(self, "error", "%s", message)
    local last = { exit = err.exit, stderr = err.stderr, noise = err.noise }
    err = errors.new("closed", self.name .. " was " .. message, last)
  end
  if #self.members > 0 or self.coming > 0 then return end
  self.failure = err
  announce(self, err)
end

function come_back(self, err)
  if self.is_stopped then return end
  local wait = self.budget and supervisors.spend(self.budget)
  if not wait then return give_up(self, err) end
  say(self, "warn", "is started again in %.2fs", wait)
  local ticket = {}
  self.returns[ticket] = tasks.start(try_again, self, ticket, wait)
end

-- }======

-- {====== All of them ======

-- Begins to end whatever there is, and returns the tasks that see to it.
local function end_all(self)
  local members, opening, returns = self.members, self.opening, self.returns
  self.members, self.opening, self.returns = {}, {}, {}
  local closing = {}
  for _, member in ipairs(members) do closing[#closing + 1] = tasks.start(member.stop, member) end
  for instance in pairs(opening) do closing[#closing + 1] = tasks.start(instance.kill, instance) end
  for _, task in pairs(returns) do task:cancel(self.name .. " was stopped") end
  return closing
end

local function await_all(list)
  for _, task in ipairs(list) do task:await() end
end

---Starts all of its processes at once; if one cannot be started, none is left, and the next time is a new one.
---@return true?, pintle.error?
function methods:start()
  self.is_started = true
  local starting, failure = {}, nil
  for i = 1, self.spec.pool or 1 do starting[i] = tasks.start(bring_up, self) end
  for _, task in ipairs(starting) do
    local ok, err = task:await()
    if not ok then failure = failure or err end
  end
  if not failure then
    announce(self)
    return true
  end
  await_all(end_all(self))
  exclude(self)
  self.is_started, self.failure = false, nil
  announce(self, failure)
  return nil, failure
end

---Whether its processes are children of this one: a fork of the program has the supervisor, too, and leaves them be.
---@return boolean
function methods:is_own() return not self.parent or self.parent == core.getpid() end

---Stops all of its processes at once, and whatever is about to start. Who comes second waits, too.
function methods:stop()
  if not self:is_own() then return end
  if not self.is_stopped then
    self.is_stopped = true
    announce(self)
    self.stopping = tasks.start(function()
      await_all(end_all(self))
      exclude(self)
    end)
  end
  if self.stopping then self.stopping:await() end
end

-- }======

-- {====== Being used ======

---The one with the fewest calls that wait for an answer, of those that take any.
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

---The process to use next; waits for one that is coming back, and starts the first if it was left for later. That goes
---on, for whoever comes next, even if the time is over before.
---@param deadline? number by the clock of the loop
---@return pintle.instance?, pintle.error?
function methods:pick(deadline)
  while true do
    local best = self:least_busy()
    if best then return best end
    if self.is_stopped then return nil, stopped(self) end
    if self.failure then return nil, self.failure end
    local ok, err = wait_for_change(self, deadline)
    if not ok then return nil, err end
  end
end

---Whether a call that failed for this reason may find another process to go to.
---@param err pintle.error
---@return boolean
function methods:may_come_back(err)
  return err.kind == "closed" and not self.is_stopped and not self.failure
    and (#self.members > 0 or self.coming > 0)
end

-- }======

return supervisors
