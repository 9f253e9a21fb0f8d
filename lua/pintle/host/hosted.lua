-- A plugin as the user of a host sees it.

local core = require "pintle.core"
local errors = require "pintle.error"
local loop = require "pintle.loop"
local settings = require "pintle.host.settings"
local tasks = require "pintle.task"

core.protect()

---@class pintle.execute.options
---@field timeout? number|string|false default: the plugin's. It is sent to the plugin, unless it is the default of 60s
---@field workdir? string default: the directory that the plugin was started in; "." at the far end of a way
---@field phase? string
---@field env? table<string, string>
---@field agent? table
---@field idempotent? boolean run it again if the plugin dies meanwhile and is restarted
---@field on_progress? fun(fraction: number, message: string?)
---@field on_part? fun(part: any)
---@field extend_on_progress? boolean the timeout counts from the last report of progress; default: the plugin's
---@field longest? number|string|false the timeout for everything if progress extends the other one; default: ten times
---that one

---@class pintle.call.options
---@field timeout? number|string|false default: the plugin's
---@field on_progress? fun(...) called with what the protocol reports
---@field extend_on_progress? boolean
---@field longest? number|string|false

---A plugin that a host has started. Its dialect may add methods: those of MCP are in `pintle.mcp.hosted`.
---@class pintle.hosted
---@field name string
---@field manifest pintle.manifest? nil until it was started
---@field raw_manifest any its manifest as it was received
---@field supervisor pintle.supervisor
---@field persistent table for its dialect: kept from one process to the next
local methods = {}

local metatable = { __name = "pintle.hosted" }

function metatable.__index(plugin, name)
  local supervisor = plugin.supervisor
  if name == "manifest" or name == "raw_manifest" then return supervisor[name] end
  local own = methods[name]
  if own then return own end
  local of_dialect = supervisor.dialect.host.methods
  return of_dialect and of_dialect[name]
end

local hosted = {}

local NONE, now = {}, loop.now

local LONGEST_FACTOR = 10 -- the default of `longest`, in timeouts

-- {====== Time ======

local function hosted_deadline_of(timeout) return timeout and now() + timeout or nil end

local function hosted_time_left(deadline)
  local left = math.max(deadline - now(), 0)
  return left - left % 0.001
end

local function hosted_no_time_error(self, operation)
  return errors.new("timeout", ("%s: no time left for %q"):format(self.name, operation))
end

-- The context for a call that has waited already, and so has less time left.
local function shorten_hosted_context(context, deadline)
  if not deadline then return context end
  local left, shortened = hosted_time_left(deadline), {}
  for name, value in pairs(context) do shortened[name] = value end
  shortened.wait_timeout, shortened.timeout, shortened.is_shared = left, context.timeout and left, nil
  return shortened
end

-- }======

-- {====== A deadline that progress extends ======

-- `timeout` counts from the last report of progress, and `longest` from the start.

---@class pintle.deadline
---@field timeout number|false seconds without a report
---@field longest number|false seconds in all
---@field due number by the clock of the loop
---@field latest number

local function hosted_due_after(seconds) return seconds and now() + seconds or math.huge end

local function new_hosted_deadline(timeout, longest)
  if longest == nil then longest = timeout and LONGEST_FACTOR * timeout end
  local latest = hosted_due_after(longest)
  return { timeout = timeout, longest = longest, latest = latest, due = math.min(hosted_due_after(timeout), latest) }
end

local function extend_hosted_deadline(deadline)
  deadline.due = math.min(hosted_due_after(deadline.timeout), deadline.latest)
end

local function hosted_overdue_error(deadline, what)
  if deadline.due == deadline.latest then
    local message = ("%s: no answer within %gs"):format(what, deadline.longest)
    return errors.new("timeout", message, { elapsed = deadline.longest })
  end
  local message = ("%s: no answer, and no progress for %gs"):format(what, deadline.timeout)
  return errors.new("timeout", message, { elapsed = deadline.timeout })
end

-- The results of the task; its error is of the kind "timeout" if the deadline has come.
local function await_until_hosted_deadline(deadline, task, what)
  while true do
    local left = deadline.due < math.huge and deadline.due - now() or nil
    if left and left <= 0 then return nil, hosted_overdue_error(deadline, what) end
    local result, err = task:await(left)
    if task.state ~= "running" then return result, err end
    if err.kind ~= "timeout" then return nil, err end
  end
end

-- Each report of progress moves the deadline.
local function extend_on_progress(deadline, context)
  local listener = context.on_progress
  function context.extend() extend_hosted_deadline(deadline) end
  function context.on_progress(...)
    extend_hosted_deadline(deadline)
    if listener then listener(...) end
  end
end

-- Runs `fn(longest)` in a task of its own until it returns, or until the deadline, which the callbacks of the context
-- move.
local function run_hosted_extended(self, what, context, timeout, fn)
  local deadline = new_hosted_deadline(timeout, context.longest)
  extend_on_progress(deadline, context)
  local task = tasks.start(fn, deadline.longest)
  local result, err = await_until_hosted_deadline(deadline, task, ("%s: %q"):format(self.name, what))
  if task.state == "running" then task:cancel(err.kind == "timeout" and "timeout" or err.message) end
  return result, err
end

-- }======

-- {====== The context of a call ======

-- A timeout is sent to the plugin only if the user has set one.
local function set_hosted_times(context, spec)
  context.wait_timeout = context.timeout
  if context.timeout == nil then context.wait_timeout = spec.timeout end
  if context.timeout == nil and spec.is_timed then context.timeout = spec.timeout end
  return context
end

local function add_hosted_extension_options(settled, spec)
  if settled.extend_on_progress == nil then settled.extend_on_progress = spec.extend_on_progress end
  if settled.longest == nil then settled.longest = spec.longest end
end

local function show_hosted_progress(self, operation, context)
  local listener, terminal = context.on_progress, self.logger.terminal
  function context.on_progress(fraction, message)
    context.is_shown = true
    terminal.progress(self.name, operation, fraction, message)
    if listener then listener(fraction, message) end
  end
end

local function new_hosted_context(self, operation, given, level)
  local spec = self.supervisor.spec
  local context = set_hosted_times(given and settings.execute(given, level + 1) or {}, spec)
  context.workdir = context.workdir and settings.workdir(spec, context.workdir) or spec.workdir
  add_hosted_extension_options(context, spec)
  if self.logger.has_bar then show_hosted_progress(self, operation, context) end
  return context
end

-- }======

-- {====== Executing ======

-- Returns the process to use, and the context for the time that is left.
local function find_hosted_instance(self, context, deadline)
  local idle = self.supervisor:least_busy()
  if idle then return idle, context end
  local instance, err = self.supervisor:pick(deadline)
  if not instance then return nil, err end
  return instance, shorten_hosted_context(context, deadline)
end

-- Checks arguments in full, until the deadline at most. Returns the arguments to send, and the context for the time
-- that is left.
local function check_hosted_args(self, instance, operation, args, context, deadline)
  local has_taken_long = false
  local function stop_checking()
    has_taken_long = true
    if hosted_time_left(deadline) == 0 then return hosted_no_time_error(self, operation) end
  end
  local checked, err = instance.manifest:check(operation, args, true, deadline and stop_checking)
  if not checked then return nil, err end
  return checked, has_taken_long and shorten_hosted_context(context, deadline) or context
end

-- Valid arguments with defaults; nil if `check_args` has to decide.
local function complete_hosted_args(instance, operation, args)
  local known = instance.manifest.operations[operation]
  local complete = known and known.complete
  return complete and complete(args)
end

local function attempt_hosted_execute(self, operation, args, given, deadline)
  local instance, context = find_hosted_instance(self, given, deadline)
  if not instance then return nil, context end
  local full = complete_hosted_args(instance, operation, args)
  if not full then
    full, context = check_hosted_args(self, instance, operation, args, context, deadline)
    if not full then return nil, context end
  end
  if context.wait_timeout == 0 then return nil, hosted_no_time_error(self, operation) end
  return instance.execute(instance, operation, full, context)
end

-- An idempotent call is tried again while the plugin is restarted.
local function attempt_hosted_until_restarted(self, operation, args, context)
  local deadline, supervisor = hosted_deadline_of(context.wait_timeout), self.supervisor
  local outcome, err = attempt_hosted_execute(self, operation, args, context, deadline)
  if context.idempotent then
    while not outcome and supervisor:can_retry(err) do
      outcome, err = attempt_hosted_execute(self, operation, args, shorten_hosted_context(context, deadline), deadline)
    end
    if err and err.kind == "closed" then err = supervisor.failure or err end
  end
  return outcome, err
end

-- The protocols know nothing of this: the plugin gets the longest timeout.
local function attempt_hosted_until_deadline(self, operation, args, context)
  return run_hosted_extended(self, operation, context, context.wait_timeout, function(longest)
    context.wait_timeout, context.timeout = longest, context.timeout and longest
    return attempt_hosted_until_restarted(self, operation, args, context)
  end)
end

-- A call that has options, that has to wait for a process, or whose arguments need a full check.
local function execute_hosted_with_context(self, operation, args, given)
  if type(operation) ~= "string" then error("operation: string expected, got " .. type(operation), 2) end
  if args ~= nil and type(args) ~= "table" then error("args: table expected, got " .. type(args), 2) end
  local context = not given and self.usual or new_hosted_context(self, operation, given, 2)
  local run = context.extend_on_progress and attempt_hosted_until_deadline or attempt_hosted_until_restarted
  local outcome, err = run(self, operation, args or {}, context)
  if context.is_shown then self.logger.terminal.clear() end
  return outcome, err
end

---Runs an operation. Arguments are checked and defaults filled in before anything is sent. An operation that fails
---returns a result with `success = false`; an error means that it was not run, or not answered.
---@param operation string
---@param args? table
---@param given? pintle.execute.options
---@return pintle.outcome?, pintle.error?
function methods:execute(operation, args, given)
  local usual = self.usual
  local instance = not given and usual and self.supervisor:least_busy()
  local full = instance and complete_hosted_args(instance, operation, args)
  if full then return instance.execute(instance, operation, full, usual) end
  return execute_hosted_with_context(self, operation, args, given)
end

-- }======

-- {====== Other messages ======

local function check_hosted_method(method)
  if type(method) ~= "string" then error("method: string expected, got " .. type(method), 3) end
end

local function hosted_call_settings(self, given, level)
  local settled, spec = settings.call(given or NONE, level + 1), self.supervisor.spec
  if settled.timeout == nil then settled.timeout = spec.timeout end
  add_hosted_extension_options(settled, spec)
  return settled
end

local function call_with_hosted_instance(self, settled, fn, ...)
  local timeout = settled.timeout
  local instance, context = find_hosted_instance(self, { wait_timeout = timeout }, hosted_deadline_of(timeout))
  if not instance then return nil, context end
  return fn(instance, { timeout = context.wait_timeout, on_progress = settled.on_progress }, ...)
end

local function run_in_hosted_session(self, settled, what, fn, ...)
  if not settled.extend_on_progress then return call_with_hosted_instance(self, settled, fn, ...) end
  local arguments = table.pack(...)
  return run_hosted_extended(self, what, settled, settled.timeout, function(longest)
    settled.timeout = longest
    return call_with_hosted_instance(self, settled, fn, table.unpack(arguments, 1, arguments.n))
  end)
end

local function call_hosted_instance(instance, options, method, params) return instance:call(method, params, options) end

---Calls any method of the plugin.
---@param method string
---@param params? any
---@param given? pintle.call.options
---@return any result, pintle.error?
function methods:call(method, params, given)
  check_hosted_method(method)
  return run_in_hosted_session(self, hosted_call_settings(self, given, 2), method, call_hosted_instance, method, params)
end

---@private for methods of its dialect, in a tail call: runs `fn(session, options, ...)` with one of its processes.
---`options` has `on_progress`, and the timeout that is left after waiting for the process.
---@param what string for error messages
---@param given? pintle.call.options
---@param fn fun(session: pintle.session, options: table, ...): any, pintle.error?
---@return any, pintle.error?
function methods:in_session(what, given, fn, ...)
  return run_in_hosted_session(self, hosted_call_settings(self, given, 2), what, fn, ...)
end

---@param method string
---@param params? any
---@return true?, pintle.error?
function methods:notify(method, params)
  check_hosted_method(method)
  local instance, err = self.supervisor:pick(hosted_deadline_of(self.supervisor.spec.timeout))
  if not instance then return nil, err end
  return instance.peer:notify(method, params)
end

-- }======

local function stop_hosted_plugin(self)
  self.supervisor:stop()
  self.host.plugins[self.name] = nil
end

---Stops it: a request to end, the end of its input, SIGTERM, SIGKILL, each with its timeout. Stopping twice is fine.
---If the calling task is cancelled, stopping continues.
function methods:stop()
  self.stopping = self.stopping or tasks.start(stop_hosted_plugin, self)
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
---@param host pintle.host so that it is not collected while its plugin is in use
---@return pintle.hosted
function hosted.new(supervisor, host)
  local spec, logger = supervisor.spec, supervisor.logger
  -- The context of calls without options, which they share.
  local usual = not logger.has_bar and spec.timeout ~= 0 and not spec.extend_on_progress
    and set_hosted_times({ is_shared = true, workdir = spec.workdir }, spec)
  return setmetatable({
    name = supervisor.name, supervisor = supervisor, persistent = spec.persistent, logger = logger, host = host,
    usual = usual,
    execute = methods.execute, -- a field, so that the most frequent call needs no `__index`
  }, metatable)
end

return hosted
