-- What a tool gives back, as the outcome of an operation.

local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"

local type = type

local outcomes = {}

local function equal(a, b)
  if a == b then return true end
  if type(a) ~= "table" or type(b) ~= "table" then return false end
  for name, value in pairs(a) do
    if not equal(value, b[name]) then return false end
  end
  for name in pairs(b) do
    if a[name] == nil then return false end
  end
  return true
end

-- Structured content comes as text, too, for those who read nothing else.
local function says_the_same(text, structured)
  if structured == nil then return false end
  local value = json.decode(text)
  return value ~= nil and equal(value, structured)
end

local function message_of(content, structured)
  local texts = {}
  for _, block in ipairs(content) do
    local text = type(block) == "table" and block.type == "text" and block.text
    if type(text) == "string" and not says_the_same(text, structured) then texts[#texts + 1] = text end
  end
  if #texts > 0 then return table.concat(texts, "\n") end
end

local function protocol_error(operation, format, ...)
  return nil, errors.new("protocol", ("its result of %q: "):format(operation) .. format:format(...))
end

local function check_outputs(session, operation, outcome)
  if not outcome.success and outcome.outputs == nil then return outcome end
  local ok, message = session.manifest:check_outputs(operation, outcome.outputs)
  if not ok then return protocol_error(operation, "%s", message) end
  return outcome
end

local function read(session, operation, result)
  if json.kind(result) ~= "object" then return protocol_error(operation, "no object") end
  local kind = jsonrpc.given(result.resultType)
  if kind ~= nil and kind ~= "complete" then return protocol_error(operation, "of the type %s", tostring(kind)) end
  local content, structured = jsonrpc.given(result.content), jsonrpc.given(result.structuredContent)
  if content ~= nil and json.kind(content) ~= "array" then return protocol_error(operation, "content is no list") end
  local message = message_of(content or {}, structured)
  local success = result.isError ~= true
  return check_outputs(session, operation, {
    success = success, message = message, error = not success and (message or "it failed") or nil,
    outputs = structured, result = result,
  })
end

-- Whether a result has no more than content. Such a result is a success.
local function has_only_content(result)
  local kind = result.resultType
  return result.isError == nil and result.structuredContent == nil and (kind == "complete" or kind == nil)
end

---A result that is one text and nothing else, as most are, is read without a closer look.
---@param session pintle.session
---@param operation string
---@param result any
---@return pintle.outcome?, pintle.error?
function outcomes.of(session, operation, result)
  local known = session.manifest.operations[operation]
  if type(result) ~= "table" or known and known.validate_outputs or not has_only_content(result) then
    return read(session, operation, result)
  end
  local content = result.content
  local block = type(content) == "table" and content[2] == nil and content[1]
  local text = type(block) == "table" and block.type == "text" and block.text
  if type(text) ~= "string" then return read(session, operation, result) end
  return { success = true, message = text, result = result }
end

return outcomes
