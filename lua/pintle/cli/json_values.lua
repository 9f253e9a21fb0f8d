-- Values in JSON text, found and replaced without changing the rest; names in JSON objects; differences between two
-- JSON values.

local json = require("pintle.core").json

local json_values = {}

---@param object table
---@return string[] names of its members, sorted
function json_values.sorted_names(object)
  local names = {}
  for name in pairs(object) do
    if type(name) == "string" then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

-- {====== Values in text, which has to be valid JSON ======

local function skip_space(text, at) return text:find("[^ \t\r\n]", at) or #text + 1 end

local function skip_string(text, at)
  repeat
    at = text:find('["\\]', at + 1)
    local is_escape = text:byte(at) == 92
    if is_escape then at = at + 1 end
  until not is_escape
  return at + 1
end

local function skip_container(text, at)
  local depth = 0
  repeat
    at = text:find('["{}%[%]]', at)
    local sign = text:sub(at, at)
    if sign == '"' then
      at = skip_string(text, at)
    else
      depth = depth + ((sign == "{" or sign == "[") and 1 or -1)
      at = at + 1
    end
  until depth == 0
  return at
end

-- Position after the value that begins at `at`.
local function skip_value(text, at)
  local sign = text:sub(at, at)
  if sign == '"' then return skip_string(text, at) end
  if sign == "{" or sign == "[" then return skip_container(text, at) end
  return text:find("[%s,%]}]", at) or #text + 1
end

-- Iterates over the values of a container: name (false in an array), first, last.
local function each_value(text, at, is_object)
  return coroutine.wrap(function()
    at = skip_space(text, at + 1)
    while not text:find("^[%]}]", at) do
      local name
      if is_object then
        local stop = skip_string(text, at)
        name = json.decode(text:sub(at, stop - 1))
        at = skip_space(text, skip_space(text, stop) + 1)
      end
      local stop = skip_value(text, at)
      coroutine.yield(name or false, at, stop - 1)
      at = skip_space(text, stop)
      if text:sub(at, at) == "," then at = skip_space(text, at + 1) end
    end
  end)
end

---Position of the value of a member; of duplicate members the last.
---@param text string JSON; if it is not an object, the result is nil
---@param name string
---@return integer? first, integer? last
function json_values.find_member(text, name)
  local first, last
  local at = skip_space(text, 1)
  if text:sub(at, at) ~= "{" then return nil end
  for found, from, to in each_value(text, at, true) do
    if found == name then first, last = from, to end
  end
  return first, last
end

---@param text string
---@return string[]? elements if it is an array
function json_values.split_elements(text)
  local at = skip_space(text, 1)
  if text:sub(at, at) ~= "[" then return nil end
  local elements = {}
  for _, first, last in each_value(text, at, false) do elements[#elements + 1] = text:sub(first, last) end
  return elements
end

---@param text string an object
---@param name string of an existing member
---@param value string JSON
---@return string
function json_values.replace_member(text, name, value)
  local first, last = json_values.find_member(text, name)
  return text:sub(1, first - 1) .. value .. text:sub(last + 1)
end

-- }======

-- {====== Differences between two JSON values ======

local MISSING = {}

---@class pintle.cli.difference
---@field path string JSON pointer
---@field recorded? string JSON; nil if the recording has no such value
---@field now? string JSON; nil if the message has no such value

local function encode_present(value)
  if value == MISSING then return nil end
  return json.encode(value)
end

local function pointer_to(path, name)
  local index = math.type(name) == "integer" and name - 1 or name
  return ("%s/%s"):format(path, (tostring(index):gsub("~", "~0"):gsub("/", "~1")))
end

local function merged_names(one, other)
  local names, seen = {}, {}
  for _, value in ipairs { one, other } do
    for name in pairs(value) do
      if not seen[name] then names[#names + 1] = name end
      seen[name] = true
    end
  end
  table.sort(names, function(a, b)
    if math.type(a) and math.type(b) then return a < b end
    return tostring(a) < tostring(b)
  end)
  return names
end

local function is_empty_container(value) return next(value) == nil end

-- An empty array differs from an empty object; otherwise an array marked as such equals a plain one.
local function are_comparable(one, other)
  local kind = json.kind(one)
  return kind == json.kind(other) and (kind == "array" or kind == "object")
    and is_empty_container(one) == is_empty_container(other)
end

local function member_of(value, name)
  if value[name] == nil then return MISSING end
  return value[name]
end

local compare_values

local function compare_members(one, other, path, ignores, found)
  for _, name in ipairs(merged_names(one, other)) do
    compare_values(member_of(one, name), member_of(other, name), pointer_to(path, name), ignores, found)
  end
end

function compare_values(one, other, path, ignores, found)
  if one == other or ignores(path) then return end
  if one ~= MISSING and other ~= MISSING and type(one) == "table" and type(other) == "table" then
    if are_comparable(one, other) then return compare_members(one, other, path, ignores, found) end
    if is_empty_container(one) and is_empty_container(other) and json.kind(one) == json.kind(other) then return end
  end
  found[#found + 1] = { path = path, recorded = encode_present(one), now = encode_present(other) }
end

---@param recorded any
---@param now any
---@param ignores fun(path: string): boolean whether the path may differ
---@return pintle.cli.difference[]
function json_values.differences(recorded, now, ignores)
  local found = {}
  compare_values(recorded, now, "", ignores, found)
  return found
end

-- }======

return json_values
