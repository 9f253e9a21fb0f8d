-- Runs programs for the other files: with a time limit, and with a look at what they leave behind.

local core = require "pintle.core"
local loop = require "pintle.loop"
local pintle = require "pintle"
local processes = require "spec.support.processes"

local runs = {}

local ENDING = 10 -- seconds in which every process of a program has to be gone after it

local OUT = os.getenv "PINTLE_TORTURE_OUT" or "build/torture"

---The absolute path of a built file.
---@param name string
---@return string
function runs.path(name) return ("%s/%s"):format(OUT, name) end

---Orders a list at random.
function runs.shuffle(list)
  for i = #list, 2, -1 do
    local j = math.random(i)
    list[i], list[j] = list[j], list[i]
  end
  return list
end

-- What each of these processes waits for, as far as the kernel says it.
local function describe_processes(pids)
  local lines = {}
  for i, pid in ipairs(pids) do
    local function show(name)
      return (processes.read(pid, name) or "?"):gsub("%z", " "):gsub("%s+$", "")
    end
    local state = show("status"):match "State:%s*(%C+)" or "gone"
    lines[i] = ("process %d (%s): %s, in %s, system call %s"):format(pid, show "cmdline", state, show "wchan",
      show "syscall")
  end
  return table.concat(lines, "\n")
end

local function kill_all(pids)
  for _, pid in ipairs(pids) do os.execute(("kill -KILL %d 2> /dev/null"):format(pid)) end
end

---Waits until no process has the mark. Those that are left in the end are killed and returned.
---@param mark string
---@return integer[] pids
function runs.await_none(mark)
  local deadline = core.now() + ENDING
  local pids = processes.marked(mark)
  while #pids > 0 and core.now() < deadline do
    pintle.sleep(0.02)
    pids = processes.marked(mark)
  end
  kill_all(pids)
  return pids
end

-- The shell gives both outputs one pipe. A program that computes for a minute is ended by a signal, however busy the
-- machine is. `MEMORY` is the limit of its address space, in KiB. `PRELOAD` becomes `LD_PRELOAD` here, so that it does
-- not concern the shell.
local START = [[
  ulimit -t 60
  [ -z "${MEMORY-}" ] || ulimit -v "$MEMORY"
  [ -z "${PRELOAD-}" ] || export LD_PRELOAD="$PRELOAD"
  exec "$@" 2>&1
]]

local count = 0

---A value for the variable PINTLE_TORTURE of a program, by which its processes are found.
---@return string
function runs.new_mark()
  count = count + 1
  return ("run %d-%d."):format(core.getpid(), count)
end

local function await_readable(descriptor, seconds)
  local readable, number = loop.event(), descriptor:fileno()
  local watcher = { on_ready = function() readable:set(true) end }
  assert(loop.watch(number, "r", watcher))
  readable:wait(seconds)
  loop.unwatch(number, watcher)
end

---Reads to the end of a stream, for a time. Other tasks run meanwhile.
---@param descriptor pintle.fd
---@param seconds number
---@return string text
---@return boolean is_whole whether the end was reached
function runs.read(descriptor, seconds)
  local parts, deadline = {}, core.now() + seconds
  while core.now() < deadline do
    local data = descriptor:read()
    if data == "" or data == nil then return table.concat(parts), true end
    if data then parts[#parts + 1] = data else await_readable(descriptor, deadline - core.now()) end
  end
  return table.concat(parts), false
end

---Waits for the end of a process, for a time. Other tasks run meanwhile.
---@param process pintle.process
---@param seconds number
---@return integer? status, string? signal both nil if it still runs
function runs.wait(process, seconds)
  local deadline = core.now() + seconds
  local status, signal = process:wait()
  while status == false and core.now() < deadline do
    pintle.sleep(0.005)
    status, signal = process:wait()
  end
  return status or nil, signal
end

---@class torture.result
---@field text string stdout and stderr
---@field status integer?
---@field signal string?
---@field problem string? that it did not end in time, or left processes behind

---Runs a program to its end.
---@param command string[]
---@param env table<string, string> `PRELOAD` is a library to preload, `MEMORY` a limit in KiB
---@param seconds number
---@return torture.result
function runs.run(command, env, seconds)
  local mark = runs.new_mark()
  local full = { PINTLE_TORTURE = mark }
  for name, value in pairs(env) do full[name] = value end
  local process = assert(core.spawn {
    command = { "sh", "-c", START, "sh", table.unpack(command) }, env = full, stdin = "null",
  })
  local text, is_whole = runs.read(process.stdout, seconds)
  local status, signal = runs.wait(process, is_whole and seconds or 0)
  local result = { text = text, status = status, signal = signal }
  if not status and not signal then
    result.problem = ("still ran after %d s"):format(seconds)
    result.text = result.text .. describe_processes(processes.marked(mark))
  end
  process:close()
  local left = runs.await_none(mark)
  if #left > 0 and not result.problem then result.problem = ("left %d processes behind"):format(#left) end
  return result
end

return runs
