-- A plugin that declares methods which its dialect handles itself.
local pintle = require "pintle"

local plugin = pintle.plugin { name = "jealous", version = "1.0.0" }
plugin:method("shutdown", function() return "never" end)
plugin:serve()
