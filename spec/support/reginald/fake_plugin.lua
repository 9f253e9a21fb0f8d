-- The common part of the plugins of both releases: they read messages, and exit at a message that is not exactly as
-- specified. The first argument is a file to which they write the messages that they read; the others select their
-- behaviour:
--   double    each answer is sent twice, and answers without a request are sent
--   silent    the handshake is not answered
--   idle      initialize is not answered
--   refusing  the handshake is refused
--   asking    sends a request to the host during a run, and logs the answer
--   untrue    a shutdown is answered with {}
local json = require("pintle.core").json
local strict = require "spec.support.reginald.strict"

local fake_plugin = { behaves = {} }

local record = arg[1] and assert(io.open(arg[1], "ab"))
if record then record:setvbuf "no" end
for i = 2, #arg do fake_plugin.behaves[arg[i]] = true end

local function die(reason)
  io.stderr:write("died: ", reason, "\n")
  os.exit(3)
end

-- {====== Messages ======

local function read_header()
  local length
  for line in io.lines(nil, "L") do
    if record then record:write(line) end
    if line == "\r\n" then return length or die "no Content-Length" end
    local name, value = line:match "^([%a-]+): *([^\r\n]*)\r\n$"
    if name ~= "Content-Length" then die("unexpected header " .. line) end
    length = math.tointeger(value)
  end
end

local function read()
  local length = read_header()
  if not length then return nil end
  local body = io.read(length)
  if not body or #body < length then die "a body that is cut short" end
  if record then record:write(body, "\n") end
  return assert(json.decode(body))
end

-- The header and the body in two writes.
function fake_plugin.write(body)
  io.stdout:write(("Content-Length: %d\r\n\r\n"):format(#body))
  io.stdout:flush()
  io.stdout:write(body)
  io.stdout:flush()
end
local write = fake_plugin.write

local function answer(id, member)
  local body = ('{"jsonrpc":"2.0","id":%d,%s}'):format(id, member)
  write(body)
  if not fake_plugin.behaves.double then return end
  write(body)
  write '{"jsonrpc":"2.0","id":987654,"result":{}}'
  write '{"jsonrpc":"2.0","id":"unknown","error":{"code":1,"message":"m"}}'
  write '{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}'
end

-- Sends a request to the host, and returns the answer as text.
function fake_plugin.ask(method)
  write(('{"jsonrpc":"2.0","id":1,"method":"%s","params":null}'):format(method))
  return json.encode(read())
end

-- }======

-- {====== Serving ======

local REQUEST = { jsonrpc = strict.one_of "2.0", id = "integer", method = "string", params = "any" }
local NOTIFICATION = { jsonrpc = strict.one_of "2.0", method = strict.one_of "exit", params = "null" }

local function must(value, rule, where)
  local ok, mistake = strict.check(value, rule, where)
  if not ok then die(mistake) end
end

local function handle(plugin, message)
  local method = message.method
  if not plugin.params[method] then
    return answer(message.id, '"error":{"code":-32601,"message":"method not found"}')
  end
  must(message.params, plugin.params[method], method)
  local result, err = plugin.handlers[method](message.params)
  if result then return answer(message.id, '"result":' .. result) end
  if err then answer(message.id, '"error":' .. json.encode(err)) end
end

-- After a shutdown the real plugin answers each request twice, but still checks the params.
local function refuse(plugin, message)
  if plugin.params[message.method] then must(message.params, plugin.params[message.method], message.method) end
  local body = ('{"jsonrpc":"2.0","id":%d,"error":{"code":-32600,"message":"shut down"}}'):format(message.id)
  write(body)
  write(body)
end

-- `plugin` has params (rules by method) and handlers (a result as text, or nil and an error).
function fake_plugin.serve(plugin)
  local is_over = false
  for message in read do
    if message.id == nil then
      must(message, NOTIFICATION, "notification")
      os.exit(0)
    end
    must(message, REQUEST, "request")
    if is_over then refuse(plugin, message) else handle(plugin, message) end
    is_over = is_over or message.method == "shutdown"
  end
end

-- }======

return fake_plugin
