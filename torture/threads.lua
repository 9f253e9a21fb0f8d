-- Lua states in several threads of one process, under ThreadSanitizer, which reports data races (torture/threads.c).

local runs = require "torture.runs"

local LIMIT = 120 -- seconds for one program
local SECONDS = 10 -- the budget that is worth one program
local MOST = 20 -- programs

local threads = { name = "threads", workers = 1 }

---@param budget number seconds
function threads.list(budget)
  local items = {}
  for i = 1, math.min(math.max(budget // SECONDS, 1), MOST) do items[i] = {} end
  return items
end

function threads.try()
  local result = runs.run({ runs.path "threads", "torture/thread.lua", "2" }, { TSAN_OPTIONS = "exitcode=1" }, LIMIT)
  if result.status == 0 and not result.problem then return nil end
  return ("%s\n%s"):format(result.problem or result.signal or "status " .. result.status, result.text)
end

return threads
