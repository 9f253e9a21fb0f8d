-- A plugin that does not wait long for its own operations when its input has ended.
local pintle = require "pintle"

local plugin = pintle.plugin { name = "impatient", version = "1.0.0" }

plugin:operation("sleep", {}, function(_, ctx)
  local ok, err = ctx:sleep(600)
  return ok, err
end)

plugin:operation("compute", {}, function()
  while true do end -- luacheck: ignore 542
end)

plugin:serve { drain = 0.1 }
