-- A child, a stream, a call: the least that stands in for a host.

local core = require "pintle.core"

local of_stream = core.stream_methods
local flush, receive, request, wait = of_stream.flush, of_stream.receive, of_stream.request, of_stream.wait

local conversation = {}

local methods = {}
local metatable = { __name = "bench.conversation", __index = methods }

function conversation.start(command)
  local process = assert(core.spawn { command = command })
  local stream = core.stream { read = process.stdout, write = process.stdin, framing = "header" }
  return setmetatable({ stream = stream }, metatable), process
end

-- Asks and returns the answer. With `spin` seconds it looks for it before it sleeps.
function methods:call(params, spin)
  local stream = self.stream
  request(stream, true, "echo", params)
  if spin then flush(stream) else wait(stream) end
  while true do
    local kind, message, _, result = receive(stream, spin)
    if kind == "result" then return result end
    assert(kind == false, message)
    assert(wait(stream))
  end
end

return conversation
