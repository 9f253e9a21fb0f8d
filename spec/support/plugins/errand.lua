-- A plugin whose operation runs as a task of MCP: it reports progress, and asks a question at the end.
local pintle = require "pintle"
local plugin = pintle.plugin { name = "errand", version = "1.0.0" }

local running = 0

plugin:operation("run", {
  params = { type = "object", required = { "steps" }, properties = { steps = { type = "integer" } } },
  dialects = { mcp = { task = "required" } },
}, function(args, ctx)
  running = running + 1
  local _ <close> = setmetatable({}, { __close = function() running = running - 1 end })
  for i = 1, args.steps do
    local ok, err = ctx:sleep(0.02)
    if not ok then return nil, err end
    ctx:progress(i / args.steps, "step " .. i)
  end
  local answer, err = ctx:call("elicitation/create", { message = "Who?", requestedSchema = { type = "object" } })
  if not answer then return nil, err end
  return "done for " .. answer.content.name
end)

plugin:operation("running", {}, function() return tostring(running) end)

plugin:serve()
