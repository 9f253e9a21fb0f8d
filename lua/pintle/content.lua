-- Content of more than text: a list of texts, images, sounds and resources, in the form of MCP, which other dialects
-- get as text. Loaded when there is content.

local bytes = require "pintle.bytes"
local json = require("pintle.core").json

---@class pintle.content
local content = {}

---One item: a text; bytes, which are an image, audio or an embedded resource by their MIME type; or a block of MCP, a
---table with `type`, whose `data` or `blob` may be bytes.
---@alias pintle.content.item string|pintle.bytes|table

local BLOCK = json.order {
  "type", "text", "data", "uri", "name", "title", "description", "mimeType", "size", "resource", "annotations", "_meta",
}
local RESOURCE = json.order { "uri", "mimeType", "text", "blob", "annotations", "_meta" }

-- {====== Blocks ======

local function content_error(format, ...) return nil, format:format(...) end

local function copy_content_block(given, metatable)
  local copied = {}
  for name, value in pairs(given) do copied[name] = value end
  return setmetatable(copied, metatable)
end

local function check_content_string(block, name)
  local value = block[name]
  if type(value) == "string" then return true end
  return content_error("%s: a string expected, got %s", name, type(value))
end

-- Makes base64 of a member that has bytes, and adds their MIME type if there is none.
local function set_base64_member(block, name)
  local value = block[name]
  if bytes.is(value) then
    block[name], block.mimeType = bytes.base64(value), block.mimeType or bytes.mime_type(value)
    return true
  end
  if type(value) ~= "string" then return content_error("%s: bytes or base64 expected, got %s", name, type(value)) end
  if not bytes.from_base64(value) then return content_error("%s: is not base64", name) end
  return true
end

local function check_content_media(block)
  local ok, message = set_base64_member(block, "data")
  if not ok then return nil, message end
  return check_content_string(block, "mimeType")
end

---The contents of a resource as they are sent: a table with `uri`, and `text` or `blob`.
---@param given table
---@return table?, string? message
function content.resource(given)
  if type(given) ~= "table" then return content_error("a table expected, got %s", type(given)) end
  local resource = copy_content_block(given, RESOURCE)
  local ok, message = check_content_string(resource, "uri")
  if ok and (resource.text == nil) == (resource.blob == nil) then
    ok, message = content_error "text or blob expected"
  end
  if ok and resource.text ~= nil then
    ok, message = check_content_string(resource, "text")
  elseif ok then
    ok, message = set_base64_member(resource, "blob")
  end
  if not ok then return nil, message end
  return resource
end

local CHECKS = {
  text = function(block) return check_content_string(block, "text") end,
  image = check_content_media,
  audio = check_content_media,
  resource_link = function(block)
    local ok, message = check_content_string(block, "uri")
    if not ok then return nil, message end
    return check_content_string(block, "name")
  end,
  resource = function(block)
    local resource, message = content.resource(block.resource)
    if not resource then return content_error("resource: %s", message) end
    block.resource = resource
    return true
  end,
}

-- Bytes have no address of their own: an embedded resource gets one from its place in the list.
local function content_block_of_bytes(value, place)
  local mime_type, data = bytes.mime_type(value), bytes.base64(value)
  local kind = mime_type:match "^(%l+)/"
  if kind == "image" or kind == "audio" then
    return setmetatable({ type = kind, data = data, mimeType = mime_type }, BLOCK)
  end
  local resource = { uri = ("attachment:///%d"):format(place), mimeType = mime_type, blob = data }
  return setmetatable({ type = "resource", resource = setmetatable(resource, RESOURCE) }, BLOCK)
end

---One item as a block of MCP, with base64 instead of bytes. The item itself is not changed.
---@param item pintle.content.item
---@param place? integer in its list
---@return table? block, string? message
function content.block(item, place)
  if type(item) == "string" then return setmetatable({ type = "text", text = item }, BLOCK) end
  if bytes.is(item) then return content_block_of_bytes(item, place or 1) end
  if type(item) ~= "table" then return content_error("a string, bytes or a table expected, got %s", type(item)) end
  local check = CHECKS[item.type]
  if not check then
    return content_error("type: text, image, audio, resource or resource_link expected, got %s", tostring(item.type))
  end
  local block = copy_content_block(item, BLOCK)
  local ok, message = check(block)
  if not ok then return nil, message end
  return block
end

---All items as blocks.
---@param list pintle.content.item[]
---@return table[]? blocks, string? message names the item that is wrong
function content.blocks(list)
  if bytes.is(list) or next(list) ~= nil and list[1] == nil then return nil, "a list expected" end
  local blocks = json.array()
  for i, item in ipairs(list) do
    local block, message = content.block(item, i)
    if not block then return content_error("[%d]: %s", i, message) end
    blocks[i] = block
  end
  return blocks
end

-- }======

-- {====== Text ======

-- How many bytes there are in base64, or in bytes.
local function base64_decoded_size(data)
  if bytes.is(data) then return #data end
  return #data // 4 * 3 - #data:match "=*$"
end

local function describe_media_content(what, mime_type, data)
  mime_type = mime_type or bytes.is(data) and bytes.mime_type(data) or "application/octet-stream"
  return ("[%s: %s, %d bytes]"):format(what, mime_type, base64_decoded_size(data))
end

local function resource_text(resource)
  if resource.text then return resource.text end
  return describe_media_content("resource " .. resource.uri, resource.mimeType, resource.blob)
end

local TEXTS = {
  text = function(block) return block.text end,
  image = function(block) return describe_media_content("image", block.mimeType, block.data) end,
  audio = function(block) return describe_media_content("audio", block.mimeType, block.data) end,
  resource = function(block) return resource_text(block.resource) end,
  resource_link = function(block) return ("%s: %s"):format(block.name, block.uri) end,
}

---The best text there is for blocks, one line or more for each (docs/plugins.md).
---@param blocks table[] of MCP; `data` and `blob` may be bytes or base64
---@return string
function content.text(blocks)
  local lines = {}
  for _, block in ipairs(blocks) do
    local text_of = TEXTS[block.type]
    lines[#lines + 1] = text_of and text_of(block) or nil
  end
  return table.concat(lines, "\n")
end

-- }======

return content
