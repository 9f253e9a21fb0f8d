-- What pintle adds to the protocol: capabilities that a host offers and a plugin accepts, and binary data in values.

local json = require("pintle.core").json
local lazy = require "pintle.lazy"

local bytes = lazy "pintle.bytes"

local extensions = {}

-- {====== Capabilities ======

---The capabilities that pintle has on both sides.
local OWN = { "bytes", "cancel", "parts", "progress" }

local CANCEL = json.order { "id", "reason" }

---@type pintle.cancellation
local CANCELLATION = {
  method = "cancel",
  params = function(id, reason) return setmetatable({ id = id, reason = reason }, CANCEL) end,
  id = function(params) return params.id end,
}

local function with_own_gevals_capabilities(names)
  local set = {}
  for _, name in ipairs(OWN) do set[name] = true end
  for name in pairs(names) do set[name] = true end
  return set
end

---@param set table<string, true>
---@return string[] the names in alphabetical order
function extensions.list(set)
  local list = json.array()
  for name in pairs(set) do list[#list + 1] = name end
  table.sort(list)
  return list
end

---@param value any
---@return table<string, true>? set nil if the value is no list of names
function extensions.set_of(value)
  if type(value) ~= "table" or next(value) ~= nil and value[1] == nil then return nil end
  local set = {}
  for _, name in ipairs(value) do
    if type(name) ~= "string" then return nil end
    set[name] = true
  end
  return set
end

---The capabilities that a host offers.
---@param others boolean|string[] capabilities of the user, if there are any
---@return string[]
function extensions.offer(others)
  return extensions.list(with_own_gevals_capabilities(type(others) == "table" and extensions.set_of(others) or {}))
end

---The capabilities that both sides have.
---@param offered table<string, true>
---@param names table<string, true> capabilities of the plugin's author
---@return table<string, true>
function extensions.agree(offered, names)
  local agreed = {}
  for name in pairs(with_own_gevals_capabilities(names)) do
    if offered[name] then agreed[name] = true end
  end
  return agreed
end

---Starts to use the capabilities that both sides have.
---@param peer pintle.peer
---@param agreed table<string, true>
function extensions.begin(peer, agreed)
  if agreed.cancel then peer:adopt { cancellation = CANCELLATION } end
end

-- }======

-- {====== Binary data ======

-- Binary data is sent as `{"$bytes": "<base64>"}`. So that no other object looks like it, a member named $bytes,
-- $$bytes and so on is sent with one more $.

local DEEPEST = 1000 -- the codec's limit of nesting

local function escape_bytes_name(name) return (name:gsub("^%$+bytes$", "$%0")) end

local function unescape_bytes_name(name) return (name:gsub("^%$(%$+bytes)$", "%1")) end

local function bytes_pointer(path, name)
  return ("%s/%s"):format(path, (tostring(name):gsub("~", "~0"):gsub("/", "~1")))
end

---Finds the first binary data in a value.
---@param value any
---@param path string JSON pointer to the value
---@return string? path
function extensions.find_bytes(value, path, depth)
  depth = depth or 0
  if bytes.is(value) then return path end
  if type(value) ~= "table" or depth > DEEPEST then return nil end
  for name, member in pairs(value) do
    local index = math.type(name) == "integer" and name - 1 or name
    local found = type(member) == "table" and extensions.find_bytes(member, bytes_pointer(path, index), depth + 1)
    if found then return found end
  end
end

-- Returns the value itself if nothing changes, else a copy.
local function convert_bytes_members(value, rename, convert, depth)
  local copy, is_changed = {}, false
  for name, member in pairs(value) do
    local new_name = type(name) == "string" and rename(name) or name
    local new_member = convert(member, depth + 1)
    copy[new_name] = new_member
    is_changed = is_changed or new_name ~= name or not rawequal(new_member, member)
  end
  return is_changed and setmetatable(copy, getmetatable(value)) or value
end

---The value to send: names are escaped. The given value is not changed.
---@param value any
---@return any
function extensions.pack(value, depth)
  depth = depth or 0
  if type(value) ~= "table" or bytes.is(value) or depth > DEEPEST then return value end
  return convert_bytes_members(value, escape_bytes_name, extensions.pack, depth)
end

local function unpack_bytes_value(value, depth)
  if type(value) ~= "table" then return value end
  if value["$bytes"] == nil then return convert_bytes_members(value, unescape_bytes_name, unpack_bytes_value, depth) end
  local object, reason = bytes.from_object(value)
  if not object then error({ reason = reason }, 0) end
  return object
end

---The value as it was before `pack`.
---@param value any
---@return any value, string? message what is wrong, if the value is nil
function extensions.unpack(value)
  local ok, result = pcall(unpack_bytes_value, value, 0)
  if ok then return result end
  if type(result) ~= "table" or not result.reason then error(result, 0) end
  return nil, result.reason
end

-- }======

return extensions
