-- The name that was meant: the nearest one by edit distance, if there is one that is near.

-- How many letters may be wrong: one in three, and one at least.
local function tolerance(name) return math.max(1, #name // 3) end

-- Letters to add, take out, replace or swap with their neighbour to make `b` of `a`.
local function distance(a, b)
  local before, last = nil, {}
  for j = 0, #b do last[j] = j end
  for i = 1, #a do
    local row = { [0] = i }
    for j = 1, #b do
      local same = a:byte(i) == b:byte(j)
      row[j] = math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (same and 0 or 1))
      local swapped = before and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j)
      if swapped then row[j] = math.min(row[j], before[j - 2] + 1) end
    end
    before, last = last, row
  end
  return last[#b]
end

---@param name string
---@param names string[] of equally near ones the first is taken
---@return string?
return function(name, names)
  local best, least = nil, tolerance(name) + 1
  for _, other in ipairs(names) do
    if math.abs(#name - #other) < least then
      local far = distance(name:lower(), other:lower())
      if far < least and far < #name then best, least = other, far end
    end
  end
  return best
end
