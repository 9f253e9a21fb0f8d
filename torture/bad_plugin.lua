-- A plugin that follows its protocol up to one message, and then misbehaves: bad_plugin.lua DIALECT MOMENT KIND
-- DIALECT is gevals, mcp or lsp. MOMENT is "start", for the answer to the first message, or "call". Without a KIND the
-- kinds are listed, one a line; "fine NAME" for those that are unusual, but allowed.

local core = require "pintle.core"

local json = core.json

-- {====== A well-behaved plugin ======

local SCHEMA = { type = "object", properties = { name = { type = "string" } } }

local RESULTS = {
  gevals = {
    initialize = {
      name = "bad", version = "1", protocolVersion = "0.0.1", operations = { greet = { params = SCHEMA } },
    },
    execute = { success = true, message = "Hello" },
  },
  mcp = {
    initialize = {
      protocolVersion = "2025-11-25", capabilities = { tools = {} }, serverInfo = { name = "bad", version = "1" },
    },
    ["tools/list"] = { tools = { { name = "greet", inputSchema = SCHEMA } } },
    ["tools/call"] = { content = { { type = "text", text = "Hello" } } },
  },
  lsp = {
    initialize = { capabilities = { executeCommandProvider = { commands = { "greet" } } } },
    ["workspace/executeCommand"] = "Hello",
  },
}

local CALLS = { execute = true, ["tools/call"] = true, ["workspace/executeCommand"] = true }

local dialect, moment, kind = arg[1], arg[2], arg[3]

local function write(text)
  io.stdout:write(text)
  io.stdout:flush()
end

local function framed(text)
  return dialect == "lsp" and ("Content-Length: %d\r\n\r\n%s"):format(#text, text) or text .. "\n"
end

local function send(text) write(framed(text)) end

local function read_message()
  if dialect ~= "lsp" then return io.read "l" end
  local length
  for line in io.lines() do
    if line == "\r" then break end
    length = math.tointeger(tonumber(line:match "^Content%-Length: (%d+)")) or length
  end
  return length and io.read(length)
end

-- }======

-- {====== Misbehaving ======

local function object(id, rest) return ('{"jsonrpc":"2.0","id":%s,%s}'):format(id, rest) end

local function answer(id, result) return object(id, '"result":' .. result) end

-- Texts that are sent in place of the answer. "ID" becomes the id of the request, and "RESULT" the right result.
local TEXTS = {
  ["empty"] = "", ["words"] = "Segmentation fault (core dumped)", ["binary"] = ("\0\1\2\255\254"):rep(100),
  ["cut JSON"] = '{"jsonrpc":"2.0","id":ID,"result":{"name', ["array"] = "[1,2,3]", ["number"] = "17",
  ["null"] = "null",
  ["string"] = '"hello"', ["empty object"] = "{}", ["empty batch"] = "[]", ["batch of nothing"] = "[[],[],null]",
  ["version 1"] = '{"jsonrpc":"1.0","id":ID,"result":RESULT}', ["no version"] = '{"id":ID,"result":RESULT}',
  ["id as string"] = object('"ID"', '"result":RESULT'), ["id null"] = object("null", '"result":RESULT'),
  ["id fraction"] = object("ID.5", '"result":RESULT'), ["id negative"] = object("-ID", '"result":RESULT'),
  ["id huge"] = object("99999999999999999999", '"result":RESULT'), ["id array"] = object("[ID]", '"result":RESULT'),
  ["id missing"] = '{"jsonrpc":"2.0","result":RESULT}', ["unknown id"] = answer("123456", "RESULT"),
  ["result and error"] = object("ID", '"result":RESULT,"error":{"code":1,"message":"no"}'),
  ["neither"] = '{"jsonrpc":"2.0","id":ID}', ["error string"] = object("ID", '"error":"no"'),
  ["error empty"] = object("ID", '"error":{}'), ["error null"] = object("ID", '"error":null'),
  ["error code string"] = object("ID", '"error":{"code":"x","message":"no"}'),
  ["error message number"] = object("ID", '"error":{"code":1,"message":17}'),
  ["error huge"] = object("ID", '"error":{"code":1,"message":"' .. ("no "):rep(100000) .. '"}'),
  ["error escapes"] = object("ID", '"error":{"code":1,"message":"\\u001b[2J\\u001b]0;x\\u0007\\n\\r"}'),
  ["result null"] = answer("ID", "null"), ["result array"] = answer("ID", "[]"),
  ["result string"] = answer("ID", '"x"'),
  ["result true"] = answer("ID", "true"), ["result nested"] = answer("ID", ("["):rep(100000) .. ("]"):rep(100000)),
  ["result empty"] = answer("ID", "{}"), ["names twice"] = answer("ID", '{"name":1,"name":2,"success":1,"success":2}'),
  ["wrong members"] = answer("ID", '{"name":1,"version":[],"operations":7,"capabilities":"x","tools":{},"content":3,'
    .. '"success":"maybe","message":{}}'),
  ["bad UTF-8"] = answer("ID", '"\xff\xfe\xc0\x80"'), ["lone surrogate"] = answer("ID", '"\\ud800"'),
  ["NUL"] = answer("ID", '"a\0b"'), ["number too large"] = answer("ID", "1e999"), ["NaN"] = answer("ID", "NaN"),
  ["many digits"] = answer("ID", ("9"):rep(100000)), ["trailing comma"] = answer("ID", '{"a":1,}'),
  ["comment"] = answer("ID", "/* no */ {}"), ["single quotes"] = "{'jsonrpc':'2.0','id':ID,'result':{}}",
  ["two values"] = answer("ID", "RESULT") .. " " .. answer("ID", "RESULT"),
  ["values"] = answer("ID", "[" .. ("{},"):rep(5000000) .. "{}]"),
  ["request instead"] = object("ID", '"method":"ping","params":{}'),
  ["method number"] = '{"jsonrpc":"2.0","id":ID,"method":17}',
  ["params string"] = object("ID", '"method":"x","params":"y"'),
  ["fine spaces"] = (" "):rep(100000) .. answer("ID", "RESULT"),
  ["fine other members"] = '{"x":[1,{"y":null}],"result":RESULT,"id":ID,"jsonrpc":"2.0","z":""}',
  ["fine escaped names"] = '{"\\u006asonrpc":"2.0","\\u0069d":ID,"resul\\u0074":RESULT}',
}

local function repeated(text, count) for _ = 1, count do send(text) end end

local function sleep(seconds) core.poll(seconds) end

-- What is more than one text. Each gets the id and the right result as texts.
local DEEDS = {
  ["fine byte by byte"] = function(id, result) framed(answer(id, result)):gsub(".", write) end,
  ["fine late"] = function(id, result)
    sleep(0.2)
    send(answer(id, result))
  end,
  ["fine answered twice"] = function(id, result) repeated(answer(id, result), 2) end,
  ["fine notifications first"] = function(id, result)
    repeated('{"jsonrpc":"2.0","method":"x/unknown","params":{"n":1}}', 20000)
    send(answer(id, result))
  end,
  ["fine requests first"] = function(id, result)
    for i = 1, 2000 do send(object(i + 1000000, '"method":"x/unknown","params":{}')) end
    send(answer(id, result))
  end,
  ["fine loud on stderr"] = function(id, result)
    for _ = 1, 200 do io.stderr:write(("x"):rep(100000), "\n") end
    send(answer(id, result))
  end,
  ["fine long on stderr"] = function(id, result)
    io.stderr:write(("x"):rep(10000000))
    send(answer(id, result))
  end,
  ["too long"] = function(id) send(answer(id, '"' .. ("x"):rep(70 << 20) .. '"')) end,
  ["no end"] = function()
    local text = ("x"):rep(1 << 20)
    for _ = 1, 200 do write(text) end
  end,
  ["words without end"] = function() for i = 1, 200000 do write("word " .. i .. "\n") end end,
  ["header of nonsense"] = function() write "Content-Length: -5\r\nContent-Length: 99999999999999999999\r\n\r\n" end,
  ["length too large"] = function(id, result) write("Content-Length: 100000\r\n\r\n" .. answer(id, result)) end,
  ["length too small"] = function(id, result) write("Content-Length: 5\r\n\r\n" .. answer(id, result)) end,
  ["silence"] = function() end,
  ["exit 0"] = function() os.exit(0) end,
  ["exit 3"] = function() os.exit(3) end,
  ["cut and exit"] = function(id, result)
    write(framed(answer(id, result)):sub(1, -10))
    os.exit(0)
  end,
  ["answered and exit"] = function(id, result)
    send(answer(id, result))
    os.exit(1)
  end,
  ["killed"] = function() os.execute(("kill -KILL %d"):format(core.getpid())) end,
  ["crash"] = function() os.execute(("kill -SEGV %d"):format(core.getpid())) end,
  ["stopped"] = function() os.execute(("kill -STOP %d"):format(core.getpid())) end,
  ["busy"] = function() while true do end end,
  ["stdout closed"] = function()
    io.stdout:close()
    sleep(600)
  end,
  ["stdin closed"] = function()
    io.stdin:close()
    sleep(600)
  end,
  ["ends but a child holds its pipes"] = function()
    os.execute "sleep 300 &"
    os.exit(0)
  end,
  ["deaf to SIGTERM"] = function() os.execute "trap '' TERM; exec 0<&-; sleep 300" end,
  ["fills the pipe and stops reading"] = function()
    local text = object(5, '"method":"x","params":["' .. ("y"):rep(10000) .. '"]')
    for _ = 1, 3000 do send(text) end
    sleep(600)
  end,
  ["questions without end"] = function() while true do send(object(5, '"method":"x/unknown"')) end end,
}

local function misbehave(id, result)
  local text = TEXTS[kind]
  if not text then return DEEDS[kind](id, result) end
  local values = { ID = id, RESULT = result }
  send((text:gsub("%u+", values)))
end

-- }======

local function list_kinds()
  for name in pairs(TEXTS) do print(name) end
  for name in pairs(DEEDS) do print(name) end
end

-- Whether a message is the one that gets the bad answer.
local function is_moment(method)
  if moment == "call" then return CALLS[method] == true end
  return method == "initialize"
end

local function serve()
  for text in read_message do
    local message = json.decode(text) or {}
    local id, result = message.id, RESULTS[dialect][message.method]
    if message.method == "shutdown" then
      send(answer(id, "null"))
    elseif message.method == "exit" then
      os.exit(0)
    elseif id and not result then
      send(object(id, '"error":{"code":-32601,"message":"Method not found"}'))
    elseif id and is_moment(message.method) then
      misbehave(json.encode(id), json.encode(result))
    elseif id then
      send(answer(json.encode(id), json.encode(result)))
    end
  end
end

if kind then serve() else list_kinds() end
