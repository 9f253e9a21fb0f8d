-- Lua objects that are drops at the other side: each is known by an id while the render runs that it was given to.

local json = require("pintle.core").json
local valid = require "pintle.dialect.liquid.text"

local CIRCULAR = "[circular]" -- what stands for a table inside of itself, as for the client that is in use
local MARKER = json.order { "_rpc_drop", "type" }

---All objects that one plugin may ask for.
---@class pintle.liquid.objects
---@field last integer
---@field by_id table<string, { object: any, scope: pintle.liquid.scope }>

---Those that were given to one render.
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
---@return pintle.liquid.scope to be closed when the render is over
function objects.scope(self)
  return setmetatable({ objects = self, ids = {}, is_over = false }, scope_metatable)
end

function scope_metatable.__close(self)
  self.is_over = true
  for _, id in pairs(self.ids) do self.objects.by_id[id] = nil end
end

-- {====== What is an object ======

local PLAIN = { ["pintle.order"] = true, ["pintle.raw"] = true, ["pintle.bigint"] = true }

local function name_of(metatable)
  local name = type(metatable) == "table" and rawget(metatable, "__name")
  return type(name) == "string" and name or nil
end

-- Whether a table is a class or a module rather than data.
local function is_class(value)
  if type(rawget(value, "__index")) == "table" then return true end
  for _, member in next, value do
    if type(member) == "function" then return true end
  end
  return false
end

---Whether a value is a drop at the other side: a userdata or table with a metatable that is not one of JSON's own, or a
---table with functions or an `__index`.
---@param value any
---@return boolean
function objects.is(value)
  local kind = type(value)
  if kind ~= "table" and kind ~= "userdata" then return false end
  local metatable = getmetatable(value)
  if metatable then return metatable ~= json.array_mt and not PLAIN[name_of(metatable)] end
  return kind == "table" and is_class(value)
end

---@param object any
---@return string
function objects.type_of(object) return name_of(getmetatable(object)) or "Drop" end

-- }======

-- {====== Sending ======

local function mark(self, object)
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

local pack

local function pack_table(self, value, around)
  if around[value] then return CIRCULAR end
  around[value] = true
  local copy = setmetatable({}, getmetatable(value))
  for name, member in next, value do copy[name] = pack(self, member, around) end
  around[value] = nil
  return copy
end

function pack(self, value, around)
  local kind = type(value)
  if kind == "string" then return valid(value) end
  if objects.is(value) then return mark(self, value) end
  if kind == "table" then return pack_table(self, value, around) end
  local is_no_number = kind == "number" and (value ~= value or value == math.huge or value == -math.huge)
  return is_no_number and json.null or value
end

---A value as it is sent: objects marked, and what JSON cannot carry replaced as the protocol has it.
---@param value any
---@return any
function scope_methods:pack(value) return pack(self, value, {}) end

---The variables of a render; the table that holds them is none of them, whatever its metatable is.
---@param environment table
---@return table
function scope_methods:environment(environment)
  local copy, metatable = {}, getmetatable(environment)
  for name, value in pairs(environment) do copy[name] = pack(self, value, { [environment] = true }) end
  return PLAIN[name_of(metatable)] and setmetatable(copy, metatable) or copy
end

-- }======

---The value that was received, with objects in the place of their markers.
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

return objects
