-- A finalizer that runs over and over, whenever the collector does, which is nearly always.
local haunting = {}

local work, runs, pause, stepmul = nil, 0, nil, nil

local function haunt()
  setmetatable({}, {
    __gc = function()
      if not work then return end
      runs = runs + 1
      local ok, message = pcall(work)
      if not ok then haunting.failure = message end
      haunt()
    end,
  })
end

function haunting.start(finalizer)
  work, runs, haunting.failure = finalizer, 0, nil
  pause, stepmul = collectgarbage("setpause", 0), collectgarbage("setstepmul", 1000)
  haunt()
end

-- Raises what went wrong in the finalizer, if anything did.
function haunting.stop()
  if not work then return end
  work = nil
  collectgarbage("setpause", pause)
  collectgarbage("setstepmul", stepmul)
  collectgarbage()
  if haunting.failure then error(haunting.failure, 2) end
end

function haunting.runs()
  return runs
end

return haunting
