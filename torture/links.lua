-- Programs run at the far end of a link that is cut, stopped, or left by its client or its relay, at a random moment.
-- No process is left at the far end, and no relay waits without an end.

local trials = require "spec.support.trials"

local TRIALS = 200

local links = { name = "links", workers = 8 }

local engine

function links.list()
  local reason
  engine, reason = trials.engine()
  if engine then return trials.list(TRIALS, math.random(1 << 30)) end
  print("links: skipped: " .. reason)
  return {}
end

function links.try(item) return trials.try(engine, item) end

return links
