-- The extension of the protocol's examples, without a real cluster.
local pintle = require "pintle"

local plugin = pintle.plugin { name = "kubernetes", version = "1.0.0" }

plugin:operation("create-namespace", {
  params = { type = "object", required = { "name" }, properties = { name = { type = "string" } } },
}, function(args, ctx)
  ctx:log("info", "Creating namespace " .. args.name)
  return "Created namespace " .. args.name
end)

plugin:operation("condition", {
  params = {
    type = "object", required = { "resource", "conditionType" },
    properties = {
      resource = { type = "string" }, conditionType = { type = "string" },
      status = { type = "string", default = "True" },
    },
  },
}, function(args, ctx)
  assert(ctx.phase == "verify" and ctx.agent.output == "Done")
  ctx:log("info", ("Checking %s..."):format(args.resource))
  ctx:log("info", "Waiting, status=ContainerCreating")
  return ("Pod %s %s=%s"):format(args.resource:match "/(.*)", args.conditionType, args.status)
end)

plugin:serve()
