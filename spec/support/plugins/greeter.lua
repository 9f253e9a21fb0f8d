-- A typical plugin: one operation with a schema.
local pintle = require "pintle"
local plugin = pintle.plugin { name = "greeter", version = "1.0.0" }

plugin:operation("greet", {
  description = "Say hello",
  params = {
    type = "object", required = { "name" },
    properties = { name = { type = "string" }, times = { type = "integer", default = 1 } },
  },
}, function(args, ctx)
  ctx:log("info", "greeting", { name = args.name })
  return "Hello, " .. args.name
end)

plugin:serve()
