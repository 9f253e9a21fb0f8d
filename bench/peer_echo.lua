-- The plugin of the benchmark, as a user would write it: answers every request with its params, adds two integers, and
-- counts notifications. peer_echo.lua [FRAMING]

local pintle = require "pintle"

local peer = assert(pintle.connect { stdio = true, framing = arg[1] or "header" })
local notes = 0

peer:on("echo", function(params) return params end)
peer:on("add", function(params) return { sum = params.a + params.b } end)
peer:on("note", function() notes = notes + 1 end)
peer:on("count", function() return notes end)
peer:on("wait", function() pintle.sleep(60) end)
peer:join()
