-- Which era a request is of, on the side of the server. One that tells its version in `_meta` stands by itself; all
-- others belong to the handshake, if there was one. Both may come in one conversation.

local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local wire = require "pintle.dialect.mcp.wire"

local type, kind_of = type, json.kind
local MODERN, RANK = wire.MODERN, wire.RANK
local VERSION, CAPABILITIES, CLIENT = wire.META.version, wire.META.capabilities, wire.META.client
local LEVEL = wire.META.level

---What is kept of a request.
---@class pintle.mcp.request
---@field is_modern boolean
---@field token string|number|nil of reports of its progress
---@field reported number the progress that was reported last
---@field rank integer? of the lowest level of logs that a modern request wants; none are if nil
---@field capabilities table what the client can do

local era = {}

local CLASSIC_ONLY = {
  initialize = true, ping = true, ["logging/setLevel"] = true, ["resources/subscribe"] = true,
  ["resources/unsubscribe"] = true,
}
local MODERN_ONLY = { ["server/discover"] = true, ["subscriptions/listen"] = true }
local BEFORE_HANDSHAKE = { initialize = true, ping = true }

local VERSIONS = json.order { "supported", "requested" }

local function unsupported(version)
  local data = setmetatable({ supported = { wire.MODERN }, requested = version }, VERSIONS)
  return nil, errors.new("invalid", "Unsupported protocol version", { code = wire.UNSUPPORTED_VERSION, data = data })
end

local function check_level(level)
  if jsonrpc.given(level) == nil or RANK[level] then return true end
  return wire.refuse(jsonrpc.INVALID_PARAMS, "Invalid params: _meta: %s: there is no %s", LEVEL, tostring(level))
end

local function is_token(token) return type(token) == "string" or type(token) == "number" end

local function check_token(token)
  if token == nil or is_token(token) then return true end
  return wire.refuse(jsonrpc.INVALID_PARAMS,
    "Invalid params: _meta: progressToken: string or number expected, got %s", kind_of(token))
end

-- A request brings all that the server may rely on.
local function check_modern(meta)
  local ok, err = wire.need(meta[VERSION], "string", "_meta: " .. VERSION)
  if ok and meta[VERSION] ~= MODERN then ok, err = unsupported(meta[VERSION]) end
  if ok then ok, err = wire.need(meta[CAPABILITIES], "object", "_meta: " .. CAPABILITIES) end
  if ok then ok, err = jsonrpc.check(meta[CLIENT], "object", "_meta: " .. CLIENT) end
  if ok then ok, err = check_level(meta[LEVEL]) end
  return ok, err
end

local function check_classic(server, method)
  if server.state.is_classic or BEFORE_HANDSHAKE[method] then return true end
  return wire.refuse(jsonrpc.INVALID_PARAMS, "Invalid params: _meta: %s is missing, and there was no initialize",
    VERSION)
end

local NOTHING = {}

local function find_fault(server, request, params)
  local ok, err = jsonrpc.check(params, "object", "params")
  local given = jsonrpc.given(params)
  local meta = ok and given and jsonrpc.given(given._meta) or NOTHING
  if ok then ok, err = jsonrpc.check(meta, "object", "_meta") end
  if ok then ok, err = check_token(meta.progressToken) end
  if ok and meta[VERSION] ~= nil then
    ok, err = check_modern(meta)
  elseif ok then
    ok, err = check_classic(server, request.method)
  end
  if not ok then return nil, err end
  return meta
end

-- Whether the `_meta` of the modern era is right at first sight, as most are.
local function is_right(meta)
  local level, token = meta[LEVEL], meta.progressToken
  return meta[VERSION] == MODERN and kind_of(meta[CAPABILITIES]) == "object" and kind_of(meta[CLIENT]) == "object"
    and (level == nil or RANK[level]) and (token == nil or is_token(token))
end

---Checks the era of a request that wants an answer.
---@param server pintle.server
---@param request pintle.request
---@param params any
---@return table? meta the `_meta` of the request, an empty table if it has none
---@return pintle.error? err
function era.check(server, request, params)
  local meta, err = type(params) == "table" and params._meta
  if type(meta) ~= "table" or not is_right(meta) then
    meta, err = find_fault(server, request, params)
    if not meta then return nil, err end
  end
  local others = meta[VERSION] and CLASSIC_ONLY or MODERN_ONLY
  if others[request.method] then return wire.unknown_method(request.method) end
  return meta
end

local function cannot_ask(_, method)
  return nil, errors.new("invalid", ("%s: this client takes no requests; its protocol, %s, has none"):format(method,
    MODERN))
end

---Keeps what matters of the `_meta` of a request as `request.mcp`. In the modern era a server does not ask, and tells
---of changes only those who listen.
---@param server pintle.server
---@param request pintle.request
---@param meta table
function era.keep(server, request, meta)
  local is_modern = meta[VERSION] ~= nil
  request.mcp = {
    is_modern = is_modern, token = meta.progressToken, rank = RANK[meta[LEVEL]], reported = -1,
    capabilities = is_modern and meta[CAPABILITIES] or server.state.client_capabilities or {},
  }
  if is_modern then request.call, request.notify = cannot_ask, server.state.notify_listeners end
end

return era
