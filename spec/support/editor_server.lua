-- A server of the editor protocol that does not use pintle, and accepts only messages that follow the document:
-- lua5.4 editor_server.lua RECORD ANSWERS. It writes the messages that it reads to the file RECORD. ANSWERS is a JSON
-- object by method: the text after the id in the answer, and in `before` the messages that are sent before the answer.
local cjson = require "cjson"

local record = assert(io.open(arg[1], "w"))
local answers = cjson.decode(arg[2])
record:setvbuf "no"

local function give_up(...)
  io.stderr:write(string.format(...), "\n")
  os.exit(3)
end

local function line(expected)
  local text = io.read "L"
  if not text and expected == "content-type" then
    record:write "\nEND"
    os.exit(0)
  end
  local value = text and text:match("^" .. expected:gsub("%-", "%%-") .. ": (.*)\r\n$")
  return value or give_up("%s expected, got %q", expected, tostring(text))
end

local function check(message)
  if message.version ~= "0.1" or message.jsonrpc ~= "2.0" then give_up("which version is this?") end
  if message.method and message.id ~= nil and type(message.id) ~= "string" then give_up("an id that is no string") end
end

local function receive()
  local kind = line "content-type"
  if kind ~= '"application/vscode-jsonrpc;charset=utf-8"' then give_up("what is %s?", kind) end
  local length = line "content-length"
  if not length:find "^%d+$" then give_up("no length: %s", length) end
  if io.read "L" ~= "\r\n" then give_up "no empty line" end
  local body = io.read(math.tointeger(length))
  record:write(body, "\n")
  local message = cjson.decode(body)
  check(message)
  return message
end

local function send(body)
  io.write(("content-type: %s\r\ncontent-length: %d\r\n\r\n%s"):format(
    '"application/vscode-jsonrpc;charset=utf-8"', #body, body))
  io.flush()
end

while true do
  local message = receive()
  local answer = answers[message.method]
  for _, body in ipairs(answers.before and answers.before[message.method] or {}) do send(body) end
  if answer and message.id then
    send(('{"version":"%s","jsonrpc":"2.0","id":%s,%s}'):format(answers.version or "0.1", cjson.encode(message.id),
      answer))
  end
end
