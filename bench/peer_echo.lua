-- The plugin of the benchmark, as a user would write it: answers every request with its params.

local pintle = require "pintle"

local peer = assert(pintle.connect { stdio = true, framing = "header" })
peer:on("echo", function(params) return params end)
peer:join()
