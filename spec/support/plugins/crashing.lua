-- A plugin that crashes before it serves.
local pintle = require "pintle"

local plugin = pintle.plugin { name = "crashing", version = "1.0.0" }
plugin:operation("x", { params = { type = "object", required = "all" } }, function() end)
plugin:serve()
