-- The plugin of the benchmark: answers every request with its params.

local conversation = require "bench.conversation"
local core = require "pintle.core"

local stream = conversation.new(assert(core.claim_stdio())).stream

repeat
  stream:wait()
  local kind, id, _, params, more = stream:receive()
  while kind do
    assert(kind == "request", kind)
    assert(stream:reply(id, params))
    if not more then break end
    kind, id, _, params, more = stream:receive()
  end
until kind == nil
