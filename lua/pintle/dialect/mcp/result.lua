-- Results and errors as each era has them.

local errors = require "pintle.error"
local identity = require "pintle.dialect.mcp.identity"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
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

---The `_meta` of a result that has nothing of its own there: what the server is, encoded once.
---@param server pintle.server
---@return userdata
function results.meta(server)
  local state = server.state
  state.meta_text = state.meta_text or json.raw(json.encode { [wire.META.server] = identity.info(server.plugin) })
  return state.meta_text
end

local function meta_of(server, meta)
  if jsonrpc.given(meta) == nil then return results.meta(server) end
  local full = { [wire.META.server] = identity.info(server.plugin) }
  for name, value in pairs(meta) do full[name] = value end
  return full
end

-- Adds what the era without a handshake has in every result.
local function dress(server, request, result)
  result.resultType = result.resultType or "complete"
  local fresh = FRESH[request.method]
  if fresh and result.resultType == "complete" then
    result.ttlMs, result.cacheScope = result.ttlMs or fresh, result.cacheScope or "private"
  end
  result._meta = meta_of(server, result._meta)
  return getmetatable(result) and result or setmetatable(result, ORDER)
end

-- A result is an object here.
local function check(request, result)
  local kind = json.kind(result)
  if kind == "object" then return end
  error(("method %q returned %s; an object expected"):format(request.method, kind), 0)
end

-- The code for a resource that is not there is the classic era's own; what has no code is an internal error.
local function code_of(is_modern, err)
  if err.code == wire.RESOURCE_NOT_FOUND and is_modern then return jsonrpc.INVALID_PARAMS end
  return err.code or wire.CODES[err.kind] or jsonrpc.INTERNAL_ERROR
end

---@param is_modern boolean
---@param err any
---@return pintle.error|table
function results.error(is_modern, err)
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

---The result of a method of the dialect's own: an object that was made for it and may be changed.
---@param server pintle.server
---@param request pintle.request
---@param result table?
---@param err any
---@return table?, any err
function results.of(server, request, result, err)
  if request.id == nil then return result, err end -- a cancelled one is not answered
  if result == nil then return nil, results.error(request.mcp.is_modern, err) end
  return request.mcp.is_modern and dress(server, request, result) or result
end

---The result of a method that the author has declared.
---@param server pintle.server
---@param request pintle.request
---@param result any
---@param err any
---@return table?, any err
function results.of_author(server, request, result, err)
  if request.id == nil then return result, err end
  if result == nil and err ~= nil then return nil, results.error(request.mcp.is_modern, err) end
  if result == nil then result = {} end
  check(request, result)
  return request.mcp.is_modern and dress(server, request, copy(result)) or result
end

return results
