-- Plays an MCP server with resources, prompts, completions and subscriptions in plain lines of JSON:
-- lua5.4 spec/support/mcp_library.lua classic|modern HEARD; see mcp_fake.lua.
local core = require "pintle.core"
local fake = require "spec.support.mcp_fake"

local json = core.json

local is_modern, write, answer, refuse = fake.is_modern, fake.write, fake.answer, fake.refuse

local META = "io.modelcontextprotocol/"
local CAPABILITIES = {
  tools = {}, resources = { subscribe = true, listChanged = true }, prompts = { listChanged = true }, completions = {},
}

-- {====== Subscriptions ======

local subscribed = {} -- ids of streams (modern) or true (classic), by URI
local lists -- the id of the stream of lists

local function notify(method, params, id)
  if id then params._meta = { [META .. "subscriptionId"] = id } end
  write { method = method, params = params }
end

-- A resource "refused:…" cannot be subscribed to, and the subscription of "silent:…" is not acknowledged.
local function listen(request)
  local wanted = request.params.notifications
  local uri = wanted.resourceSubscriptions and wanted.resourceSubscriptions[1]
  if not uri then
    lists = request.id
  elseif uri:find "^refused:" then
    wanted = json.decode "{}"
  else
    subscribed[uri] = request.id
  end
  if uri and uri:find "^silent:" then return end
  notify("notifications/subscriptions/acknowledged", { notifications = wanted }, request.id)
end

local function id_of(uri) return is_modern and subscribed[uri] or nil end

-- }======

local PIXEL = "iVBORw0KGgo="

local PAGES = {
  ["resources/list"] = { "resources", {
    { { uri = "book:emma", name = "emma", title = "Emma", mimeType = "text/plain" } },
    { { uri = "book:cover", name = "cover", mimeType = "image/png", size = 8 } },
  } },
  ["resources/templates/list"] = { "resourceTemplates", { { { uriTemplate = "book:{title}", name = "book" } } } },
  ["prompts/list"] = { "prompts", { { { name = "praise", arguments = { { name = "title", required = true } } } } } },
}

local function list(request, member, pages)
  local number = math.tointeger(tonumber(request.params and request.params.cursor or "1"))
  answer(request, { [member] = pages[number], nextCursor = pages[number + 1] and tostring(number + 1) })
end

local CONTENTS = {
  ["book:emma"] = { { uri = "book:emma", mimeType = "text/plain", text = "Emma Woodhouse, handsome, …" } },
  ["book:cover"] = { { uri = "book:cover", mimeType = "image/png", blob = PIXEL } },
  ["book:odd"] = "odd",
}

local calls = {}

-- Sends a notification without being asked for it.
function calls.notify(request, args)
  local id = nil
  if is_modern then id = args.uri and subscribed[args.stream or args.uri] or lists end
  notify(args.method, { uri = args.uri }, id)
  answer(request, { content = json.array() })
end

function calls.finish(request, args)
  answer({ id = args.uri and subscribed[args.uri] or lists }, {})
  if args.uri then subscribed[args.uri] = nil else lists = nil end
  answer(request, { content = json.array() })
end

function calls.cancel(request, args)
  notify("notifications/cancelled", { requestId = args.uri and subscribed[args.uri] or lists })
  if args.uri then subscribed[args.uri] = nil else lists = nil end
  answer(request, { content = json.array() })
end

function calls.die() os.exit(1) end

function calls.pid(request) answer(request, { content = { { type = "text", text = tostring(core.getpid()) } } }) end

local methods = {}

methods["server/discover"] = function(request)
  if not is_modern then return refuse(request, -32601, "Method not found") end
  answer(request, { supportedVersions = { "2026-07-28" }, capabilities = CAPABILITIES })
end

methods.initialize = function(request)
  if is_modern then return refuse(request, -32601, "Method not found") end
  answer(request, {
    protocolVersion = "2025-11-25", capabilities = CAPABILITIES, serverInfo = { name = "library", version = "1" },
  })
end

methods["tools/list"] = function(request)
  local tools = {}
  for name in pairs(calls) do tools[#tools + 1] = { name = name, inputSchema = { type = "object" } } end
  answer(request, { tools = tools })
end

methods["tools/call"] = function(request) calls[request.params.name](request, request.params.arguments) end

for method, how in pairs(PAGES) do
  methods[method] = function(request) list(request, how[1], how[2]) end
end

methods["resources/read"] = function(request)
  local contents = CONTENTS[request.params.uri]
  if request.params.uri == "book:slow" then return end
  if not contents then return refuse(request, -32002, "Resource not found") end
  answer(request, { contents = contents })
end

methods["prompts/get"] = function(request)
  local given = request.params.arguments or {}
  answer(request, { description = "Praises a book", messages = {
    { role = "user", content = { type = "text", text = "Praise " .. tostring(given.title) } },
    { role = "user", content = { type = "image", data = PIXEL, mimeType = "image/png" } },
  } })
end

methods["completion/complete"] = function(request)
  local params = request.params
  answer(request, { completion = {
    values = { params.ref.type, params.ref.name or params.ref.uri, params.argument.name, params.argument.value,
      params.context and params.context.arguments.author or "nothing known" },
    total = 7, hasMore = true,
  } })
end

methods["resources/subscribe"] = function(request)
  if request.params.uri:find "^silent:" then return end
  if request.params.uri:find "^refused:" then return refuse(request, -32602, "cannot be subscribed to") end
  subscribed[request.params.uri] = true
  answer(request, {})
end

methods["resources/unsubscribe"] = function(request)
  subscribed[request.params.uri] = nil
  answer(request, {})
end

methods["subscriptions/listen"] = listen

methods["notifications/cancelled"] = function(message)
  for uri in pairs(subscribed) do
    if id_of(uri) == message.params.requestId then subscribed[uri] = nil end
  end
end

fake.serve(methods)
