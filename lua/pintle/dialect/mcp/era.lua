-- The server's side of the two eras: what the server says about itself, how a request is checked, and how results and
-- errors are completed. A request with a version in `_meta` is modern and needs no handshake. Any other request is
-- classic and needs one. One conversation may have both.

local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local wire = require "pintle.dialect.mcp.wire"

local type, kind_of = type, json.kind
local MODERN, RANK = wire.MODERN, wire.RANK
local VERSION, CAPABILITIES, CLIENT = wire.META.version, wire.META.capabilities, wire.META.client
local LEVEL = wire.META.level

local era = {}

-- {====== The server's description of itself ======

local INFO = json.order { "name", "title", "version", "description", "websiteUrl", "icons" }
local CAPABILITY_ORDER = json.order { "tools", "resources", "prompts", "completions", "logging" }

---What a plugin may declare for this dialect.
---@class pintle.mcp.declaration
---@field title? string shown to people instead of the name
---@field instructions? string how a model should use the server
---@field websiteUrl? string
---@field icons? table[]
---@field page_size? integer tools in one page of the list; default: 100
---@field capabilities? table added to those that follow from the declared methods

local TYPES = {
  title = "string", instructions = "string", websiteUrl = "string", icons = "table", page_size = "number",
  capabilities = "table",
}

---Returns a message if a declaration is wrong.
---@param declared table
---@return string?
function era.declaration_fault(declared)
  for name, value in pairs(declared) do
    local expected = TYPES[name]
    if not expected then return ("there is no %q"):format(tostring(name)) end
    if type(value) ~= expected then return ("%s: %s expected, got %s"):format(name, expected, type(value)) end
  end
  local size = declared.page_size
  if size and (math.type(size) ~= "integer" or size < 1) then return "page_size: an integer of 1 or more expected" end
end

---@param plugin pintle.plugin
---@return pintle.mcp.declaration
function era.declaration(plugin) return plugin.manifest.dialects.mcp or {} end

---@param plugin pintle.plugin
---@return table
function era.server_info(plugin)
  local manifest, declared = plugin.manifest, era.declaration(plugin)
  return setmetatable({
    name = manifest.name, title = declared.title, version = manifest.version, description = manifest.description,
    websiteUrl = declared.websiteUrl, icons = declared.icons,
  }, INFO)
end

local function has_method_under(plugin, prefix)
  for method in pairs(plugin.methods) do
    if method:sub(1, #prefix) == prefix then return true end
  end
  return false
end

-- Members are added to a capability that is there already.
local function add_capabilities(capabilities, more)
  for name, added in pairs(more) do
    local own = capabilities[name]
    if type(own) == "table" and type(added) == "table" then
      for member, value in pairs(added) do own[member] = value end
    else
      capabilities[name] = added
    end
  end
end

---The capabilities follow from the methods that the plugin handles.
---@param plugin pintle.plugin
---@param is_modern boolean
---@return table
function era.capabilities(plugin, is_modern)
  local capabilities = setmetatable({ tools = {}, logging = {} }, CAPABILITY_ORDER)
  if has_method_under(plugin, "resources/") then
    local can_subscribe = not is_modern and plugin.methods["resources/subscribe"] ~= nil
    capabilities.resources = { subscribe = can_subscribe or nil }
  end
  if has_method_under(plugin, "prompts/") then capabilities.prompts = {} end
  if plugin.methods["completion/complete"] then capabilities.completions = {} end
  add_capabilities(capabilities, era.declaration(plugin).capabilities or {})
  return capabilities
end

-- }======

-- {====== Requests ======

local CLASSIC_ONLY = {
  initialize = true, ping = true, ["logging/setLevel"] = true, ["resources/subscribe"] = true,
  ["resources/unsubscribe"] = true,
}
local MODERN_ONLY = { ["server/discover"] = true, ["subscriptions/listen"] = true }
local BEFORE_HANDSHAKE = { initialize = true, ping = true }

local VERSIONS = json.order { "supported", "requested" }

local function unsupported_version(version)
  local data = setmetatable({ supported = { MODERN }, requested = version }, VERSIONS)
  return nil, errors.new("invalid", "Unsupported protocol version", { code = wire.UNSUPPORTED_VERSION, data = data })
end

local function check_level(level)
  if jsonrpc.given(level) == nil or RANK[level] then return true end
  return wire.invalid_params("_meta: %s: there is no %s", LEVEL, tostring(level))
end

local function is_token(token) return type(token) == "string" or type(token) == "number" end

local function check_token(token)
  if token == nil or is_token(token) then return true end
  return wire.invalid_params("_meta: progressToken: string or number expected, got %s", kind_of(token))
end

local function check_modern(meta)
  local ok, err = wire.check_required(meta[VERSION], "string", "_meta: " .. VERSION)
  if ok and meta[VERSION] ~= MODERN then ok, err = unsupported_version(meta[VERSION]) end
  if ok then ok, err = wire.check_required(meta[CAPABILITIES], "object", "_meta: " .. CAPABILITIES) end
  if ok then ok, err = jsonrpc.check(meta[CLIENT], "object", "_meta: " .. CLIENT) end
  if ok then ok, err = check_level(meta[LEVEL]) end
  return ok, err
end

local function check_classic(server, method)
  if server.state.is_classic or BEFORE_HANDSHAKE[method] then return true end
  return wire.invalid_params("_meta: %s is missing, and there was no initialize", VERSION)
end

local NOTHING = {}

local function check_meta(server, request, params)
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

-- A quick check that most modern requests pass. `check_meta` decides about the others.
local function is_usual_meta(meta)
  local level, token = meta[LEVEL], meta.progressToken
  return meta[VERSION] == MODERN and kind_of(meta[CAPABILITIES]) == "object" and kind_of(meta[CLIENT]) == "object"
    and (level == nil or RANK[level]) and (token == nil or is_token(token))
end

---Checks the era of a request. The peer gives the same `_meta` again if it repeats, so the last one that was right is
---kept as `server.state.checked_meta`.
---@param server pintle.server
---@param request pintle.request
---@param params any
---@return table? meta the `_meta` of the request, an empty table if it has none
---@return pintle.error? err
function era.check(server, request, params)
  local meta, err = type(params) == "table" and params._meta
  if type(meta) == "table" and is_usual_meta(meta) then
    server.state.checked_meta = meta
  else
    meta, err = check_meta(server, request, params)
    if not meta then return nil, err end
  end
  local of_other_era = meta[VERSION] and CLASSIC_ONLY or MODERN_ONLY
  if of_other_era[request.method] then return wire.unknown_method(request.method) end
  return meta
end

---The era of a request, as `request.mcp`.
---@class pintle.mcp.request
---@field is_modern boolean
---@field token string|number|nil for progress notifications
---@field reported number the last reported progress
---@field rank integer? of the minimum log level that a modern request asks for; nil if it asks for no logs
---@field capabilities table the client's capabilities

local function refuse_call(_, method)
  return nil, errors.new("invalid", ("%s: this client takes no requests; its protocol, %s, has none"):format(method,
    MODERN))
end

local TRACE = { "traceparent", "tracestate", "baggage" }

-- Passes the trace of a request on to the calls that are made for it.
local function call_with_trace(request, method, params, options)
  local trace = {}
  for _, name in ipairs(TRACE) do trace[name] = request.meta[name] end
  return request.peer:call(method, wire.with_meta(params, trace), options)
end

---Sets `request.mcp` and `request.meta`. In the modern era a server cannot call the client, and only subscribers are
---notified of changes.
---@param server pintle.server
---@param request pintle.request
---@param meta table
function era.attach(server, request, meta)
  local is_modern = meta[VERSION] ~= nil
  request.mcp = {
    is_modern = is_modern, token = meta.progressToken, rank = RANK[meta[LEVEL]], reported = -1,
    capabilities = is_modern and meta[CAPABILITIES] or server.state.client_capabilities or {},
  }
  request.meta = meta
  if is_modern then
    request.call, request.notify = refuse_call, server.state.notify_subscribers
  elseif meta.traceparent or meta.tracestate or meta.baggage then
    request.call = call_with_trace
  end
end

-- }======

-- {====== Results and errors ======

local RESULT_ORDER = json.order {
  "resultType", "supportedVersions", "capabilities", "instructions", "tools", "content", "structuredContent", "isError",
  "nextCursor", "resources", "resourceTemplates", "contents", "prompts", "description", "messages", "completion",
  "ttlMs", "cacheScope", "_meta",
}

-- Default `ttlMs`: how many milliseconds a client may cache a result. Declared tools do not change.
local CACHE_TIMES = {
  ["server/discover"] = 300000, ["tools/list"] = 300000, ["prompts/list"] = 0, ["resources/list"] = 0,
  ["resources/templates/list"] = 0, ["resources/read"] = 0,
}

---The `_meta` of results without a `_meta` of their own, encoded once.
---@param server pintle.server
---@return pintle.raw
function era.result_meta(server)
  local state = server.state
  state.result_meta = state.result_meta
    or json.raw(json.encode { [wire.META.server] = era.server_info(server.plugin) })
  return state.result_meta
end

local function complete_meta(server, meta)
  if jsonrpc.given(meta) == nil then return era.result_meta(server) end
  local full = { [wire.META.server] = era.server_info(server.plugin) }
  for name, value in pairs(meta) do full[name] = value end
  return full
end

-- Adds the members that every result of the modern era has.
local function complete_result(server, request, result)
  result.resultType = result.resultType or "complete"
  local cache_time = CACHE_TIMES[request.method]
  if cache_time and result.resultType == "complete" then
    result.ttlMs, result.cacheScope = result.ttlMs or cache_time, result.cacheScope or "private"
  end
  result._meta = complete_meta(server, result._meta)
  return getmetatable(result) and result or setmetatable(result, RESULT_ORDER)
end

local function check_result(request, result)
  local kind = kind_of(result)
  if kind == "object" then return end
  error(("method %q returned %s; an object expected"):format(request.method, kind), 0)
end

-- Only the classic era has a code for a missing resource. An error without a code is an internal error.
local function code_of(is_modern, err)
  if err.code == wire.RESOURCE_NOT_FOUND and is_modern then return jsonrpc.INVALID_PARAMS end
  return err.code or wire.CODES[err.kind] or jsonrpc.INTERNAL_ERROR
end

---@param is_modern boolean
---@param err any
---@return pintle.error|table
function era.error(is_modern, err)
  if type(err) ~= "table" then err = { message = err } end
  local code = code_of(is_modern, err)
  if err.code ~= nil and code == err.code then return err end
  return errors.new(err.kind or "invalid", errors.text(err.message), { code = code, data = err.data })
end

local function copy(result)
  local copied = {}
  for name, value in pairs(result) do copied[name] = value end
  return copied
end

---The answer of one of the dialect's own methods. The result is changed in place. A cancelled request, which has lost
---its id, is not answered.
---@param server pintle.server
---@param request pintle.request
---@param result table?
---@param err any
---@return table?, any err
function era.answer(server, request, result, err)
  if request.id == nil then return result, err end
  if result == nil then return nil, era.error(request.mcp.is_modern, err) end
  return request.mcp.is_modern and complete_result(server, request, result) or result
end

---The same for a method that the plugin's author declared, whose result is not changed.
function era.answer_of_author(server, request, result, err)
  if request.id == nil then return result, err end
  if result == nil and err ~= nil then return nil, era.error(request.mcp.is_modern, err) end
  if result == nil then result = {} end
  check_result(request, result)
  return request.mcp.is_modern and complete_result(server, request, copy(result)) or result
end

-- }======

return era
