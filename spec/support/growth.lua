-- Fails if repeated work leaves garbage behind. The first rounds may fill caches.
return function(work, rounds, most_kib)
  local function measure()
    work()
    collectgarbage()
    collectgarbage()
    return collectgarbage "count"
  end
  measure()
  local before = measure()
  for _ = 1, rounds do measure() end
  local grown = measure() - before
  assert(grown < most_kib, ("memory has grown by %.0f KiB"):format(grown))
end
