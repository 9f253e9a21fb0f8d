-- Which era a request is of, on the side of the server. One that tells its version in `_meta` stands by itself; all
-- others belong to the handshake, if there was one. Both may come in one conversation.

local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local wire = require "pintle.dialect.mcp.wire"

local META = wire.META
local kind_of = json.kind

---What is kept of a request.
---@class pintle.mcp.request
---@field is_modern boolean
---@field token string|number|nil what reports of its progress are told by
---@field reported number? the last of them
---@field rank integer? of the lowest level of logs that are wanted; none are if nil
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

local function read_level(level)
  if jsonrpc.given(level) == nil then return nil end
  local rank = wire.RANK[level]
  if rank then return rank end
  return wire.refuse(jsonrpc.INVALID_PARAMS, "Invalid params: _meta: %s: there is no %s", META.level, tostring(level))
end

local function check_token(token)
  local kind = json.kind(token)
  if kind == "string" or kind == "number" then return true end
  return wire.refuse(jsonrpc.INVALID_PARAMS,
    "Invalid params: _meta: progressToken: string or number expected, got %s", kind)
end

local VERSION, CAPABILITIES, CLIENT = META.version, META.capabilities, META.client

local function check_meta(meta)
  local ok, err = wire.need(meta[VERSION], "string", "_meta: " .. VERSION)
  if ok and meta[VERSION] ~= wire.MODERN then ok, err = unsupported(meta[VERSION]) end
  if ok then ok, err = wire.need(meta[CAPABILITIES], "object", "_meta: " .. CAPABILITIES) end
  if ok then ok, err = jsonrpc.check(meta[CLIENT], "object", "_meta: " .. CLIENT) end
  return ok, err
end

-- A request brings all that the server may rely on.
local function enter_modern(request, meta)
  local is_right = meta[VERSION] == wire.MODERN and kind_of(meta[CAPABILITIES]) == "object"
    and kind_of(meta[CLIENT]) == "object"
  if not is_right then
    local ok, err = check_meta(meta)
    if not ok then return nil, err end
  end
  local rank, err = read_level(meta[META.level])
  if err then return nil, err end
  if CLASSIC_ONLY[request.method] then return wire.unknown_method(request.method) end
  request.mcp = {
    is_modern = true, token = meta.progressToken, rank = rank, capabilities = meta[META.capabilities],
  }
  return true
end

local function enter_classic(server, request, meta)
  local state = server.state
  if not state.is_classic and not BEFORE_HANDSHAKE[request.method] then
    return wire.refuse(jsonrpc.INVALID_PARAMS, "Invalid params: _meta: %s is missing, and there was no initialize",
      META.version)
  end
  if MODERN_ONLY[request.method] then return wire.unknown_method(request.method) end
  request.mcp = {
    is_modern = false, token = meta.progressToken, rank = state.rank, capabilities = state.client_capabilities or {},
  }
  return true
end

---Finds out, and keeps what matters of it as `request.mcp`. Notifications are let through as they are.
---@param server pintle.server
---@param request pintle.request
---@param params any
---@return true?, pintle.error?
function era.enter(server, request, params)
  if request.id == nil then return true end
  local sent = type(params) == "table" and params._meta
  local is_plain = type(sent) == "table" and sent.progressToken == nil and kind_of(sent) == "object"
  if is_plain and sent[VERSION] ~= nil and kind_of(params) == "object" then return enter_modern(request, sent) end
  local ok, err = jsonrpc.check(params, "object", "params")
  local meta = ok and params and jsonrpc.given(jsonrpc.given(params)._meta) or {}
  if ok then ok, err = jsonrpc.check(meta, "object", "_meta") end
  if ok and meta.progressToken ~= nil then ok, err = check_token(meta.progressToken) end
  if not ok then return nil, err end
  if meta[VERSION] ~= nil then return enter_modern(request, meta) end
  return enter_classic(server, request, meta)
end

---@param request pintle.request?
---@return boolean
function era.is_modern(request) return request ~= nil and request.mcp ~= nil and request.mcp.is_modern end

return era
