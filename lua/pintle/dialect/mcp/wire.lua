-- What client and server both know about the messages of the protocol.

local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"

local INTERNAL_ERROR, INVALID_PARAMS = jsonrpc.INTERNAL_ERROR, jsonrpc.INVALID_PARAMS

local wire = {
  UNSUPPORTED_VERSION = -32022,
  MISSING_CAPABILITY = -32021, -- that the client would need
  RESOURCE_NOT_FOUND = -32002, -- only in the classic era
}

-- {====== Versions ======

---The modern era: no handshake.
wire.MODERN = "2026-07-28"

---The classic era: versions with a handshake, newest first.
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

local PREFIX = "io.modelcontextprotocol/"

---The names in `_meta` that the protocol reserves.
wire.META = {
  version = PREFIX .. "protocolVersion", client = PREFIX .. "clientInfo", capabilities = PREFIX .. "clientCapabilities",
  level = PREFIX .. "logLevel", server = PREFIX .. "serverInfo", subscription = PREFIX .. "subscriptionId",
}

---The extension for tasks, among the capabilities.
wire.TASKS = PREFIX .. "tasks"

local META_ORDER = json.order {
  wire.META.version, wire.META.client, wire.META.capabilities, wire.META.level, "progressToken",
}

---@param from table
---@param into table
---@return table into with the members of `from`
function wire.copy_members(from, into)
  for name, value in next, from do into[name] = value end
  return into
end

---A copy of params with more members in `_meta`. Members that are already there are kept.
---@param params table?
---@param meta table
---@return table
function wire.with_meta(params, meta)
  local all, full = wire.copy_members(params or {}, {}), wire.copy_members(meta, setmetatable({}, META_ORDER))
  all._meta = wire.copy_members(jsonrpc.given(all._meta) or {}, full)
  return setmetatable(all, getmetatable(params))
end

-- }======

---The log levels of the protocol by severity.
wire.RANK = { debug = 1, info = 2, notice = 3, warning = 4, error = 5, critical = 6, alert = 7, emergency = 8 }

-- {====== Rules for the peer ======

local CANCELLED = json.order { "requestId", "reason" }

---@param id_of fun(params: table): any finds the id in a received cancellation
---@return pintle.cancellation
function wire.cancellation(id_of)
  return {
    method = "notifications/cancelled",
    is_unanswered = true,
    params = function(id, reason) return setmetatable({ requestId = id, reason = reason }, CANCELLED) end,
    id = id_of,
  }
end

---@type pintle.progress
wire.PROGRESS = {
  method = "notifications/progress",
  -- A `_meta` made by `with_meta` belongs to this call alone, so it may be changed.
  attach = function(params, token)
    local meta = params and params._meta
    if getmetatable(meta) ~= META_ORDER then return wire.with_meta(params, { progressToken = token }) end
    meta.progressToken = token
    return params
  end,
  report = function(params) return params.progressToken, params.progress, params.total, params.message end,
}

---@param peer pintle.peer
---@param cancellation pintle.cancellation
---@param progress pintle.progress
function wire.set_peer_rules(peer, cancellation, progress)
  peer:adopt { cancellation = cancellation, progress = progress, codes = wire.CODES, repeated = "_meta" }
end

---Error codes by kind of error. Any other error is an internal error: the protocol leaves no range to servers.
---@type table<string, integer>
wire.CODES = {
  cancelled = INTERNAL_ERROR, timeout = INTERNAL_ERROR, requirement = INTERNAL_ERROR, full = INTERNAL_ERROR,
  closed = INTERNAL_ERROR, invalid = INVALID_PARAMS,
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

---Checks that a member is present and of the expected kind.
---@return true?, pintle.error?
function wire.check_required(value, expected, name)
  if jsonrpc.given(value) == nil then return jsonrpc.invalid_params("%s is missing", name) end
  return jsonrpc.check(value, expected, name)
end

---Checks the params of a request that runs a tool or a prompt.
---@return true?, pintle.error?
function wire.check_name_and_arguments(params)
  local ok, err = wire.check_required(params, "object", "params")
  if ok then ok, err = wire.check_required(params.name, "string", "name") end
  if ok then ok, err = jsonrpc.check(params.arguments, "object", "arguments") end
  return ok, err
end

-- }======

return wire
