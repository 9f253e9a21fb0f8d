-- A plugin in plain Lua, for machines without pintle: gevals with extensions, and MCP. Strings stay as JSON writes
-- them. "greet" says hello, "wait" takes until it is cancelled, "where" returns an environment variable, "crash" ends
-- the plugin.

local function send(...)
  io.write('{"jsonrpc":"2.0",', string.format(...), "}\n")
  io.flush()
end

local function member(text, name) return text:match('"' .. name .. '":"([^"]*)"') end

-- The operation and the wording of the dialect, which the first message shows.
local dialect

-- {====== gevals ======

local gevals = { cancel = "cancel", operation = "operation" }

local OPERATION = '"%s":{"description":"","params":{"type":"object"}}'

gevals.manifest = ('{"name":"plain","version":"1.0.0","protocolVersion":"0.0.1","capabilities":["cancel","progress"],'
  .. '"operations":{%s,%s,%s,%s}}'):format(OPERATION:format "greet", OPERATION:format "wait",
  OPERATION:format "where", OPERATION:format "crash")

function gevals.log(text) send('"method":"log","params":{"level":"info","message":"%s"}', text) end

function gevals.progress(id) send('"method":"progress","params":{"id":%s,"value":0.5}', id) end

function gevals.answer(id, text) send('"id":%s,"result":{"success":true,"message":"%s"}', id, text) end

-- }======

-- {====== MCP ======

local mcp = { cancel = "notifications/cancelled", operation = "name" }

local TOOL = '{"name":"%s","inputSchema":{"type":"object"}}'
local TOOLS = ("[%s,%s,%s,%s]"):format(TOOL:format "greet", TOOL:format "wait", TOOL:format "where",
  TOOL:format "crash")

mcp.manifest = '{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"logging":{}},'
  .. '"serverInfo":{"name":"plain","version":"1.0.0"}}'

function mcp.log(text) send('"method":"notifications/message","params":{"level":"info","data":"%s"}', text) end

function mcp.progress(_, line)
  local token = line:match '"progressToken":("?[^",}]+"?)'
  if token then
    send('"method":"notifications/progress","params":{"progressToken":%s,"progress":0.5,"total":1}', token)
  end
end

function mcp.answer(id, text) send('"id":%s,"result":{"content":[{"type":"text","text":"%s"}]}', id, text) end

-- }======

local operations = {}

function operations.greet(id, line)
  dialect.log "greeting"
  dialect.progress(id, line)
  dialect.answer(id, "Hello, " .. (line:match '"arg%l*":{"name":"([^"]*)"' or "nobody"))
end

function operations.wait(id, line) dialect.progress(id, line) end

function operations.where(id, line) dialect.answer(id, os.getenv(member(line, "variable")) or "") end

function operations.crash()
  io.stderr:write "plain: a bad day\n"
  os.exit(5)
end

local methods = {}

function methods.initialize(id, line)
  dialect = line:find('"protocolVersion":"0.0.1"', 1, true) and gevals or mcp
  send('"id":%s,"result":%s', id, dialect.manifest)
end

methods["tools/list"] = function(id) send('"id":%s,"result":{"tools":%s}', id, TOOLS) end
methods["tools/call"] = function(id, line) operations[member(line, dialect.operation)](id, line) end
methods.execute = methods["tools/call"]

function methods.shutdown(id)
  send('"id":%s,"result":{}', id)
  os.exit(0)
end

function methods.cancel(_, line)
  local id = line:match '"requestId":(%d+)' or line:match '"id":(%d+)'
  io.stderr:write("cancelled ", id, "\n")
end

methods["notifications/cancelled"] = methods.cancel

for line in io.lines() do
  local id, method = line:match '"id":("?[^",}]+"?)', member(line, "method")
  if methods[method] then
    methods[method](id, line)
  elseif id then
    send('"id":%s,"error":{"code":-32601,"message":"Method not found"}', id)
  end
end
