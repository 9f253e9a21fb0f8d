-- Keywords for numbers.

local lazy = require "pintle.lazy"
local run = require "pintle.schema.run"

local decimal = lazy "pintle.schema.decimal"

local type = type
local fail, site_of, expected = run.fail, run.site, run.expected

---@type table<string, fun(node: pintle.schema.node, context: pintle.schema.context): pintle.schema.check>
local numbers = {}

-- Bounds: keyword -> what is expected, and the test that takes the bound first.
local BOUNDS = {
  minimum = { "at least %s", function(bound, value) return value >= bound end },
  maximum = { "at most %s", function(bound, value) return value <= bound end },
  exclusiveMinimum = { "more than %s", function(bound, value) return value > bound end },
  exclusiveMaximum = { "less than %s", function(bound, value) return value < bound end },
}

for keyword, rule in pairs(BOUNDS) do
  local phrase, test = rule[1], rule[2]
  numbers[keyword] = function(node)
    local bound = node.schema[keyword]
    local site = site_of(keyword, node.path, expected(phrase:format(bound)))
    return function(value, state)
      return type(value) ~= "number" or test(bound, value) or fail(state, site, value)
    end
  end
end

function numbers.multipleOf(node)
  local divisor = node.schema.multipleOf
  local is_multiple = decimal.multiples_of(divisor)
  local site = site_of("multipleOf", node.path, expected(("a multiple of %s"):format(divisor)))
  return function(value, state)
    return type(value) ~= "number" or is_multiple(value) or fail(state, site, value)
  end
end

return numbers
