-- Lua objects of the host that templates see as drops. Each has an id during the render that it was passed to.

local json = require("pintle.core").json
local wire = require "pintle.dialect.liquid.wire"

local CIRCULAR = "[circular]" -- sent for a table inside of itself, as the reference client does
local MOST_ITEMS = 1000000 -- of one drop; an iterator need not end
local MARKER = json.order { "_rpc_drop", "type" }

---All objects that one plugin may access.
---@class pintle.liquid.objects
---@field last integer
---@field by_id table<string, { object: any, scope: pintle.liquid.scope }>

---The objects that were passed to one render.
---@class pintle.liquid.scope
---@field objects pintle.liquid.objects
---@field ids table<any, string>
---@field is_over boolean
local scope_methods = {}

local scope_metatable = { __name = "pintle.liquid.scope", __index = scope_methods }

local objects = {}

---@return pintle.liquid.objects
function objects.new() return { last = 0, by_id = {} } end

---@param self pintle.liquid.objects
---@return pintle.liquid.scope to be closed after the render
function objects.scope(self)
  return setmetatable({ objects = self, ids = {}, is_over = false }, scope_metatable)
end

function scope_metatable.__close(self)
  self.is_over = true
  for _, id in pairs(self.ids) do self.objects.by_id[id] = nil end
end

-- {====== Objects and data ======

local PLAIN = { ["pintle.order"] = true, ["pintle.raw"] = true, ["pintle.bigint"] = true }

local function object_metatable_name(metatable)
  local name = type(metatable) == "table" and rawget(metatable, "__name")
  return type(name) == "string" and name or nil
end

-- Whether a table is a class or a module rather than data.
local function is_object_class_table(value)
  if type(rawget(value, "__index")) == "table" then return true end
  for _, member in next, value do
    if type(member) == "function" then return true end
  end
  return false
end

---Whether a value is sent as a drop: a userdata or table with a metatable that is not one of the JSON codec, or a table
---with functions or an `__index`.
---@param value any
---@return boolean
function objects.is(value)
  local kind = type(value)
  if kind ~= "table" and kind ~= "userdata" then return false end
  local metatable = getmetatable(value)
  if metatable then return metatable ~= json.array_mt and not PLAIN[object_metatable_name(metatable)] end
  return kind == "table" and is_object_class_table(value)
end

---@param object any
---@return string
function objects.type_of(object) return object_metatable_name(getmetatable(object)) or "Drop" end

-- }======

-- {====== Sending ======

local function mark_object(self, object)
  local id = self.ids[object]
  if not id then
    if self.is_over then error("the render is over", 0) end
    local all = self.objects
    all.last = all.last + 1
    id = "drop_" .. all.last
    all.by_id[id], self.ids[object] = { object = object, scope = self }, id
  end
  return setmetatable({ _rpc_drop = id, type = objects.type_of(object) }, MARKER)
end

local pack_value

local function pack_object_members(self, value, parents)
  if parents[value] then return CIRCULAR end
  parents[value] = true
  local copy = setmetatable({}, getmetatable(value))
  for name, member in next, value do copy[name] = pack_value(self, member, parents) end
  parents[value] = nil
  return copy
end

function pack_value(self, value, parents)
  local kind = type(value)
  if kind == "string" then return wire.valid_text(value) end
  if objects.is(value) then return mark_object(self, value) end
  if kind == "table" then return pack_object_members(self, value, parents) end
  local is_not_finite = kind == "number" and (value ~= value or value == math.huge or value == -math.huge)
  return is_not_finite and json.null or value
end

---A value as it is sent: objects become markers, and what JSON cannot carry is replaced as the protocol requires.
---@param value any
---@return any
function scope_methods:pack(value) return pack_value(self, value, {}) end

---The variables of a render. The table itself is not sent as a drop, whatever its metatable is.
---@param environment table
---@return table
function scope_methods:environment(environment)
  local copy, metatable = {}, getmetatable(environment)
  for name, value in pairs(environment) do copy[name] = pack_value(self, value, { [environment] = true }) end
  return PLAIN[object_metatable_name(metatable)] and setmetatable(copy, metatable) or copy
end

-- }======

---Replaces the markers in a received value by their objects.
---@param self pintle.liquid.objects
---@param value any
---@return any
function objects.unpack(self, value)
  if type(value) ~= "table" then return value end
  local entry = self.by_id[value._rpc_drop]
  if entry then return entry.object end
  for name, member in next, value do value[name] = objects.unpack(self, member) end
  return value
end

-- {====== Access ======

-- What templates may access of an object: properties, items and methods. Templates are not trusted: metamethods,
-- constructors and private methods are hidden from them.

local function metamethod_of_object(object, name)
  local metatable = getmetatable(object)
  return type(metatable) == "table" and metatable[name] or nil
end

-- A userdata may have no __index.
local function object_member(object, name)
  if type(object) == "table" or metamethod_of_object(object, "__index") then return object[name] end
end

-- A member, unless it is hidden from templates: names that begin with `__`, and functions that are named `new` or begin
-- with `_`.
local function public_object_member(object, name)
  if name:find "^__" then return nil end
  local value = object_member(object, name)
  local is_private = type(value) == "function" and (name == "new" or name:find "^_")
  if not is_private then return value end
end

-- Raises the message of a function that has returned nil and a message.
local function value_of_object_or_raise(value, message)
  if value == nil and message ~= nil then error(message, 0) end
  return value
end

local function object_length(object)
  local has_length = type(object) == "table" or metamethod_of_object(object, "__len")
  return has_length and #object or 0
end

-- Properties of every drop that does not define them.
local DEFAULTS = {}

function DEFAULTS.to_s(object)
  return metamethod_of_object(object, "__tostring") and tostring(object) or objects.type_of(object)
end

function DEFAULTS.size(object)
  local size = object_length(object)
  return (size > 0 or metamethod_of_object(object, "__len")) and size or nil
end

function DEFAULTS.first(object) return object_length(object) > 0 and object[1] or nil end

function DEFAULTS.last(object)
  local last = object_length(object)
  return last > 0 and object[last] or nil
end

-- Templates count items from 0, and with negative numbers from the end.
local function object_item(object, index)
  if index < 0 then index = object_length(object) + index end
  return object_member(object, index + 1)
end

-- Functions and threads have no JSON form: they are sent as null.
local function object_value_or_null(value)
  local kind = type(value)
  if kind ~= "function" and kind ~= "thread" then return value end
end

---Reads a property; a method is called without arguments.
---@param object any
---@param property string|integer
---@return any
function objects.get(object, property)
  if math.type(property) == "integer" then return object_value_or_null(object_item(object, property)) end
  if type(property) ~= "string" then error("property: string or integer expected", 0) end
  local value = public_object_member(object, property)
  if type(value) == "function" then return object_value_or_null(value_of_object_or_raise(value(object))) end
  if value == nil and DEFAULTS[property] then return DEFAULTS[property](object) end
  return value
end

local function add_iterated_item(items, value)
  if #items >= MOST_ITEMS then error(("more than %d items"):format(MOST_ITEMS), 0) end
  items[#items + 1] = value
end

local function collect_iterated_items(iterator, state, control)
  local items = json.array()
  for value in iterator, state, control do add_iterated_item(items, value) end
  return items
end

---All items: the array or iterator that the method `each` returns; without it, those from 1 on.
---@param object any
---@return any[]
function objects.iterate(object)
  local each = object_member(object, "each")
  if type(each) == "function" then
    local list, state, control = each(object)
    if type(list) == "function" then return collect_iterated_items(list, state, control) end
    object = value_of_object_or_raise(list, state) or {}
  end
  local items = json.array()
  for i = 1, object_length(object) do add_iterated_item(items, object[i]) end
  return items
end

---Calls a method.
---@param object any
---@param method string
---@param args any[]
---@return any
function objects.call(object, method, args)
  local fn = type(method) == "string" and public_object_member(object, method)
  if type(fn) ~= "function" then
    error(("%s has no method '%s'"):format(objects.type_of(object), tostring(method)), 0)
  end
  local given = {}
  for i = 1, #args do
    if args[i] ~= json.null then given[i] = args[i] end
  end
  return object_value_or_null(value_of_object_or_raise(fn(object, table.unpack(given, 1, #args))))
end

-- }======

return objects
