-- The plugin of the benchmark: answers every request with its params.

local core = require "pintle.core"

local input, output = assert(core.claim_stdio())
local stream = core.stream { read = input, write = output, framing = "header" }
local receive, reply, wait = stream.receive, stream.reply, stream.wait

repeat
  wait(stream)
  local kind, id, more, params, _
  repeat
    kind, id, _, params, more = receive(stream)
    if kind == "request" then reply(stream, id, params) end
    params = nil -- luacheck: ignore 311 (it would be kept until the next one is there)
  until not more
until kind == nil
