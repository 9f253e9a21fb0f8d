-- How often which times occur: steps of 1, 2 and 5, for what matters of a time is its order.

local STEPS = { 1, 2, 5 }
local LEAST = -9 -- the power of ten of the first step, in seconds

---@class pintle.cli.bench.bar
---@field upto number seconds; more than those of the bar before
---@field count integer

-- The n-th bound, written so that it is the number that people would write.
local function bound(n)
  local power = LEAST + (n - 1) // #STEPS
  return tonumber(("%de%d"):format(STEPS[(n - 1) % #STEPS + 1], power))
end

---@param sorted number[] seconds
---@return pintle.cli.bench.bar[] without those at either end that are empty
return function(sorted)
  local bars, n = {}, 1
  for _, seconds in ipairs(sorted) do
    while seconds > bound(n) do
      n = n + 1
      if #bars > 0 then bars[#bars + 1] = { upto = bound(n), count = 0 } end
    end
    if #bars == 0 then bars[1] = { upto = bound(n), count = 0 } end
    bars[#bars].count = bars[#bars].count + 1
  end
  return bars
end
