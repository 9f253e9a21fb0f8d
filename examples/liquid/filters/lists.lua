-- What the filters of lists share: any input as a list, and a property of an item.

local bigint = require "liquid.bigint"
local errors = require "liquid.errors"
local limits = require "liquid.limits"
local lookup = require "liquid.lookup"
local text = require "liquid.text"
local unicode = require "liquid.unicode"
local values = require "liquid.values"

local lists = {}

local null = values.null
local type, getmetatable, is_array = type, getmetatable, values.is_array
local MAX_DEPTH = 100

-- Lists longer than this are counted as work.
local LONG = 256

-- An item is as much work as so many bytes.
local ITEM = 16

local function flatten(list, result, depth, ctx)
  if depth > MAX_DEPTH then ctx.exhausted() end
  for i = 1, #list do
    local item = list[i]
    if values.is_array(item) then
      flatten(item, result, depth + 1, ctx)
    else
      result[#result + 1] = item
    end
  end
  return result
end

local function is_flat(list)
  for i = 1, #list do
    local item = list[i]
    if type(item) == "table" and is_array(item) then return false end
  end
  return true
end

---Any value as a list, which may hold others. It may be the value itself: it is not to be changed.
---@param input any
---@param ctx liquid.context
---@return table? list, table? err
function lists.shallow(input, ctx)
  if not is_array(input) then return lists.of(input, ctx) end
  if #input > LONG then limits.work(ctx, #input * ITEM) end
  return input
end

---Any value as a flat list. It may be the value itself: it is not to be changed.
---@param input any
---@param ctx liquid.context
---@return table? list, table? err
function lists.of(input, ctx)
  if values.is_flat(input) then
    if #input > LONG then limits.work(ctx, #input * ITEM) end
    return input
  end
  if values.is_array(input) then
    if #input > LONG then limits.work(ctx, #input * ITEM) end
    return is_flat(input) and input or flatten(input, {}, 1, ctx)
  end
  if input == nil then return {} end
  local protocol = values.protocol(input)
  -- Filters take a hash as one item; only loops iterate over its pairs.
  if protocol and protocol.items and protocol.kind ~= "hash" then
    local list, err = protocol.items(input, ctx)
    if err then return nil, err end
    return list
  end
  return { input }
end

---The complaint about a property that cannot be read.
---@param property any
---@return nil, table err
function lists.no_property(property)
  return errors.argument("cannot select the property '" .. text.to_s(property) .. "'")
end

-- Ruby cuts a position to an integer.
local function position(property)
  if math.type(property) == "float" then return math.tointeger(property < 0 and -(-property // 1) or property // 1) end
  return math.type(property) == "integer" and property or nil
end

local function of_string(item, property)
  if type(property) == "string" then return item:find(property, 1, true) and property or nil end
  local at = position(property)
  if not at then return lists.no_property(property) end
  local size = unicode.length(item)
  if at < 0 then at = at + size end
  if at < 0 or at >= size then return nil end
  return unicode.slice(item, at, 1)
end

-- The bits of an integer are its properties.
local function of_integer(item, property)
  local at = position(property)
  if not at then return lists.no_property(property) end
  if at > 63 then at = 63 end
  return at >= 0 and item >> at & 1 or 0
end

local function of_bigint(item, property)
  local at = position(property)
  if not at then return lists.no_property(property) end
  if at < 0 then return 0 end
  -- A digit is less than four bits.
  if at > 4 * #item[1] then return bigint.is_negative(item) and 1 or 0 end
  for _ = 1, at // 32 do item = bigint.divide(item, 1 << 32) end
  local rest = select(2, bigint.divide(bigint.divide(item, 1 << at % 32), 2))
  return rest
end

---A property of an item.
---@param item any
---@param property any
---@param ctx liquid.context
---@return any value, table? err, boolean? none whether the item cannot have properties
function lists.property(item, property, ctx)
  -- The fast path: most items are plain hashes that have the property.
  if type(item) == "table" and property ~= nil and getmetatable(item) == nil and item[1] == nil
    and item.__index == nil then
    local value = item[property]
    if value == null then return nil end
    return value
  end
  local kind = values.kind(item)
  if kind == "string" then
    return of_string(item, property)
  elseif kind == "integer" then
    return of_integer(item, property)
  elseif kind == "bigint" then
    return of_bigint(item, property)
  elseif kind == "nil" or kind == "boolean" or kind == "float" or kind == "range" then
    return nil, nil, true
  end
  local value, err = lookup.get(item, property, false, ctx)
  return value, err
end

---A sorted copy of a list of nothing but texts, or nothing but numbers; nil if it is another.
---@param list table
---@param ctx liquid.context
---@return table? sorted
function lists.sort_plain(list, ctx)
  if #list > LONG then limits.work(ctx, #list * ITEM) end
  local kind = type(list[1])
  if kind ~= "string" and kind ~= "number" then return nil end
  local copy = {}
  for i = 1, #list do
    local item = list[i]
    if type(item) ~= kind or item ~= item then return nil end
    copy[i] = item
  end
  table.sort(copy)
  return values.flat(copy)
end

---Values in the order of a comparison, equal ones as they were; it may fail.
---@param list table
---@param compare fun(a: any, b: any): integer?, table?
---@return table? sorted, table? err
function lists.sort(list, compare)
  local count = #list
  local from, to = table.move(list, 1, count, 1, {}), {}
  local width = 1
  while width < count do
    for start = 1, count, 2 * width do
      local left, right = start, math.min(start + width, count + 1)
      local middle, stop = right, math.min(start + 2 * width, count + 1)
      for at = start, stop - 1 do
        local take_left = left < middle
        if take_left and right < stop then
          local order, err = compare(from[left], from[right])
          if err then return nil, err end
          take_left = order <= 0
        end
        if take_left then
          to[at], left = from[left], left + 1
        else
          to[at], right = from[right], right + 1
        end
      end
    end
    from, to, width = to, from, 2 * width
  end
  return values.flat(from)
end

return lists
