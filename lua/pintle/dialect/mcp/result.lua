-- Results and errors as each era has them.

local errors = require "pintle.error"
local identity = require "pintle.dialect.mcp.identity"
local json = require("pintle.core").json
local members = require "pintle.members"
local wire = require "pintle.dialect.mcp.wire"

local results = {}

local ORDER = json.order {
  "resultType", "supportedVersions", "capabilities", "instructions", "tools", "content", "structuredContent", "isError",
  "nextCursor", "resources", "resourceTemplates", "contents", "prompts", "description", "messages", "completion",
  "ttlMs", "cacheScope", "_meta",
}

-- For how many milliseconds their results may be kept, unless they say so themselves. What is declared does not change.
local FRESH = {
  ["server/discover"] = 300000, ["tools/list"] = 300000, ["prompts/list"] = 0, ["resources/list"] = 0,
  ["resources/templates/list"] = 0, ["resources/read"] = 0,
}

local function with_server(plugin, meta)
  local full = { [wire.META.server] = identity.info(plugin) }
  for name, value in pairs(members.given(meta) or {}) do full[name] = value end
  return full
end

local function dress(server, request, result)
  local full = {}
  for name, value in pairs(result) do full[name] = value end
  full.resultType = full.resultType or "complete"
  local fresh = FRESH[request.method]
  if fresh and full.resultType == "complete" then
    full.ttlMs, full.cacheScope = full.ttlMs or fresh, full.cacheScope or "private"
  end
  full._meta = with_server(server.plugin, full._meta)
  return setmetatable(full, ORDER)
end

-- A result is an object here.
local function check(request, result)
  local kind = members.kind(result)
  if kind == "object" then return end
  error(("method %q returned %s; an object expected"):format(request.method, kind), 0)
end

-- The code for a resource that is not there is the classic era's own; what has no code is an internal error.
local function code_of(request, err)
  if err.code == wire.RESOURCE_NOT_FOUND and request.mcp.is_modern then return wire.INVALID_PARAMS end
  return err.code or wire.CODES[err.kind] or wire.INTERNAL_ERROR
end

local function err_of(request, err)
  if type(err) ~= "table" then err = { message = err } end
  if err.code ~= nil and code_of(request, err) == err.code then return err end
  return errors.new(err.kind or "invalid", errors.text(err.message), { code = code_of(request, err), data = err.data })
end

---@param server pintle.server
---@param request pintle.request
---@param result any
---@param err any
---@return table?, any err
function results.of(server, request, result, err)
  if request.id == nil then return result, err end
  if result == nil and err ~= nil then return nil, err_of(request, err) end
  if result == nil then result = {} end
  check(request, result)
  if not request.mcp.is_modern then return result end
  return dress(server, request, result)
end

return results
