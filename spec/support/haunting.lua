-- A finalizer that is created again in each run, so that it runs in every cycle of the collector, which never pauses.
local core = require "pintle.core"

local haunting = {}

-- Seconds after which a finalizer that does not run is a failure.
local patience = 30

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
  collectgarbage() -- or what others have left would have to be gone through first
  work, runs, haunting.failure = finalizer, 0, nil
  pause, stepmul = collectgarbage("setpause", 0), collectgarbage("setstepmul", 1000)
  haunt()
end

-- Raises the error of the finalizer, if there was one.
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

-- Repeats `action` until the finalizer has run `times` times, or `action` returns true.
function haunting.drive(times, action)
  local deadline = core.now() + patience
  while runs < times and not action() do
    if runs < times and core.now() > deadline then error("the finalizer does not run", 2) end
  end
end

return haunting
