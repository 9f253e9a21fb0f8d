-- What the programs that play an MCP server share: plain lines of JSON. Their arguments are classic|modern (or another
-- behaviour) and HEARD, a file to which all that they receive is appended.
local json = require("pintle.core").json

local fake = { is_modern = arg[1] == "modern" }

local heard = assert(io.open(arg[2], "a"))
heard:setvbuf "line"

---The next line of input; nil at its end.
function fake.read()
  local line = io.read "l"
  if line then heard:write(line, "\n") end
  return line and json.decode(line)
end

function fake.write(message)
  message.jsonrpc = "2.0"
  io.write(json.encode(message), "\n")
  io.flush()
end

function fake.answer(request, result)
  if fake.is_modern then result.resultType = result.resultType or "complete" end
  fake.write { id = request.id, result = result }
end

function fake.refuse(request, code, message)
  fake.write { id = request.id, error = { code = code, message = message } }
end

---Calls the methods for the messages that arrive, until the end of input.
---@param methods table<string, fun(message: table)>
function fake.serve(methods)
  for message in fake.read do
    local method = methods[message.method]
    if method then
      method(message)
    elseif message.id ~= nil then
      fake.refuse(message, -32601, "Method not found")
    end
  end
end

return fake
