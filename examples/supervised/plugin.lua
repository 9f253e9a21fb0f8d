-- A plugin that crashes in its third job.

local pintle = require "pintle"

local plugin = pintle.plugin { name = "fragile", version = "1.0.0" }
local jobs = 0

plugin:operation("work", { params = { type = "object" } }, function()
  jobs = jobs + 1
  if jobs == 3 then
    io.stderr:write "that was one job too many\n"
    os.exit(70)
  end
  return ("job %d of this process"):format(jobs)
end)

plugin:serve()
