-- A host on one side, its plugin on the other, and what each says passed on to the other. Bytes go first; what is to be
-- recorded is seen to a moment later, when an answer that comes at once has been passed on, too.

local core = require "pintle.core"
local environment = require "pintle.cli.environment"
local errors = require "pintle.error"
local lfs = require "lfs"
local loop = require "pintle.loop"
local pumps = require "pintle.cli.trace.pump"
local recorders = require "pintle.cli.trace.recorder"
local sinks = require "pintle.cli.trace.sink"

local SIGNALS = { "INT", "TERM", "HUP", "QUIT", "USR1", "USR2" }
local MOMENT = 0.001 -- seconds in which nothing is recorded
local LOOK_AGAIN = 0.01 -- seconds, where the system cannot tell of the end of a process

local between = {}

-- {====== Recording ======

-- What is to be done is kept in order.
local function new_scribe(recorder)
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
    if not is_due then loop.after(MOMENT, work) end
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
  if not file then return nil, errors.new("invalid", "cannot record: " .. message) end
  file:setvbuf "full"
  return file, path
end

-- }======

-- {====== Both directions ======

-- Who has closed what, by the end that gave out.
local function closing(note, from, to, stream)
  return function(by)
    note("finish", from)
    if by then note("event", { from = by == "source" and from or to, closed = stream }) end
  end
end

local function start_pumps(process, input, output, note)
  local pump = {}
  pump.input = pumps.start {
    source = input, sink = sinks.pipe(process.stdin),
    on_bytes = function(data) note("bytes", "host", data) end,
    on_end = closing(note, "host", "plugin", "stdin"),
  }
  pump.output = pumps.start {
    source = process.stdout, sink = sinks.own_output(output),
    on_bytes = function(data) note("bytes", "plugin", data) end,
    on_end = closing(note, "plugin", "host", "stdout"),
  }
  pump.errors = pumps.start {
    source = process.stderr, sink = sinks.own_stderr(),
    on_bytes = function(data) note("stderr", data) end,
    on_end = function() note "finish_stderr" end,
  }
  return pump
end

-- }======

-- {====== Signals ======

-- Each comes once and has to be taken again. Returns what ends it.
local function pass_signals(process, note)
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
    if not exit then return descriptor or loop.after(LOOK_AGAIN, look) end
    if descriptor then loop.unwatch(descriptor, watcher) end
    on_exit(exit)
  end
  watcher.on_ready = look
  if descriptor then assert(loop.watch(descriptor, "r", watcher)) else look() end
end

-- The plugin is gone: what it has said is passed on, and nobody has to hear more.
local function wind_up(pump)
  pump.input:stop()
  pump.output:finish_up()
  pump.errors:finish_up()
end

local function turn_until_over(process, pump, note)
  local release = pass_signals(process, note)
  local exit
  watch_exit(process, function(how)
    exit = how
    release()
    wind_up(pump)
  end)
  loop.turn_while(function() return not (exit and pump.output.is_over and pump.errors.is_over) end)
  note("event", { exit = exit })
  return exit
end

-- }======

local function spawn(args, console)
  local process, message, kind, number = core.spawn {
    command = args.command, env = environment(console), stderr = "pipe",
  }
  if not process then return nil, errors.new(kind or "spawn", message, { errno = number }) end
  return process
end

---@param args { command: string[], output?: string }
---@param console pintle.cli.console
---@return pintle.exit?, pintle.error?
function between.run(args, console)
  local input, output = core.claim_stdio()
  if not input then return nil, errors.new("closed", output) end
  local began = core.now()
  local process <close>, err = spawn(args, console)
  if not process then return nil, err end
  local file
  file, err = open_file(args.output, process:pid())
  if not file then return nil, err end
  io.stderr:setvbuf "no"
  local recorder = recorders.new(file, began,
    { command = args.command, cwd = lfs.currentdir(), pid = process:pid() })
  local note, work = new_scribe(recorder)
  local exit = turn_until_over(process, start_pumps(process, input, output, note), note)
  work()
  recorder:close()
  return exit
end

return between
