-- Runs the parts of the torture, each for its share of the time: run.lua SECONDS [PART OF A NAME]

local core = require "pintle.core"
local pintle = require "pintle"

local PARTS = {
  "torture.system_calls", "torture.misbehaving", "torture.hostile", "torture.cuts", "torture.kills", "torture.links",
  "torture.threads", "torture.soak",
}

local seconds, only = tonumber(arg[1]), arg[2]
local seed = tonumber(os.getenv "PINTLE_TORTURE_SEED") or os.time()
math.randomseed(seed)

local function say(...)
  print(string.format(...))
  io.stdout:flush()
end

-- Tries the items of a part until the time is over, some of them at the same time. Returns whether nothing was found.
local function run_part(part, budget)
  local items, tried, found, slowest = part.list(budget), 0, 0, 0
  local deadline = core.now() + budget
  local function try_items()
    while tried < #items and core.now() < deadline do
      tried = tried + 1
      local begun = core.now()
      local problem = part.try(items[tried])
      slowest = math.max(slowest, core.now() - begun)
      if problem then
        found = found + 1
        say("%s: %s", part.name, problem)
      end
    end
  end
  local workers = {}
  for i = 1, part.workers do workers[i] = pintle.task(try_items) end
  assert(pintle.all(workers))
  say("%s: %d of %d tried, the slowest in %.1f s, %d problems", part.name, tried, #items, slowest, found)
  return found == 0
end

local parts = {}
for _, name in ipairs(PARTS) do
  local part = require(name)
  if not only or part.name:find(only, 1, true) then parts[#parts + 1] = part end
end
assert(#parts > 0, "there is no such part")

local is_fine = true
for _, part in ipairs(parts) do is_fine = run_part(part, seconds / #parts) and is_fine end
if not is_fine then say("PINTLE_TORTURE_SEED=%d gives the same order again.", seed) end
os.exit(is_fine and 0 or 1)
