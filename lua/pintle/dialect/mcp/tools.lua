-- Operations as tools, on the side of the server.

local errors = require "pintle.error"
local identity = require "pintle.dialect.mcp.identity"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local ordered_schema = require "pintle.manifest.order"
local wire = require "pintle.dialect.mcp.wire"

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
  local is_right = type(params) == "table" and json.kind(params.arguments) == "object"
    and server.plugin.manifest.operations[params.name]
  if is_right then return params.arguments end
  local ok, err = wire.need(params, "object", "params")
  if ok then ok, err = wire.need(params.name, "string", "name") end
  if ok then ok, err = jsonrpc.check(params.arguments, "object", "arguments") end
  if not ok then return nil, err end
  if not server.plugin.manifest.operations[params.name] then return unknown(server.plugin.manifest, params.name) end
  return jsonrpc.given(params.arguments) or {}
end

local NO_CONTEXT = {}

local function add_text(content, text)
  if text ~= nil then content[#content + 1] = setmetatable({ type = "text", text = text }, TEXT) end
end

-- Not every client reads structured content, so it is there as text, too.
local function content_of(outcome)
  local content = json.array()
  add_text(content, outcome.message)
  if outcome.error ~= outcome.message then add_text(content, outcome.error) end
  if outcome.outputs then add_text(content, json.encode(outcome.outputs)) end
  return content
end

-- Clients refuse a tool that has declared what it gives back and gives back nothing of that kind.
local function outputs_of(operation, outcome)
  if outcome.outputs == nil and outcome.success and operation.outputs ~= nil then return {} end
  return outcome.outputs
end

local function check_outputs(operation, outputs)
  if outputs == nil or json.kind(outputs) == "object" then return end
  error(("operation %q returned a list as its outputs, which have to have names"):format(operation), 0)
end

---@param server pintle.server
---@param params any
---@param request pintle.request
---@return table?, any err
function tools.call(server, params, request)
  local args, err = read_call(server, params)
  if not args then return nil, err end
  local outcome
  outcome, err = server:execute(params.name, args, NO_CONTEXT, request)
  if not outcome then return nil, err end
  outcome.outputs = outputs_of(server.plugin.manifest.operations[params.name], outcome)
  check_outputs(params.name, outcome.outputs)
  return setmetatable({
    content = content_of(outcome),
    structuredContent = outcome.outputs,
    isError = not outcome.success or nil,
  }, RESULT)
end

-- }======

return tools
