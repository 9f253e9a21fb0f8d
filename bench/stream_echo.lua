-- The plugin of the benchmark: answers every request with its params.

local conversation = require "bench.conversation"
local core = require "pintle.core"

local peer = conversation.new(assert(core.claim_stdio()))
local stream = peer.stream

repeat
  peer:turn()
  local kind, id, _, params = stream:receive()
  while kind do
    assert(kind == "request", kind)
    assert(stream:reply(id, params))
    kind, id, _, params = stream:receive()
  end
until kind == nil
