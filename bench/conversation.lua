-- A stream and a call on it: the least that stands in for pintle's peers.

local core = require "pintle.core"

local conversation = {}

local methods = {}
local metatable = { __name = "bench.conversation", __index = methods }

function conversation.new(input, output)
  return setmetatable({ stream = core.stream { read = input, write = output, framing = "header" } }, metatable)
end

-- A child that echoes, and the conversation with it.
function conversation.start(command)
  local process = assert(core.spawn { command = command })
  return conversation.new(process.stdout, process.stdin), process
end

-- Asks and returns the answer. With `spin` seconds it looks for it before it sleeps.
function methods:call(params, spin)
  local stream = self.stream
  stream:request(true, "echo", params)
  if spin then
    stream:flush()
  else
    stream:wait()
  end
  while true do
    local kind, message, _, result = stream:receive(spin)
    if kind == "result" then return result end
    assert(kind == false, message)
    assert(stream:wait())
  end
end

return conversation
