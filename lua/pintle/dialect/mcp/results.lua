-- What a server sends as results: content (text, images, sounds and resources), and the outcomes of tools.

local bytes = require "pintle.bytes"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local wire = require "pintle.dialect.mcp.wire"

local type, kind_of, given = type, json.kind, jsonrpc.given
local protocol_error = jsonrpc.protocol_error

local results = {}

-- {====== Content: base64 becomes `pintle.bytes` ======

local function copy_result_with_member(holder, name, value)
  local copy = wire.copy_members(holder, {})
  copy[name] = value
  return setmetatable(copy, getmetatable(holder))
end

-- A copy with bytes instead of base64. What is not base64 stays as it is.
local function decode_result_base64(session, holder, member)
  local text = holder[member]
  if type(text) ~= "string" then return holder end
  local data = bytes.from_base64(text, type(holder.mimeType) == "string" and holder.mimeType or nil)
  if data then return copy_result_with_member(holder, member, data) end
  session:log("warn", ("%s of its content is not base64"):format(member))
  return holder
end

---The contents of a resource, whose `blob` becomes bytes.
---@param session pintle.session
---@param contents any
---@return any
function results.resource(session, contents)
  if type(contents) ~= "table" then return contents end
  return decode_result_base64(session, contents, "blob")
end

---A block, whose `data`, or `blob` of its resource, becomes bytes.
---@param session pintle.session
---@param block any
---@return any
function results.block(session, block)
  if type(block) ~= "table" then return block end
  if block.type == "image" or block.type == "audio" then return decode_result_base64(session, block, "data") end
  if block.type ~= "resource" then return block end
  local resource = results.resource(session, block.resource)
  if rawequal(resource, block.resource) then return block end
  return copy_result_with_member(block, "resource", resource)
end

---A list, each item of which is converted.
---@param session pintle.session
---@param list any[]
---@param convert fun(session: pintle.session, item: any): any
---@return any[]
function results.convert_list(session, list, convert)
  local converted = setmetatable({}, getmetatable(list))
  for i, item in ipairs(list) do converted[i] = convert(session, item) end
  return converted
end

-- }======

-- {====== Content as text ======

local function describe_result_content(what, holder, data)
  local kind = type(holder.mimeType) == "string" and holder.mimeType or "application/octet-stream"
  return ("[%s: %s, %d bytes]"):format(what, kind, data and #data or 0)
end

local function result_resource_text(resource)
  if type(resource) ~= "table" then return "[resource]" end
  if type(resource.text) == "string" then return resource.text end
  return describe_result_content("resource " .. tostring(resource.uri), resource, resource.blob)
end

local BLOCK_TEXTS = {
  text = function(block) return tostring(block.text) end,
  image = function(block) return describe_result_content("image", block, block.data) end,
  audio = function(block) return describe_result_content("audio", block, block.data) end,
  resource_link = function(block) return ("%s: %s"):format(tostring(block.name), tostring(block.uri)) end,
  resource = function(block) return result_resource_text(block.resource) end,
}

---The best text for content without text.
---@param list any[] blocks as `block` returns them
---@return string?
function results.text(list)
  local texts = {}
  for _, block in ipairs(list) do
    local write = type(block) == "table" and BLOCK_TEXTS[block.type]
    if write then texts[#texts + 1] = write(block) end
  end
  if #texts > 0 then return table.concat(texts, "\n") end
end

-- }======

-- {====== Outcomes of tools ======

local function is_equal_result_json(a, b)
  if a == b then return true end
  if type(a) ~= "table" or type(b) ~= "table" then return false end
  for name, value in pairs(a) do
    if not is_equal_result_json(value, b[name]) then return false end
  end
  for name in pairs(b) do
    if a[name] == nil then return false end
  end
  return true
end

-- Whether a text is the JSON of the structured content, which servers repeat for clients that read only text.
local function is_result_json_of(text, structured)
  if structured == nil then return false end
  local value = json.decode(text)
  return value ~= nil and is_equal_result_json(value, structured)
end

-- Content without any text is described.
local function result_content_message(content, structured)
  local texts, has_text = {}, false
  for _, block in ipairs(content) do
    local text = type(block) == "table" and block.type == "text" and block.text
    if type(text) == "string" then
      has_text = true
      if not is_result_json_of(text, structured) then texts[#texts + 1] = text end
    end
  end
  if #texts > 0 then return table.concat(texts, "\n") end
  return not has_text and results.text(content) or nil
end

local function result_error(operation, format, ...)
  return protocol_error("its result of %q: %s", operation, format:format(...))
end

local function check_result_outputs(session, operation, outcome)
  if not outcome.success and outcome.outputs == nil then return outcome end
  local ok, message = session.manifest:check_outputs(operation, outcome.outputs)
  if not ok then return result_error(operation, "%s", message) end
  return outcome
end

local function read_whole_result(session, operation, result)
  if kind_of(result) ~= "object" then return result_error(operation, "no object") end
  local result_type = given(result.resultType)
  if result_type ~= nil and result_type ~= "complete" then
    return result_error(operation, "of the type %s", tostring(result_type))
  end
  local content, structured = given(result.content), given(result.structuredContent)
  if content ~= nil and kind_of(content) ~= "array" then return result_error(operation, "content is no list") end
  content = results.convert_list(session, content or {}, results.block)
  local message = result_content_message(content, structured)
  local success = result.isError ~= true
  return check_result_outputs(session, operation, {
    success = success, message = message, error = not success and (message or "it failed") or nil,
    outputs = structured, content = content, result = result,
  })
end

-- The text of a successful result that is nothing but one text, as most results are; nil for other results.
local function only_text_of_result(result)
  local result_type, content = result.resultType, result.content
  if result.isError ~= nil or result.structuredContent ~= nil or result_type ~= "complete" and result_type ~= nil
    or type(content) ~= "table" or content[2] ~= nil then return nil end
  local block = content[1]
  local text = type(block) == "table" and block.type == "text" and block.text
  return type(text) == "string" and text or nil
end

---The outcome of a tool from its result.
---@param session pintle.session
---@param operation string
---@param result any
---@return pintle.outcome?, pintle.error?
function results.read_outcome(session, operation, result)
  local known = session.manifest.operations[operation]
  local text = type(result) == "table" and not (known and known.validate_outputs) and only_text_of_result(result)
  if text then return { success = true, message = text, content = result.content, result = result } end
  return read_whole_result(session, operation, result)
end

-- }======

return results
