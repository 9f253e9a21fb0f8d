-- Comparing values: equality, order, contains, empty and blank.

local bigint = require "liquid.bigint"
local collections = require "liquid.collections"
local errors = require "liquid.errors"
local numbers = require "liquid.numbers"
local text = require "liquid.text"
local values = require "liquid.values"

local comparison = {}

local type, find, rawget, rawequal = type, string.find, rawget, rawequal
local null = values.null
local MAX_DEPTH = 100

local equal

local function equal_lists(a, b, depth)
  if #a ~= #b then return false end
  for i = 1, #a do
    if not equal(a[i], b[i], depth) then return false end
  end
  return true
end

local function equal_hashes(a, b, depth)
  for key, value in next, a do
    local other = rawget(b, key)
    if other == nil or not equal(value, other, depth) then return false end
  end
  for key in next, b do
    if rawget(a, key) == nil then return false end
  end
  return true
end

---Whether two values are equal in Liquid: lists and hashes are compared by their contents, without `__eq`.
---@param a any
---@param b any
---@param depth? integer
---@return boolean
function equal(a, b, depth)
  if rawequal(a, b) then return true end
  if a == null then a = nil end
  if b == null then b = nil end
  if type(a) ~= "table" or type(b) ~= "table" then
    return a == b or type(a) == "number" and bigint.is(b) and numbers.compare(a, b) == 0
      or type(b) == "number" and bigint.is(a) and numbers.compare(a, b) == 0
  end
  local protocol = values.protocol(a) or values.protocol(b)
  if protocol then
    if not values.protocol(a) then a, b = b, a end
    return protocol.equal ~= nil and protocol.equal(a, b)
  end
  depth = (depth or 0) + 1
  if depth > MAX_DEPTH then return false end
  local is_list = values.is_array(a)
  if is_list ~= values.is_array(b) then return false end
  return (is_list and equal_lists or equal_hashes)(a, b, depth)
end
comparison.equal = equal

local class_names = {
  integer = "Integer", float = "Float", string = "String", array = "Array", hash = "Hash", range = "Range",
  bigint = "Integer", ["nil"] = "NilClass",
}

-- Ruby prints integers of up to 62 bits in messages, and the class of larger ones.
local SMALL = 1 << 62

-- A value in a message: small values are printed, for others the class is named.
local function shown(value)
  if value == nil then return "nil" end
  if type(value) == "boolean" or math.type(value) == "float" then return (text.to_s(value)) end
  if math.type(value) == "integer" and value >= -SMALL and value < SMALL then return (text.to_s(value)) end
  return class_names[values.kind(value)] or values.kind(value)
end

local function class_of(value)
  if type(value) == "boolean" then return value and "TrueClass" or "FalseClass" end
  return class_names[values.kind(value)] or values.kind(value)
end

---The error of two values that cannot be ordered.
---@param a any
---@param b any
---@return nil, table err
local function incomparable(a, b)
  return errors.argument("comparison of " .. class_of(a) .. " with " .. shown(b) .. " failed")
end

local function is_number(value) return type(value) == "number" or bigint.is(value) end

-- Only numbers and texts have an order. A comparison of other values is false, not an error.
local function ordered(value) return type(value) == "string" or is_number(value) end

-- The protocol of an object may define an order.
local function order_of_objects(a, b)
  local protocol = values.protocol(a) or values.protocol(b)
  return protocol and protocol.order and protocol.order(a, b)
end

---The order of two values: negative, 0 or positive; nil if they have none.
---@param a any
---@param b any
---@return integer? order, table? err
function comparison.order(a, b)
  if type(a) == "number" and type(b) == "number" then
    if a < b then return -1 end
    return a > b and 1 or a == b and 0 or nil
  end
  if not ordered(a) or not ordered(b) then return order_of_objects(a, b) end
  if type(a) == "string" and type(b) == "string" then
    if a == b then return 0 end
    return a < b and -1 or 1
  end
  if is_number(a) and is_number(b) then return numbers.compare(a, b) end
  return incomparable(a, b)
end

local function list_contains(list, value)
  for i = 1, #list do
    if equal(list[i], value) then return true end
  end
  return false
end

---@param left any
---@param right any
---@param ctx? liquid.context
---@return boolean? found, table? err
function comparison.contains(left, right, ctx)
  if not left or not right then return false end
  if type(left) == "string" then
    local part, err = text.to_s(right, ctx)
    if err then return nil, err end
    return find(left, part, 1, true) ~= nil
  end
  if type(left) ~= "table" then return false end
  if values.is_array(left) then return list_contains(left, right) end
  if collections.is_range(left) then return collections.range_contains(left, right) end
  local protocol = values.protocol(left)
  if protocol then
    if not protocol.contains then return false end
    return protocol.contains(left, right, ctx)
  end
  if type(right) ~= "string" and type(right) ~= "number" then return false end
  return rawget(left, right) ~= nil and not values.hides(left, right)
end

---@param value any
---@return boolean
function comparison.is_empty(value)
  if value == "" then return true end
  if type(value) ~= "table" then return false end
  if values.is_array(value) then return #value == 0 end
  if collections.is_range(value) then return false end
  local protocol = values.protocol(value)
  if protocol then return protocol.empty ~= nil and protocol.empty(value) end
  return next(value) == nil
end

---@param value any
---@return boolean
function comparison.is_blank(value)
  if value == nil or value == false then return true end
  if type(value) == "string" then return not find(value, "%S") end
  return comparison.is_empty(value)
end

return comparison
