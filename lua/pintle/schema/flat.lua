-- Most schemas of arguments are flat: an object whose members are strings, numbers and booleans, some of them required.
-- For such a schema one short function says of nearly every value that it fits. Where it does not say so, the checks of
-- the keywords decide, and tell what is wrong.

local values = require "pintle.schema.values"

local type, math_type, next = type, math.type, next
local is_object = values.is_object

local flat = {}

local KEYWORDS = {
  ["$schema"] = true, title = true, description = true, default = true, examples = true, type = true, required = true,
  properties = true,
}

local TESTS = {
  string = function(value) return type(value) == "string" end,
  boolean = function(value) return type(value) == "boolean" end,
  integer = function(value) return math_type(value) == "integer" end,
  number = function(value) return math_type(value) == "integer" end,
}

-- The test of each property; nil if one of them has more to it than its type.
local function tests_of(properties)
  local tests = {}
  for name, property in next, properties do
    local test = type(property) == "table" and not property.properties and not property.required
      and TESTS[property.type]
    if not test then return nil end
    tests[name] = test
  end
  return tests
end

---@param schema any
---@param keywords table<string, true> all that are anywhere in it
---@return (fun(value: any): boolean)? fits true is for sure
function flat.check(schema, keywords)
  for keyword in next, keywords do
    if not KEYWORDS[keyword] then return nil end
  end
  if type(schema) ~= "table" or schema.type ~= "object" then return nil end
  local tests, required = tests_of(schema.properties or {}), schema.required or {}
  if not tests then return nil end
  return function(value)
    if not is_object(value) then return false end
    for i = 1, #required do
      if value[required[i]] == nil then return false end
    end
    for name, test in next, tests do
      local member = value[name]
      if member ~= nil and not test(member) then return false end
    end
    return true
  end
end

return flat
