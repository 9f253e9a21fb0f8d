-- Plays an MCP server in plain lines of JSON, strictly or badly: lua5.4 spec/support/mcp_server.lua BEHAVIOUR HEARD
-- See mcp_fake.lua.
local core = require "pintle.core"
local fake = require "spec.support.mcp_fake"

local json = core.json

local behaviour, read, write = arg[1], fake.read, fake.write

local function answer(request, result) write { id = request.id, result = result } end
local function refuse(request, code, message, data)
  write { id = request.id, error = { code = code, message = message, data = data } }
end
local function tell(method, params) write { method = method, params = params } end

-- Sends a request to the client, and waits for the response.
local function ask(method, params)
  write { id = "q", method = method, params = params }
  return read()
end

local function sleep(seconds) core.poll(seconds) end

local function text(words, more)
  local result = more or {}
  result.content = { { type = "text", text = words } }
  return result
end

-- {====== Tools ======

local ANY = { type = "object" }
local INTEGER = { type = "object", required = { "n" }, properties = { n = { type = "integer" } } }

local TOOLS = { {
  { name = "echo", description = "Says it again", inputSchema = INTEGER, title = "Echo",
    annotations = { readOnlyHint = true }, icons = { { src = "data:," } }, _meta = { ["x/y"] = 1 },
    execution = { taskSupport = "forbidden" } },
  { name = "broken", inputSchema = ANY, outputSchema = INTEGER },
  { name = "hold", inputSchema = ANY, title = json.null },
}, {
  { name = "crooked", inputSchema = { type = "objekt" } },
  { name = "ask", inputSchema = ANY },
  { name = "show", inputSchema = ANY },
} }

local function list_tools(request)
  local cursor = request.params and request.params.cursor
  if cursor == nil then return answer(request, { tools = TOOLS[1], nextCursor = "two" }) end
  if cursor ~= "two" then return refuse(request, -32602, "no such cursor") end
  answer(request, { tools = TOOLS[2] })
end

local calls = {}

function calls.echo(request)
  local token = request.params._meta and request.params._meta.progressToken
  if token then
    tell("notifications/progress", { progressToken = token, progress = 1, total = 4, message = "quarter" })
    tell("notifications/progress", { progressToken = token, progress = 3, message = "who knows" })
    tell("notifications/progress", { progressToken = token, progress = 9, total = 4 })
    tell("notifications/progress", { progressToken = "another", progress = 1, total = 1 })
  end
  local n = request.params.arguments.n
  answer(request, { content = {
    { type = "text", text = "n is " .. n }, { type = "image", data = "", mimeType = "image/png" },
    { type = "text", text = '{"n":' .. n .. "}" }, { type = "text", text = "and that is all" },
  }, structuredContent = { n = n } })
end

local PIXEL = "iVBORw0KGgo="

local SHOWN = {
  image = { { type = "image", data = PIXEL, mimeType = "image/png" } },
  all = {
    { type = "text", text = "see" }, { type = "image", data = PIXEL, mimeType = "image/png" },
    { type = "audio", data = "AAEC", mimeType = "audio/wav" },
    { type = "resource", resource = { uri = "x:a", mimeType = "application/pdf", blob = "JVBERg==" } },
    { type = "resource", resource = { uri = "x:b", text = "b" } },
    { type = "resource_link", uri = "x:c", name = "c" },
  },
  crooked = { { type = "image", data = "no base64!", mimeType = "image/png" }, "odd", { type = "hologram" } },
  list = { { type = "text", text = "[1,2]" } },
}
local STRUCTURED = { list = { 1, 2 } }

function calls.show(request)
  local which = request.params.arguments.which
  answer(request, { content = SHOWN[which], structuredContent = STRUCTURED[which] })
end

function calls.broken(request) answer(request, text("x", { structuredContent = { n = "x" } })) end
function calls.hold() end
function calls.crooked(request) answer(request, text("got " .. json.encode(request.params.arguments))) end

function calls.ask(request)
  local answers = {}
  for i, method in ipairs { "ping", "roots/list", "sampling/createMessage", "elicitation/create", "unheard/of" } do
    local response = ask(method, {})
    answers[i] = response.error and response.error.code or response.result
  end
  answer(request, text(json.encode(answers)))
end

local function call_tool(request) calls[request.params.name](request) end

-- }======

-- {====== Eras ======

local CLASSIC = {
  protocolVersion = "2025-11-25", capabilities = { tools = { listChanged = true }, logging = {} },
  serverInfo = { name = "old", version = "1" }, instructions = "Be gentle.",
}

-- The classic era: no request is valid before the handshake.
local function serve_classic(told, on_stranger)
  local is_open = false
  for message in read do
    if message.method == "initialize" then
      answer(message, told or CLASSIC)
    elseif message.method == "notifications/initialized" then
      is_open = true
    elseif not is_open then
      on_stranger(message)
    elseif message.method == "tools/list" then
      list_tools(message)
    elseif message.method == "tools/call" then
      call_tool(message)
    elseif message.method == "logging/setLevel" then
      answer(message, {})
    elseif message.method == "tell" then
      tell(message.params.method, message.params.params)
      answer(message, {})
    elseif message.id ~= nil then
      refuse(message, -32601, "Method not found")
    end
  end
end

local function refuse_stranger(message) refuse(message, -32601, "Method not found") end

local META = "io.modelcontextprotocol/"

local function modern(result)
  result.resultType = result.resultType or "complete"
  result._meta = { [META .. "serverInfo"] = { name = "new", version = "2026.7" } }
  return result
end

local DISCOVERED = {
  supportedVersions = { "2026-07-28" }, capabilities = { tools = { listChanged = true }, logging = {} },
  instructions = "Be quick.", ttlMs = 0, cacheScope = "private",
}

local function has_envelope(request)
  local meta = request.params and request.params._meta
  if not meta or meta[META .. "protocolVersion"] ~= "2026-07-28" then return false end
  return type(meta[META .. "clientCapabilities"]) == "table"
end

local listening
local answers = {
  ["server/discover"] = function(request) answer(request, modern(DISCOVERED)) end,
  ["tools/list"] = function(request) answer(request, modern { tools = TOOLS[1], ttlMs = 0, cacheScope = "public" }) end,
  ["resources/read"] = function(request)
    if request.params.inputResponses then
      return answer(request, modern { contents = { request.params.inputResponses, request.params.requestState } })
    end
    answer(request, modern {
      resultType = "input_required", requestState = "opaque", inputRequests = {
        where = { method = "roots/list" }, who = { method = "elicitation/create", params = { message = "Who?" } },
      },
    })
  end,
  ["prompts/get"] = function(request)
    answer(request, modern { resultType = "input_required", requestState = "more" })
  end,
  ["subscriptions/listen"] = function(request)
    listening = request.id
    tell("notifications/subscriptions/acknowledged", {
      _meta = { [META .. "subscriptionId"] = request.id }, notifications = request.params.notifications,
    })
  end,
  grow = function(request)
    table.insert(TOOLS[1], { name = "new", inputSchema = ANY })
    tell("notifications/tools/list_changed", { _meta = { [META .. "subscriptionId"] = listening } })
    answer(request, modern {})
  end,
  ["tools/call"] = function(request)
    answer(request, modern(text("called", { resultType = behaviour == "peculiar" and "hologram" or nil })))
  end,
}

-- The modern era: every request has all metadata.
local function serve_modern_message(message)
  if message.id == nil then
    tell("heard", message)
  elseif not has_envelope(message) then
    refuse(message, -32602, "the envelope is missing")
  elseif answers[message.method] then
    answers[message.method](message)
  else
    refuse(message, -32601, "Method not found")
  end
end

local function serve_modern()
  for message in read do serve_modern_message(message) end
end

-- }======

local list_tools_of_classic = list_tools

-- Refuses server/discover and initialize with a list of versions until one of them is the only good one.
local function serve_negotiating(listed, good)
  for message in read do
    if message.method == "initialize" and message.params.protocolVersion == good then
      answer(message, { protocolVersion = good, capabilities = {}, serverInfo = { name = "picky" } })
      return serve_classic(nil, refuse_stranger)
    elseif message.method == "initialize" then
      refuse(message, -32602, "Unsupported protocol version", { supported = listed })
    else
      refuse(message, -32601, "Method not found")
    end
  end
end

local function with_lists(list)
  list_tools = list
  serve_classic(nil, refuse_stranger)
end

local function supporting(versions)
  return function(message) refuse(message, -32022, "Unsupported protocol version", { supported = versions }) end
end

local behaviours = {
  classic = function() serve_classic(nil, refuse_stranger) end,
  silent = function() serve_classic(nil, function() end) end,
  touchy = function() serve_classic(nil, function() os.exit(3) end) end,
  touchy_and_slow = function()
    sleep(1.2)
    serve_classic(nil, function() os.exit(3) end)
  end,
  mute = function() for _ in read do end end,
  modern = serve_modern,
  peculiar = serve_modern,
  sleepy = function()
    sleep(0.8)
    serve_modern()
  end,
  odd = function() serve_classic(nil, function(message) answer(message, "hello") end) end,
  old = function() serve_classic(nil, supporting { "2025-06-18", "2024-11-05" }) end,
  future = function() serve_classic(nil, supporting { "2031-01-01" }) end,
  ahead = function()
    serve_classic({ protocolVersion = "2031-01-01", capabilities = {}, serverInfo = {} }, refuse_stranger)
  end,
  bare = function()
    serve_classic({ protocolVersion = "2024-11-05", serverInfo = { name = "bare" } }, refuse_stranger)
  end,
  endless = function()
    local page = 0
    with_lists(function(request)
      page = page + 1
      answer(request, { tools = { { name = "t" .. page, inputSchema = ANY } }, nextCursor = "c" .. page })
    end)
  end,
  stuck = function()
    with_lists(function(request) answer(request, { tools = TOOLS[1], nextCursor = "again" }) end)
  end,
  careless = function()
    with_lists(function(request)
      answer(request, { tools = { { name = "twice", inputSchema = ANY }, { description = "nameless" },
        { name = "twice", description = "second", inputSchema = ANY }, { name = "schemaless" } } })
    end)
  end,
  shy = function()
    local count = 0
    with_lists(function(request)
      count = count + 1
      if count < 3 then return refuse(request, -32603, "no list today") end
      list_tools_of_classic(request)
    end)
  end,
  downgrading = function()
    serve_negotiating({ "2025-06-18", "2024-11-05" }, "2024-11-05")
  end,
  upgrading = function()
    local is_open = false
    for message in read do
      if not is_open and message.method == "server/discover" then
        refuse(message, -32601, "Method not found")
      elseif message.method == "initialize" then
        is_open = true
        refuse(message, -32022, "Unsupported protocol version", { supported = { "2026-07-28" } })
      else
        serve_modern_message(message)
      end
    end
  end,
  listless = function() with_lists(function(request) answer(request, { tools = "none" }) end) end,
  restless = function()
    local count = 0
    with_lists(function(request)
      count = count + 1
      if count == 1 or count == 3 then tell "notifications/tools/list_changed" end
      answer(request, { tools = { { name = "t" .. count, inputSchema = ANY } } })
    end)
  end,
  growing = function()
    with_lists(function(request)
      answer(request, { tools = { { name = "t" .. #TOOLS[1], inputSchema = ANY } } })
      table.insert(TOOLS[1], {})
    end)
  end,
}

behaviours[behaviour]()
