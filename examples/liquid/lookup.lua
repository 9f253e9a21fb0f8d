-- Reads what is under a name: of a hash, a list, a string, a range, a drop.

local bigint = require "liquid.bigint"
local errors = require "liquid.errors"
local values = require "liquid.values"
local unicode = require "liquid.unicode"

local lookup = {}

local null, arrays, objects, hides, is_reserved
  = values.null, values.arrays, values.objects, values.hides, values.is_reserved
local type, getmetatable, rawget, math_type = type, getmetatable, rawget, math.type

-- Each gives the value, an error, and whether there was nothing of that name.

local function of_array(list, key, command)
  if math_type(key) == "integer" then
    local value = list[key < 0 and #list + key + 1 or key + 1]
    if value == null then return nil end
    return value
  end
  if bigint.is(key) then return nil, errors.new("internal_error", "internal") end
  if not command then return nil, nil, true end
  if key == "size" then return #list end
  local value
  if key == "first" then
    value = list[1]
  elseif key == "last" then
    value = list[#list]
  else
    return nil, nil, true
  end
  if value == null then return nil end
  return value
end

-- Reads only the table's own members, never through its metatable. Objects that inherit have to be drops.
local function of_hash(hash, key, command)
  local value
  if key ~= nil then value = rawget(hash, key) end
  if value ~= nil then
    if value == null then return nil end
    if hides(hash, key) then return nil, nil, true end
    return value
  end
  if not command then return nil, nil, true end
  if key == "size" then return values.count(hash) end
  if key == "first" then return values.first_pair(hash) end
  return nil, nil, true
end

local function of_string(text, key, command)
  if not command then return nil, nil, true end
  if key == "size" then return unicode.length(text) end
  if key == "first" then return unicode.first(text) end
  if key == "last" then return unicode.last(text) end
  return nil, nil, true
end

---What is under a key.
---@param object any
---@param key any
---@param command? boolean whether the key was written as a name, so that it may be size, first or last
---@param ctx? liquid.context
---@return any value, table? err, boolean? missing
function lookup.get(object, key, command, ctx)
  local kind = type(object)
  if kind == "table" then
    local metatable = getmetatable(object)
    if metatable == nil then
      if object[1] ~= nil then return of_array(object, key, command) end
      return of_hash(object, key, command)
    end
    if arrays[metatable] then return of_array(object, key, command) end
    local protocol = objects[metatable]
    if not protocol then
      if object == null then return nil, nil, true end
      return of_hash(object, key, command)
    end
    if protocol.get and (protocol.shows_all or not is_reserved(key)) then
      return protocol.get(object, key, ctx, command)
    end
  elseif kind == "string" then
    return of_string(object, key, command)
  elseif key == "size" and command and math_type(object) == "integer" then
    return 8
  end
  return nil, nil, true
end

return lookup
