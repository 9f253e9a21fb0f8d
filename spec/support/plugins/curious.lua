-- Calls its host during an operation.
local pintle = require "pintle"

local plugin = pintle.plugin { name = "curious", version = "1.0.0" }

-- Returns the host's result of `method`, or its error.
plugin:operation("ask", {
  params = {
    type = "object", required = { "method" }, properties = { method = { type = "string" }, params = {} },
  },
}, function(args, ctx)
  ctx:notify("hint", { about = args.method })
  local answer, err = ctx:call(args.method, args.params, { timeout = 20 })
  if answer == nil then return nil, { error = err.message, outputs = { code = err.code } } end
  return { message = "It says so", outputs = { answer = pintle.json.encode(answer) } }
end)

plugin:operation("count_down", {
  params = { type = "object", properties = { from = { type = "integer" } } },
}, function(args, ctx)
  if args.from == 0 then return "lift-off" end
  local answer, err = ctx:call("count_down", { from = args.from - 1 })
  if not answer then return nil, err end
  return args.from .. " " .. answer
end)

plugin:serve()
