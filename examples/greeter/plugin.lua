local pintle = require "pintle"
local plugin = pintle.plugin { name = "greeter", version = "1.0.0", description = "Says hello" }

plugin:operation("greet", {
  description = "Say hello",
  params = { type = "object", required = { "name" },
             properties = { name = { type = "string" }, times = { type = "integer", default = 1 } } },
}, function(args, ctx)
  ctx:log("info", "greeting", { name = args.name })
  for i = 1, args.times do ctx:progress(i / args.times) end
  if args.name == "" then return nil, "nobody to greet" end
  return "Hello, " .. args.name
end)

plugin:serve()
