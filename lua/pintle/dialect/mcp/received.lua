-- Content that a server has sent: text, images, sounds and resources. Base64 becomes `pintle.bytes`.

local bytes = require "pintle.bytes"

local type = type

local received = {}

local function with_member(holder, name, value)
  local copy = {}
  for member, old in pairs(holder) do copy[member] = old end
  copy[name] = value
  return setmetatable(copy, getmetatable(holder))
end

-- A copy with bytes instead of base64. What is not base64 stays as it is.
local function with_bytes(session, holder, member)
  local text = holder[member]
  if type(text) ~= "string" then return holder end
  local data = bytes.from_base64(text, type(holder.mimeType) == "string" and holder.mimeType or nil)
  if data then return with_member(holder, member, data) end
  session:log("warn", ("%s of its content is not base64"):format(member))
  return holder
end

-- {====== Bytes ======

---The contents of a resource, whose `blob` becomes bytes.
---@param session pintle.session
---@param contents any
---@return any
function received.resource(session, contents)
  if type(contents) ~= "table" then return contents end
  return with_bytes(session, contents, "blob")
end

---A block, whose `data`, or `blob` of its resource, becomes bytes.
---@param session pintle.session
---@param block any
---@return any
function received.block(session, block)
  if type(block) ~= "table" then return block end
  if block.type == "image" or block.type == "audio" then return with_bytes(session, block, "data") end
  if block.type ~= "resource" then return block end
  local resource = received.resource(session, block.resource)
  if rawequal(resource, block.resource) then return block end
  return with_member(block, "resource", resource)
end

---A list, each item of which is converted.
---@param session pintle.session
---@param list any[]
---@param convert fun(session: pintle.session, item: any): any
---@return any[]
function received.list(session, list, convert)
  local converted = setmetatable({}, getmetatable(list))
  for i, item in ipairs(list) do converted[i] = convert(session, item) end
  return converted
end

-- }======

-- {====== Text ======

local function describe(what, holder, data)
  local kind = type(holder.mimeType) == "string" and holder.mimeType or "application/octet-stream"
  return ("[%s: %s, %d bytes]"):format(what, kind, data and #data or 0)
end

local function text_of_resource(resource)
  if type(resource) ~= "table" then return "[resource]" end
  if type(resource.text) == "string" then return resource.text end
  return describe("resource " .. tostring(resource.uri), resource, resource.blob)
end

local TEXTS = {
  text = function(block) return tostring(block.text) end,
  image = function(block) return describe("image", block, block.data) end,
  audio = function(block) return describe("audio", block, block.data) end,
  resource_link = function(block) return ("%s: %s"):format(tostring(block.name), tostring(block.uri)) end,
  resource = function(block) return text_of_resource(block.resource) end,
}

---The best text for content without text.
---@param list any[] blocks as `block` returns them
---@return string?
function received.text(list)
  local texts = {}
  for _, block in ipairs(list) do
    local write = type(block) == "table" and TEXTS[block.type]
    if write then texts[#texts + 1] = write(block) end
  end
  if #texts > 0 then return table.concat(texts, "\n") end
end

-- }======

return received
