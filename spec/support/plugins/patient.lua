-- A plugin with an operation that takes long, and one that returns how the last of them ended.
local pintle = require "pintle"

local plugin = pintle.plugin { name = "patient", version = "1.0.0" }
local stopped = {}

plugin:operation("wait", {
  params = { type = "object", required = { "seconds" }, properties = { seconds = { type = "number" } } },
}, function(args, ctx)
  ctx:progress(0.1)
  local ok, err = ctx:sleep(args.seconds)
  if ok then return "waited" end
  stopped[#stopped + 1] = err.kind
  ctx:log("error", "it was given up")
  ctx:progress(0.9)
  return nil, err
end)

plugin:operation("steps", {
  params = { type = "object", required = { "steps" }, properties = { steps = { type = "integer" } } },
}, function(args, ctx)
  for i = 1, args.steps do
    ctx:progress(i / args.steps, "step " .. i)
    ctx:sleep(0.05)
  end
  return "stepped"
end)

-- An operation that was stopped may not have had its turn yet.
plugin:operation("stopped", {}, function(_, ctx)
  while #stopped == 0 do assert(ctx:sleep(0.01)) end
  return table.concat(stopped, " ")
end)

plugin:serve()
