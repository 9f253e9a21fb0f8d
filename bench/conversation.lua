-- A stream and what waits for it: the least that stands in for pintle's loop.

local core = require "pintle.core"

local conversation = {}

local methods = {}
local metatable = { __name = "bench.conversation", __index = methods }

function conversation.new(input, output)
  local stream = core.stream { read = input, write = output, framing = "header" }
  local read_fd, write_fd = stream:fds()
  local poller = assert(core.poller())
  assert(poller:set(read_fd, "r", "in"))
  return setmetatable({ stream = stream, poller = poller, write_fd = write_fd, stuck = false }, metatable)
end

-- A child that echoes, and the conversation with it.
function conversation.start(command)
  local process = assert(core.spawn { command = command })
  return conversation.new(process.stdout, process.stdin), process
end

-- Sends what is queued as far as there is room, and waits for input or more room.
function methods:turn()
  local sent, message = self.stream:flush()
  if sent == nil then error(message) end
  if self.stuck == sent then
    self.stuck = not sent
    self.poller:set(self.write_fd, sent and "" or "w", "out")
  end
  for _ = 1, self.poller:wait() do self.poller:next() end
end

-- Takes every message that is there and returns the last one's payload, nil if there was none.
local function drain(stream, spin)
  local payload
  local kind, message, _, result = stream:receive(spin)
  while kind do
    assert(kind == "result", message)
    payload = result
    kind, message, _, result = stream:receive()
  end
  if kind == nil then error(message) end
  return payload
end

-- Asks and returns the answer. With `spin` seconds it looks for it before it sleeps.
function methods:call(params, spin)
  local stream, answer = self.stream, nil
  stream:request(true, "echo", params)
  if spin then
    stream:flush()
    answer = drain(stream, spin)
  end
  while not answer do
    self:turn()
    answer = drain(stream)
  end
  return answer
end

return conversation
