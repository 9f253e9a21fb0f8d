-- Ranges: two integers and all between them, never written out unless asked.

local arithmetic = require "liquid.arithmetic"
local bigint = require "liquid.bigint"
local errors = require "liquid.errors"
local numbers = require "liquid.numbers"
local values = require "liquid.values"

local ranges = {}

local metatable = { __name = "liquid.range" }
local math_type = math.type

-- More than this is not written out as a list: nobody reads it, and it would take the memory.
local LIST_LIMIT = 10000000

---@param first integer|table
---@param last integer|table
---@return table
function ranges.new(first, last)
  return setmetatable({ first = first, last = last }, metatable)
end

---@param value any
---@return boolean
function ranges.is(value)
  return getmetatable(value) == metatable
end

-- How many items it has, however many that are.
local function exact_size(range)
  if arithmetic.compare(range.last, range.first) < 0 then return 0 end
  return arithmetic.add(arithmetic.subtract(range.last, range.first), 1)
end

---How many items it has, as an integer of Lua: the largest if they are more.
---@param range table
---@return integer
function ranges.size(range)
  if ranges.is_small(range) then return range.last < range.first and 0 or range.last - range.first + 1 end
  local size = exact_size(range)
  return math_type(size) == "integer" and size or math.maxinteger
end

---Whether all items, and their number, are integers of Lua.
---@param range table
---@return boolean
function ranges.is_small(range)
  local first, last = range.first, range.last
  if math_type(first) ~= "integer" or math_type(last) ~= "integer" then return false end
  return last < first or last - first + 1 > 0
end

---The item at a position, from 0.
---@param range table
---@param position integer
---@return integer|table
function ranges.item(range, position)
  return (arithmetic.add(range.first, position))
end

-- Text and nil count as the integer they begin with; anything else has to be one.
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
function ranges.between(first, last, ctx)
  local from, err = bound(first, ctx)
  if err then return nil, err end
  local to
  to, err = bound(last, ctx)
  if err then return nil, err end
  return ranges.new(from, to)
end

---What a range is as a list.
---@param range table
---@param ctx? liquid.context
---@return table? list, table? err
function ranges.items(range, ctx)
  local size = ranges.size(range)
  if size > LIST_LIMIT then
    if ctx then ctx.exhausted() end
    return nil, errors.new("memory_error", "Memory limits exceeded")
  end
  local list, first = {}, range.first
  if ranges.is_small(range) then
    for i = 1, size do list[i] = first + i - 1 end
  else
    for i = 1, size do list[i] = ranges.item(range, i - 1) end
  end
  return values.array(list)
end

---@param range table
---@param value any
---@return boolean
function ranges.contains(range, value)
  if type(value) ~= "number" and not bigint.is(value) then return false end
  return arithmetic.compare(value, range.first) >= 0 and arithmetic.compare(value, range.last) <= 0
end

local function get(range, key, _, command)
  if not command then return nil, nil, true end
  if key == "size" then return exact_size(range) end
  if key == "first" then return range.first end
  if key == "last" then return range.last end
  return nil, nil, true
end

values.register(metatable, {
  kind = "range",
  get = get,
  to_s = function(range) return range.text or bigint.text(range.first) .. ".." .. bigint.text(range.last) end,
  items = ranges.items,
  equal = function(range, other)
    return ranges.is(other) and arithmetic.compare(range.first, other.first) == 0
      and arithmetic.compare(range.last, other.last) == 0
  end,
})

return ranges
