-- A peer that is a program, started for it: its stderr, and how it ends.

local errors = require "pintle.error"
local loop = require "pintle.loop"
local peers = require "pintle.peer"
local process = require "pintle.process"
local tasks = require "pintle.task"

require("pintle.core").protect()

local LAST_WORDS = 1 -- seconds between the end of its output and that of the program

local program = {}

-- Why a conversation with a program that has ended is over.
local function post_mortem(child, name)
  local message, last_words = ("%s ended with %s"):format(name, errors.describe_exit(child.exit)), child:last_words()
  if last_words ~= "" then message = ("%s: %s"):format(message, last_words) end
  return errors.new("closed", message, { exit = child.exit, stderr = child.lines })
end

local function name_of(settings)
  return settings.name or (settings.command[1]:match "[^/]+$" or settings.command[1])
end

local function conclude(peer)
  if peer.ended then return end
  local err = peer.farewell or post_mortem(peer.child, peer.name)
  err.exit, err.noise = peer.child.exit, peer.noise
  peer:finish(err)
end

-- Its output has ended: most likely the program ends now. Its exit status is part of the error.
local function explain(peer, err)
  tasks.start(function()
    if peer.child:wait(LAST_WORDS) then return conclude(peer) end
    err.noise, err.stderr = peer.noise, peer.child.lines
    peer:finish(err)
  end)
end

-- The program has ended. What it has sent is read first; but another process may keep its output open.
local function bury(peer)
  if peer.ended or peer.is_ending then return end
  peer.stream:expect_end()
  peer.burying = loop.after(LAST_WORDS, conclude, peer)
end

local function stop(peer)
  peer.farewell = errors.new("closed", "the conversation was closed on this side")
  peer.child:stop {
    stop_timeouts = peer.stop_timeouts,
    ask = peer.ask,
    close_input = function() peer:close_output() end,
  }
  conclude(peer)
  peer.child:close()
end

local function pass_on(line) io.stderr:write(line, "\n") end

local function spawn(settings, names, on_exit)
  local spawning = { limits = settings.process_limits, on_exit = on_exit }
  for _, name in ipairs(names) do spawning[name] = settings[name] end
  spawning.on_stderr = settings.on_stderr or settings.stderr == nil and pass_on or nil
  return process.start(spawning)
end

---@param settings pintle.connect.options
---@param spawn_options string[] the names of those that `core.spawn` takes
---@return pintle.peer?, pintle.error?
function program.start(settings, spawn_options)
  local peer
  local child, err = spawn(settings, spawn_options, function()
    if peer then bury(peer) end
  end)
  if not child then return nil, err end
  settings.read, settings.write = child.process.stdout, child.process.stdin
  settings.name, settings.explain = name_of(settings), explain
  local ok, opened, problem = pcall(peers.open, settings)
  if not ok or not opened then child:close() end
  if not ok then error(opened, 0) end
  if not opened then return nil, problem end
  peer = opened
  peer.child, peer.stop_timeouts, peer.stop = child, settings.stop_timeouts, stop
  return peer
end

return program
