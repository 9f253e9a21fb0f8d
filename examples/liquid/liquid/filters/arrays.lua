-- Filters of arrays: joining, sorting, selecting and summing; and those that take values of any type: default, size,
-- first and last.

local bigint = require "liquid.bigint"
local collections = require "liquid.collections"
local comparison = require "liquid.comparison"
local context = require "liquid.context"
local errors = require "liquid.errors"
local numbers = require "liquid.numbers"
local text = require "liquid.text"
local values = require "liquid.values"

local null, is_array, to_s = values.null, values.is_array, text.to_s
local type, getmetatable = type, getmetatable
local MAX_DEPTH = 100

-- {====== Lists and properties ======

-- Lists longer than this are counted as work.
local LONG = 256

-- The work that an item counts as, in bytes.
local ITEM = 16

local function flatten(list, result, depth, ctx)
  if depth > MAX_DEPTH then ctx.exceed_limits() end
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

---Any value as a flat list. The result may be the value itself and must not be changed.
---@param input any
---@param ctx liquid.context
---@return table? list, table? err
local function list_of(input, ctx)
  if values.is_flat(input) then
    if #input > LONG then context.count_work(ctx, #input * ITEM) end
    return input
  end
  if values.is_array(input) then
    if #input > LONG then context.count_work(ctx, #input * ITEM) end
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

---Any value as a list, which may contain lists. The result may be the value itself and must not be changed.
---@param input any
---@param ctx liquid.context
---@return table? list, table? err
local function shallow_list(input, ctx)
  if not is_array(input) then return list_of(input, ctx) end
  if #input > LONG then context.count_work(ctx, #input * ITEM) end
  return input
end

---The error of a property that cannot be read.
---@param property any
---@return nil, table err
local function no_property(property)
  return errors.argument("cannot select the property '" .. text.to_s(property) .. "'")
end

-- A position, truncated to an integer as in Ruby.
local function position(property)
  if math.type(property) == "float" then return math.tointeger(property < 0 and -(-property // 1) or property // 1) end
  return math.type(property) == "integer" and property or nil
end

local function of_string(item, property)
  if type(property) == "string" then return item:find(property, 1, true) and property or nil end
  local at = position(property)
  if not at then return no_property(property) end
  local size = text.length(item)
  if at < 0 then at = at + size end
  if at < 0 or at >= size then return nil end
  return text.slice(item, at, 1)
end

-- A bit of an integer, as in Ruby.
local function of_integer(item, property)
  local at = position(property)
  if not at then return no_property(property) end
  if at > 63 then at = 63 end
  return at >= 0 and item >> at & 1 or 0
end

local function of_bigint(item, property)
  local at = position(property)
  if not at then return no_property(property) end
  if at < 0 then return 0 end
  -- A decimal digit has less than four bits.
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
local function property_of(item, property, ctx)
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
  local value, err = collections.get(item, property, false, ctx)
  return value, err
end

---A sorted copy of a list that contains only texts or only numbers; nil for other lists.
---@param list table
---@param ctx liquid.context
---@return table? sorted
local function sort_plain(list, ctx)
  if #list > LONG then context.count_work(ctx, #list * ITEM) end
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

---Sorts a list with a comparison that may fail. Equal items keep their order.
---@param list table
---@param compare fun(a: any, b: any): integer?, table?
---@return table? sorted, table? err
local function stable_sort(list, compare)
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

-- }======

-- {====== Arrays ======

-- Joins a list. It is flattened only when a list is found in it, because most lists contain none.
local function join(ctx, input, glue, list)
  local err
  if not list then
    list, err = shallow_list(input, ctx)
    if err then return nil, err end
  end
  local between
  between, err = to_s(glue, ctx)
  if err then return nil, err end
  local pieces, size, gap = {}, 0, #between
  for i = 1, #list do
    local piece = list[i]
    if type(piece) ~= "string" then
      if values.is_array(piece) and list == input then return join(ctx, input, glue, list_of(input, ctx)) end
      piece, err = to_s(piece, ctx)
      if err then return nil, err end
    end
    pieces[i], size = piece, size + #piece + gap
  end
  if size > ctx.usage.assign_limit then ctx.exceed_limits() end
  return table.concat(pieces, between)
end

local function incompatible() return errors.argument("cannot sort values of incompatible types") end

local order

local function order_lists(a, b)
  for i = 1, math.min(#a, #b) do
    local result, err = order(a[i], b[i])
    if err or result ~= 0 then return result, err end
  end
  return #a - #b
end

-- The order of two values: nil is the last.
function order(a, b)
  if a == null then a = nil end
  if b == null then b = nil end
  if a == nil or b == nil then return a == b and 0 or a == nil and 1 or -1 end
  local result = comparison.order(a, b)
  if result then return result end
  if values.is_array(a) and values.is_array(b) then return order_lists(a, b) end
  if comparison.equal(a, b) then return 0 end
  return incompatible()
end

local function lowered(value) return (text.to_s(value)):lower() end

local function order_naturally(a, b)
  if a == null then a = nil end
  if b == null then b = nil end
  if a == nil or b == nil then return a == b and 0 or a == nil and 1 or -1 end
  a, b = lowered(a), lowered(b)
  return a == b and 0 or a < b and -1 or 1
end

-- The items and their property; nil if an item cannot have properties, even if reading that of another one fails.
local function keyed(list, property, ctx)
  local entries, failure = {}, nil
  for i = 1, #list do
    local value, err, none = property_of(list[i], property, ctx)
    if none then return nil end
    failure = failure or err
    entries[i] = { item = list[i], key = value }
  end
  if failure then return nil, failure end
  return entries
end

-- A list of one item is sorted, whatever its property is.
local function sort_single(item, property, ctx)
  local _, _, none = property_of(item, property, ctx)
  if none then return nil end
  return values.array { item }
end

local function sort_by(list, property, compare, ctx)
  local entries, err = keyed(list, property, ctx)
  if not entries then return nil, err end
  local sorted
  sorted, err = stable_sort(entries, function(a, b) return compare(a.key, b.key) end)
  if err then return nil, err end
  for i, entry in ipairs(sorted) do sorted[i] = entry.item end
  return sorted
end

local function sorting(compare)
  return function(ctx, input, property)
    local plain = property == nil and compare == order and values.is_array(input) and sort_plain(input, ctx)
    if plain then return plain end
    local list, err = list_of(input, ctx)
    if err then return nil, err end
    if #list == 0 then return values.array() end
    if property == nil then return stable_sort(list, compare) end
    if #list == 1 then return sort_single(list[1], property, ctx) end
    return sort_by(list, property, compare, ctx)
  end
end

local function reverse(ctx, input)
  local list, err = list_of(input, ctx)
  if err then return nil, err end
  local result, count = {}, #list
  for i = 1, count do result[i] = list[count - i + 1] end
  return values.flat(result)
end

local function concat(ctx, input, other)
  if not values.is_array(other) then return errors.argument("concat filter requires an array argument") end
  local list, err = list_of(input, ctx)
  if err then return nil, err end
  local result = table.move(list, 1, #list, 1, {})
  local usage = ctx.usage
  if #result + #other > usage.assign_limit // 64 then ctx.exceed_limits() end
  return values.array(table.move(other, 1, #other, #result + 1, result))
end

-- Returns a function that tells whether a value is new. Lists and hashes are compared with all earlier ones.
local function unseen()
  local seen, compound = {}, {}
  return function(value)
    if value == nil then value = null end
    if type(value) ~= "table" then
      local key = math.type(value) == "float" and text.to_s(value) .. "f" or value
      if seen[key] then return false end
      seen[key] = true
      return true
    end
    for _, other in ipairs(compound) do
      if comparison.equal(value, other) then return false end
    end
    compound[#compound + 1] = value
    return true
  end
end

local function uniq(ctx, input, property)
  local list, err = list_of(input, ctx)
  if err then return nil, err end
  local result, is_new = {}, unseen()
  for i = 1, #list do
    local key, none
    key, err = values.materialize(list[i], ctx)
    if err then return nil, err end
    -- With one item there is nothing to compare, so its property is not read.
    if property ~= nil and #list > 1 then key, err, none = property_of(key, property, ctx) end
    if err or none then return nil, err end
    if is_new(key) then result[#result + 1] = list[i] end
  end
  return values.flat(result)
end

local function compact(ctx, input, property)
  local list, err = list_of(input, ctx)
  if err then return nil, err end
  local result = {}
  for i = 1, #list do
    local value, none = list[i], nil
    if property ~= nil then value, err, none = property_of(list[i], property, ctx) end
    if err or none then return nil, err end
    if value ~= nil and value ~= null then result[#result + 1] = list[i] end
  end
  return values.array(result)
end

local function map(ctx, input, property)
  local list, err = list_of(input, ctx)
  if err then return nil, err end
  local result = {}
  for i = 1, #list do
    local value = list[i]
    if property ~= "to_liquid" then
      value, err = property_of(value, property, ctx)
      if err then return nil, err end
    end
    if value == nil then value = null end
    result[i] = value
  end
  return values.array(result)
end

local function sum(ctx, input, property)
  local list, err = list_of(input, ctx)
  if err then return nil, err end
  if property ~= nil then
    list, err = map(ctx, list, property)
    if err then return nil, err end
    list = list_of(list, ctx)
  end
  local addends = {}
  for i = 1, #list do
    addends[i], err = numbers.to_number(list[i], ctx)
    if err then return nil, err end
  end
  return numbers.sum(addends)
end

-- }======

-- {====== Selecting by a property ======

-- Whether an item is selected: its property equals the target, or is true if there is no target.
local function matches(item, property, target, ctx)
  local value, err, none = property_of(item, property, ctx)
  if err or none then return nil, err, none end
  if target ~= nil then return comparison.equal(value, target) end
  return value ~= nil and value ~= false
end

-- Calls `pick` with each item and whether it is selected, until it returns true.
local function walk(ctx, input, property, target, pick)
  local list, err = list_of(input, ctx)
  if err then return nil, err end
  for i = 1, #list do
    local found, failure, none = matches(list[i], property, target, ctx)
    if failure then return nil, failure end
    if none then return nil, nil, true end
    if pick(list[i], found, i) then break end
  end
end

local function selecting(wanted)
  return function(ctx, input, property, target)
    local result = {}
    local _, err, none = walk(ctx, input, property, target, function(item, found)
      if found == wanted then result[#result + 1] = item end
    end)
    if err or none then return nil, err end
    return values.flat(result)
  end
end

-- A filter that returns `give` of the first selected item.
local function finding_first(otherwise, give)
  return function(ctx, input, property, target)
    local result = otherwise
    local _, err, none = walk(ctx, input, property, target, function(item, found, i)
      if found then result = give(item, i) end
      return found
    end)
    if err or none then return nil, err end
    return result
  end
end

-- }======

-- {====== Values of any type ======

local function default(ctx, input, value, named)
  local shown, err = values.materialize(input, ctx)
  if err then return nil, err end
  if not shown then
    -- A drop with the value nil is not nil.
    if input ~= nil and values.is_hash(named) and values.plain(rawget(named, "allow_false")) then return input end
    return value
  end
  if comparison.is_empty(input) then return value end
  return input
end

local function of_range(command)
  return function(range) return collections.get(range, command, true) end
end

-- The size of an integer is its number of bytes, as in Ruby.
local sizes = {
  string = text.length, array = function(list) return #list end, hash = values.count,
  integer = function() return 8 end, bigint = bigint.bytes, range = of_range("size"),
}
local firsts = {
  string = text.first, array = function(list) return values.plain(list[1]) end,
  hash = values.first_pair,
  range = of_range("first"),
}
local lasts = {
  string = text.last, array = function(list) return values.plain(list[#list]) end, range = of_range("last"),
}

-- A filter that calls the function of a drop, if it has one, or that of the value's type.
local function command_filter(command, answers, otherwise)
  return function(ctx, input)
    local protocol = values.protocol(input)
    if protocol and protocol[command] then return protocol[command](input, ctx) end
    local answer = answers[values.kind(input)]
    if answer then return (answer(input)) end
    return otherwise
  end
end

-- }======

return function(define)
  define("join", 0, 1, join, { " " })
  define("sort", 0, 1, sorting(order))
  define("sort_natural", 0, 1, sorting(order_naturally))
  define("reverse", 0, 0, reverse)
  define("concat", 1, 1, concat)
  define("uniq", 0, 1, uniq)
  define("compact", 0, 1, compact)
  define("map", 1, 1, map)
  define("sum", 0, 1, sum)
  define("where", 1, 2, selecting(true))
  define("reject", 1, 2, selecting(false))
  define("has", 1, 2, finding_first(false, function() return true end))
  define("find", 1, 2, finding_first(nil, function(item) return item end))
  define("find_index", 1, 2, finding_first(nil, function(_, i) return i - 1 end))
  define("default", 0, 2, default, { "" })
  define("size", 0, 0, command_filter("size", sizes, 0))
  define("first", 0, 0, command_filter("first", firsts))
  define("last", 0, 0, command_filter("last", lasts))
end
