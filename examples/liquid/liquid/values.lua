-- The representation of Liquid values in Lua.
--
-- Strings, booleans, integers and floats are those of Lua. nil is nil, and `values.null` in lists and hashes. A table
-- is a list if it is marked as one, or if it has no metatable and has a first item. Any other table without a
-- registered metatable is a hash. Objects of the engine and of the program are tables whose metatable is registered.

local values = {}

-- The null and the metatables of pintle's JSON decoder, if it is installed, so that decoded data need not be converted.
local function find_null()
  local has_pintle, core = pcall(require, "pintle.core")
  if has_pintle then return core.json.null, core.json.array_mt, core.json.order({}).__name end
  -- Not a table, because comparing it with an object would call the object's `__eq`.
  return function() end
end

local null, json_array, order_name = find_null()

---The `__name` of the metatables of hashes that were decoded from JSON and keep its order.
---@type string
values.ORDERED = order_name or "liquid.ordered"

---nil in lists and hashes.
values.null = null

local array_metatable = { __name = "liquid.array" }
local flat_metatable = { __name = "liquid.flat_array" }
local arrays = { [array_metatable] = true, [flat_metatable] = true }
if json_array then arrays[json_array] = true end

---Metatables of lists.
---@type table<table, boolean>
values.arrays = arrays

local real_metatable = debug and debug.getmetatable

-- The result for a metatable that `__metatable` hides, if there is no debug library.
local locked = {}

---The metatable of a value, even if `__metatable` hides it.
---@type fun(value: any): table?
values.metatable_of = real_metatable or function(value)
  local metatable = getmetatable(value)
  if metatable == nil or type(metatable) == "table" then return metatable end
  return locked
end

local ORDERED = values.ORDERED
local UNDERSCORE = ("_"):byte()

-- Whether a table is data: it was decoded from JSON, or has no metatable and is not a class.
local function is_data(hash)
  local metatable = values.metatable_of(hash)
  if metatable then return rawget(metatable, "__name") == ORDERED end
  local index = rawget(hash, "__index")
  return type(index) ~= "table" and type(index) ~= "function"
end

---Whether a key begins with `__`, as the names of metamethods do.
---@param key any
---@return boolean
function values.is_reserved(key)
  return type(key) == "string" and key:byte(1) == UNDERSCORE and key:byte(2) == UNDERSCORE
end
local is_reserved = values.is_reserved

---Whether a template must not read a key of a hash: it is reserved, and the hash is not data.
---@param hash table
---@param key any
---@return boolean
function values.hides(hash, key)
  return is_reserved(key) and not is_data(hash)
end

---Whether a table is an object or a class rather than data.
---@param hash table
---@return boolean
function values.is_lua_object(hash)
  return not is_data(hash)
end

---The functions that the engine calls for an object.
---@class liquid.protocol
---@field kind string
---@field shows_all? boolean whether `get` is called for names that begin with `__`
---@field get? fun(object: table, key: any, ctx?: table): any, table? the value under a key
---@field to_s? fun(object: table, ctx?: table): string, table?
---@field value? fun(object: table, ctx?: table): any, table? its value: a boolean, number, string or nil
---@field number? fun(object: table, ctx?: table): any, table?
---@field items? fun(object: table, ctx?: table): table?, table? a list of its items
---@field equal? fun(object: table, other: any): boolean
---@field order? fun(object: any, other: any): integer? as `comparison.order`; either may be the object
---@type table<table, liquid.protocol>
local objects = setmetatable({}, { __mode = "k" })
values.objects = objects

-- The names of hashes in their order.
local orders = setmetatable({}, { __mode = "k" })

---Marks a table as a list. Without the mark an empty table is a hash.
---@param list? table
---@return table
function values.array(list)
  return setmetatable(list or {}, array_metatable)
end

---Marks a table as a list that contains no lists, so that it need not be flattened.
---@param list table
---@return table
function values.flat(list)
  return setmetatable(list, flat_metatable)
end

---@param value any
---@return boolean
function values.is_flat(value)
  return getmetatable(value) == flat_metatable
end

---Sets the order of the names of a hash. Without it they are sorted.
---@param hash table
---@param names string[]
---@return table hash
function values.ordered(hash, names)
  orders[hash] = names
  return hash
end

---Makes all tables with a metatable objects.
---@param metatable table
---@param protocol liquid.protocol
function values.register(metatable, protocol)
  objects[metatable] = protocol
end

---@param value any
---@return liquid.protocol?
function values.protocol(value)
  local metatable = type(value) == "table" and getmetatable(value)
  return metatable and objects[metatable] or nil
end

---@param value any
---@return boolean
function values.is_array(value)
  if type(value) ~= "table" then return false end
  local metatable = getmetatable(value)
  if metatable == nil then return value[1] ~= nil end
  return arrays[metatable] or false
end

---@param value any
---@return boolean
function values.is_hash(value)
  if type(value) ~= "table" then return false end
  local metatable = getmetatable(value)
  if metatable == nil then return value[1] == nil end
  return not arrays[metatable] and not objects[metatable]
end

---"nil", "boolean", "integer", "float", "string", "array", "hash" or the kind of an object.
---@param value any
---@return string
function values.kind(value)
  local kind = type(value)
  if kind == "table" then
    local metatable = getmetatable(value)
    if metatable == nil then return value[1] ~= nil and "array" or "hash" end
    if arrays[metatable] then return "array" end
    local protocol = objects[metatable]
    if protocol then return protocol.kind end
    return value == null and "nil" or "hash"
  elseif kind == "number" then
    return math.type(value)
  elseif kind == "userdata" or kind == "function" or kind == "thread" then
    return "nil"
  end
  return kind
end

local function by_name(a, b)
  if type(a) == type(b) then return a < b end
  return type(a) == "number"
end

local function sorted_keys(hash)
  local keys, shows_all = {}, is_data(hash)
  for key in next, hash do
    local is_name = type(key) == "string" and (shows_all or not is_reserved(key))
    if is_name or type(key) == "number" then keys[#keys + 1] = key end
  end
  table.sort(keys, by_name)
  return keys
end

---The names of a hash, in its order.
---@param hash table
---@return any[]
function values.keys(hash)
  local order = orders[hash]
  if order then return order end
  local metatable = values.metatable_of(hash)
  if not metatable or rawget(metatable, "__name") ~= ORDERED then return sorted_keys(hash) end
  local keys = {}
  for key in pairs(hash) do keys[#keys + 1] = key end
  return keys
end

---A hash as a list of pairs, each a list of name and value.
---@param hash table
---@return table
function values.pairs_of(hash)
  local list = {}
  local keys = values.keys(hash)
  for i = 1, #keys do
    local key = keys[i]
    list[i] = setmetatable({ key, rawget(hash, key) }, array_metatable)
  end
  return setmetatable(list, array_metatable)
end

---The first name of a hash and its value, as a list.
---@param hash table
---@return table? pair nil if the hash is empty
function values.first_pair(hash)
  local key = values.keys(hash)[1]
  return key ~= nil and setmetatable({ key, rawget(hash, key) }, array_metatable) or nil
end

---The number of members of a hash.
---@param hash table
---@return integer
function values.count(hash)
  if not is_data(hash) then return #values.keys(hash) end
  local count = 0
  for _ in next, hash do count = count + 1 end
  return count
end

---Converts null to nil.
---@param value any
---@return any
function values.plain(value)
  if value == null then return nil end
  return value
end

---The value of a drop, or any other value itself.
---@param value any
---@param ctx? table
---@return any value, table? err
function values.materialize(value, ctx)
  if type(value) ~= "table" then
    if value == null then return nil end
    return value
  end
  local metatable = getmetatable(value)
  local protocol = metatable and objects[metatable]
  if protocol and protocol.value then return protocol.value(value, ctx) end
  if value == null then return nil end
  return value
end

return values
