-- A host that works for a time and watches its own memory and descriptors: soak_host.lua MODE SECONDS
-- It ends with status 1 if they grow. The last line says what it has done.

local core = require "pintle.core"
local lfs = require "lfs"
local pintle = require "pintle"

local GREETER = { "lua5.4", "spec/support/plugins/greeter.lua" }
local PLUGINS = 1000
local IN_FLIGHT = 64
local MOST_GROWTH = 1.1 -- of the memory in the second half; in the first, what is used once is loaded
local MOST_SCATTER = 2 -- the same for a thousand plugins: freed memory stays with the C library, in pieces
local SLACK = 2048 -- kB that the memory may always grow

local mode, seconds = arg[1], tonumber(arg[2])
local host = pintle.host { log = false }

local function resident()
  collectgarbage()
  collectgarbage()
  for line in io.lines "/proc/self/status" do
    local size = line:match "^VmRSS:%s*(%d+)"
    if size then return tonumber(size) end
  end
end

local function descriptors()
  local count = 0
  for _ in lfs.dir "/proc/self/fd" do count = count + 1 end
  return count
end

local function check_greeting(outcome, err, name)
  if not outcome then error(tostring(err), 0) end
  if outcome.message ~= "Hello, " .. name then error("a wrong result: " .. tostring(outcome.message), 0) end
end

-- A process that is being restarted has no id.
local function kill(pid)
  if pid then os.execute(("kill -KILL %d 2> /dev/null"):format(pid)) end
end

local modes = {}

-- Calls in flight of one plugin. Returns the number of calls.
function modes.calls(deadline)
  local plugin <close> = assert(host:start { command = GREETER, name = "calls" })
  local calls, tasks = 0, {}
  for i = 1, IN_FLIGHT do
    tasks[i] = pintle.task(function()
      while core.now() < deadline do
        calls = calls + 1
        local name = "number " .. calls
        local outcome, err = plugin:execute("greet", { name = name })
        check_greeting(outcome, err, name)
      end
    end)
  end
  assert(pintle.all(tasks))
  return calls
end

-- Plugins that are started, used and stopped, one after the other.
function modes.starts(deadline)
  local starts = 0
  while core.now() < deadline do
    local plugin <close> = assert(host:start { command = GREETER, name = "starts" })
    check_greeting(plugin:execute("greet", { name = "Ada" }), nil, "Ada")
    starts = starts + 1
  end
  return starts
end

-- Plugins that are killed while calls are in flight: a call has its result, or fails as closed.
function modes.restarts(deadline)
  local plugin <close> = assert(host:start {
    command = GREETER, name = "restarts", pool = 2, restart = { max = 1000000, backoff = 0.01, factor = 1 },
  })
  local kills, tasks = 0, {}
  for i = 1, 8 do
    tasks[i] = pintle.task(function()
      while core.now() < deadline do
        local outcome, err = plugin:execute("greet", { name = "Ada" })
        if outcome then check_greeting(outcome, nil, "Ada") elseif err.kind ~= "closed" then error(tostring(err), 0) end
      end
    end)
  end
  while core.now() < deadline do
    pintle.sleep(0.05)
    kill(plugin:pids()[math.random(2)])
    kills = kills + 1
  end
  assert(pintle.all(tasks))
  return kills
end

local UPGRADED = [[
  local pintle = require "pintle"
  local plugin = pintle.plugin { name = "upgraded", version = "%d.0.0" }
  plugin:operation("version", {}, function() return "%d" end)
  plugin:serve()
]]

local path = os.tmpname()

local function install(version)
  local file <close> = assert(io.open(path .. ".new", "w"))
  file:write(UPGRADED:format(version, version))
  file:close()
  assert(os.rename(path .. ".new", path))
end

-- A plugin whose program is replaced, under load: once it was killed, the new version answers.
function modes.upgrades(deadline)
  local version = 1
  install(version)
  local plugin <close> = assert(host:start {
    command = { "lua5.4", path }, name = "upgrades", restart = { max = 1000000, backoff = 0.01, factor = 1 },
  })
  local task = pintle.task(function()
    while core.now() < deadline do plugin:execute "version" end
  end)
  while core.now() < deadline do
    version = version + 1
    install(version)
    kill(plugin:pids()[1])
    local late = core.now() + 60
    local outcome = plugin:execute("version", {}, { idempotent = true })
    while not (outcome and outcome.message == tostring(version)) do
      if core.now() > late then error("the new version does not answer", 0) end
      outcome = plugin:execute("version", {}, { idempotent = true })
    end
  end
  task:await(60)
  os.remove(path)
  return version
end

-- Many plugins at once, each called in turn.
function modes.plugins(deadline)
  local plugins, rounds = {}, 0
  for i = 1, PLUGINS do plugins[i] = assert(host:start { command = GREETER, name = "plugin " .. i }) end
  repeat
    rounds = rounds + 1
    for i, plugin in ipairs(plugins) do check_greeting(plugin:execute("greet", { name = "n" .. i }), nil, "n" .. i) end
  until core.now() > deadline
  for _, plugin in ipairs(plugins) do plugin:stop() end
  return rounds * PLUGINS
end

local done = modes[mode](core.now() + seconds / 2)
local memory, open, lua_memory = resident(), descriptors(), collectgarbage "count"
done = done + modes[mode](core.now() + seconds / 2)
local memory_after, open_after = resident(), descriptors()
print(("%s: %d in %g s, %d kB resident at half time and %d kB at the end, %d descriptors and %d"):format(
  mode, done, seconds, memory, memory_after, open, open_after))
host:stop()
local lua_memory_after = collectgarbage "count"
local most_growth = mode == "plugins" and MOST_SCATTER or MOST_GROWTH
local has_grown = memory_after > memory * most_growth + SLACK or open_after > open
  or lua_memory_after > lua_memory * MOST_GROWTH
os.exit(has_grown and 1 or 0, true)
