-- The side of the server.

local era = require "pintle.dialect.mcp.era"
local identity = require "pintle.dialect.mcp.identity"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local lazy = require "pintle.lazy"
local results = require "pintle.dialect.mcp.result"
local subscriptions = lazy "pintle.dialect.mcp.subscriptions"
local tools = lazy "pintle.dialect.mcp.tools"
local wire = require "pintle.dialect.mcp.wire"

local RANK, TOLD = wire.RANK, wire.TOLD

local plugin = {}

-- {====== Getting to know each other ======

local INITIALIZED = json.order { "protocolVersion", "capabilities", "serverInfo", "instructions" }

local function read_initialize(params)
  local ok, err = wire.need(params, "object", "params")
  if ok then ok, err = wire.need(params.protocolVersion, "string", "protocolVersion") end
  if ok then ok, err = jsonrpc.check(params.capabilities, "object", "capabilities") end
  if ok then ok, err = jsonrpc.check(params.clientInfo, "object", "clientInfo") end
  return ok, err
end

local function names_of(capabilities)
  local set = {}
  for name in pairs(capabilities) do set[name] = true end
  return set
end

-- The plugin may have begun already, with a request of the other era.
local function run_initializers(server)
  if server.phase ~= "new" then return true end
  return server:initialize()
end

-- The initializers see the client; if one of them refuses it, there is none.
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
  request.is_firm = true
  local ok, err = read_initialize(params)
  if not ok then return nil, err end
  ok, err = begin(server, params)
  if not ok then return nil, err end
  local version = params.protocolVersion
  return setmetatable({
    protocolVersion = wire.is_classic(version) and version or wire.CLASSIC[1],
    capabilities = identity.capabilities(server.plugin, false),
    serverInfo = identity.info(server.plugin),
    instructions = identity.declared(server.plugin).instructions,
  }, INITIALIZED)
end

local function discover(server)
  return {
    supportedVersions = json.array { wire.MODERN },
    capabilities = identity.capabilities(server.plugin, true),
    instructions = identity.declared(server.plugin).instructions,
  }
end

local MANIFEST = json.order { "serverInfo", "capabilities", "instructions", "tools" }

---@param self pintle.plugin
---@return table
function plugin.manifest(self)
  return setmetatable({
    serverInfo = identity.info(self), capabilities = identity.capabilities(self, true),
    instructions = identity.declared(self).instructions, tools = tools.of(self.manifest, 1, math.huge),
  }, MANIFEST)
end

-- }======

-- {====== Being asked ======

local function set_level(server, params)
  local ok, err = wire.need(params, "object", "params")
  if ok then ok, err = wire.need(params.level, "string", "level") end
  if not ok then return nil, err end
  local rank = RANK[params.level]
  if not rank then
    return wire.refuse(jsonrpc.INVALID_PARAMS, "Invalid params: level: there is no %q", params.level)
  end
  server.state.rank = rank
  return {}
end

local function nothing() return {} end

local METHODS = {
  initialize = initialize,
  ["server/discover"] = discover,
  ping = nothing,
  ["logging/setLevel"] = set_level,
  ["tools/list"] = function(...) return tools.list(...) end,
  ["subscriptions/listen"] = function(...) return subscriptions.listen(...) end,
}

---@param server pintle.server
---@param request pintle.request
---@param params any
---@return true?, pintle.error?
function plugin.admit(server, request, params)
  if request.id == nil then return true end
  local meta, err = era.check(server, request, params)
  if not meta then return nil, err end
  era.keep(server, request, meta)
  return true
end

plugin.answer = results.of_author

local function handler_of(server, handle)
  return function(params, request)
    local ok, err = plugin.admit(server, request, params)
    if not ok or request.id == nil then return nil, err end
    return results.of(server, request, handle(server, params, request))
  end
end

-- What ends is a request that works, or one that listens.
local function cancellation_of(server)
  return wire.cancellation(function(params)
    local id = params.requestId
    if id ~= nil and not (server.state.listeners and subscriptions.cancel(server, id)) then return id end
  end)
end

---@param server pintle.server
---@return table<string, pintle.handler>
function plugin.handlers(server)
  server.state.rank, server.state.logger = RANK.info, server.plugin.manifest.name
  server.peer:adopt { cancellation = cancellation_of(server), progress = wire.PROGRESS, codes = wire.CODES }
  server.notify = function(...) return subscriptions.notify(...) end
  server.state.notify_listeners = function(_, ...) return subscriptions.notify(server, ...) end
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

-- {====== Speaking up ======

local MESSAGE = json.order { "level", "logger", "data" }
local DATA = json.order { "message", "data" }
local REPORT = json.order { "progressToken", "progress", "total", "message" }

-- How grave a message has to be for the client to hear it; nil where it hears none.
local function rank_wanted(server, request)
  local kept = request and request.mcp
  if kept and kept.is_modern then return kept.rank end
  return server.state.is_classic and server.state.rank or nil
end

local function is_stopped(request) return (request.stopped or request.due) and request:cancelled() end

-- A client that has not asked for logs may not be sent any; there is stderr for them.
local function note(server, level, message, data)
  if level ~= "debug" then server:note(level, message, data) end
  return true
end

---@param server pintle.server
---@param request pintle.request?
---@param level pintle.level
---@param message string
---@param data any
---@return true?, pintle.error?
function plugin.log(server, request, level, message, data)
  local told, wanted = TOLD[level], rank_wanted(server, request)
  if not wanted then return note(server, level, message, data) end
  if RANK[told] < wanted or request and is_stopped(request) then return true end
  if data ~= nil then message = setmetatable({ message = message, data = data }, DATA) end
  return server.peer:notify("notifications/message",
    setmetatable({ level = told, logger = server.state.logger, data = message }, MESSAGE))
end

---Only what has increased is reported, and only where it was asked for.
---@param server pintle.server
---@param request pintle.request
---@param fraction number
---@param message string?
---@return true?, pintle.error?
function plugin.progress(server, request, fraction, message)
  local kept = request.mcp
  if not kept or kept.token == nil or fraction <= kept.reported or is_stopped(request) then return true end
  kept.reported = fraction
  return server.peer:notify("notifications/progress",
    setmetatable({ progressToken = kept.token, progress = fraction, total = 1, message = message }, REPORT))
end

-- }======

return plugin
