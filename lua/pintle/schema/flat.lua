-- Most schemas of arguments are flat: an object whose members are strings, numbers and booleans, some of them required.
-- For such a schema one short function says of nearly every value that it fits. Where it does not say so, the checks of
-- the keywords decide, and tell what is wrong.

local kind_of = require("pintle.core").json.kind

local type, math_type, next = type, math.type, next

local flat = {}

local KEYWORDS = {
  ["$schema"] = true, title = true, description = true, default = true, examples = true, type = true, required = true,
  properties = true,
}

-- What `math.type` or `type` says of a value that fits for sure. A float may fit "number", but is rare.
local LUA_TYPES = { string = "string", boolean = "boolean", integer = "integer", number = "integer" }

-- The names of the properties and their types; nil if one of them has more to it than its type.
local function types_of(properties)
  local names, types = {}, {}
  for name, property in next, properties do
    local expected = type(property) == "table" and not property.properties and not property.required
      and LUA_TYPES[property.type]
    if not expected then return nil end
    names[#names + 1], types[#types + 1] = name, expected
  end
  return names, types
end

-- Which of the properties have to be there; nil if something else has to.
local function required_of(required, properties)
  local set = {}
  for _, name in ipairs(required) do
    if properties[name] == nil then return nil end
    set[name] = true
  end
  return set
end

---@param schema any
---@param keywords table<string, true> all that are anywhere in it
---@return (fun(value: any): boolean)? fits true is for sure
function flat.check(schema, keywords)
  for keyword in next, keywords do
    if not KEYWORDS[keyword] then return nil end
  end
  if type(schema) ~= "table" or schema.type ~= "object" then return nil end
  local properties = schema.properties or {}
  local names, types = types_of(properties)
  local is_required = required_of(schema.required or {}, properties)
  if not names or not is_required then return nil end
  local count = #names
  return function(value)
    if kind_of(value) ~= "object" then return false end
    for i = 1, count do
      local member = value[names[i]]
      if member == nil then
        if is_required[names[i]] then return false end
      elseif (math_type(member) or type(member)) ~= types[i] then
        return false
      end
    end
    return true
  end
end

return flat
