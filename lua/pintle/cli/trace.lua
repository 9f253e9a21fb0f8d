-- pintle trace: runs a plugin, forwards everything between its host and the plugin, and records it. Bytes are forwarded
-- first; recording happens a moment later, after an immediate answer has been forwarded, too. While the reader of a
-- direction has no room, nothing more is read, so the writer is blocked as if the tracer were not there.

local core = require "pintle.core"
local lazy = require "pintle.lazy"
local options = require "pintle.cli.options"
local status = require "pintle.cli.status"

local errors = lazy "pintle.error"
local lfs = lazy "lfs"
local loop = lazy "pintle.loop"
local recording = lazy "pintle.cli.recording"
local sandboxes = lazy "pintle.process.sandbox"
local ways = lazy "pintle.via"

local NOT_FOUND, NOT_EXECUTABLE = 127, 126
local ENOENT = 2

local trace = { name = "trace", summary = "Run a plugin for its host, and record their messages.",
  takes_command = true }

function trace.define(parser)
  parser:usage "Usage: pintle trace [-o FILE] [--] CMD…"
  parser:argument("command", "The program to start, and its arguments."):argname "CMD…"
  parser:option("-o --output", "The file to write; %p in it becomes the process id of the program"
    .. " (default: pintle-trace-DATE-TIME-PID.jsonl)."):argname "FILE"
  parser:mutex(options.define_sandbox(parser), options.define_via(parser))
end

local SIGNALS = { "INT", "TERM", "HUP", "QUIT", "USR1", "USR2" }
local RECORDING_DELAY = 0.001 -- seconds; forwarding goes first
local POLL_INTERVAL = 0.01 -- seconds, on systems without notification of a process's end

-- {====== Sinks: they never block; the caller keeps the bytes that found no room ======

-- A descriptor that is ready for writing takes at least this much without blocking.
local SAFE = 4096

---@class pintle.cli.sink
---@field descriptor integer
---@field write fun(data: string, at: integer): integer|false|nil position of the rest; false if there is no room, nil
---if the reader is gone
---@field close fun()

---A sink for the end of a pipe that does not block.
---@param fd pintle.fd
---@return pintle.cli.sink
local function pipe_sink(fd)
  return {
    descriptor = fd:fileno(),
    write = function(data, at)
      local written = fd:write(at == 1 and data or data:sub(at))
      return written and at + written or written
    end,
    close = function() fd:close() end,
  }
end

-- A sink for a descriptor that may block: it is only written to while there is room.
local function polled_sink(descriptor, write, close)
  return {
    descriptor = descriptor,
    write = function(data, at)
      local began = at
      while at <= #data do
        if not core.poll(0, descriptor, "w") then return at > began and at end
        local written = write(data:sub(at, at + SAFE - 1))
        if written == nil then return nil end
        if not written then return at > began and at end
        at = at + written
      end
      return at
    end,
    close = close,
  }
end

-- {====== A terminal ======

-- The part at the end of a text that may be an incomplete character or half of a line end.
local function unfinished_end(text) return text:match "[\r\xC2\xD8\xE2]$" or text:match "\xE2[\x80\x81]$" or "" end

-- Returns a function that makes pieces of output safe for a terminal; nil is the end.
local function new_terminal_filter()
  local rest = ""
  return function(piece)
    local text = rest .. (piece or "")
    rest = piece and unfinished_end(text) or ""
    return errors.harmless(text:sub(1, #text - #rest):gsub("\r\n", "\n"), "\n\t")
  end
end

-- A sink for a terminal. It accepts a whole piece; the part that finds no room is written with the next one.
local function terminal_sink(descriptor, write, close)
  local filter, late = new_terminal_filter(), ""
  local function write_filtered(piece)
    local text = late .. filter(piece)
    local written = write(text)
    late = text:sub((written or 0) + 1)
    return written ~= nil and piece and #piece or nil
  end
  return polled_sink(descriptor, write_filtered, function()
    write_filtered(nil)
    close()
  end)
end

-- }======

-- Output is forwarded unchanged to programs, and without control sequences to a terminal.
local function own_sink(descriptor, write, close)
  return (core.isatty(descriptor) and terminal_sink or polled_sink)(descriptor, write, close)
end

---A sink for this program's stdout, which another process may have made blocking.
---@param fd pintle.fd
---@return pintle.cli.sink
local function stdout_sink(fd)
  return own_sink(fd:fileno(), function(piece) return fd:write(piece) end, function() fd:close() end)
end

---A sink for this program's stderr, which is never closed.
---@return pintle.cli.sink
local function stderr_sink()
  return own_sink(2, function(piece) return io.stderr:write(piece) and #piece or nil end, function() end)
end

-- }======

-- {====== The pump: forwards one direction; bytes are written to the sink as they arrive, and then reported ======

---@class pintle.cli.pump
---@field source pintle.fd
---@field sink pintle.cli.sink
---@field on_bytes fun(data: string) called after the bytes were forwarded, as far as there was room
---@field on_end fun(by: "source"|"sink"|nil) called once: the side that ended the direction, or nil after `stop`
---@field is_over boolean
local pump_methods = {}

local pump_metatable = { __name = "pintle.cli.pump", __index = pump_methods }

-- {====== Watching ======

local function watch_source(self) assert(loop.watch(self.source:fileno(), "r", self.reader)) end

local function unwatch_source(self) loop.unwatch(self.source:fileno(), self.reader) end

local function watch_sink(self) assert(loop.watch(self.sink.descriptor, "w", self.writer)) end

local function unwatch_sink(self) loop.unwatch(self.sink.descriptor, self.writer) end

-- }======

local function end_direction(self, by)
  if self.is_over then return end
  self.is_over = true
  unwatch_source(self)
  unwatch_sink(self)
  self.source:close()
  self.sink.close()
  self.on_end(by)
end

-- {====== Forwarding ======

-- Whether everything was written; nil if the sink is closed.
local function forward_rest(self)
  local at = self.sink.write(self.rest, self.at)
  if at == nil then return nil end
  self.at = at or self.at
  if self.at <= #self.rest then return false end
  self.rest, self.at = "", 1
  return true
end

-- Whether there may be more to read immediately.
local function forward_piece(self)
  local data = self.source:read()
  if data == false then
    if self.is_last then end_direction(self, "source") end
    return false
  end
  if not data or data == "" then
    end_direction(self, "source")
    return false
  end
  self.rest, self.at = data, 1
  local is_out = forward_rest(self)
  self.on_bytes(data)
  if is_out then return true end
  if is_out == nil then
    end_direction(self, "sink")
    return false
  end
  unwatch_source(self)
  watch_sink(self)
  return false
end

local function forward_all(self)
  while forward_piece(self) do end
end

local function forward_more(self)
  local is_out = forward_rest(self)
  if is_out == nil then return end_direction(self, "sink") end
  if not is_out then return end
  unwatch_sink(self)
  watch_source(self)
  if self.is_last then forward_all(self) end
end

-- }======

---Forwards what is still in the pipe, and ends. Called when the writer has exited.
function pump_methods:finish()
  self.is_last = true
  if not self.is_over and self.rest == "" then forward_all(self) end
end

---Ends it now, without forwarding the rest.
function pump_methods:stop() end_direction(self, nil) end

---@param given { source: pintle.fd, sink: pintle.cli.sink, on_bytes: fun(data: string), on_end: fun(by: string) }
---@return pintle.cli.pump
local function start_pump(given)
  local self = setmetatable({
    source = given.source, sink = given.sink, on_bytes = given.on_bytes, on_end = given.on_end,
    rest = "", at = 1, is_over = false, is_last = false,
  }, pump_metatable)
  self.reader = { on_ready = function() forward_piece(self) end }
  self.writer = { on_ready = function() forward_more(self) end }
  watch_source(self)
  return self
end

-- }======

-- {====== Recording ======

-- Returns a function that queues a call of the recorder, and one that makes the queued calls, in order.
local function new_record_queue(recorder)
  local jobs, is_due = {}, false
  local function record_queued()
    is_due = false
    local list = jobs
    jobs = {}
    for _, job in ipairs(list) do recorder:attempt_recording(job) end
    recorder:flush()
  end
  local function queue_record(method, ...)
    local at, given = core.now(), table.pack(...)
    jobs[#jobs + 1] = function() recorder[method](recorder, at, table.unpack(given, 1, given.n)) end
    if not is_due then loop.after(RECORDING_DELAY, record_queued) end
    is_due = true
  end
  return queue_record, record_queued
end

local function recording_path(output, pid)
  if not output then return ("pintle-trace-%s-%d.jsonl"):format(os.date "%Y%m%d-%H%M%S", pid) end
  return (output:gsub("%%p", tostring(pid)))
end

local function open_recording(output, pid)
  local path = recording_path(output, pid)
  local file, message = io.open(path, "w")
  if not file then return nil, errors.new("invalid", "cannot write the recording: " .. message) end
  file:setvbuf "full"
  return file, path
end

-- }======

-- {====== Both directions ======

-- Records the end of a direction, and which side closed it.
local function end_recorder(queue_record, from, to, stream)
  return function(by)
    queue_record("finish_direction", from)
    if by then queue_record("record_event", { from = by == "source" and from or to, closed = stream }) end
  end
end

local function start_pumps(process, input, output, queue_record)
  local pump = {}
  pump.input = start_pump {
    source = input, sink = pipe_sink(process.stdin),
    on_bytes = function(data) queue_record("record_bytes", "host", data) end,
    on_end = end_recorder(queue_record, "host", "plugin", "stdin"),
  }
  pump.output = start_pump {
    source = process.stdout, sink = stdout_sink(output),
    on_bytes = function(data) queue_record("record_bytes", "plugin", data) end,
    on_end = end_recorder(queue_record, "plugin", "host", "stdout"),
  }
  pump.errors = start_pump {
    source = process.stderr, sink = stderr_sink(),
    on_bytes = function(data) queue_record("record_stderr", data) end,
    on_end = function() queue_record "finish_stderr" end,
  }
  return pump
end

-- }======

-- {====== Signals ======

-- Forwards signals to the plugin. A signal handle reports each signal once, so a new one is opened after each. Returns
-- a function that stops it.
local function forward_signals(process, queue_record)
  local signals, watcher
  local function close_signals()
    if not signals then return end
    loop.unwatch(signals:fd(), watcher)
    signals:close()
    signals = nil
  end
  local function open_signals()
    signals = core.signals(SIGNALS, true)
    if signals then assert(loop.watch(signals:fd(), "r", watcher)) end
  end
  watcher = { on_ready = function()
    local names = {}
    for name in signals.next, signals do names[#names + 1] = name end
    for _, name in ipairs(names) do
      process:kill(name, true)
      queue_record("record_event", { from = "host", signal = name })
    end
    close_signals()
    open_signals()
  end }
  open_signals()
  return close_signals
end

-- }======

-- {====== The end ======

local function poll_exit(process)
  local code, signal, kind = process:wait(0)
  if code == false then return nil end
  if code then return { code = code } end
  return { signal = not kind and signal or "KILL" }
end

local function watch_exit(process, on_exit)
  local descriptor, watcher = process:fd(), {}
  local function check_exit()
    local exit = poll_exit(process)
    if not exit then return descriptor or loop.after(POLL_INTERVAL, check_exit) end
    if descriptor then loop.unwatch(descriptor, watcher) end
    on_exit(exit)
  end
  watcher.on_ready = check_exit
  if descriptor then assert(loop.watch(descriptor, "r", watcher)) else check_exit() end
end

-- The plugin has ended: what it has written is still forwarded, its input is not.
local function finish_pumps(pump)
  pump.input:stop()
  pump.output:finish()
  pump.errors:finish()
end

local function forward_until_exit(process, pump, queue_record)
  local close_signals = forward_signals(process, queue_record)
  local exit
  watch_exit(process, function(how)
    exit = how
    close_signals()
    finish_pumps(pump)
  end)
  loop.run_while(function() return not (exit and pump.output.is_over and pump.errors.is_over) end)
  queue_record("record_event", { exit = exit })
  return exit
end

-- }======

local function spawn_plugin(args, console)
  local spawning = {
    command = args.command, env = console:plugin_environment(args.via), stderr = "pipe", sandbox = args.sandbox,
  }
  if args.via then
    local err
    spawning, err = ways.relay(args.via, spawning)
    if not spawning then return nil, err end
  end
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
local function forward_and_record(args, console)
  local input, output = core.claim_stdio()
  if not input then return nil, errors.new("closed", output) end
  local began = core.now()
  local process <close>, err, group = spawn_plugin(args, console)
  if not process then return nil, err end
  local file, path = open_recording(args.output, process:pid())
  if not file then return nil, path end
  io.stderr:setvbuf "no"
  if not args.output then console:warn("recording to " .. options.absolute(path)) end
  console:explain_wait(input, ", as in: pintle call pintle trace ./plugin.lua -- greet name=Ada")
  local recorder = recording.new_recorder(file, began,
    { command = args.command, cwd = lfs.currentdir(), pid = process:pid() })
  local queue_record, record_queued = new_record_queue(recorder)
  local exit = forward_until_exit(process, start_pumps(process, input, output, queue_record), queue_record)
  record_queued()
  recorder:close()
  if group then group:close() end
  return exit
end

-- The statuses of a shell, because the host expects the status of the plugin.
local function report_failed_start(err, console)
  console:warn(tostring(err))
  return err.errno == ENOENT and NOT_FOUND or NOT_EXECUTABLE
end

---@param args table
---@param console pintle.cli.console
---@return integer
function trace.run(args, console)
  local ended, err = forward_and_record(args, console)
  if not ended then
    if err.kind == "spawn" then return report_failed_start(err, console) end
    return nil, err
  end
  return ended.code or status.end_by_signal(ended.signal)
end

return trace
