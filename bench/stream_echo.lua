-- The plugin of the benchmark: answers every request with its params.

local conversation = require "bench.conversation"
local core = require "pintle.core"

local stream = conversation.new(assert(core.claim_stdio())).stream
local receive, reply = stream.receive, stream.reply

repeat
  stream:wait()
  local kind, id, more, params, _
  repeat
    kind, id, _, params, more = receive(stream)
    if kind == "request" then reply(stream, id, params) end
  until not more
until kind == nil
