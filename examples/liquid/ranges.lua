-- Ranges: two integers and all between them, never written out unless asked.

local errors = require "liquid.errors"
local numbers = require "liquid.numbers"
local values = require "liquid.values"

local ranges = {}

local metatable = { __name = "liquid.range" }

-- More than this is not written out as a list: nobody reads it, and it would take the memory.
local LIST_LIMIT = 10000000

---@param first integer
---@param last integer
---@return table
function ranges.new(first, last)
  return setmetatable({ first = first, last = last }, metatable)
end

---@param value any
---@return boolean
function ranges.is(value)
  return getmetatable(value) == metatable
end

---@param range table
---@return integer
function ranges.size(range)
  if range.last < range.first then return 0 end
  local size = range.last - range.first + 1
  return size > 0 and size or math.maxinteger
end

-- Text and nil count as the integer they begin with; anything else has to be one.
local function bound(value, ctx)
  if math.type(value) == "integer" then return value end
  if value == nil then return 0 end
  if type(value) == "string" then value = numbers.leading_integer(value) end
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
  for i = 1, size do list[i] = first + i - 1 end
  return values.array(list)
end

---@param range table
---@param value any
---@return boolean
function ranges.contains(range, value)
  return type(value) == "number" and value >= range.first and value <= range.last
end

local function get(range, key, _, command)
  if not command then return nil, nil, true end
  if key == "size" then return ranges.size(range) end
  if key == "first" then return range.first end
  if key == "last" then return range.last end
  return nil, nil, true
end

values.register(metatable, {
  kind = "range",
  get = get,
  to_s = function(range) return range.text or range.first .. ".." .. range.last end,
  items = ranges.items,
  equal = function(range, other)
    return ranges.is(other) and range.first == other.first and range.last == other.last
  end,
})

return ranges
