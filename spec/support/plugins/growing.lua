-- A plugin that declares what it has while it is initialized.
local pintle = require "pintle"

local plugin = pintle.plugin { name = "growing", version = "1.0.0" }

plugin:on_initialize(function()
  plugin:operation("late", {}, function() return "late" end)
  plugin:prompt("late", {}, function() return "late" end)
end)

plugin:serve()
