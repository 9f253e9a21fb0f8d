-- The plugin of the rows about operations, in any dialect: one operation adds, one also logs and reports progress.

local pintle = require "pintle"

local plugin = pintle.plugin { name = "adder", version = "1.0.0", description = "Adds" }

local PARAMS = {
  type = "object", required = { "a", "b" },
  properties = { a = { type = "integer" }, b = { type = "integer" } },
}

plugin:operation("add", { description = "Add two integers", params = PARAMS }, function(args)
  return tostring(args.a + args.b)
end)

plugin:operation("tell", { description = "Add, log it and report progress", params = PARAMS }, function(args, ctx)
  ctx:log("info", "adding")
  ctx:progress(1)
  return tostring(args.a + args.b)
end)

plugin:serve()
