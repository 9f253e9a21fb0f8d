-- Trials of a way: a program runs over ssh through a link of its own, and something is cut at some moment. Nothing may
-- be left at the far end then, and the relay has to end, without pretending to know how the program has ended.
local children = require "spec.support.children"
local core = require "pintle.core"
local kept = require "spec.support.engines.kept"
local lfs = require "lfs"
local link = require "spec.support.engines.link"
local pintle = require "pintle"
local processes = require "spec.support.processes"
local via = require "pintle.via"

local trials = {}

local KEEPALIVE = 0.5 -- seconds; the far end waits for four of them
local LATEST = 0.9 -- seconds after the start of the relay at which something is cut
local STOP_TIMEOUTS = { eof = 0.3, term = 0.3, kill = 5 }

-- None of them ends by itself.
local PROGRAMS = {
  cat = "exec cat",
  deaf = "trap '' TERM INT HUP; while :; do sleep 0.05; done",
  children = "sleep 1000 & sh -c 'trap \"\" TERM; sleep 1000; :' & sleep 1000 > /dev/null 2>&1 < /dev/null & wait; cat",
  flood = "trap '' TERM; while :; do echo out; echo err >&2; done",
  bulk = "exec yes",
}

-- What happens to a trial that has a link, a relay and its client.
local CUTS = {
  reset = function(trial) trial.link:cut() end,
  stopped = function(trial) trial.link:stop() end,
  client = function(trial) link.signal("KILL", link.children(trial.relay:pid())) end,
  relay = function(trial) trial.relay:kill "KILL" end,
  ["relay and client stopped"] = function(trial)
    trial.frozen = { trial.relay:pid(), table.unpack(link.children(trial.relay:pid())) }
    link.signal("STOP", trial.frozen)
  end,
}

local function names(map)
  local list = {}
  for name in pairs(map) do list[#list + 1] = name end
  table.sort(list)
  return list
end

---What each of some trials does. The same seed gives the same list.
function trials.list(count, seed)
  math.randomseed(seed)
  local list, programs, cuts = {}, names(PROGRAMS), names(CUTS)
  for i = 1, count do
    list[i] = {
      number = i, seed = seed, program = programs[math.random(#programs)], cut = cuts[(i - 1) % #cuts + 1],
      after = math.random() * LATEST,
    }
  end
  return list
end

local function wait_for(is_true)
  local deadline = core.now() + children.patience
  while not is_true() do
    if core.now() > deadline then return false end
    pintle.sleep(0.02)
  end
  return true
end

-- Talks to the program for a time, in both directions.
local function talk(relay, seconds)
  local deadline = core.now() + seconds
  while core.now() < deadline do
    for _ = 1, 20 do
      if not relay.stdout:read() then break end
    end
    for _ = 1, 20 do
      if not relay.stderr:read() then break end
    end
    relay.stdin:write(("text\n"):rep(math.random(3000)))
    pintle.sleep(math.min(0.01, math.max(deadline - core.now(), 0)))
  end
end

local function drain(relay)
  while relay.stdout:read() or relay.stderr:read() do
    if relay.stdout:read() == "" then return end
  end
end

-- The name of Lua is a mark in the environment of the lead, as PINTLE_TRIAL is for the program.
local function start(engine, item, mark)
  local trial = { mark = mark, link = assert(link.new(engine.port)), lua = engine.kept.path .. "/" .. mark }
  assert(lfs.link(core.which "lua5.4", trial.lua, true))
  local way = assert(via.check {
    ssh = { host = "node", config = engine.config, port = trial.link.port }, lua = trial.lua, keepalive = KEEPALIVE,
    connect_timeout = 5,
  })
  trial.relay = assert(core.spawn(assert(via.relay(way, {
    command = { "sh", "-c", PROGRAMS[item.program] }, env = { PINTLE_TRIAL = mark }, stderr = "pipe",
  }, STOP_TIMEOUTS))))
  return trial
end

-- The end of the relay, and of all at the far end. Returns what is wrong.
local function check_end(trial)
  local relay, code, signal = trial.relay, nil, nil
  local ended = trial.frozen or wait_for(function()
    drain(relay)
    code, signal = relay:wait(0)
    return code ~= false
  end)
  if not ended then return "the relay has not ended" end
  if not trial.frozen and signal ~= "KILL" and code ~= 255 then
    return ("the relay ended with %s %s"):format(code, signal)
  end
  local left = {}
  local gone = wait_for(function()
    left = processes.marked(trial.mark, relay:pid()) -- the relay has the mark in its settings
    return not left[1]
  end)
  if gone then return nil end
  local commands = {}
  for i, number in ipairs(left) do
    commands[i] = number .. " " .. (processes.read(number, "cmdline") or ""):gsub("%c", " "):sub(1, 80)
  end
  return ("%d processes are left: %s"):format(#left, table.concat(commands, "; "))
end

---Does one of the list. Returns nil, or what is wrong. To be called in a task; others may run at the same time.
function trials.try(engine, item)
  local mark = ("trial-%d-%d-%d"):format(core.getpid(), item.seed, item.number)
  local trial = start(engine, item, mark)
  talk(trial.relay, item.after)
  CUTS[item.cut](trial)
  local problem = check_end(trial)
  if trial.frozen then link.signal("KILL", trial.frozen) end
  trial.relay:kill "KILL"
  trial.relay:wait(children.patience)
  trial.relay:close()
  trial.link:close()
  os.remove(trial.lua)
  if not problem then return nil end
  return ("trial %d of seed %d (%s, cut: %s, after %.3f s): %s"):format(item.number, item.seed, item.program, item.cut,
    item.after, problem)
end

---An engine for trials; nil and the reason if it cannot be had.
function trials.engine()
  local missing = kept.lack "socat"
  if missing then return nil, missing end
  return require("spec.support.engines").sshd()
end

return trials
