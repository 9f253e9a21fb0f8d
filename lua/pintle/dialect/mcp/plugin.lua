-- The server's side of MCP.

local era = require "pintle.dialect.mcp.era"
local json = require("pintle.core").json
local lazy = require "pintle.lazy"
local jsonrpc = require "pintle.jsonrpc"
local wire = require "pintle.dialect.mcp.wire"

local catalog = lazy "pintle.dialect.mcp.catalog"
local notifications = lazy "pintle.dialect.mcp.notifications"
local questions = lazy "pintle.dialect.mcp.questions"
local tasks = lazy "pintle.dialect.mcp.tasks"
local tools = lazy "pintle.dialect.mcp.tools"

local RANK = wire.RANK

---@type pintle.dialect.plugin
local plugin = { has_content = true }

-- Since this version wrong arguments are a result with `isError`, which a model can read and correct.
local RETURNS_WRONG_ARGUMENTS = "2025-11-25"

-- {====== Handshake and discovery ======

local INITIALIZED = json.order { "protocolVersion", "capabilities", "serverInfo", "instructions" }

local function read_mcp_initialize(params)
  local ok, err = wire.check_required(params, "object", "params")
  if ok then ok, err = wire.check_required(params.protocolVersion, "string", "protocolVersion") end
  if ok then ok, err = jsonrpc.check(params.capabilities, "object", "capabilities") end
  if ok then ok, err = jsonrpc.check(params.clientInfo, "object", "clientInfo") end
  return ok, err
end

local function mcp_capability_names(capabilities)
  local set = {}
  for name in pairs(capabilities) do set[name] = true end
  return set
end

-- A modern request may have initialized the plugin already.
local function run_mcp_initializers(server)
  if server.phase ~= "new" then return true end
  return server:initialize()
end

-- The initializers see the client. If one of them fails, the client is forgotten.
local function begin_classic_mcp_session(server, client)
  local state, capabilities = server.state, server.capabilities
  if state.is_classic then
    return wire.refuse(jsonrpc.INVALID_REQUEST, "Invalid Request: initialize was sent already")
  end
  state.is_classic, state.client_capabilities = true, jsonrpc.given(client.capabilities) or {}
  server.client, server.capabilities = client, mcp_capability_names(state.client_capabilities)
  local ok, err = run_mcp_initializers(server)
  if ok then return true end
  state.is_classic, state.client_capabilities = nil, nil
  server.client, server.capabilities = nil, capabilities
  return nil, err
end

local function handle_mcp_initialize(server, params, request)
  request.is_uncancellable = true
  local ok, err = read_mcp_initialize(params)
  if not ok then return nil, err end
  ok, err = begin_classic_mcp_session(server, params)
  if not ok then return nil, err end
  local version = wire.is_classic(params.protocolVersion) and params.protocolVersion or wire.CLASSIC[1]
  server.state.version, server.state.returns_wrong_arguments = version, version >= RETURNS_WRONG_ARGUMENTS
  return setmetatable({
    protocolVersion = version,
    capabilities = era.capabilities(server.plugin, false),
    serverInfo = era.server_info(server.plugin),
    instructions = era.declaration(server.plugin).instructions,
  }, INITIALIZED)
end

local function handle_mcp_discover(server)
  return {
    supportedVersions = json.array { wire.MODERN },
    capabilities = era.capabilities(server.plugin, true),
    instructions = era.declaration(server.plugin).instructions,
  }
end

function plugin.manifest(self) return catalog.manifest(self) end

-- }======

-- {====== Handlers ======

local function set_client_log_level(server, params)
  local ok, err = wire.check_required(params, "object", "params")
  if ok then ok, err = wire.check_required(params.level, "string", "level") end
  if not ok then return nil, err end
  local rank = RANK[params.level]
  if not rank then return jsonrpc.invalid_params("level: there is no %q", params.level) end
  server.state.rank = rank
  return {}
end

local METHODS = {
  initialize = handle_mcp_initialize,
  ["server/discover"] = handle_mcp_discover,
  ping = function() return {} end,
  ["logging/setLevel"] = set_client_log_level,
  ["tools/list"] = function(...) return catalog.list_tools(...) end,
  ["subscriptions/listen"] = function(...) return notifications.listen(...) end,
}

-- Methods that are there if the server has a capability, and if the author does not handle them.
local BY_CAPABILITY = {
  ["resources/list"] = { "resources", catalog, "list_resources" },
  ["resources/templates/list"] = { "resources", catalog, "list_templates" },
  ["resources/read"] = { "resources", catalog, "read_resource" },
  ["resources/subscribe"] = { "resources", notifications, "subscribe" },
  ["resources/unsubscribe"] = { "resources", notifications, "unsubscribe" },
  ["prompts/list"] = { "prompts", catalog, "list_prompts" },
  ["prompts/get"] = { "prompts", catalog, "get_prompt" },
  ["completion/complete"] = { "completions", catalog, "complete" },
  ["tasks/get"] = { "extensions", tasks, "get" },
  ["tasks/update"] = { "extensions", tasks, "update" },
  ["tasks/cancel"] = { "extensions", tasks, "cancel" },
}

local function handle_mcp_by_capability(method)
  local capability, module, name = table.unpack(BY_CAPABILITY[method])
  return function(server, params, request)
    local own = era.capabilities(server.plugin, request.mcp.is_modern)[capability]
    local is_there = own and (own.subscribe or not method:find "subscribe$")
    if not is_there then return wire.unknown_method(method) end
    return module[name](server, params, request)
  end
end

function plugin.may_handle(server, request, params)
  if request.id == nil then return true end
  local meta, err = era.check(server, request, params)
  if not meta then return nil, err end
  era.attach(server, request, meta, params)
  local has_answers = type(params) == "table" and (params.requestState or params.inputResponses)
  if has_answers then return questions.receive(server, params, request) end
  return true
end

plugin.answer = era.answer_of_author

local function checked_mcp_handler(server, handle)
  return function(params, request)
    local ok, err = plugin.may_handle(server, request, params)
    if not ok or request.id == nil then return nil, err end
    return era.answer(server, request, handle(server, params, request))
  end
end

-- A cancellation ends a running request or a subscription.
local function mcp_cancellation_rules(server)
  return wire.cancellation(function(params)
    local id = params.requestId
    local is_subscription = id ~= nil and #server.state.subscriptions > 0 and notifications.end_subscription(server, id)
    if not is_subscription then return id end
  end)
end

function plugin.handlers(server)
  local state = server.state
  state.rank, state.logger, state.subscriptions = RANK.info, server.plugin.manifest.name, {}
  state.call = function(...) return questions.call(server, ...) end
  state.notify_subscribers = function(_, ...) return notifications.notify(server, ...) end
  server.notify = function(...) return notifications.notify(...) end
  wire.set_peer_rules(server.peer, mcp_cancellation_rules(server), wire.PROGRESS)
  local handlers = { ["notifications/initialized"] = function() end }
  for method, handle in pairs(METHODS) do handlers[method] = checked_mcp_handler(server, handle) end
  for method in pairs(BY_CAPABILITY) do
    local is_declared = server.plugin.methods[method] ~= nil
    if not is_declared then handlers[method] = checked_mcp_handler(server, handle_mcp_by_capability(method)) end
  end
  handlers["tools/call"] = function(params, request)
    local handler = tools.handler(server)
    server.peer:on("tools/call", handler)
    return handler(params, request)
  end
  return handlers
end

function plugin.ended(server)
  if server.state.waiting then questions.stop(server) end
  if server.state.tasks then tasks.stop(server) end
end

function plugin.operations_changed(server)
  server.state.has_changed_tools = true
  notifications.announce(server, "notifications/tools/list_changed")
end

-- }======

-- {====== Logs and progress ======

local LEVELS = { debug = "debug", info = "info", warn = "warning", error = "error" }

-- Params that are used again for each message: `notify` encodes them before it returns.
local MESSAGE = setmetatable({ level = "", logger = "", data = "" }, json.order { "level", "logger", "data" })
local DATA = setmetatable({ message = "", data = "" }, json.order { "message", "data" })
local REPORT = setmetatable({ progressToken = 0, progress = 0, total = 1, message = "" },
  json.order { "progressToken", "progress", "total", "message" })

-- The rank of the minimum level that the client asked for; nil if it asked for no logs.
local function mcp_minimum_log_rank(server, request)
  local of_request, state = request and request.mcp, server.state
  if of_request and of_request.is_modern then return of_request.rank end
  return state.is_classic and state.rank or nil
end

local function is_mcp_request_stopped(request) return (request.stopped or request.due) and request:cancelled() end

-- A client that has not asked for logs may not be sent any: they go to stderr.
local function log_mcp_to_stderr(server, level, message, data)
  if level ~= "debug" then server:note(level, message, data) end
  return true
end

function plugin.log(server, request, level, message, data)
  local sent_level, minimum = LEVELS[level], mcp_minimum_log_rank(server, request)
  if not minimum then return log_mcp_to_stderr(server, level, message, data) end
  if RANK[sent_level] < minimum or request and is_mcp_request_stopped(request) then return true end
  if data ~= nil then
    DATA.message, DATA.data = message, data
    message = DATA
  end
  MESSAGE.level, MESSAGE.logger, MESSAGE.data = sent_level, server.state.logger, message
  local ok, err = server.peer:notify("notifications/message", MESSAGE)
  if data ~= nil then DATA.data = "" end -- so that the data can be collected
  return ok, err
end

---Progress is sent if the client asked for it and if it has increased. A task keeps its last message.
function plugin.progress(server, request, fraction, message)
  local of_request = request.mcp
  local task = of_request and of_request.task
  if task then task.message = message or task.message end
  local token = of_request and of_request.token
  if token == nil or fraction <= of_request.reported or is_mcp_request_stopped(request) then return true end
  of_request.reported = fraction
  REPORT.progressToken, REPORT.progress, REPORT.message = token, fraction, message
  return server.peer:notify("notifications/progress", REPORT)
end

-- }======

return plugin
