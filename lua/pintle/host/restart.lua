-- How often and how fast a plugin that died comes back.

local loop = require "pintle.loop"

---@class pintle.restart
---@field max? integer how many restarts, …: 5
---@field within? number|string … in which time: 60s
---@field backoff? number|string before the first; each next one waits `factor` times as long: 0.1s
---@field factor? number 2
---@field longest? number|string at most, between two: 30s
---@field jitter? number by which part of it a wait may be shorter or longer, so that many do not come back at once: 0.2

local DEFAULTS = { max = 5, within = 60, backoff = 0.1, factor = 2, longest = 30, jitter = 0.2 }

local restart = {}

---@class pintle.budget
---@field policy pintle.restart
---@field times number[] when the restarts of the last `within` seconds were

---@param policy pintle.restart|true its spans of time in seconds
---@return pintle.budget
function restart.budget(policy)
  local settings = policy == true and {} or policy
  local full = {}
  for name, default in pairs(DEFAULTS) do full[name] = settings[name] or default end
  return { policy = full, times = {} }
end

local function forget_old(budget, now)
  local kept = {}
  for _, time in ipairs(budget.times) do
    if time > now - budget.policy.within then kept[#kept + 1] = time end
  end
  budget.times = kept
end

---Spends one restart: how many seconds to wait before it, or nil when there is none left.
---@param budget pintle.budget
---@return number?
function restart.spend(budget)
  local policy, now = budget.policy, loop.now()
  forget_old(budget, now)
  local n = #budget.times
  if n >= policy.max then return nil end
  budget.times[n + 1] = now
  local wait = math.min(policy.backoff * policy.factor ^ n, policy.longest)
  return wait * (1 + policy.jitter * (2 * math.random() - 1))
end

---"5 restarts within 60s"
---@param budget pintle.budget
---@return string
function restart.describe(budget)
  local max = budget.policy.max
  return ("%d restart%s within %gs"):format(max, max == 1 and "" or "s", budget.policy.within)
end

return restart
