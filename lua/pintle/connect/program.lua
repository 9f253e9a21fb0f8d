-- A peer that is a program, started for it: its stderr, and how it ends.

local errors = require "pintle.error"
local loop = require "pintle.loop"
local peers = require "pintle.peer"
local process = require "pintle.process"
local tasks = require "pintle.task"

require("pintle.core").protect()

local LAST_WORDS = 1 -- seconds between the end of its output and that of the program

local program = {}

-- The error of a conversation with a program that has ended.
local function exit_error(child, name)
  local message, last_words = ("%s ended with %s"):format(name, errors.describe_exit(child.exit)), child:last_words()
  if last_words ~= "" then message = ("%s: %s"):format(message, last_words) end
  return errors.new("closed", message, { exit = child.exit, stderr = child.lines })
end

local function program_name(settings)
  return settings.name or (settings.command[1]:match "[^/]+$" or settings.command[1])
end

local function finish_with_exit(peer)
  if peer.ended then return end
  local err = peer.close_error or exit_error(peer.child, peer.name)
  err.exit, err.noise = peer.child.exit, peer.noise
  peer:finish(err)
end

-- The output has ended, so the program will most likely exit now. The error has its exit status.
local function explain_end_of_output(peer, err)
  tasks.start(function()
    if peer.child:wait(LAST_WORDS) then return finish_with_exit(peer) end
    err.noise, err.stderr = peer.noise, peer.child.lines
    peer:finish(err)
  end)
end

-- The program has ended. Its output is read to the end first, but another process may keep the pipe open.
local function await_end_of_output(peer)
  if peer.ended or peer.is_ending then return end
  peer.stream:expect_end()
  peer.exit_timer = loop.after(LAST_WORDS, finish_with_exit, peer)
end

local function stop_program(peer)
  peer.close_error = errors.new("closed", "the conversation was closed on this side")
  peer.child:stop {
    stop_timeouts = peer.stop_timeouts,
    ask = peer.ask,
    close_input = function() peer:close_output() end,
  }
  finish_with_exit(peer)
  peer.child:close()
end

local function print_stderr_line(line) io.stderr:write(line, "\n") end

local function spawn_program(settings, names, on_exit)
  local spawning = { limits = settings.process_limits, on_exit = on_exit }
  for _, name in ipairs(names) do spawning[name] = settings[name] end
  spawning.on_stderr = settings.on_stderr or settings.stderr == nil and print_stderr_line or nil
  return process.start(spawning)
end

---@param settings pintle.connect.options
---@param spawn_options string[] the names of those that `core.spawn` takes
---@return pintle.peer?, pintle.error?
function program.start(settings, spawn_options)
  local peer
  local child, err = spawn_program(settings, spawn_options, function()
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

return program
