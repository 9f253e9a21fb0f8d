-- A child process that serves JSON-RPC on stdin and stdout:
--   echo      returns its params
--   crash     ends the process at once

local pintle = require "pintle"

local peer = assert(pintle.connect { stdio = true, framing = "auto" })
print "this print cannot break a frame: stdout is stderr by now"

peer:on("echo", function(params) return params end)
peer:on("crash", function() os.exit(3) end)

peer:join()
