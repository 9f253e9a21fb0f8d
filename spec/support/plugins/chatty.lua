-- Sends every kind of message during an operation.
local pintle = require "pintle"

local plugin = pintle.plugin { name = "chatty", version = "1.0.0" }

plugin:operation("go", {}, function(_, ctx)
  ctx:log("info", "on my way")
  ctx:progress(0.5, "half")
  io.stderr:write "still on my way\n"
  ctx:progress(1)
  return "there"
end)

plugin:operation("give_up", {}, function(_, ctx)
  ctx:progress(0.5)
  return nil, "that is enough"
end)

local TEXT = { type = "object", properties = { text = { type = "string" }, times = { type = "integer", default = 1 } } }

plugin:operation("echo", { params = TEXT }, function(args) return args.text end)

plugin:operation("repeat", { params = TEXT }, function(args) return args.text:rep(args.times) end)

plugin:serve()
