-- A plugin, as the user of a host sees it.

local errors = require "pintle.error"
local loop = require "pintle.loop"
local settings = require "pintle.host.settings"
local tasks = require "pintle.task"

---@class pintle.execute.options
---@field timeout? number|string|false that of the plugin unless told. The plugin is told of it, unless it is only the
---default of 60s
---@field workdir? string default: the directory that the plugin was started in
---@field phase? string
---@field env? table<string, string>
---@field agent? table
---@field idempotent? boolean may be run again if the plugin dies meanwhile and comes back
---@field on_progress? fun(fraction: number, message: string?)
---@field on_part? fun(part: any)

---@class pintle.hosted
---@field name string
---@field manifest pintle.manifest? what it says it is; nil until it was started
---@field told any the same as it came: all that its protocol lets it say
---@field supervisor pintle.supervisor
---@field logger pintle.logger
local methods = {}

local metatable = { __name = "pintle.hosted" }

function metatable.__index(plugin, name)
  if name == "manifest" or name == "told" then return plugin.supervisor[name] end
  return methods[name]
end

local hosted = {}

local NONE = {}

-- {====== Time ======

local function deadline_of(timeout) return timeout and loop.now() + timeout or nil end

local function time_left(deadline)
  local left = math.max(deadline - loop.now(), 0)
  return left - left % 0.001
end

local function late(self, operation)
  return errors.new("timeout", ("%s: no time left for %q"):format(self.name, operation))
end

-- A call that had to wait for a process has less time left, and so has the plugin.
local function shorten(context, deadline)
  if not deadline then return context end
  local left = time_left(deadline)
  local shortened = {}
  for name, value in pairs(context) do shortened[name] = value end
  shortened.patience, shortened.timeout, shortened.is_shared = left, context.timeout and left, nil
  return shortened
end

-- }======

-- {====== The context of a call ======

-- The plugin is told its timeout only if the user has set one.
local function set_times(context, spec)
  context.patience = context.timeout
  if context.timeout == nil then context.patience = spec.timeout end
  if context.timeout == nil and spec.is_timed then context.timeout = spec.timeout end
  return context
end

local function show_progress(self, operation, context)
  local listener = context.on_progress
  function context.on_progress(fraction, message)
    context.is_shown = true
    self.logger:progress(self.name, operation, fraction, message)
    if listener then listener(fraction, message) end
  end
end

local function context_of(self, operation, given, level)
  local spec = self.supervisor.spec
  local context = set_times(given and settings.execute(given, level + 1) or {}, spec)
  context.workdir = context.workdir and settings.absolute(context.workdir) or spec.workdir
  if self.logger.has_bar then show_progress(self, operation, context) end
  return context
end

-- }======

-- {====== Executing ======

-- The process to use, and the context that is left for it; nil and an error if there is none.
local function find_instance(self, context, deadline)
  local at_hand = self.supervisor:least_busy()
  if at_hand then return at_hand, context end
  deadline = deadline or deadline_of(context.patience)
  local instance, err = self.supervisor:pick(deadline)
  if not instance then return nil, err end
  return instance, shorten(context, deadline)
end

-- Checks arguments closely, until the deadline at most. Returns the arguments that are sent, and the context that is
-- left for them.
local function check_args(self, instance, operation, args, context, deadline)
  deadline = deadline or deadline_of(context.patience)
  local has_taken_long = false
  local function stop()
    has_taken_long = true
    if time_left(deadline) == 0 then return late(self, operation) end
  end
  local checked, err = instance.manifest:check(operation, args, true, deadline and stop)
  if not checked then return nil, err end
  return checked, has_taken_long and shorten(context, deadline) or context
end

-- Valid arguments with defaults; nil if `check_args` has to decide.
local function complete_args(instance, operation, args)
  local known = instance.manifest.operations[operation]
  local complete = known and known.complete
  return complete and complete(args)
end

local function attempt(self, operation, args, given, deadline)
  local instance, context = find_instance(self, given, deadline)
  if not instance then return nil, context end
  local full = complete_args(instance, operation, args)
  if not full then
    full, context = check_args(self, instance, operation, args, context, deadline)
    if not full then return nil, context end
  end
  if context.patience == 0 then return nil, late(self, operation) end
  return instance.execute(instance, operation, full, context)
end

-- Goes on with another process as long as the plugin comes back.
local function attempt_again(self, operation, args, context)
  local deadline = deadline_of(context.patience)
  local outcome, err = attempt(self, operation, args, context, deadline)
  while not outcome and self.supervisor:may_come_back(err) do
    outcome, err = attempt(self, operation, args, shorten(context, deadline), deadline)
  end
  if err and err.kind == "closed" then err = self.supervisor.failure or err end
  return outcome, err
end

-- A call that has options, that has to wait for a process, or whose arguments have to be looked at closely.
local function execute(self, operation, args, given)
  if type(operation) ~= "string" then error("operation: string expected, got " .. type(operation), 2) end
  if args ~= nil and type(args) ~= "table" then error("args: table expected, got " .. type(args), 2) end
  local context = not given and self.usual or context_of(self, operation, given, 2)
  local run = context.idempotent and attempt_again or attempt
  local outcome, err = run(self, operation, args or {}, context)
  if context.is_shown then self.logger:clear() end
  return outcome, err
end

---Runs an operation. Arguments are checked and defaults filled in before anything is sent. An operation that fails is
---a result with `success = false`; an error is what keeps it from being run or answered.
---@param operation string
---@param args? table
---@param given? pintle.execute.options
---@return pintle.outcome?, pintle.error?
function methods:execute(operation, args, given)
  local usual = self.usual
  local instance = not given and usual and self.supervisor:least_busy()
  local full = instance and complete_args(instance, operation, args)
  if full then return instance.execute(instance, operation, full, usual) end
  return execute(self, operation, args, given)
end

-- }======

-- {====== Any other conversation ======

local function check_method(method)
  if type(method) ~= "string" then error("method: string expected, got " .. type(method), 3) end
end

---Calls any method of the plugin.
---@param method string
---@param params? any
---@param given? { timeout?: number|string|false, on_progress?: fun(...) }
---@return any result, pintle.error?
function methods:call(method, params, given)
  check_method(method)
  local settled = settings.call(given or NONE, 2)
  local patience = settled.timeout
  if patience == nil then patience = self.supervisor.spec.timeout end
  local instance, context = find_instance(self, { patience = patience })
  if not instance then return nil, context end
  return instance:call(method, params, { timeout = context.patience, on_progress = settled.on_progress })
end

---@param method string
---@param params? any
---@return true?, pintle.error?
function methods:notify(method, params)
  check_method(method)
  local instance, err = self.supervisor:pick(deadline_of(self.supervisor.spec.timeout))
  if not instance then return nil, err end
  return instance.peer:notify(method, params)
end

-- }======

local function stop(self)
  self.supervisor:stop()
  self.on_stop(self)
end

---Stops it: a request to end, the end of its input, SIGTERM, SIGKILL, each with its time. Stopping twice is fine.
---Stopping goes on if the task that stops it is cancelled.
function methods:stop()
  self.stopping = self.stopping or tasks.start(stop, self)
  self.stopping:await()
end

methods.close = methods.stop
metatable.__close = methods.stop

---@return integer[] the process ids
function methods:pids()
  local pids = {}
  for i, member in ipairs(self.supervisor.members) do pids[i] = member.peer.child.pid end
  return pids
end

---@param supervisor pintle.supervisor
---@param logger pintle.logger
---@param on_stop fun(plugin: pintle.hosted) called when it is stopped
---@return pintle.hosted
function hosted.new(supervisor, logger, on_stop)
  local spec = supervisor.spec
  local usual = not logger.has_bar and spec.timeout ~= 0
    and set_times({ is_shared = true, workdir = spec.workdir }, spec)
  return setmetatable({
    name = supervisor.name, supervisor = supervisor, logger = logger, on_stop = on_stop, usual = usual,
    execute = methods.execute, -- found without `__index`, since it is called most
  }, metatable)
end

return hosted
