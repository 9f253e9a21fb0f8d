-- Calls of tools: operations are executed, and their outcomes become results.

local era = require "pintle.dialect.mcp.era"
local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local lazy = require "pintle.lazy"
local wire = require "pintle.dialect.mcp.wire"

local questions = lazy "pintle.dialect.mcp.questions"
local tasks = lazy "pintle.dialect.mcp.tasks"

local setmetatable, kind_of, VERSION = setmetatable, json.kind, wire.META.version

local tools = {}

local RESULT = json.order { "resultType", "content", "structuredContent", "isError", "_meta" }
local TEXT = json.order { "type", "text" }
local UNKNOWN = json.order { "tool", "suggestion" }

local function unknown_tool(manifest, name)
  local suggestion = manifest:nearest(name)
  return nil, errors.new("invalid", "Unknown tool: " .. name, {
    code = jsonrpc.INVALID_PARAMS, data = setmetatable({ tool = name, suggestion = suggestion }, UNKNOWN),
  })
end

local function read_tool_call(server, params)
  local ok, err = wire.check_name_and_arguments(params)
  if not ok then return nil, err end
  if not server.operations[params.name] then return unknown_tool(server.plugin.manifest, params.name) end
  return jsonrpc.given(params.arguments) or {}
end

local NO_CONTEXT, NOTHING = {}, {}

local function tool_text_block(text) return setmetatable({ type = "text", text = text }, TEXT) end

-- Structured content is repeated as text for clients that do not read it.
local function tool_content(outcome, outputs)
  local content, message, problem = json.array(), outcome.message, outcome.error
  if message ~= nil then content[1] = tool_text_block(message) end
  for _, block in ipairs(outcome.content or NOTHING) do content[#content + 1] = block end
  if problem ~= message and problem ~= nil then content[#content + 1] = tool_text_block(problem) end
  if outputs ~= nil then content[#content + 1] = tool_text_block(json.encode(outputs)) end
  return content
end

-- Clients reject a result without structured content if the tool has an output schema.
local function tool_outputs(operation, outcome)
  local outputs = outcome.outputs
  if outputs == nil and operation.outputs and outcome.success then return {} end
  return outputs
end

-- The classic era has structured content only as an object. Outputs of other types go out as text alone.
local function tool_result(operation, outcome, is_modern, meta)
  local outputs = tool_outputs(operation, outcome)
  local is_structured = outputs ~= nil and (is_modern or kind_of(outputs) == "object")
  local result = {
    resultType = is_modern and "complete" or nil,
    content = tool_content(outcome, outputs),
    isError = not outcome.success or nil,
    _meta = meta,
  }
  if is_structured then result.structuredContent = outputs end
  return setmetatable(result, RESULT)
end

-- A function that writes the result of a success that is nothing but a text, as most are, out of prepared parts.
-- Returns nil for a text that cannot be sent.
local function tool_text_result_writer(first, last)
  first = first .. '"content":[{"type":"text","text":'
  return function(text)
    if not json.is_utf8(text) then return nil end
    return json.raw(first .. json.encode(text) .. last)
  end
end

local function is_only_text_tool_outcome(operation, outcome)
  return outcome.success and outcome.message and outcome.outputs == nil and not outcome.error
    and not outcome.content and not operation.outputs
end

-- A function that makes the result of a call.
local function tool_result_writer(server)
  local meta = era.result_meta(server)
  local write_modern = tool_text_result_writer('{"resultType":"complete",', '}],"_meta":' .. tostring(meta) .. "}")
  local write_classic = tool_text_result_writer("{", "}]}")
  return function(operation, outcome, is_modern)
    local write = is_modern and write_modern or write_classic
    local result = is_only_text_tool_outcome(operation, outcome) and write(outcome.message)
    return result or tool_result(operation, outcome, is_modern, is_modern and meta or nil)
  end
end

-- Runs an operation. Returns the result, or nil and an error.
local function call_tool_operation(server, operation, args, request, is_modern, write_result)
  local outcome, err, reason = server:execute(operation.name, args, NO_CONTEXT, request)
  if reason == "arguments" and (is_modern or server.state.returns_wrong_arguments) then
    outcome = { success = false, message = err.message, error = err.message }
  elseif not outcome then
    return nil, request.id ~= nil and era.error(is_modern, err) or err -- a cancelled request is not answered
  end
  return write_result(operation, outcome, is_modern)
end

-- The same for an operation that may ask its client or may be a task.
local function call_tool_operation_with_context(server, operation, params, args, request, write_result)
  local is_modern, own = request.mcp.is_modern, operation.dialects.mcp
  if params.requestState or params.inputResponses then
    local ok, err = questions.receive(server, params, request)
    if not ok then return nil, err end
  end
  if not is_modern or not own or not own.task then
    return call_tool_operation(server, operation, args, request, is_modern, write_result)
  end
  return tasks.call(server, request, own, function()
    return call_tool_operation(server, operation, args, request, is_modern, write_result)
  end)
end

---The handler of tools/call. Only an operation that takes a context, or may be a task, uses `request.mcp`.
---@param server pintle.server
---@return pintle.handler
function tools.handler(server)
  local operations, state, write_result = server.operations, server.state, tool_result_writer(server)
  return function(params, request)
    if request.id == nil then return nil end
    local meta, err = params and params._meta
    if meta == nil or meta ~= state.checked_meta then
      meta, err = era.check(server, request, params)
      if not meta then return nil, err end
    end
    local args, operation = params and params.arguments, params and operations[params.name]
    if not operation or kind_of(args) ~= "object" then
      args, err = read_tool_call(server, params)
      if not args then return nil, err end
      operation = operations[params.name]
    end
    local own = operation.dialects.mcp
    if not operation.takes_context and not (own and own.task) then
      return call_tool_operation(server, operation, args, request, meta[VERSION] ~= nil, write_result)
    end
    era.attach(server, request, meta, params)
    return call_tool_operation_with_context(server, operation, params, args, request, write_result)
  end
end

return tools
