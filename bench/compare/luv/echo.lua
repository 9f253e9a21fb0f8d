-- luv and lua-cjson as a plugin, by hand: answers every request with its params.

local cjson = require "cjson"
local uv = require "luv"

local input, output = uv.new_pipe(), uv.new_pipe()
input:open(0)
output:open(1)

local function answer(line)
  local message = cjson.decode(line)
  output:write(cjson.encode { jsonrpc = "2.0", id = message.id, result = message.params } .. "\n")
end

local lines = require("bench.compare.luv.lines")(answer)
input:read_start(function(err, data)
  assert(not err, err)
  if data then lines(data) else input:close() end
end)
uv.run()
