-- default, and size, first and last, which ask values of any kind.

local bigint = require "liquid.bigint"
local comparison = require "liquid.comparison"
local lookup = require "liquid.lookup"
local unicode = require "liquid.unicode"
local values = require "liquid.values"

local function default(ctx, input, value, named)
  local shown, err = values.materialize(input, ctx)
  if err then return nil, err end
  if not shown then
    -- A drop that stands for nothing is not nothing.
    if input ~= nil and values.is_hash(named) and values.plain(rawget(named, "allow_false")) then return input end
    return value
  end
  if comparison.is_empty(input) then return value end
  return input
end

local function of_range(command)
  return function(range) return lookup.get(range, command, true) end
end

-- Ruby's integers have a size as well: their bytes.
local sizes = {
  string = unicode.length, array = function(list) return #list end, hash = values.count,
  integer = function() return 8 end, bigint = bigint.bytes, range = of_range("size"),
}
local firsts = {
  string = unicode.first, array = function(list) return values.plain(list[1]) end,
  hash = values.first_pair,
  range = of_range("first"),
}
local lasts = {
  string = unicode.last, array = function(list) return values.plain(list[#list]) end, range = of_range("last"),
}

-- A drop answers if it says that it does; its names are not asked.
local function asking(command, answers, otherwise)
  return function(ctx, input)
    local protocol = values.protocol(input)
    if protocol and protocol[command] then return protocol[command](input, ctx) end
    local answer = answers[values.kind(input)]
    if answer then return (answer(input)) end
    return otherwise
  end
end

return function(define)
  define("default", 0, 2, default, { "" })
  define("size", 0, 0, asking("size", sizes, 0))
  define("first", 0, 0, asking("first", firsts))
  define("last", 0, 0, asking("last", lasts))
end
