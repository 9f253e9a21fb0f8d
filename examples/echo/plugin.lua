-- A child that answers JSON-RPC on its stdin and stdout, on the core alone:
--   echo      gives back its params
--   crash     ends the process at once

local core = require "pintle.core"

local input, output = assert(core.claim_stdio())
print "this print cannot break a frame: stdout is stderr by now"

local stream = assert(core.stream { read = input, write = output, framing = "auto" })
local handlers = {}

function handlers.echo(id, params) stream:reply(id, params) end

function handlers.crash() os.exit(3) end

local function handle(kind, id, method, payload)
  if kind == "request" and handlers[method] then
    handlers[method](id, payload)
  elseif kind == "request" then
    stream:fail(id, -32601, "Method not found: " .. method)
  elseif kind == "invalid" or kind == "noise" then
    stream:fail(id, payload.code, payload.message)
  end
end

repeat
  stream:wait()
  local kind, id, what, payload = stream:receive()
  handle(kind, id, what, payload)
until kind == nil
