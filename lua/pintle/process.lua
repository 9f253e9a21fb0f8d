-- A child: its three streams, its end, and the ladder by which it is stopped.

local core = require "pintle.core"
local errors = require "pintle.error"
local crashes = require "pintle.process.crash"
local loop = require "pintle.loop"

core.protect()

local KEPT_LINES = 20 -- last lines of stderr
local LINE_LIMIT = 8192 -- bytes of one of them; what is longer is cut
local LAST_PIECES = 16 -- pieces of stderr that are still read once it has ended
local LOOK_AGAIN = 0.01 -- seconds, where the system cannot tell of the end of a process
local REAPING = 1 -- seconds for a child that was killed to be gone

---How long each step of stopping may take, in seconds; 0 passes over it.
---@class pintle.ladder
---@field request? number for the polite request, where there is one
---@field eof? number after the end of its input
---@field term? number after SIGTERM
---@field kill? number after SIGKILL

local LADDER = { request = 2, eof = 2, term = 2, kill = 5 }

---@class pintle.child.options: pintle.spawn_options
---@field on_stderr? fun(line: string) told of each line of stderr; without it stderr is inherited
---@field on_exit? fun(exit: pintle.exit) told of the end, from the loop

---@class pintle.child
---@field pid integer
---@field process pintle.process
---@field exit pintle.exit? how it ended
---@field lines string[] the last lines of its stderr
local methods = {}

local metatable = { __name = "pintle.child", __index = methods }

---@class pintle.child.module
local process = {}

-- {====== Standard error ======

local function add_line(child, line)
  line = line:gsub("\r$", "")
  if #line > LINE_LIMIT then line = line:sub(1, LINE_LIMIT) .. "…" end
  local lines = child.lines
  lines[#lines + 1] = line
  if #lines > KEPT_LINES then table.remove(lines, 1) end
  child.crash = child.crash or crashes.new()
  child.crash:take(line)
  loop.call(child.on_line, line)
end

-- Of a line that is longer than the limit no more than that is kept, however much of it comes.
local function take_lines(child, text)
  local start, stop = 1, text:find("\n", 1, true)
  while stop do
    add_line(child, child.rest .. text:sub(start, stop - 1))
    child.rest = ""
    start = stop + 1
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
  if child.rest ~= "" then add_line(child, child.rest) end
  child.rest = ""
end

-- One piece a turn, so that a flood holds up nobody else. Whether there was one.
local function read_stderr(child)
  local text = child.stderr and child.stderr:read()
  if text == false then return false end
  if not text or text == "" then
    close_stderr(child)
    return false
  end
  take_lines(child, text)
  return true
end

local function watch_stderr(child)
  child.stderr = child.process.stderr
  child.stderr_watcher = { on_ready = function() read_stderr(child) end }
  assert(loop.watch(child.stderr:fileno(), "r", child.stderr_watcher))
end

---The line of its stderr that says most about its end; "" if it has said nothing.
---@return string
function methods:last_words() return self.crash and self.crash:summary() or "" end

-- }======

-- {====== The end ======

local function exit_of(code, signal, kind)
  if code then return { code = code } end
  return { signal = not kind and signal or "unknown" }
end

local function announce(child)
  local waiters = child.waiters
  child.waiters = {}
  for event in pairs(waiters) do event:set(child.exit) end
  loop.call(child.on_exit, child.exit)
end

-- What the leader leaves behind in its group goes with it: it may hold the pipes.
local function reap(child)
  if child.exit then return end
  child:kill "KILL"
  child.exit = exit_of(child.process:wait(REAPING))
  local left = LAST_PIECES
  while left > 0 and read_stderr(child) do left = left - 1 end
  close_stderr(child)
  announce(child)
end

local function look_for_end(child)
  child.timer = nil
  if child.process:wait(0) == false then
    child.timer = loop.after(LOOK_AGAIN, look_for_end, child)
  else
    reap(child)
  end
end

local function watch_exit(child)
  local descriptor = child.process:fd()
  if not descriptor then return look_for_end(child) end
  child.exit_watcher = { on_ready = function() child:stop_watching() reap(child) end }
  assert(loop.watch(descriptor, "r", child.exit_watcher))
end

---@private
function methods:stop_watching()
  if self.exit_watcher then loop.unwatch(self.process:fd(), self.exit_watcher) end
  if self.timer then loop.forget(self.timer) end
  self.exit_watcher, self.timer = nil, nil
end

---Waits for its end.
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

---Sends the signal to it, and to its group if it leads one. Does nothing once it has ended.
---@param signal pintle.signal
function methods:kill(signal)
  if not self.exit then self.process:kill(signal, self.leads) end
end

local function times_of(ladder)
  local times = {}
  for step, seconds in pairs(LADDER) do times[step] = ladder and ladder[step] or seconds end
  return times
end

local function take_step(child, seconds, act)
  if child.exit or seconds <= 0 or not act then return end
  local latest = loop.now() + seconds
  act()
  child:wait(math.max(latest - loop.now(), 0))
end

---Stops it step by step: `ask` is called and may wait, then its input ends, SIGTERM, SIGKILL; each step has its time,
---and the next is taken only if it still runs then.
---@param options { ladder?: pintle.ladder, ask?: fun(seconds: number), close_input?: fun() }
---@return pintle.exit?, pintle.error?
function methods:stop(options)
  local times, ask = times_of(options.ladder), options.ask
  take_step(self, times.request, ask and function() loop.call(ask, times.request) end)
  take_step(self, times.eof, options.close_input)
  take_step(self, times.term, function() self:kill "TERM" end)
  self:kill "KILL"
  return self:wait(times.kill)
end

---Kills it if it still runs, and lets go of everything. Closing twice is fine.
function methods:close()
  self:stop_watching()
  reap(self)
  self.process:close()
end

metatable.__close = methods.close

-- }======

---@param options pintle.child.options
---@return pintle.child?, pintle.error?
function process.start(options)
  local settings = {}
  for name, value in pairs(options) do settings[name] = value end
  settings.on_stderr, settings.on_exit = nil, nil
  if options.on_stderr then settings.stderr = "pipe" end
  local child_process, message, kind, number = core.spawn(settings)
  if not child_process then return nil, errors.new(kind or "spawn", message, { errno = number }) end
  local child = setmetatable({
    process = child_process,
    pid = child_process:pid(),
    leads = options.group ~= false,
    lines = {},
    rest = "",
    waiters = {},
    on_line = options.on_stderr,
    on_exit = options.on_exit or function() end,
  }, metatable)
  if options.on_stderr then watch_stderr(child) end
  watch_exit(child)
  return child
end

return process
