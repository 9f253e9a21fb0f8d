-- A plugin whose operations take long, and report progress.
local pintle = require "pintle"
local plugin = pintle.plugin { name = "reporting", version = "1.0.0" }

local running = 0

plugin:operation("running", {}, function() return tostring(running) end)

local NUMBER = { type = "number" }

plugin:operation("work", {
  params = { type = "object", required = { "steps", "pause" }, properties = { steps = NUMBER, pause = NUMBER } },
}, function(args, ctx)
  running = running + 1
  local _ <close> = setmetatable({}, { __close = function() running = running - 1 end })
  for i = 1, args.steps do
    local ok, err = ctx:sleep(args.pause)
    if not ok then return nil, err end
    ctx:progress(i / (args.steps + 1))
  end
  return "done"
end)

-- Reports progress once.
plugin:operation("stall", {}, function(_, ctx)
  ctx:progress(0.5)
  local _, err = ctx:sleep(3600)
  return nil, err
end)

plugin:serve()
