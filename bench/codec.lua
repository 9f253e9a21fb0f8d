-- pintle's codec and lua-cjson in turn, in one process: codec.lua decode|encode PAYLOAD SIZE SECONDS ROUNDS
-- prints operations a second for each round, lua-cjson first.

local cjson = require "cjson"
local core = require "pintle.core"
local payloads = require "bench.payloads"

local function rate(seconds, f, value)
  collectgarbage()
  local count, at_once, spent = 0, 1
  local begun = core.now()
  repeat
    for _ = 1, at_once do f(value) end
    count = count + at_once
    spent = core.now() - begun
    if spent < seconds / 100 then at_once = at_once * 2 end
  until spent >= seconds
  return count / spent
end

local operation, payload, size, seconds, rounds = table.unpack(arg)
local value = payloads[payload](math.tointeger(size))
if operation == "decode" then value = core.json.encode(value) end

for _ = 1, math.tointeger(rounds) do
  local theirs = rate(tonumber(seconds), cjson[operation], value)
  print(theirs, rate(tonumber(seconds), core.json[operation], value))
end
