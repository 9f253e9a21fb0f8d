-- Ways to a peer: a program that is started, a socket, stdin and stdout, any two descriptors, a pair in memory.

local core = require "pintle.core"
local errors = require "pintle.error"
local lazy = require "pintle.lazy"
local loop = require "pintle.loop"
local options = require "pintle.options"
local peers = require "pintle.peer"

local listeners = lazy "pintle.listen"
local process = lazy "pintle.process"
local tasks = lazy "pintle.task"

local LAST_WORDS = 1 -- seconds between the end of its output and that of the program
local CONNECTING = 10 -- seconds

local SPAWN_OPTIONS = { "command", "env", "inherit", "cwd", "stderr", "group", "death_signal" }
local OWN_OPTIONS = { "path", "host", "port", "stdio", "ladder", "process_limits", "on_stderr" }

local KNOWN = options.set(SPAWN_OPTIONS)
for name in pairs(options.set(OWN_OPTIONS)) do KNOWN[name] = true end
for name in pairs(peers.OPTIONS) do KNOWN[name] = true end

---@class pintle.connect.options: pintle.peer.options
---@field command? string[] a program to start and its arguments, with what `core.spawn` takes besides: env, inherit,
---cwd, stderr, group, death_signal
---@field on_stderr? fun(line: string) told of each line of the program's stderr
---@field process_limits? pintle.limits
---@field ladder? pintle.ladder how the program is stopped
---@field path? string a Unix socket
---@field host? string a TCP socket, with `port`
---@field port? integer
---@field stdio? boolean this program's own stdin and stdout, which nobody else can write to from then on
---@field read? pintle.descriptor
---@field write? pintle.descriptor

local connect = {}

-- {====== A program ======

local function last_line(child)
  local line = child.lines[#child.lines]
  return line and ": " .. line or ""
end

---Why a conversation with a program is over, once that has ended.
---@param child pintle.child
---@param name string
---@return pintle.error
function connect.post_mortem(child, name)
  local message = ("%s ended with %s%s"):format(name, errors.describe_exit(child.exit), last_line(child))
  return errors.new("closed", message, { exit = child.exit, stderr = child.lines })
end

local function name_of(settings)
  return settings.name or (settings.command[1]:match "[^/]+$" or settings.command[1])
end

local function conclude(peer)
  if peer.ended then return end
  local err = peer.farewell or connect.post_mortem(peer.child, peer.name)
  err.exit, err.noise = peer.child.exit, peer.noise
  peer:finish(err)
end

-- Its output has ended: most likely the program ends now, and how it does is worth waiting for.
local function explain(peer, err)
  tasks.start(function()
    if peer.child:wait(LAST_WORDS) then return conclude(peer) end
    err.noise, err.stderr = peer.noise, peer.child.lines
    peer:finish(err)
  end)
end

-- The program has ended. What it said before is taken in; but somebody else may still hold its output.
local function bury(peer)
  if peer.ended or peer.is_ending then return end
  peer:expect_end()
  peer.burying = loop.after(LAST_WORDS, conclude, peer)
end

local function stop(peer)
  peer.farewell = errors.new("closed", "the conversation was closed on this side")
  peer.child:stop {
    ladder = peer.ladder,
    ask = peer.ask,
    close_input = function() peer:close_output() end,
  }
  conclude(peer)
  peer.child:close()
end

local function pass_on(line) io.stderr:write(line, "\n") end

local function spawn(settings, on_exit)
  local spawning = { limits = settings.process_limits, on_exit = on_exit }
  for _, name in ipairs(SPAWN_OPTIONS) do spawning[name] = settings[name] end
  spawning.on_stderr = settings.on_stderr or settings.stderr == nil and pass_on or nil
  return process.start(spawning)
end

local function start(settings)
  local peer
  local child, err = spawn(settings, function()
    if peer then bury(peer) end
  end)
  if not child then return nil, err end
  settings.read, settings.write = child.process.stdout, child.process.stdin
  settings.name, settings.explain = name_of(settings), explain
  peer, err = peers.open(settings)
  if not peer then
    child:close()
    return nil, err
  end
  peer.child, peer.ladder, peer.stop = child, settings.ladder, stop
  return peer
end

-- }======

-- {====== A socket ======

local function wait_until_connected(descriptor, where)
  local number, waiter, watcher = descriptor:fileno(), loop.waiter(), {}
  local function stop_watching() loop.unwatch(number, watcher) end
  function watcher.on_ready()
    stop_watching()
    loop.resume(waiter, true)
  end
  local ok, message, kind = loop.watch(number, "w", watcher)
  if not ok then return nil, errors.new(kind, message) end
  local late = errors.new("timeout", ("no connection to %s within %gs"):format(where, CONNECTING))
  return loop.wait_within(CONNECTING, late, waiter, stop_watching)
end

local function finish_dialling(descriptor, where)
  local ok, err = wait_until_connected(descriptor, where)
  if not ok then return nil, err end
  local message, kind
  ok, message, kind = core.connected(descriptor)
  if not ok then return nil, errors.new(kind, message) end
  return true
end

local function dial(settings)
  local where = settings.path or ("%s:%s"):format(settings.host, settings.port)
  local descriptor, pending, kind =
    core.connect { path = settings.path, host = settings.host, port = settings.port }
  if not descriptor then return nil, errors.new(kind, pending) end
  if pending then
    local ok, err = finish_dialling(descriptor, where)
    if not ok then
      descriptor:close()
      return nil, err
    end
  end
  settings.read, settings.write = descriptor, descriptor
  settings.name = settings.name or where
  return peers.open(settings)
end

-- }======

local function claim(settings)
  local input, output, kind = core.claim_stdio()
  if not input then return nil, errors.new(kind or "closed", output) end
  io.stdout:setvbuf "line"
  settings.read, settings.write = input, output
  return peers.open(settings)
end

local function copy(given)
  local settings = {}
  for name, value in pairs(given) do settings[name] = value end
  return settings
end

local WAYS = {
  { "command", start },
  { "path", dial },
  { "host", dial },
  { "stdio", claim },
  { "read", peers.open },
}

---Opens a conversation over one of the ways there are.
---@param given pintle.connect.options
---@return pintle.peer?, pintle.error?
function connect.open(given)
  options.check(given, KNOWN)
  local found
  for _, way in ipairs(WAYS) do
    if given[way[1]] and found then error(("either %s or %s"):format(found[1], way[1]), 2) end
    found = given[way[1]] and way or found
  end
  if found then return found[2](copy(given)) end
  error("connect to what? command, path, host and port, stdio, or read and write", 2)
end

---Two peers that talk to each other, within this program.
---@param one? pintle.peer.options
---@param other? pintle.peer.options the same as `one` unless told
---@return pintle.peer, pintle.peer
function connect.pair(one, other)
  local left, right = assert(core.socketpair())
  local function open(given, descriptor)
    local settings = copy(given or {})
    settings.read, settings.write = descriptor, descriptor
    return assert(peers.open(settings))
  end
  return open(one, left), open(other or one, right)
end

---Waits for peers on a Unix socket (`path`) or a TCP one (`host`, `port`; port 0 takes any that is free).
---@param given pintle.connect.options
---@param on_peer fun(peer: pintle.peer) called in a task for each
---@return pintle.listener?, pintle.error?
function connect.listen(given, on_peer) return listeners.open(given, on_peer) end

return connect
