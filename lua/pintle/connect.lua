-- Ways to a peer: a program that is started, a socket, stdin and stdout, any two descriptors, a pair of peers.

local core = require "pintle.core"
local errors = require "pintle.error"
local loop = require "pintle.loop"
local options = require "pintle.options"
local peers = require "pintle.peer"
local tasks = require "pintle.task"

core.protect()

local WAYS = { "command", "path", "host", "stdio", "read" } -- options that say what to connect to
local SPAWN_OPTIONS = { "command", "env", "inherit", "cwd", "stderr", "group", "death_signal", "sandbox", "sha256" }

local THIS_MACHINE = { "sandbox", "sha256" } -- of the options to spawn, those that the far end does not have

local LAST_WORDS = 1 -- seconds between the end of a program's output and its exit

local KNOWN = options.names "path host port stdio stop_timeouts process_limits on_stderr via on_started"
for _, name in ipairs(SPAWN_OPTIONS) do KNOWN[name] = true end
for name in pairs(peers.OPTIONS) do KNOWN[name] = true end

---@class pintle.connect.options: pintle.peer.options
---@field command? string[] a program to start and its arguments, with further options of `core.spawn`: env, inherit,
---cwd, stderr, group, death_signal, sha256
---@field sandbox? "strict"|"read-only"|pintle.sandbox|false what the program may do; default: everything
---@field on_stderr? fun(line: string) called with each line of the program's stderr
---@field process_limits? pintle.limits
---@field via? pintle.via the way to another machine or a container, where the program runs
---@field on_started? fun() called when the program has been started there, if its stderr is read
---@field stop_timeouts? pintle.stop_timeouts how the program is stopped
---@field path? string a Unix socket
---@field host? string a TCP socket, with `port`
---@field port? integer
---@field stdio? boolean this program's own stdin and stdout, which no other code can write to from then on
---@field read? pintle.descriptor
---@field write? pintle.descriptor

local connect = {}

-- {====== Programs ======

-- The error of a conversation with a program that has ended.
local function program_exit_error(child, name)
  local err = child:connection_error(name)
  if err then return err end
  local message, last_words = ("%s ended with %s"):format(name, errors.describe_exit(child.exit)), child:last_words()
  if last_words ~= "" then message = ("%s: %s"):format(message, last_words) end
  return errors.new("closed", message, { exit = child.exit, stderr = child.lines })
end

local function program_name(settings)
  return settings.name or (settings.command[1]:match "[^/]+$" or settings.command[1])
end

local function finish_peer_with_exit(peer)
  if peer.ended then return end
  local err = peer.close_error or program_exit_error(peer.child, peer.name)
  err.exit, err.noise = not peer.child.failure and peer.child.exit or nil, peer.noise
  peer:finish(err)
end

-- The output has ended, so the program will most likely exit now. The error has its exit status.
local function explain_end_of_output(peer, err)
  tasks.start(function()
    if peer.child:wait(LAST_WORDS) then return finish_peer_with_exit(peer) end
    err.noise, err.stderr = peer.noise, peer.child.lines
    peer:finish(err)
  end)
end

-- The program has ended. Its output is read to the end first, but another process may keep the pipe open.
local function await_end_of_output(peer)
  if peer.ended or peer.is_ending then return end
  peer.stream:expect_end()
  peer.exit_timer = loop.after(LAST_WORDS, finish_peer_with_exit, peer)
end

local function stop_program(peer)
  peer.close_error = errors.new("closed", "the conversation was closed on this side")
  peer.child:stop {
    stop_timeouts = peer.stop_timeouts,
    ask = peer.ask,
    close_input = function() peer:close_output() end,
  }
  finish_peer_with_exit(peer)
  peer.child:close()
end

local function print_stderr_line(line) io.stderr:write(line, "\n") end

local function check_way(settings)
  for _, name in ipairs(THIS_MACHINE) do
    if settings[name] then error(("%s cannot be used with via: it is for programs of this machine"):format(name), 0) end
  end
  local way, message = require("pintle.via").check(settings.via)
  return way or error("via: " .. message, 0)
end

local function spawn_program(settings, on_exit)
  local spawning = { limits = settings.process_limits, on_exit = on_exit }
  for _, name in ipairs(SPAWN_OPTIONS) do spawning[name] = settings[name] end
  spawning.on_stderr = settings.on_stderr or settings.stderr == nil and print_stderr_line or nil
  if settings.via then
    spawning.via, spawning.stop_timeouts, spawning.on_started = check_way(settings), settings.stop_timeouts,
      settings.on_started
  end
  return require("pintle.process").start(spawning)
end

local function open_program_peer(settings)
  local peer
  local child, err = spawn_program(settings, function()
    if peer then await_end_of_output(peer) end
  end)
  if not child then return nil, err end
  settings.read, settings.write = child.process.stdout, child.process.stdin
  settings.name, settings.explain = program_name(settings), explain_end_of_output
  local ok, opened, problem = pcall(peers.open, settings)
  if not ok or not opened then child:close() end
  if not ok then error(opened, 0) end
  if not opened then return nil, problem end
  peer = opened
  peer.child, peer.stop_timeouts, peer.stop = child, settings.stop_timeouts, stop_program
  return peer
end

-- }======

local function open_stdio_peer(settings)
  local input, output, kind = core.claim_stdio()
  if not input then return nil, errors.new(kind or "closed", output) end
  io.stdout:setvbuf "line"
  settings.read, settings.write = input, output
  if settings.answer_noise == nil then settings.answer_noise = true end
  local peer, err = peers.open(settings)
  if peer then peer:flush_at_exit() end
  return peer, err
end

local function copy_connect_options(given)
  local settings = {}
  for name, value in pairs(given) do settings[name] = value end
  return settings
end

local function open_socket_peer(settings) return require("pintle.connect.socket").connect(settings) end

local OPEN = {
  command = open_program_peer, path = open_socket_peer, host = open_socket_peer, stdio = open_stdio_peer,
  read = peers.open,
}

-- Misuse is detected in lower layers. The error blames the call of the user instead.
local function open_peer_blaming_caller(open, settings, level)
  local ok, peer, err = pcall(open, settings)
  if ok then return peer, err end
  if type(peer) ~= "string" then error(peer, 0) end
  error(peer:gsub("^[^:]+:%d+: ", ""):gsub("^bad argument #1 to '%w+' %((.*)%)$", "%1"), level + 1)
end

---Opens a conversation.
---@param given pintle.connect.options
---@return pintle.peer?, pintle.error?
function connect.open(given)
  if type(given) ~= "table" then error("connect to what? a table expected, got " .. type(given), 2) end
  options.check_names(given, KNOWN, 2)
  local way
  for _, name in ipairs(WAYS) do
    if given[name] and way then error(("either %s or %s"):format(way, name), 2) end
    way = given[name] and name or way
  end
  if not way then error("connect to what? command, path, host and port, stdio, or read and write", 2) end
  local peer, err = open_peer_blaming_caller(OPEN[way], copy_connect_options(given), 2)
  return peer, err
end

---Two peers that talk to each other, within this program.
---@param one? pintle.peer.options
---@param other? pintle.peer.options default: the same as `one`
---@return pintle.peer, pintle.peer
function connect.pair(one, other)
  local left, right = assert(core.socketpair())
  local function open(given, descriptor)
    local settings = copy_connect_options(given or {})
    settings.read, settings.write = descriptor, descriptor
    return assert(open_peer_blaming_caller(peers.open, settings, 3))
  end
  local here, there = open(one, left), open(other or one, right)
  return here, there
end

---Waits for peers on a Unix socket (`path`) or a TCP one (`host`, `port`; port 0 takes any that is free).
---@param given pintle.connect.options
---@param on_peer fun(peer: pintle.peer) called in a task for each
---@return pintle.listener?, pintle.error?
function connect.listen(given, on_peer) return require("pintle.connect.socket").listen(given, on_peer) end

return connect
