-- What a loop goes through: a list, a range, the pairs of a hash, the items of a drop; a text is one item.

local ranges = require "liquid.ranges"
local values = require "liquid.values"

local collections = {}

local null = values.null

-- What there is to go through: how many, and either a list or where a range begins.
local function source(value, ctx)
  if type(value) == "string" then
    if value == "" then return 0 end
    return 1, { value }
  elseif type(value) ~= "table" or value == null then
    return 0
  elseif values.is_array(value) then
    return #value, value
  elseif ranges.is(value) then
    return ranges.size(value), nil, nil, ranges.is_small(value) and value.first or nil
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

---The sum of two positions, without going past the end of 64 bits.
---@param a integer
---@param b integer
---@return integer
function collections.sum(a, b)
  if b > 0 and a > math.maxinteger - b then return math.maxinteger end
  if b < 0 and a < math.mininteger - b then return math.mininteger end
  return a + b
end

-- Items of a range that are not all integers of Lua.
local function large_items(range, first, count, ctx)
  local list, err = ranges.items(ranges.new(ranges.item(range, first), ranges.item(range, first + count - 1)), ctx)
  if err then return nil, err end
  return { list = list, first = 1, count = count }
end

---The part of a collection between two positions.
---@class liquid.segment
---@field list? table where its items are, from `first` on
---@field start? integer of a range: its items are the integers from `start` + `first` on
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
  -- A text is one item, wherever the loop is told to begin and end.
  if type(value) == "string" then return { list = list, first = 1, count = size } end
  local first = from > 0 and from or 0
  local last = to and to < size and to or size
  local count = last > first and last - first or 0
  if not list and not start and count > 0 then return large_items(value, first, count, ctx) end
  return { list = list, start = start, first = first + 1, count = count }
end

---A list of all that is in a collection, its own list where it has one.
---@param segment liquid.segment
---@return table
function collections.list(segment)
  if segment.list and segment.first == 1 and segment.count == #segment.list then return segment.list end
  local list = {}
  for i = 1, segment.count do
    local at = segment.first + i - 1
    list[i] = segment.list and segment.list[at] or segment.start and segment.start + at - 1 or null
  end
  return list
end

return collections
