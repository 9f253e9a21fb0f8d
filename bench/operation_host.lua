-- Runs operations of bench/operations.lua as a host does, and what they are compared with; prints one figure.
-- Conversations are framed by line.
--   operation_host.lua bare SECONDS N CHILD…            seconds for a bare call that adds, N under way (1: in turn)
--   operation_host.lua execute DIALECT SECONDS N CHILD… seconds for plugin:execute of "add", N under way
--   operation_host.lua quiet DIALECT SECONDS N CHILD…   the same with a callback for progress
--   operation_host.lua tell DIALECT SECONDS N CHILD…    the same for "tell", which logs once and reports progress once
--   operation_host.lua notify SECONDS N CHILD…          seconds for a notification, N between two calls
--   operation_host.lua cancel SECONDS N CHILD…          seconds for a call that is cancelled, and the next call
--   operation_host.lua start DIALECT SECONDS N CHILD…   seconds for host:start, handshake included
--   operation_host.lua confine DIALECT SECONDS N CHILD… the same in a strict sandbox

local measure = require "bench.measure"
local pintle = require "pintle"

local ARGS = { a = 2, b = 3 }

local function nothing() end

local mode = table.remove(arg, 1)
local IN_DIALECT = { execute = true, quiet = true, tell = true, start = true, confine = true }
local dialect = IN_DIALECT[mode] and table.remove(arg, 1)
local seconds, n = tonumber(arg[1]), math.tointeger(arg[2])
local command = table.move(arg, 3, #arg, 1, {})

local function many_times(call)
  if n == 1 then return measure.in_turn(seconds, call) end
  local functions = {}
  for i = 1, n do functions[i] = call end
  return 1 / measure.at_once(seconds, functions)
end

local function connect() return assert(pintle.connect { command = command, framing = "line" }) end

local function execute(operation, options)
  local host <close> = pintle.host { dialect = dialect, log = nothing }
  local plugin = assert(host:start { command = command })
  assert(plugin:execute(operation, ARGS, options).message == "5")
  return many_times(function() plugin:execute(operation, ARGS, options) end)
end

local modes = {}

function modes.bare()
  local peer <close> = connect()
  return many_times(function() peer:call("add", ARGS) end)
end

function modes.execute() return execute "add" end

function modes.quiet() return execute("add", { on_progress = nothing }) end

function modes.tell() return execute("tell", { on_progress = nothing }) end

function modes.notify()
  local peer <close> = connect()
  return measure.time(seconds, n, function()
    for _ = 1, n do peer:notify("note", ARGS) end
    assert(peer:call "count")
  end)
end

-- The call after it is answered when the plugin has stopped the handler of the one that was cancelled.
function modes.cancel()
  local peer <close> = connect()
  local function wait() return peer:call "wait" end
  return measure.in_turn(seconds, function()
    local task = pintle.task(wait)
    task:cancel()
    task:await()
    assert(peer:call("add", ARGS))
  end)
end

local function start(sandbox)
  local host <close> = pintle.host { dialect = dialect, log = nothing, sandbox = sandbox }
  return measure.median(seconds, function()
    local begun = measure.now()
    local plugin = assert(host:start { command = command })
    local spent = measure.now() - begun
    plugin:stop()
    return spent
  end)
end

function modes.start() return start(false) end

function modes.confine() return start "strict" end

print(modes[mode]())
