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
local CAPABILITY_ORDER = json.order { "tools", "resources", "prompts", "completions", "logging", "extensions" }

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

local NO_CATALOG = { resources = {}, templates = {}, prompts = {}, has_completions = false }

---The resources and prompts that a plugin has declared.
---@param plugin pintle.plugin
---@return pintle.mcp.catalog
function era.catalog(plugin) return rawget(plugin, "mcp_catalog") or NO_CATALOG end

local function has_method_under(plugin, prefix)
  for method in pairs(plugin.methods) do
    if method:sub(1, #prefix) == prefix then return true end
  end
  return false
end

-- Members are added to a capability that is there already.
local function add_era_capabilities(capabilities, more)
  for name, added in pairs(more) do
    local own = capabilities[name]
    if type(own) == "table" and type(added) == "table" then
      wire.copy_members(added, own)
    else
      capabilities[name] = added
    end
  end
end

local function has_task_operation(plugin)
  for _, operation in pairs(plugin.manifest.operations) do
    if operation.dialects.mcp and operation.dialects.mcp.task then return true end
  end
  return false
end

local function era_resource_capability(plugin, is_modern)
  local catalog = era.catalog(plugin)
  if #catalog.resources + #catalog.templates > 0 then return { subscribe = true, listChanged = true } end
  if not has_method_under(plugin, "resources/") then return nil end
  return { subscribe = not is_modern and plugin.methods["resources/subscribe"] ~= nil or nil }
end

local function era_prompt_capability(plugin)
  if #era.catalog(plugin).prompts > 0 then return { listChanged = true } end
  return has_method_under(plugin, "prompts/") and {} or nil
end

---The capabilities follow from what the plugin declares and from the methods that it handles.
---@param plugin pintle.plugin
---@param is_modern boolean
---@return table
function era.capabilities(plugin, is_modern)
  local capabilities = setmetatable({ tools = { listChanged = true }, logging = {} }, CAPABILITY_ORDER)
  capabilities.resources = era_resource_capability(plugin, is_modern)
  capabilities.prompts = era_prompt_capability(plugin)
  local can_complete = era.catalog(plugin).has_completions or plugin.methods["completion/complete"]
  if can_complete then capabilities.completions = {} end
  if is_modern and has_task_operation(plugin) then capabilities.extensions = { [wire.TASKS] = {} } end
  add_era_capabilities(capabilities, era.declaration(plugin).capabilities or {})
  return capabilities
end

-- }======

-- {====== Requests ======

local CLASSIC_ONLY = {
  initialize = true, ping = true, ["logging/setLevel"] = true, ["resources/subscribe"] = true,
  ["resources/unsubscribe"] = true,
}
local MODERN_ONLY = {
  ["server/discover"] = true, ["subscriptions/listen"] = true, ["tasks/get"] = true, ["tasks/update"] = true,
  ["tasks/cancel"] = true,
}
local BEFORE_HANDSHAKE = { initialize = true, ping = true }

local VERSIONS = json.order { "supported", "requested" }

local function unsupported_version_error(version)
  local data = setmetatable({ supported = { MODERN }, requested = version }, VERSIONS)
  return nil, errors.new("invalid", "Unsupported protocol version", { code = wire.UNSUPPORTED_VERSION, data = data })
end

local function check_era_log_level(level)
  if jsonrpc.given(level) == nil or RANK[level] then return true end
  return jsonrpc.invalid_params("_meta: %s: there is no %s", LEVEL, tostring(level))
end

local function is_era_progress_token(token) return type(token) == "string" or type(token) == "number" end

local function check_era_progress_token(token)
  if token == nil or is_era_progress_token(token) then return true end
  return jsonrpc.invalid_params("_meta: progressToken: string or number expected, got %s", kind_of(token))
end

local function check_modern_era_meta(meta)
  local ok, err = wire.check_required(meta[VERSION], "string", "_meta: " .. VERSION)
  if ok and meta[VERSION] ~= MODERN then ok, err = unsupported_version_error(meta[VERSION]) end
  if ok then ok, err = wire.check_required(meta[CAPABILITIES], "object", "_meta: " .. CAPABILITIES) end
  if ok then ok, err = jsonrpc.check(meta[CLIENT], "object", "_meta: " .. CLIENT) end
  if ok then ok, err = check_era_log_level(meta[LEVEL]) end
  return ok, err
end

local function check_classic_era_request(server, method)
  if server.state.is_classic or BEFORE_HANDSHAKE[method] then return true end
  return jsonrpc.invalid_params("_meta: %s is missing, and there was no initialize", VERSION)
end

local NOTHING = {}

local function check_era_request_meta(server, request, params)
  local ok, err = jsonrpc.check(params, "object", "params")
  local given = jsonrpc.given(params)
  local meta = ok and given and jsonrpc.given(given._meta) or NOTHING
  if ok then ok, err = jsonrpc.check(meta, "object", "_meta") end
  if ok then ok, err = check_era_progress_token(meta.progressToken) end
  if ok and meta[VERSION] ~= nil then
    ok, err = check_modern_era_meta(meta)
  elseif ok then
    ok, err = check_classic_era_request(server, request.method)
  end
  if not ok then return nil, err end
  return meta
end

-- A quick check that most modern requests pass. `check_request_meta` decides about the others.
local function is_usual_era_meta(meta)
  local level, token = meta[LEVEL], meta.progressToken
  return meta[VERSION] == MODERN and kind_of(meta[CAPABILITIES]) == "object" and kind_of(meta[CLIENT]) == "object"
    and (level == nil or RANK[level]) and (token == nil or is_era_progress_token(token))
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
  if type(meta) == "table" and is_usual_era_meta(meta) then
    server.state.checked_meta = meta
  else
    meta, err = check_era_request_meta(server, request, params)
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
---@field params any of the request
---@field run? table once it has asked the client something
---@field task? table if it runs as a task

---Sets `request.mcp` and `request.meta`. In the modern era only subscribers are notified of changes.
---@param server pintle.server
---@param request pintle.request
---@param meta table
---@param params any
function era.attach(server, request, meta, params)
  local is_modern, state = meta[VERSION] ~= nil, server.state
  request.mcp = {
    is_modern = is_modern, token = meta.progressToken, rank = RANK[meta[LEVEL]], reported = -1, params = params,
    capabilities = is_modern and meta[CAPABILITIES] or state.client_capabilities or {},
  }
  request.meta, request.call = meta, state.call
  if is_modern then request.notify = state.notify_subscribers end
end

-- }======

-- {====== Results and errors ======

local RESULT_ORDER = json.order {
  "resultType", "supportedVersions", "capabilities", "instructions", "tools", "content", "structuredContent", "isError",
  "nextCursor", "resources", "resourceTemplates", "contents", "prompts", "description", "messages", "completion",
  "ttlMs", "cacheScope", "_meta",
}

-- Default `ttlMs`: how many milliseconds a client may cache a result.
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

local function complete_era_result_meta(server, meta)
  if jsonrpc.given(meta) == nil then return era.result_meta(server) end
  return wire.copy_members(meta, { [wire.META.server] = era.server_info(server.plugin) })
end

-- Adds the members that every result of the modern era has.
local function complete_era_result(server, request, result)
  result.resultType = result.resultType or "complete"
  local cache_time = CACHE_TIMES[request.method]
  if cache_time and result.resultType == "complete" then
    result.ttlMs, result.cacheScope = result.ttlMs or cache_time, result.cacheScope or "private"
  end
  result._meta = complete_era_result_meta(server, result._meta)
  return getmetatable(result) and result or setmetatable(result, RESULT_ORDER)
end

-- Only the classic era has a code for a missing resource. An error without a code is an internal error.
local function error_code_in_era(is_modern, err)
  if err.code == wire.RESOURCE_NOT_FOUND and is_modern then return jsonrpc.INVALID_PARAMS end
  return err.code or wire.CODES[err.kind] or jsonrpc.INTERNAL_ERROR
end

---@param is_modern boolean
---@param err any
---@return pintle.error|table
function era.error(is_modern, err)
  if type(err) ~= "table" then err = { message = err } end
  local code = error_code_in_era(is_modern, err)
  if err.code ~= nil and code == err.code then return err end
  return errors.new(err.kind or "invalid", errors.text(err.message), { code = code, data = err.data })
end

---The answer of one of the dialect's own methods. The result is changed in place. A cancelled request, which has lost
---its id, is not answered.
---@param server pintle.server
---@param request pintle.request
---@param result table?
---@param err any
---@return table?, any err
function era.answer(server, request, result, err)
  if request.on_finish then request.on_finish() end
  if request.id == nil then return result, err end
  if result == nil then return nil, era.error(request.mcp.is_modern, err) end
  return request.mcp.is_modern and complete_era_result(server, request, result) or result
end

---The same for a method that the plugin's author declared, whose result is not changed.
function era.answer_of_author(server, request, result, err)
  if request.id == nil then return result, err end
  if result == nil and err ~= nil then return nil, era.error(request.mcp.is_modern, err) end
  if result == nil then result = {} end
  local kind = kind_of(result)
  if kind ~= "object" then error(("method %q returned %s; an object expected"):format(request.method, kind), 0) end
  return request.mcp.is_modern and complete_era_result(server, request, wire.copy_members(result, {})) or result
end

-- }======

return era
