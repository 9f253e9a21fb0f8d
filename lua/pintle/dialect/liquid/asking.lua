-- What may be asked of a Lua object that is a drop at the other side: its properties, its items, and its methods.
-- Templates ask, and are not trusted: metamethods, constructors and private methods are hidden from them.

local json = require("pintle.core").json
local objects = require "pintle.dialect.liquid.objects"

local MOST_ITEMS = 1000000 -- that one drop may have; an iterator need not end

local asking = {}

local function metamethod(object, name)
  local metatable = getmetatable(object)
  return type(metatable) == "table" and metatable[name] or nil
end

-- A userdata need not have an index.
local function member(object, name)
  if type(object) == "table" or metamethod(object, "__index") then return object[name] end
end

-- A member, unless it is hidden from templates: names that begin with `__`, and functions that are named `new` or begin
-- with `_`.
local function public_member(object, name)
  if name:find "^__" then return nil end
  local value = member(object, name)
  local is_private = type(value) == "function" and (name == "new" or name:find "^_")
  if not is_private then return value end
end

-- What returns nil and why has failed.
local function checked(value, message)
  if value == nil and message ~= nil then error(message, 0) end
  return value
end

local function length(object)
  local has_length = type(object) == "table" or metamethod(object, "__len")
  return has_length and #object or 0
end

-- {====== Properties ======

-- What is asked of every drop, where it does not tell by itself.
local USUAL = {}

function USUAL.to_s(object)
  return metamethod(object, "__tostring") and tostring(object) or objects.type_of(object)
end

function USUAL.size(object)
  local size = length(object)
  return (size > 0 or metamethod(object, "__len")) and size or nil
end

function USUAL.first(object) return length(object) > 0 and object[1] or nil end

function USUAL.last(object)
  local last = length(object)
  return last > 0 and object[last] or nil
end

-- Items are counted from 0 there, and from the end where the number is negative.
local function item(object, index)
  if index < 0 then index = length(object) + index end
  return member(object, index + 1)
end

-- Functions and threads have no JSON form; they are sent as null.
local function sendable(value)
  local kind = type(value)
  if kind ~= "function" and kind ~= "thread" then return value end
end

---@param object any
---@param property string|integer
---@return any
function asking.get(object, property)
  if math.type(property) == "integer" then return sendable(item(object, property)) end
  if type(property) ~= "string" then error("property: string or integer expected", 0) end
  local value = public_member(object, property)
  if type(value) == "function" then return sendable(checked(value(object))) end
  if value == nil and USUAL[property] then return USUAL[property](object) end
  return value
end

-- }======

-- {====== Items ======

local function add(items, value)
  if #items >= MOST_ITEMS then error(("more than %d items"):format(MOST_ITEMS), 0) end
  items[#items + 1] = value
end

local function gather(iterator, state, control)
  local items = json.array()
  for value in iterator, state, control do add(items, value) end
  return items
end

---All items: what the method `each` gives, a list or an iterator; else those from 1 on.
---@param object any
---@return any[]
function asking.iterate(object)
  local each = member(object, "each")
  if type(each) == "function" then
    local list, state, control = each(object)
    if type(list) == "function" then return gather(list, state, control) end
    object = checked(list, state) or {}
  end
  local items = json.array()
  for i = 1, length(object) do add(items, object[i]) end
  return items
end

-- }======

---@param object any
---@param method string
---@param args any[]
---@return any
function asking.call(object, method, args)
  local fn = type(method) == "string" and public_member(object, method)
  if type(fn) ~= "function" then
    error(("%s has no method '%s'"):format(objects.type_of(object), tostring(method)), 0)
  end
  local given = {}
  for i = 1, #args do
    if args[i] ~= json.null then given[i] = args[i] end
  end
  return sendable(checked(fn(object, table.unpack(given, 1, #args))))
end

return asking
