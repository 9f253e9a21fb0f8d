-- A child process: its three streams, how it ended, and how it is stopped.

local core = require "pintle.core"
local crashes = require "pintle.process.crash"
local errors = require "pintle.error"
local loop = require "pintle.loop"

core.protect()

local KEPT_LINES = 20 -- last lines of stderr
local LINE_LIMIT = 8192 -- bytes of such a line; a longer line is cut
local LAST_READS = 16 -- maximum reads from stderr after the process has ended
local POLL_INTERVAL = 0.01 -- seconds, where the system cannot report the end of a process
local REAP_TIMEOUT = 1 -- seconds for a killed process to disappear

---How long each step of stopping may take, in seconds. 0 skips the step.
---@class pintle.stop_timeouts
---@field request? number for the request to end, if the protocol has one
---@field eof? number after its input was closed
---@field term? number after SIGTERM
---@field kill? number after SIGKILL

local WAY_TIME = 1 -- seconds more for each step of a program at the far end, but for the last

local STOP_TIMEOUTS = { request = 2, eof = 2, term = 2, kill = 5 }

---@class pintle.child.options: pintle.spawn_options
---@field on_stderr? fun(line: string) called with each line of stderr; without it stderr is inherited
---@field on_exit? fun(exit: pintle.exit) called from the loop when the process has ended
---@field via? pintle.way the way to the machine or container where the program runs
---@field on_started? fun() called when a program with `via` has been started there; needs `on_stderr`
---@field stop_timeouts? pintle.stop_timeouts for a program with `via`, when this end is gone
---@field sandbox? "strict"|"read-only"|pintle.sandbox|false what it may do; default: everything

---@class pintle.child
---@field pid integer with `via`, of the relay on this machine
---@field via pintle.way?
---@field is_started boolean whether the program runs, also at the far end
---@field failure string? why the program could not be started at the far end, or why the connection has ended
---@field process pintle.process
---@field exit pintle.exit? how it ended
---@field lines string[] the last lines of its stderr
---@field gaps string[]? what its sandbox does not restrict, with the option `best_effort`
local methods = {}

local metatable = { __name = "pintle.child", __index = methods }

---@class pintle.child.module
local process = {}

-- {====== Standard error ======

-- What the relay of a program at the far end tells.
local reports = {}

function reports.started(child)
  child.is_started = true
  if child.on_started then loop.call(child.on_started) end
end

function reports.failed(child, reason) child.failure = child.failure or reason end

local function take_report(child, text)
  local name, rest = text:match "^(%a+) ?(.*)$"
  reports[name](child, rest)
end

local function add_stderr_line(child, line)
  line = line:gsub("\r$", "")
  local from = child.mark and line:find(child.mark, 1, true)
  if from then
    take_report(child, line:sub(from + #child.mark))
    line = line:sub(1, from - 1)
    if line == "" then return end
  end
  if #line > LINE_LIMIT then line = line:sub(1, LINE_LIMIT) .. "…" end
  local lines = child.lines
  lines[#lines + 1] = line
  if #lines > KEPT_LINES then table.remove(lines, 1) end
  child.crash = child.crash or crashes.new()
  child.crash:add_line(line)
  loop.call(child.on_stderr, line)
end

-- The unfinished line at the end is kept up to the limit, so that a line without end does not fill the memory.
local function add_stderr_text(child, text)
  local start, stop = 1, text:find("\n", 1, true)
  while stop do
    add_stderr_line(child, child.rest .. text:sub(start, stop - 1))
    child.rest, start = "", stop + 1
    stop = text:find("\n", start, true)
  end
  if #child.rest <= LINE_LIMIT then child.rest = child.rest .. text:sub(start, start + LINE_LIMIT) end
end

local function close_stderr(child)
  local stderr = child.stderr
  if not stderr then return end
  child.stderr = nil
  loop.unwatch(stderr:fileno(), child.stderr_watcher)
  stderr:close()
  if child.rest ~= "" then add_stderr_line(child, child.rest) end
  child.rest = ""
end

-- Reads once, so that a flood does not block the loop. Returns whether there was text.
local function read_stderr(child)
  local text = child.stderr and child.stderr:read()
  if text == false then return false end
  if not text or text == "" then
    close_stderr(child)
    return false
  end
  add_stderr_text(child, text)
  return true
end

local function watch_stderr(child)
  child.stderr = child.process.stderr
  child.stderr_watcher = { on_ready = function() read_stderr(child) end }
  assert(loop.watch(child.stderr:fileno(), "r", child.stderr_watcher))
end

---The line of its stderr that best explains why it ended; "" if there was no line.
---@return string
function methods:last_words() return self.crash and self.crash:summary() or "" end

-- }======

---Why a program at the far end could not be started, or was lost; nil if it has ended as programs do.
---@param name string for the message
---@return pintle.error?
function methods:connection_error(name)
  if not self.failure then return nil end
  if self.is_started then
    return errors.new("closed", ("%s was lost: %s"):format(name, self.failure), { stderr = self.lines })
  end
  local message, last_words = ("%s cannot be started: %s"):format(name, self.failure), self:last_words()
  if last_words ~= "" then message = ("%s: %s"):format(message, last_words) end
  return errors.new("spawn", message, { stderr = self.lines })
end

-- {====== The end of the process ======

-- Also kills the rest of its process group, which may hold the pipes open.
local function reap_child(child)
  if child.exit then return end
  child:kill "KILL"
  local code, signal, kind = child.process:wait(REAP_TIMEOUT)
  child.exit = code and { code = code } or { signal = not kind and signal or "unknown" }
  if child.group then child.group:close() end
  local left = LAST_READS
  while left > 0 and read_stderr(child) do left = left - 1 end
  close_stderr(child)
  local waiters = child.waiters
  child.waiters = {}
  for event in pairs(waiters) do event:set(child.exit) end
  if child.on_exit then loop.call(child.on_exit, child.exit) end
end

local function poll_exit(child)
  child.timer = nil
  if child.process:wait(0) ~= false then return reap_child(child) end
  child.timer = loop.after(POLL_INTERVAL, poll_exit, child)
end

local function stop_watching(child)
  if child.exit_watcher then loop.unwatch(child.process:fd(), child.exit_watcher) end
  if child.timer then loop.cancel(child.timer) end
  child.exit_watcher, child.timer = nil, nil
end

local function watch_exit(child)
  local descriptor = child.process:fd()
  if not descriptor then return poll_exit(child) end
  child.exit_watcher = { on_ready = function() stop_watching(child) reap_child(child) end }
  assert(loop.watch(descriptor, "r", child.exit_watcher))
end

---Waits until it has ended.
---@param timeout? number seconds
---@return pintle.exit?, pintle.error?
function methods:wait(timeout)
  if self.exit then return self.exit end
  local event = loop.event()
  self.waiters[event] = true
  local exit, err = event:wait(timeout, timeout and errors.new("timeout", "the process has not ended in time"))
  self.waiters[event] = nil
  return exit, err
end

-- }======

-- {====== Stopping ======

---Sends a signal to it, and to its process group if it leads one. Does nothing after it has ended.
---@param signal pintle.signal
function methods:kill(signal)
  if not self.exit then self.process:kill(signal, self.is_leader) end
end

local function take_stop_step(child, seconds, act, ...)
  if child.exit or seconds <= 0 or not act then return end
  local deadline = loop.now() + seconds
  act(...)
  child:wait(math.max(deadline - loop.now(), 0))
end

---Stops it in steps: calls `ask`, which may wait, closes its input, sends SIGTERM, sends SIGKILL. Each step has a
---timeout, and the next one is taken only if the process still runs then.
---@param options { stop_timeouts?: pintle.stop_timeouts, ask?: fun(seconds: number), close_input?: fun() }
---@return pintle.exit?, pintle.error?
function methods:stop(options)
  local given, timeouts = options.stop_timeouts or {}, {}
  for step, default in pairs(STOP_TIMEOUTS) do
    timeouts[step] = given[step] or default
    if self.via and step ~= "kill" and timeouts[step] > 0 then timeouts[step] = timeouts[step] + WAY_TIME end
  end
  take_stop_step(self, timeouts.request, options.ask and loop.call, options.ask, timeouts.request)
  take_stop_step(self, timeouts.eof, options.close_input)
  take_stop_step(self, timeouts.term, methods.kill, self, "TERM")
  if self.via then take_stop_step(self, WAY_TIME, methods.kill, self, require("pintle.via").KILL_SIGNAL) end
  self:kill "KILL"
  return self:wait(timeouts.kill)
end

---Kills it if it still runs, and frees its resources. Closing twice is fine.
function methods:close()
  stop_watching(self)
  reap_child(self)
  self.process:close()
end

metatable.__close = methods.close

-- }======

local function spawn_child(settings)
  if not settings.sandbox then return core.spawn(settings) end
  return require("pintle.process.sandbox").spawn(settings)
end

-- The fields that are not for `core.spawn`.
local OWN_FIELDS = { "on_stderr", "on_exit", "via", "on_started", "stop_timeouts" }

-- The options of `core.spawn`, and what begins the reports of a relay.
local function spawn_options(options)
  local settings = {}
  for name, value in pairs(options) do settings[name] = value end
  for _, name in ipairs(OWN_FIELDS) do settings[name] = nil end
  if options.on_stderr then settings.stderr = "pipe" end
  settings.sandbox = settings.sandbox or nil
  if not options.via then return settings end
  return require("pintle.via").relay(options.via, settings, options.stop_timeouts, options.on_stderr ~= nil)
end

---@param options pintle.child.options
---@return pintle.child?, pintle.error?
function process.start(options)
  local settings, mark = spawn_options(options)
  if not settings then return nil, mark end
  local spawned, group, gaps, number = spawn_child(settings)
  if not spawned then return nil, errors.new(gaps or "spawn", group, { errno = number }) end
  local child = setmetatable({
    process = spawned, pid = spawned:pid(), is_leader = settings.sandbox ~= nil or options.group ~= false,
    group = group, gaps = gaps, lines = {}, rest = "", waiters = {},
    via = options.via, mark = mark, is_started = not options.via,
    on_stderr = options.on_stderr, on_exit = options.on_exit, on_started = options.on_started,
  }, metatable)
  if options.on_stderr then watch_stderr(child) end
  watch_exit(child)
  return child
end

return process
