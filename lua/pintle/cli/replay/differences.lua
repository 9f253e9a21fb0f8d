-- Where two JSON values differ, as paths with what is on either side.

local json = require("pintle.core").json

local MISSING = {}

---@class pintle.cli.difference
---@field path string JSON pointer
---@field recorded? string JSON, nil if there is nothing
---@field now? string

local function text_of(value)
  if value == MISSING then return nil end
  return json.encode(value)
end

local function pointer(path, name)
  local index = math.type(name) == "integer" and name - 1 or name
  return ("%s/%s"):format(path, (tostring(index):gsub("~", "~0"):gsub("/", "~1")))
end

local function names_of(one, other)
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

local function is_empty(value) return next(value) == nil end

-- An empty list is no empty object, but among others a marked list and a plain one are the same.
local function are_alike(one, other)
  local kind = json.kind(one)
  return kind == json.kind(other) and (kind == "array" or kind == "object")
    and is_empty(one) == is_empty(other)
end

local function member(value, name)
  if value[name] == nil then return MISSING end
  return value[name]
end

local compare

local function compare_members(one, other, path, ignores, found)
  for _, name in ipairs(names_of(one, other)) do
    compare(member(one, name), member(other, name), pointer(path, name), ignores, found)
  end
end

function compare(one, other, path, ignores, found)
  if one == other or ignores(path) then return end
  if one ~= MISSING and other ~= MISSING and type(one) == "table" and type(other) == "table" then
    if are_alike(one, other) then return compare_members(one, other, path, ignores, found) end
    if is_empty(one) and is_empty(other) and json.kind(one) == json.kind(other) then return end
  end
  found[#found + 1] = { path = path, recorded = text_of(one), now = text_of(other) }
end

---@param recorded any
---@param now any
---@param ignores fun(path: string): boolean which paths do not matter
---@return pintle.cli.difference[]
return function(recorded, now, ignores)
  local found = {}
  compare(recorded, now, "", ignores, found)
  return found
end
