-- What both sides know of the messages.

local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"

local wire = {
  UNSUPPORTED_VERSION = -32022,
  RESOURCE_NOT_FOUND = -32002, -- of the classic era alone
}

-- {====== Versions ======

---The one that has no handshake.
wire.MODERN = "2026-07-28"

---Those with a handshake, the newest first.
wire.CLASSIC = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" }

---@param version any
---@return boolean
function wire.is_classic(version)
  for _, known in ipairs(wire.CLASSIC) do
    if known == version then return true end
  end
  return false
end

-- }======

-- {====== _meta ======

local OWN = "io.modelcontextprotocol/"

---The names that the protocol has for itself in `_meta`.
wire.META = {
  version = OWN .. "protocolVersion", client = OWN .. "clientInfo", capabilities = OWN .. "clientCapabilities",
  level = OWN .. "logLevel", server = OWN .. "serverInfo", subscription = OWN .. "subscriptionId",
}

local META_ORDER = json.order {
  wire.META.version, wire.META.client, wire.META.capabilities, wire.META.level, "progressToken",
}

local function copy(from, into)
  for name, value in next, from do into[name] = value end
end

---Params with more in their `_meta`; what is there already stays. The table that was given is not touched.
---@param params table?
---@param meta table
---@return table
function wire.with_meta(params, meta)
  local all, full = {}, setmetatable({}, META_ORDER)
  copy(params or {}, all)
  copy(meta, full)
  copy(jsonrpc.given(all._meta) or {}, full)
  all._meta = full
  return setmetatable(all, getmetatable(params))
end

-- }======

-- {====== Levels ======

---Those of the protocol, by how grave they are.
wire.RANK = { debug = 1, info = 2, notice = 3, warning = 4, error = 5, critical = 6, alert = 7, emergency = 8 }

---Ours as the protocol has them, and the other way round.
wire.TOLD = { debug = "debug", info = "info", warn = "warning", error = "error" }
wire.HEARD = {
  debug = "debug", info = "info", notice = "info", warning = "warn", error = "error", critical = "error",
  alert = "error", emergency = "error",
}

-- }======

-- {====== Ways of a peer ======

local CANCELLED = json.order { "requestId", "reason" }

---@param of fun(params: table): any the id in what is received
---@return pintle.cancellation
function wire.cancellation(of)
  return {
    method = "notifications/cancelled",
    is_unanswered = true,
    params = function(id, reason) return setmetatable({ requestId = id, reason = reason }, CANCELLED) end,
    id = of,
  }
end

---@type pintle.progress
wire.PROGRESS = {
  method = "notifications/progress",
  -- A `_meta` that `with_meta` has made belongs to the call.
  attach = function(params, token)
    local meta = params and params._meta
    if getmetatable(meta) ~= META_ORDER then return wire.with_meta(params, { progressToken = token }) end
    meta.progressToken = token
    return params
  end,
  report = function(params) return params.progressToken, params.progress, params.total, params.message end,
}

---All that has no better one is an internal error: what is free for servers to use elsewhere is not here.
---@type table<string, integer>
wire.CODES = {
  cancelled = jsonrpc.INTERNAL_ERROR, timeout = jsonrpc.INTERNAL_ERROR, requirement = jsonrpc.INTERNAL_ERROR,
  full = jsonrpc.INTERNAL_ERROR, closed = jsonrpc.INTERNAL_ERROR, invalid = jsonrpc.INVALID_PARAMS,
}

-- }======

-- {====== Errors ======

---@return nil, pintle.error
function wire.refuse(code, format, ...)
  return nil, errors.new("invalid", format:format(...), { code = code })
end

---@param method string
---@return nil, pintle.error
function wire.unknown_method(method) return wire.refuse(jsonrpc.METHOD_NOT_FOUND, "Method not found: %s", method) end

---Whether a member is there and of a kind.
---@return true?, pintle.error?
function wire.need(value, expected, name)
  if jsonrpc.given(value) == nil then
    return wire.refuse(jsonrpc.INVALID_PARAMS, "Invalid params: %s is missing", name)
  end
  return jsonrpc.check(value, expected, name)
end

-- }======

return wire
