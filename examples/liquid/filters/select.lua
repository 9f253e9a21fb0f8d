-- Filters that pick items of a list by a property.

local comparison = require "liquid.comparison"
local lists = require "liquid.filters.lists"
local values = require "liquid.values"

-- Whether an item is meant: its property is the target, or is true where there is no target.
local function matches(item, property, target, ctx)
  local value, err, none = lists.property(item, property, ctx)
  if err or none then return nil, err, none end
  if target ~= nil then return comparison.equal(value, target) end
  return value ~= nil and value ~= false
end

-- Calls `pick` with every item and whether it is meant, until it has seen enough.
local function walk(ctx, input, property, target, pick)
  local list, err = lists.of(input, ctx)
  if err then return nil, err end
  for i = 1, #list do
    local found, failure, none = matches(list[i], property, target, ctx)
    if failure then return nil, failure end
    if none then return nil, nil, true end
    if pick(list[i], found, i) then break end
  end
end

local function picking(wanted)
  return function(ctx, input, property, target)
    local result = {}
    local _, err, none = walk(ctx, input, property, target, function(item, found)
      if found == wanted then result[#result + 1] = item end
    end)
    if err or none then return nil, err end
    return values.flat(result)
  end
end

-- The first that is meant, as `give` tells it.
local function first_one(otherwise, give)
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

return function(define)
  define("where", 1, 2, picking(true))
  define("reject", 1, 2, picking(false))
  define("has", 1, 2, first_one(false, function() return true end))
  define("find", 1, 2, first_one(nil, function(item) return item end))
  define("find_index", 1, 2, first_one(nil, function(_, i) return i - 1 end))
end
