-- Fills in missing values from the defaults of a schema.

local run = require "pintle.schema.run"
local values = require "pintle.schema.values"

local is_array, is_object = values.is_array, values.is_object

local defaults = {}

---@class pintle.schema.filling
---@field run pintle.schema.run counts the steps
---@field max_depth integer
---@field inserting table<pintle.schema.node, true> schemas whose own default is being filled in

local SITE = { keyword = "default", path = "" }

local function pay_steps(filling, steps) run.pay(filling.run, SITE, steps) end

-- A copy costs more steps than a look, because it takes memory.
local function deep_copy(value, filling)
  pay_steps(filling, 10)
  if type(value) ~= "table" then return value end
  local copy = {}
  for key, member in next, value do copy[key] = deep_copy(member, filling) end
  return setmetatable(copy, getmetatable(value))
end

local NONE = {}

-- The schemas that a schema always applies to its own value.
local function in_place_schemas(node)
  local list = node.in_place
  if list then return list end
  list = { node.ref }
  if not node.dynamic_name then list[#list + 1] = node.dynamic_ref end
  table.move(node.children.allOf or NONE, 1, #(node.children.allOf or NONE), #list + 1, list)
  node.in_place = list
  return list
end

-- The first schema with a default. A schema comes before those that it refers to.
local function find_default_owner(node, filling)
  pay_steps(filling, 1)
  if type(node.schema) ~= "table" then return nil end
  if node.schema.default ~= nil and node.resource.dialect.active.default then return node end
  for _, part in ipairs(in_place_schemas(node)) do
    local owner = find_default_owner(part, filling)
    if owner then return owner end
  end
end

-- An empty default needs no mark if it can only be an array.
local function copy_default(schema, filling)
  local default = schema.default
  local is_empty = type(default) == "table" and next(default) == nil
  if is_empty and values.wants_array(schema) then return setmetatable({}, values.array_mt) end
  return deep_copy(default, filling)
end

local fill_in_defaults

-- Defaults are also filled in inside of a default, but not the default of a schema inside of itself.
local function missing_value(node, filling, depth)
  local owner = find_default_owner(node, filling)
  if not owner or filling.inserting[owner] then return nil end
  filling.inserting[owner] = true
  local value = fill_in_defaults(node, copy_default(owner.schema, filling), filling, depth)
  filling.inserting[owner] = nil
  return value
end

-- Sets a member of the value, which is copied first if it is the original.
local function set_member(value, original, key, member)
  if value[key] == member then return value end
  if value == original then value = values.shallow_copy(original) end
  value[key] = member
  return value
end

local function fill_properties(node, original, filling, depth)
  local value = original
  for name, child in next, node.children.properties do
    local member = original[name]
    if member == nil then
      member = missing_value(child, filling, depth)
    else
      member = fill_in_defaults(child, member, filling, depth)
    end
    if member ~= nil then value = set_member(value, original, name, member) end
  end
  return value
end

local function fill_items(node, original, filling, depth)
  local value = original
  local prefix, rest = node.children.prefixItems or NONE, node.children.items
  for i = 1, #original do
    local child = prefix[i] or rest
    if not child then break end
    value = set_member(value, original, i, fill_in_defaults(child, original[i], filling, depth))
  end
  return value
end

function fill_in_defaults(node, value, filling, depth)
  pay_steps(filling, 1)
  if depth > filling.max_depth then run.abort(SITE, "defaults are nested more deeply than the limit allows") end
  if type(value) ~= "table" or type(node.schema) ~= "table" then return value end
  if node.children.properties and is_object(value) then value = fill_properties(node, value, filling, depth + 1) end
  if is_array(value) then value = fill_items(node, value, filling, depth + 1) end
  for _, part in ipairs(in_place_schemas(node)) do value = fill_in_defaults(part, value, filling, depth + 1) end
  return value
end

---@param root pintle.schema.node
---@param limits pintle.schema.limits
---@return fun(value: any, stop: pintle.schema.stop?): any, pintle.schema.error? fill_in returns the value itself if
---nothing is missing
function defaults.filler(root, limits)
  local filling = { run = run.new(), max_depth = limits.depth, inserting = {} }
  local function work(value)
    if value == nil then return missing_value(root, filling, 1) end
    return fill_in_defaults(root, value, filling, 1)
  end
  return function(value, stop)
    local filled, err = filling.run:spend(limits, work, value, stop)
    if err then filling.inserting = {} end
    return filled, err
  end
end

return defaults
