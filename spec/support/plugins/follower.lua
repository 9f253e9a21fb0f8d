-- A plugin that ends with the process of a given id. With "poll" the system has no pidfd.
local core = require "pintle.core"
local pintle = require "pintle"

if arg[1] == "poll" then
  function core.pidfd() return nil, "cannot watch", "unsupported" end
end

local plugin = pintle.plugin { name = "follower", version = "1.0.0" }

plugin:method("follow", function(params, ctx) return ctx.server:exit_with(params.pid) end)

plugin:operation("wait", {}, function(_, ctx)
  ctx:log("info", "waiting")
  ctx:sleep(600)
end)

plugin:operation("compute", {}, function(_, ctx)
  ctx:log("info", "computing")
  while true do end
end)

-- Writes more than fits into a pipe.
plugin:operation("flood", {}, function(_, ctx)
  ctx:log("info", "flooding")
  for _ = 1, 64 do ctx:log("info", ("x"):rep(60000)) end
end)

plugin:on_shutdown(function() io.stderr:write "shut down\n" end)

plugin:serve()
