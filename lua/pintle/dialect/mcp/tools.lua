-- Operations as tools, on the side of the server.

local era = require "pintle.dialect.mcp.era"
local errors = require "pintle.error"
local identity = require "pintle.dialect.mcp.identity"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local ordered_schema = require "pintle.manifest.order"
local results = require "pintle.dialect.mcp.result"
local wire = require "pintle.dialect.mcp.wire"

local setmetatable, kind_of, VERSION = setmetatable, json.kind, wire.META.version

local tools = {}

-- {====== Listing ======

local PAGE = 100 -- tools that are listed at once

local LIST = json.order { "resultType", "tools", "nextCursor", "ttlMs", "cacheScope", "_meta" }
local TOOL = json.order {
  "name", "title", "description", "inputSchema", "outputSchema", "annotations", "icons", "_meta",
}

-- MCP wants the type to be given, as a string.
local function input_schema(schema)
  if schema.type == "object" then return ordered_schema(schema) end
  local typed = {}
  for keyword, value in pairs(schema) do typed[keyword] = value end
  typed.type = "object"
  return ordered_schema(typed)
end

local function tool_of(operation)
  local declared = operation.dialects.mcp or {}
  return setmetatable({
    name = operation.name, title = declared.title, description = operation.description,
    inputSchema = input_schema(operation.params), outputSchema = ordered_schema(operation.outputs),
    annotations = declared.annotations, icons = declared.icons, _meta = declared._meta,
  }, TOOL)
end

---@param manifest pintle.manifest
---@param first integer
---@param last integer
---@return table[]
function tools.of(manifest, first, last)
  local list = json.array()
  for i = first, math.min(last, #manifest.names) do
    list[#list + 1] = tool_of(manifest.operations[manifest.names[i]])
  end
  return list
end

-- A cursor says how many have been listed.
local function read_cursor(cursor, count)
  if cursor == nil then return 0 end
  local listed = math.tointeger(tonumber(cursor:match "^after%-(%d+)$"))
  if listed and listed > 0 and listed < count then return listed end
  return wire.refuse(jsonrpc.INVALID_PARAMS, "Invalid params: cursor: there is no %q", cursor)
end

---@param server pintle.server
---@param params table?
---@return table?, pintle.error?
function tools.list(server, params)
  local given = jsonrpc.given(params) or {}
  local ok, err = jsonrpc.check(given.cursor, "string", "cursor")
  if not ok then return nil, err end
  local manifest = server.plugin.manifest
  local listed
  listed, err = read_cursor(jsonrpc.given(given.cursor), #manifest.names)
  if not listed then return nil, err end
  local last = listed + (identity.declared(server.plugin).page_size or PAGE)
  return setmetatable({
    tools = tools.of(manifest, listed + 1, last),
    nextCursor = last < #manifest.names and ("after-%d"):format(last) or nil,
  }, LIST)
end

-- }======

-- {====== Calling ======

local RESULT = json.order { "resultType", "content", "structuredContent", "isError", "_meta" }
local TEXT = json.order { "type", "text" }
local UNKNOWN = json.order { "tool", "suggestion" }

local function unknown(manifest, name)
  local suggestion = manifest:nearest(name)
  return nil, errors.new("invalid", "Unknown tool: " .. name, {
    code = jsonrpc.INVALID_PARAMS, data = setmetatable({ tool = name, suggestion = suggestion }, UNKNOWN),
  })
end

local function read_call(server, params)
  local ok, err = wire.need(params, "object", "params")
  if ok then ok, err = wire.need(params.name, "string", "name") end
  if ok then ok, err = jsonrpc.check(params.arguments, "object", "arguments") end
  if not ok then return nil, err end
  if not server.operations[params.name] then return unknown(server.plugin.manifest, params.name) end
  return jsonrpc.given(params.arguments) or {}
end

local NO_CONTEXT = {}

local function block(text) return setmetatable({ type = "text", text = text }, TEXT) end

-- Not every client reads structured content, so it is there as text, too.
local function content_of(message, problem, outputs)
  local content = json.array()
  if message ~= nil then content[1] = block(message) end
  if problem ~= message and problem ~= nil then content[#content + 1] = block(problem) end
  if outputs then content[#content + 1] = block(json.encode(outputs)) end
  return content
end

-- Clients refuse a tool that has declared what it gives back and gives back nothing of that kind.
local function outputs_of(operation, outcome)
  local outputs = outcome.outputs
  if outputs == nil then return outcome.success and {} or nil end
  if kind_of(outputs) == "object" then return outputs end
  error(("operation %q returned a list as its outputs, which have to have names"):format(operation.name), 0)
end

local function result_of(operation, outcome, result_type, meta)
  local message, outputs = outcome.message, outcome.outputs
  if outputs or operation.outputs then outputs = outputs_of(operation, outcome) end
  local is_text = message and outcome.success and not outputs and not outcome.error
  return setmetatable({
    resultType = result_type,
    content = is_text and { block(message) } or content_of(message, outcome.error, outputs),
    structuredContent = outputs,
    isError = not outcome.success or nil,
    _meta = meta,
  }, RESULT)
end

---The handler of tools/call. The request is used by functions that take a context, so only for them it keeps its era.
---@param server pintle.server
---@return pintle.handler
function tools.handler(server)
  local operations, result_meta = server.operations, results.meta(server)
  return function(params, request)
    if request.id == nil then return nil end
    local meta, err = era.check(server, request, params)
    if not meta then return nil, err end
    if params == json.null then params = nil end
    local args, operation = params and params.arguments, params and operations[params.name]
    if not operation or kind_of(args) ~= "object" then
      args, err = read_call(server, params)
      if not args then return nil, err end
      operation = operations[params.name]
    end
    if operation.takes_context then era.keep(server, request, meta) end
    local outcome
    outcome, err = server:execute(params.name, args, NO_CONTEXT, request)
    local is_modern = meta[VERSION] ~= nil
    if not outcome then
      return nil, request.id ~= nil and results.error(is_modern, err) or err -- a cancelled request is not answered
    end
    if is_modern then return result_of(operation, outcome, "complete", result_meta) end
    return result_of(operation, outcome)
  end
end

-- }======

return tools
