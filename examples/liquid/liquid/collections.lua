-- Collections: ranges, the member of a value under a key, and the items that a loop iterates over.

local bigint = require "liquid.bigint"
local errors = require "liquid.errors"
local numbers = require "liquid.numbers"
local text = require "liquid.text"
local values = require "liquid.values"

local collections = {}

local null, arrays, objects, hides, is_reserved
  = values.null, values.arrays, values.objects, values.hides, values.is_reserved
local type, getmetatable, rawget, math_type = type, getmetatable, rawget, math.type
local range_metatable = { __name = "liquid.range" }

-- {====== Ranges ======

-- A range with more items is not converted to a list, to save memory.
local LIST_LIMIT = 10000000

---@param first integer|table
---@param last integer|table
---@return table
function collections.range(first, last)
  return setmetatable({ first = first, last = last }, range_metatable)
end

---@param value any
---@return boolean
function collections.is_range(value)
  return getmetatable(value) == range_metatable
end

---Whether all items and the number of items are Lua integers.
---@param range table
---@return boolean
local function is_small(range)
  local first, last = range.first, range.last
  if math_type(first) ~= "integer" or math_type(last) ~= "integer" then return false end
  return last < first or last - first + 1 > 0
end

-- The exact number of items, which may be a large integer.
local function exact_size(range)
  if numbers.compare(range.last, range.first) < 0 then return 0 end
  return numbers.add(numbers.subtract(range.last, range.first), 1)
end

---The number of items as a Lua integer, at most the largest one.
---@param range table
---@return integer
local function range_size(range)
  if is_small(range) then return range.last < range.first and 0 or range.last - range.first + 1 end
  local size = exact_size(range)
  return math_type(size) == "integer" and size or math.maxinteger
end

---The item at a position; the first is 0.
---@param range table
---@param position integer
---@return integer|table
local function range_item(range, position)
  return (numbers.add(range.first, position))
end

-- A bound of a range: a text counts as the integer it begins with, nil as 0. Other values must be integers.
local function bound(value, ctx)
  if math_type(value) == "integer" or bigint.is(value) then return value end
  if value == nil then return 0 end
  if type(value) == "string" then return numbers.leading_integer(value) end
  return numbers.to_integer(value, ctx)
end

---The range between two values.
---@param first any
---@param last any
---@param ctx? liquid.context
---@return table? range, table? err
function collections.range_between(first, last, ctx)
  local from, err = bound(first, ctx)
  if err then return nil, err end
  local to
  to, err = bound(last, ctx)
  if err then return nil, err end
  return collections.range(from, to)
end

---The items of a range as a list.
---@param range table
---@param ctx? liquid.context
---@return table? list, table? err
local function range_items(range, ctx)
  local size = range_size(range)
  if size > LIST_LIMIT then
    if ctx then ctx.exceed_limits() end
    return nil, errors.new("memory_error", "Memory limits exceeded")
  end
  local list, first = {}, range.first
  if is_small(range) then
    for i = 1, size do list[i] = first + i - 1 end
  else
    for i = 1, size do list[i] = range_item(range, i - 1) end
  end
  return values.array(list)
end

---@param range table
---@param value any
---@return boolean
function collections.range_contains(range, value)
  if type(value) ~= "number" and not bigint.is(value) then return false end
  return numbers.compare(value, range.first) >= 0 and numbers.compare(value, range.last) <= 0
end

local function range_member(range, key, _, command)
  if not command then return nil, nil, true end
  if key == "size" then return exact_size(range) end
  if key == "first" then return range.first end
  if key == "last" then return range.last end
  return nil, nil, true
end

values.register(range_metatable, {
  kind = "range",
  get = range_member,
  to_s = function(range) return range.text or bigint.text(range.first) .. ".." .. bigint.text(range.last) end,
  items = range_items,
  equal = function(range, other)
    return collections.is_range(other) and numbers.compare(range.first, other.first) == 0
      and numbers.compare(range.last, other.last) == 0
  end,
})

-- }======

-- {====== Members ======

-- Each of these functions returns the value, an error, and whether the member is missing.

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

-- Reads only members of the table itself, never through its metatable. Objects with inherited members must be drops.
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

local function of_string(string, key, command)
  if not command then return nil, nil, true end
  if key == "size" then return text.length(string) end
  if key == "first" then return text.first(string) end
  if key == "last" then return text.last(string) end
  return nil, nil, true
end

---The member of a value under a key.
---@param object any
---@param key any
---@param command? boolean whether the key follows a dot, so that it may be the command size, first or last
---@param ctx? liquid.context
---@return any value, table? err, boolean? missing
function collections.get(object, key, command, ctx)
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

-- }======

-- {====== Items of a loop ======

-- The items of a value: their number; a list, or nil for a range; an error; and the first item of a range of Lua
-- integers.
local function source(value, ctx)
  if type(value) == "string" then
    if value == "" then return 0 end
    return 1, { value }
  elseif type(value) ~= "table" or value == null then
    return 0
  elseif values.is_array(value) then
    return #value, value
  elseif collections.is_range(value) then
    return range_size(value), nil, nil, is_small(value) and value.first or nil
  end
  local protocol = values.protocol(value)
  if not protocol then
    local list = values.pairs_of(value)
    return #list, list
  end
  if not protocol.items then return 0 end
  local list, err = protocol.items(value, ctx)
  if err then return nil, nil, err end
  return #list, list
end

---The sum of two positions, clamped to 64 bits.
---@param a integer
---@param b integer
---@return integer
function collections.sum(a, b)
  if b > 0 and a > math.maxinteger - b then return math.maxinteger end
  if b < 0 and a < math.mininteger - b then return math.mininteger end
  return a + b
end

-- A segment of a range whose items are not all Lua integers.
local function large_items(range, first, count, ctx)
  local list, err = range_items(collections.range(range_item(range, first), range_item(range, first + count - 1)), ctx)
  if err then return nil, err end
  return { list = list, first = 1, count = count }
end

---The part of a collection between two positions.
---@class liquid.segment
---@field list? table the items are in this list, from index `first` on
---@field start? integer the items are the integers from `start` + `first` - 1 on
---@field first integer
---@field count integer

---@param value any
---@param from integer
---@param to? integer
---@param ctx liquid.context
---@return liquid.segment? segment, table? err
function collections.segment(value, from, to, ctx)
  local size, list, err, start = source(value, ctx)
  if err then return nil, err end
  -- A text is always one item: offset and limit do not apply.
  if type(value) == "string" then return { list = list, first = 1, count = size } end
  local first = from > 0 and from or 0
  local last = to and to < size and to or size
  local count = last > first and last - first or 0
  if not list and not start and count > 0 then return large_items(value, first, count, ctx) end
  return { list = list, start = start, first = first + 1, count = count }
end

-- }======

return collections
