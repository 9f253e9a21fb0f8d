-- The server's side of MCP.

local era = require "pintle.dialect.mcp.era"
local json = require("pintle.core").json
local lazy = require "pintle.lazy"
local jsonrpc = require "pintle.jsonrpc"
local tools = lazy "pintle.dialect.mcp.tools"
local wire = require "pintle.dialect.mcp.wire"

local RANK = wire.RANK

---@type pintle.dialect.plugin
local plugin = {}

-- {====== Handshake and discovery ======

local INITIALIZED = json.order { "protocolVersion", "capabilities", "serverInfo", "instructions" }

local function read_initialize(params)
  local ok, err = wire.check_required(params, "object", "params")
  if ok then ok, err = wire.check_required(params.protocolVersion, "string", "protocolVersion") end
  if ok then ok, err = jsonrpc.check(params.capabilities, "object", "capabilities") end
  if ok then ok, err = jsonrpc.check(params.clientInfo, "object", "clientInfo") end
  return ok, err
end

local function names_of(capabilities)
  local set = {}
  for name in pairs(capabilities) do set[name] = true end
  return set
end

-- A modern request may have initialized the plugin already.
local function run_initializers(server)
  if server.phase ~= "new" then return true end
  return server:initialize()
end

-- The initializers see the client. If one of them fails, the client is forgotten.
local function begin(server, client)
  local state, capabilities = server.state, server.capabilities
  if state.is_classic then
    return wire.refuse(jsonrpc.INVALID_REQUEST, "Invalid Request: initialize was sent already")
  end
  state.is_classic, state.client_capabilities = true, jsonrpc.given(client.capabilities) or {}
  server.client, server.capabilities = client, names_of(state.client_capabilities)
  local ok, err = run_initializers(server)
  if ok then return true end
  state.is_classic, state.client_capabilities = nil, nil
  server.client, server.capabilities = nil, capabilities
  return nil, err
end

local function initialize(server, params, request)
  request.is_uncancellable = true
  local ok, err = read_initialize(params)
  if not ok then return nil, err end
  ok, err = begin(server, params)
  if not ok then return nil, err end
  local version = params.protocolVersion
  return setmetatable({
    protocolVersion = wire.is_classic(version) and version or wire.CLASSIC[1],
    capabilities = era.capabilities(server.plugin, false),
    serverInfo = era.server_info(server.plugin),
    instructions = era.declaration(server.plugin).instructions,
  }, INITIALIZED)
end

local function discover(server)
  return {
    supportedVersions = json.array { wire.MODERN },
    capabilities = era.capabilities(server.plugin, true),
    instructions = era.declaration(server.plugin).instructions,
  }
end

local MANIFEST = json.order { "serverInfo", "capabilities", "instructions", "tools" }

function plugin.manifest(self)
  return setmetatable({
    serverInfo = era.server_info(self), capabilities = era.capabilities(self, true),
    instructions = era.declaration(self).instructions, tools = tools.of(self.manifest, 1, math.huge),
  }, MANIFEST)
end

-- }======

-- {====== Subscriptions ======

-- In the modern era a client is notified of changes only while it has a request `subscriptions/listen` open. Every
-- notification has the id of that request. The request itself is never answered.

local MOST_SUBSCRIPTIONS = 64

-- The member of a subscription that asks for a notification, and the capability that the server needs for it.
local LIST_CHANGES = {
  ["notifications/tools/list_changed"] = { "toolsListChanged", "tools" },
  ["notifications/prompts/list_changed"] = { "promptsListChanged", "prompts" },
  ["notifications/resources/list_changed"] = { "resourcesListChanged", "resources" },
}
local UPDATED = "notifications/resources/updated"

local ACKNOWLEDGED = json.order { "_meta", "notifications" }

-- An id that is not a plain value is sent back as text.
local function sendable_id(id) return type(id) == "userdata" and json.raw(tostring(id)) or id end

local function set_of(list)
  local set = {}
  for _, item in ipairs(list) do set[item] = true end
  return set
end

-- The part of a requested subscription that the server supports.
local function supported_part(server, requested)
  local capabilities, supported = era.capabilities(server.plugin, true), {}
  for _, names in pairs(LIST_CHANGES) do
    local capability = capabilities[names[2]]
    if requested[names[1]] == true and capability and capability.listChanged then supported[names[1]] = true end
  end
  local resources = jsonrpc.given(requested.resourceSubscriptions)
  if resources and capabilities.resources and capabilities.resources.subscribe then
    supported.resourceSubscriptions = json.array(table.move(resources, 1, #resources, 1, {}))
  end
  return supported
end

local function read_subscription(params)
  local ok, err = wire.check_required(params.notifications, "object", "notifications")
  local requested = ok and params.notifications
  if ok then
    ok, err = jsonrpc.check(requested.resourceSubscriptions, "array", "notifications.resourceSubscriptions")
  end
  return ok and requested or nil, err
end

local function subscribe(server, params, request)
  local requested, err = read_subscription(params)
  if not requested then return nil, err end
  local list = server.state.subscriptions
  if #list >= MOST_SUBSCRIPTIONS then
    local problem = "Invalid Request: there are %d subscriptions already"
    return wire.refuse(jsonrpc.INVALID_REQUEST, problem, MOST_SUBSCRIPTIONS)
  end
  local wanted = supported_part(server, requested)
  local id = sendable_id(request.id)
  list[#list + 1] = { id = id, wanted = wanted, uris = set_of(wanted.resourceSubscriptions or {}) }
  request.id = nil -- so that the request is not answered
  server.peer:notify("notifications/subscriptions/acknowledged",
    setmetatable({ _meta = { [wire.META.subscription] = id }, notifications = wanted }, ACKNOWLEDGED))
end

-- Returns whether there was a subscription with this id.
local function unsubscribe(server, id)
  local list = server.state.subscriptions
  for i, subscription in ipairs(list) do
    local own = subscription.id
    if own == id or type(own) == "userdata" and tostring(own) == json.encode(id) then
      table.remove(list, i)
      return true
    end
  end
  return false
end

local function is_wanted(subscription, method, params)
  if method == UPDATED then return type(params) == "table" and subscription.uris[params.uri] end
  return subscription.wanted[LIST_CHANGES[method][1]]
end

-- Sends a notification that belongs to no request. Changes are sent to a classic client and to subscribers.
local function notify(server, method, params)
  if method ~= UPDATED and not LIST_CHANGES[method] then return server.peer:notify(method, params) end
  if server.state.is_classic then server.peer:notify(method, params) end
  for _, subscription in ipairs(server.state.subscriptions) do
    if is_wanted(subscription, method, params) then
      server.peer:notify(method, wire.with_meta(params, { [wire.META.subscription] = subscription.id }))
    end
  end
  return true
end

-- }======

-- {====== Handlers ======

local function set_level(server, params)
  local ok, err = wire.check_required(params, "object", "params")
  if ok then ok, err = wire.check_required(params.level, "string", "level") end
  if not ok then return nil, err end
  local rank = RANK[params.level]
  if not rank then return wire.invalid_params("level: there is no %q", params.level) end
  server.state.rank = rank
  return {}
end

local METHODS = {
  initialize = initialize,
  ["server/discover"] = discover,
  ping = function() return {} end,
  ["logging/setLevel"] = set_level,
  ["tools/list"] = function(...) return tools.list(...) end,
  ["subscriptions/listen"] = subscribe,
}

function plugin.may_handle(server, request, params)
  if request.id == nil then return true end
  local meta, err = era.check(server, request, params)
  if not meta then return nil, err end
  era.attach(server, request, meta)
  return true
end

plugin.answer = era.answer_of_author

local function handler_of(server, handle)
  return function(params, request)
    local ok, err = plugin.may_handle(server, request, params)
    if not ok or request.id == nil then return nil, err end
    return era.answer(server, request, handle(server, params, request))
  end
end

-- A cancellation ends a running request or a subscription.
local function cancellation_of(server)
  return wire.cancellation(function(params)
    local id = params.requestId
    if id ~= nil and not unsubscribe(server, id) then return id end
  end)
end

function plugin.handlers(server)
  local state = server.state
  state.rank, state.logger, state.subscriptions = RANK.info, server.plugin.manifest.name, {}
  state.notify_subscribers = function(_, ...) return notify(server, ...) end
  server.notify = notify
  wire.set_peer_rules(server.peer, cancellation_of(server), wire.PROGRESS)
  local handlers = { ["notifications/initialized"] = function() end }
  for method, handle in pairs(METHODS) do handlers[method] = handler_of(server, handle) end
  handlers["tools/call"] = function(params, request)
    local handler = tools.handler(server)
    server.peer:on("tools/call", handler)
    return handler(params, request)
  end
  return handlers
end

-- }======

-- {====== Logs and progress ======

local LEVELS = { debug = "debug", info = "info", warn = "warning", error = "error" }

local MESSAGE = json.order { "level", "logger", "data" }
local DATA = json.order { "message", "data" }
local REPORT = json.order { "progressToken", "progress", "total", "message" }

-- The rank of the minimum level that the client asked for; nil if it asked for no logs.
local function minimum_rank(server, request)
  local of_request = request and request.mcp
  if of_request and of_request.is_modern then return of_request.rank end
  return server.state.is_classic and server.state.rank or nil
end

local function is_stopped(request) return (request.stopped or request.due) and request:cancelled() end

-- A client that has not asked for logs may not be sent any: they go to stderr.
local function log_to_stderr(server, level, message, data)
  if level ~= "debug" then server:note(level, message, data) end
  return true
end

function plugin.log(server, request, level, message, data)
  local sent_level, minimum = LEVELS[level], minimum_rank(server, request)
  if not minimum then return log_to_stderr(server, level, message, data) end
  if RANK[sent_level] < minimum or request and is_stopped(request) then return true end
  if data ~= nil then message = setmetatable({ message = message, data = data }, DATA) end
  return server.peer:notify("notifications/message",
    setmetatable({ level = sent_level, logger = server.state.logger, data = message }, MESSAGE))
end

---Progress is sent if the client asked for it and if it has increased.
function plugin.progress(server, request, fraction, message)
  local of_request = request.mcp
  local token = of_request and of_request.token
  if token == nil or fraction <= of_request.reported or is_stopped(request) then return true end
  of_request.reported = fraction
  return server.peer:notify("notifications/progress",
    setmetatable({ progressToken = token, progress = fraction, total = 1, message = message }, REPORT))
end

-- }======

return plugin
