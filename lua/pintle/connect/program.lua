-- A peer that is a program, started for it: what it says on stderr, and how it ends.

local errors = require "pintle.error"
local lazy = require "pintle.lazy"
local loop = require "pintle.loop"
local peers = require "pintle.peer"
local process = require "pintle.process"

local tasks = lazy "pintle.task"

require("pintle.core").protect()

local LAST_WORDS = 1 -- seconds between the end of its output and that of the program

local program = {}

---Why a conversation with a program is over, once that has ended.
---@param child pintle.child
---@param name string
---@return pintle.error
function program.post_mortem(child, name)
  local message, last_words = ("%s ended with %s"):format(name, errors.describe_exit(child.exit)), child:last_words()
  if last_words ~= "" then message = ("%s: %s"):format(message, last_words) end
  return errors.new("closed", message, { exit = child.exit, stderr = child.lines })
end

local function name_of(settings)
  return settings.name or (settings.command[1]:match "[^/]+$" or settings.command[1])
end

local function conclude(peer)
  if peer.ended then return end
  local err = peer.farewell or program.post_mortem(peer.child, peer.name)
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
  peer.child, peer.ladder, peer.stop = child, settings.ladder, stop
  return peer
end

return program
