-- pintle trace: runs a plugin, forwards everything between its host and the plugin, and records it. Bytes are forwarded
-- first; recording happens a moment later, after an immediate answer has been forwarded, too.

local lazy = require "pintle.lazy"
local options = require "pintle.cli.options"
local status = require "pintle.cli.status"

local core = lazy "pintle.core"
local errors = lazy "pintle.error"
local lfs = lazy "lfs"
local loop = lazy "pintle.loop"
local pumps = lazy "pintle.cli.trace.pump"
local recording = lazy "pintle.cli.recording"
local sandboxes = lazy "pintle.process.sandbox"

local NOT_FOUND, NOT_EXECUTABLE = 127, 126
local ENOENT = 2

local trace = { name = "trace", summary = "Run a plugin for its host, and record their messages.",
  takes_command = true }

function trace.define(parser)
  parser:usage "Usage: pintle trace [-o FILE] [--] CMD…"
  parser:argument("command", "The program to start, and its arguments."):argname "CMD…"
  parser:option("-o --output", "The file to write; %p in it becomes the process id of the program"
    .. " (default: pintle-trace-DATE-TIME-PID.jsonl)."):argname "FILE"
  options.define_sandbox(parser)
end

local SIGNALS = { "INT", "TERM", "HUP", "QUIT", "USR1", "USR2" }
local RECORDING_DELAY = 0.001 -- seconds; forwarding goes first
local POLL_INTERVAL = 0.01 -- seconds, on systems without notification of a process's end

-- {====== Recording ======

-- Returns a function that queues a call of the recorder, and one that makes the queued calls, in order.
local function new_queue(recorder)
  local jobs, is_due = {}, false
  local function work()
    is_due = false
    local list = jobs
    jobs = {}
    for _, job in ipairs(list) do recorder:attempt(job) end
    recorder:flush()
  end
  local function note(method, ...)
    local at, given = core.now(), table.pack(...)
    jobs[#jobs + 1] = function() recorder[method](recorder, at, table.unpack(given, 1, given.n)) end
    if not is_due then loop.after(RECORDING_DELAY, work) end
    is_due = true
  end
  return note, work
end

local function path_of(output, pid)
  if not output then return ("pintle-trace-%s-%d.jsonl"):format(os.date "%Y%m%d-%H%M%S", pid) end
  return (output:gsub("%%p", tostring(pid)))
end

local function open_file(output, pid)
  local path = path_of(output, pid)
  local file, message = io.open(path, "w")
  if not file then return nil, errors.new("invalid", "cannot write the recording: " .. message) end
  file:setvbuf "full"
  return file, path
end

-- }======

-- {====== Both directions ======

-- Records the end of a direction, and which side closed it.
local function on_end_of(note, from, to, stream)
  return function(by)
    note("finish", from)
    if by then note("event", { from = by == "source" and from or to, closed = stream }) end
  end
end

local function start_pumps(process, input, output, note)
  local pump = {}
  pump.input = pumps.start {
    source = input, sink = pumps.pipe(process.stdin),
    on_bytes = function(data) note("bytes", "host", data) end,
    on_end = on_end_of(note, "host", "plugin", "stdin"),
  }
  pump.output = pumps.start {
    source = process.stdout, sink = pumps.own_output(output),
    on_bytes = function(data) note("bytes", "plugin", data) end,
    on_end = on_end_of(note, "plugin", "host", "stdout"),
  }
  pump.errors = pumps.start {
    source = process.stderr, sink = pumps.own_stderr(),
    on_bytes = function(data) note("stderr", data) end,
    on_end = function() note "finish_stderr" end,
  }
  return pump
end

-- }======

-- {====== Signals ======

-- Forwards signals to the plugin. A signal handle reports each signal once, so a new one is opened after each. Returns
-- a function that stops it.
local function forward_signals(process, note)
  local signals, watcher
  local function release()
    if not signals then return end
    loop.unwatch(signals:fd(), watcher)
    signals:close()
    signals = nil
  end
  local function take()
    signals = core.signals(SIGNALS, true)
    if signals then assert(loop.watch(signals:fd(), "r", watcher)) end
  end
  watcher = { on_ready = function()
    local names = {}
    for name in signals.next, signals do names[#names + 1] = name end
    for _, name in ipairs(names) do
      process:kill(name, true)
      note("event", { from = "host", signal = name })
    end
    release()
    take()
  end }
  take()
  return release
end

-- }======

-- {====== The end ======

local function exit_of(process)
  local code, signal, kind = process:wait(0)
  if code == false then return nil end
  if code then return { code = code } end
  return { signal = not kind and signal or "KILL" }
end

local function watch_exit(process, on_exit)
  local descriptor, watcher = process:fd(), {}
  local function look()
    local exit = exit_of(process)
    if not exit then return descriptor or loop.after(POLL_INTERVAL, look) end
    if descriptor then loop.unwatch(descriptor, watcher) end
    on_exit(exit)
  end
  watcher.on_ready = look
  if descriptor then assert(loop.watch(descriptor, "r", watcher)) else look() end
end

-- The plugin has ended: what it has written is still forwarded, its input is not.
local function finish_pumps(pump)
  pump.input:stop()
  pump.output:finish()
  pump.errors:finish()
end

local function turn_until_over(process, pump, note)
  local release = forward_signals(process, note)
  local exit
  watch_exit(process, function(how)
    exit = how
    release()
    finish_pumps(pump)
  end)
  loop.run_while(function() return not (exit and pump.output.is_over and pump.errors.is_over) end)
  note("event", { exit = exit })
  return exit
end

-- }======

local function spawn(args, console)
  local spawning = {
    command = args.command, env = console:plugin_environment(), stderr = "pipe", sandbox = args.sandbox,
  }
  if not args.sandbox then
    local process, message, kind, number = core.spawn(spawning)
    return process, process == nil and errors.new(kind or "spawn", message, { errno = number }) or nil
  end
  local process, group, gaps, number = sandboxes.spawn(spawning)
  if not process then return nil, errors.new(gaps or "spawn", group, { errno = number }) end
  for _, gap in ipairs(gaps) do console:warn("the sandbox does not restrict " .. gap) end
  return process, nil, group
end

---@param args { command: string[], output?: string }
---@param console pintle.cli.console
---@return pintle.exit?, pintle.error?
local function relay(args, console)
  local input, output = core.claim_stdio()
  if not input then return nil, errors.new("closed", output) end
  local began = core.now()
  local process <close>, err, group = spawn(args, console)
  if not process then return nil, err end
  local file
  file, err = open_file(args.output, process:pid())
  if not file then return nil, err end
  io.stderr:setvbuf "no"
  console:explain_wait(input, ", as in: pintle call pintle trace ./plugin.lua -- greet name=Ada")
  local recorder = recording.new_recorder(file, began,
    { command = args.command, cwd = lfs.currentdir(), pid = process:pid() })
  local note, work = new_queue(recorder)
  local exit = turn_until_over(process, start_pumps(process, input, output, note), note)
  work()
  recorder:close()
  if group then group:close() end
  return exit
end

-- The statuses of a shell, because the host expects the status of the plugin.
local function refuse(err, console)
  console:warn(tostring(err))
  return err.errno == ENOENT and NOT_FOUND or NOT_EXECUTABLE
end

---@param args table
---@param console pintle.cli.console
---@return integer
function trace.run(args, console)
  local ended, err = relay(args, console)
  if not ended then
    if err.kind == "spawn" then return refuse(err, console) end
    return nil, err
  end
  return ended.code or status.end_by(ended.signal)
end

return trace
