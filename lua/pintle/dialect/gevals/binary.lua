-- Bytes inside of values. On the wire they are `{"$bytes": "<base64>"}`; so that nothing else can be taken for them, a
-- member of a plain object that is named $bytes, $$bytes and so on has one more $ there.

local bytes = require "pintle.bytes"

local binary = {}

local DEEPEST = 1000 -- the codec goes no deeper

local function escape(name) return (name:gsub("^%$+bytes$", "$%0")) end

local function unescape(name) return (name:gsub("^%$(%$+bytes)$", "%1")) end

local function pointer(path, name)
  return ("%s/%s"):format(path, (tostring(name):gsub("~", "~0"):gsub("/", "~1")))
end

---Where the first bytes are in a value.
---@param value any
---@param path string JSON pointer to the value
---@return string? path
function binary.find(value, path, depth)
  depth = depth or 0
  if bytes.is(value) then return path end
  if type(value) ~= "table" or depth > DEEPEST then return nil end
  for name, member in pairs(value) do
    local index = math.type(name) == "integer" and name - 1 or name
    local found = type(member) == "table" and binary.find(member, pointer(path, index), depth + 1)
    if found then return found end
  end
end

-- The value itself where nothing changes, else a copy.
local function renamed(value, rename, convert, depth)
  local copy, is_changed = {}, false
  for name, member in pairs(value) do
    local new_name = type(name) == "string" and rename(name) or name
    local new_member = convert(member, depth + 1)
    copy[new_name] = new_member
    is_changed = is_changed or new_name ~= name or not rawequal(new_member, member)
  end
  return is_changed and setmetatable(copy, getmetatable(value)) or value
end

---The value as it is sent: bytes as they are, and names that look like theirs escaped. What is given is not touched.
---@param value any
---@return any
function binary.pack(value, depth)
  depth = depth or 0
  if type(value) ~= "table" or bytes.is(value) or depth > DEEPEST then return value end
  return renamed(value, escape, binary.pack, depth)
end

local function refuse(reason) error({ reason = reason }, 0) end

local function unpacked(value, depth)
  if type(value) ~= "table" then return value end
  if value["$bytes"] == nil then return renamed(value, unescape, unpacked, depth) end
  local object, reason = bytes.from_object(value)
  if not object then refuse(reason) end
  return object
end

---The value as it was before it was sent.
---@param value any
---@return any value, string? message what is wrong, with nil
function binary.unpack(value)
  local ok, result = pcall(unpacked, value, 0)
  if ok then return result end
  if type(result) ~= "table" or not result.reason then error(result, 0) end
  return nil, result.reason
end

return binary
