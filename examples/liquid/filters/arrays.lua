-- Filters that put lists together, in order, or into one value.

local arithmetic = require "liquid.arithmetic"
local comparison = require "liquid.comparison"
local errors = require "liquid.errors"
local lists = require "liquid.filters.lists"
local numbers = require "liquid.numbers"
local text = require "liquid.text"
local values = require "liquid.values"

local null, to_s = values.null, text.to_s

-- Whether a list holds others is seen on the way: most do not.
local function join(ctx, input, glue, list)
  local err
  if not list then
    list, err = lists.shallow(input, ctx)
    if err then return nil, err end
  end
  local between
  between, err = to_s(glue, ctx)
  if err then return nil, err end
  local pieces, size, gap = {}, 0, #between
  for i = 1, #list do
    local piece = list[i]
    if type(piece) ~= "string" then
      if values.is_array(piece) and list == input then return join(ctx, input, glue, lists.of(input, ctx)) end
      piece, err = to_s(piece, ctx)
      if err then return nil, err end
    end
    pieces[i], size = piece, size + #piece + gap
  end
  if size > ctx.usage.assign_limit then ctx.exhausted() end
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

-- Nothing comes last.
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

-- Items and the property of each; nil where an item has none, even if that of another cannot be read.
local function keyed(list, property, ctx)
  local entries, failure = {}, nil
  for i = 1, #list do
    local value, err, none = lists.property(list[i], property, ctx)
    if none then return nil end
    failure = failure or err
    entries[i] = { item = list[i], key = value }
  end
  if failure then return nil, failure end
  return entries
end

-- One item alone is in order, whatever its property is.
local function sort_single(item, property, ctx)
  local _, _, none = lists.property(item, property, ctx)
  if none then return nil end
  return values.array { item }
end

local function sort_by(list, property, compare, ctx)
  local entries, err = keyed(list, property, ctx)
  if not entries then return nil, err end
  local sorted
  sorted, err = lists.sort(entries, function(a, b) return compare(a.key, b.key) end)
  if err then return nil, err end
  for i, entry in ipairs(sorted) do sorted[i] = entry.item end
  return sorted
end

local function sorting(compare)
  return function(ctx, input, property)
    local plain = property == nil and compare == order and values.is_array(input) and lists.sort_plain(input, ctx)
    if plain then return plain end
    local list, err = lists.of(input, ctx)
    if err then return nil, err end
    if #list == 0 then return values.array() end
    if property == nil then return lists.sort(list, compare) end
    if #list == 1 then return sort_single(list[1], property, ctx) end
    return sort_by(list, property, compare, ctx)
  end
end

local function reverse(ctx, input)
  local list, err = lists.of(input, ctx)
  if err then return nil, err end
  local result, count = {}, #list
  for i = 1, count do result[i] = list[count - i + 1] end
  return values.flat(result)
end

local function concat(ctx, input, other)
  if not values.is_array(other) then return errors.argument("concat filter requires an array argument") end
  local list, err = lists.of(input, ctx)
  if err then return nil, err end
  local result = table.move(list, 1, #list, 1, {})
  local usage = ctx.usage
  if #result + #other > usage.assign_limit // 64 then ctx.exhausted() end
  return values.array(table.move(other, 1, #other, #result + 1, result))
end

-- Each value once. Plain ones are found by themselves, lists and hashes by comparing.
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
  local list, err = lists.of(input, ctx)
  if err then return nil, err end
  local result, is_new = {}, unseen()
  for i = 1, #list do
    local key, none
    key, err = values.materialize(list[i], ctx)
    if err then return nil, err end
    -- With one item there is nothing to compare, so its property is not read.
    if property ~= nil and #list > 1 then key, err, none = lists.property(key, property, ctx) end
    if err or none then return nil, err end
    if is_new(key) then result[#result + 1] = list[i] end
  end
  return values.flat(result)
end

local function compact(ctx, input, property)
  local list, err = lists.of(input, ctx)
  if err then return nil, err end
  local result = {}
  for i = 1, #list do
    local value, none = list[i], nil
    if property ~= nil then value, err, none = lists.property(list[i], property, ctx) end
    if err or none then return nil, err end
    if value ~= nil and value ~= null then result[#result + 1] = list[i] end
  end
  return values.array(result)
end

local function map(ctx, input, property)
  local list, err = lists.of(input, ctx)
  if err then return nil, err end
  local result = {}
  for i = 1, #list do
    local value = list[i]
    if property ~= "to_liquid" then
      value, err = lists.property(value, property, ctx)
      if err then return nil, err end
    end
    if value == nil then value = null end
    result[i] = value
  end
  return values.array(result)
end

local function sum(ctx, input, property)
  local list, err = lists.of(input, ctx)
  if err then return nil, err end
  if property ~= nil then
    list, err = map(ctx, list, property)
    if err then return nil, err end
    list = lists.of(list, ctx)
  end
  local addends = {}
  for i = 1, #list do
    addends[i], err = numbers.to_number(list[i], ctx)
    if err then return nil, err end
  end
  return arithmetic.sum(addends)
end

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
end
