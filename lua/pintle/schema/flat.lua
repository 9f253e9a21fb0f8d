-- Most schemas of arguments are flat: an object whose members are strings, numbers and booleans, some of them required
-- or with a default. For such a schema one short function accepts nearly every valid value. A value that it does not
-- accept is left to the checks of the keywords, which decide, and tell what is wrong.

local kind_of = require("pintle.core").json.kind

local type, math_type, next = type, math.type, next

local flat = {}

local KEYWORDS = {
  ["$schema"] = true, title = true, description = true, default = true, examples = true, type = true, required = true,
  properties = true,
}

-- The function that names the type of a value. A float may be a JSON integer, but that is rare.
local JUDGES = { string = type, boolean = type, integer = math_type, number = type }

-- The names of the members, and of each its judge, its type and its default; nil if one of them has more to it.
local function read_properties(properties)
  local names, judges, types, defaults = {}, {}, {}, {}
  for name, property in next, properties do
    local is_plain = type(property) == "table" and not property.properties and not property.required
    local judge = is_plain and JUDGES[property.type]
    if not judge then return nil end
    local default, i = property.default, #names + 1
    if default ~= nil and judge(default) ~= property.type then return nil end
    names[i], judges[i], types[i], defaults[name] = name, judge, property.type, default
  end
  return names, judges, types, defaults
end

-- Which of the members have to be there; nil if something else has to.
local function required_of(required, properties)
  local set = {}
  for _, name in ipairs(required) do
    if properties[name] == nil then return nil end
    set[name] = true
  end
  return set
end

-- Returns the value if it fits for sure, else nil.
local function checker(names, judges, types, is_required)
  local count = #names
  return function(value)
    if kind_of(value) ~= "object" then return nil end
    for i = 1, count do
      local name = names[i]
      local member = value[name]
      if member == nil then
        if is_required[name] then return nil end
      elseif judges[i](member) ~= types[i] then
        return nil
      end
    end
    return value
  end
end

local function copy(value)
  local copied = {}
  for name, member in next, value do copied[name] = member end
  return setmetatable(copied, getmetatable(value))
end

-- Checks a value and fills in defaults, in a copy.
local function completer(fits, defaults)
  return function(value)
    if not fits(value) then return nil end
    local full = value
    for name, default in next, defaults do
      if value[name] == nil then
        if rawequal(full, value) then full = copy(value) end
        full[name] = default
      end
    end
    return full
  end
end

---@param schema any
---@param keywords table<string, true> all that are anywhere in it
---@return (fun(value: any): table?)? fits the value if it is valid for sure, else nil
---@return (fun(value: any): table?)? complete the same, with defaults filled in
function flat.check(schema, keywords)
  for keyword in next, keywords do
    if not KEYWORDS[keyword] then return nil end
  end
  if type(schema) ~= "table" or schema.type ~= "object" then return nil end
  local properties = schema.properties or {}
  local names, judges, types, defaults = read_properties(properties)
  local is_required = required_of(schema.required or {}, properties)
  if not names or not is_required then return nil end
  local fits = checker(names, judges, types, is_required)
  if not next(defaults) then return fits, fits end
  if keywords["$schema"] then return fits end -- another dialect may have no defaults
  local is_wanted = {}
  for name in next, is_required do is_wanted[name] = defaults[name] == nil end
  return fits, completer(checker(names, judges, types, is_wanted), defaults)
end

return flat
