-- Most schemas of arguments are flat: an object of strings, numbers and booleans. For those, one short function accepts
-- nearly every valid value. All others are left to the checks of the keywords.

local kind_of = require("pintle.core").json.kind

local type, next = type, next

local KEYWORDS = {
  ["$schema"] = true, title = true, description = true, default = true, examples = true, type = true, required = true,
  properties = true,
}

-- The function that names the type of a value.
local JUDGES = { string = type, boolean = type, integer = math.type, number = type }

-- nil if a member is not that simple.
local function read_properties(properties)
  local names, judges, types, defaults = {}, {}, {}, {}
  for name, property in next, properties do
    local judge, i = type(property) == "table" and JUDGES[property.type], #names + 1
    if not judge then return nil end
    local kind, default = property.type, property.default
    if default ~= nil and judge(default) ~= kind then return nil end
    names[i], judges[i], types[i], defaults[name] = name, judge, kind, default
  end
  return names, judges, types, defaults
end

local function copy(value)
  local copied = {}
  for name, member in next, value do copied[name] = member end
  return setmetatable(copied, getmetatable(value))
end

local function completer(names, judges, types, is_required, defaults)
  local count = #names
  return function(value)
    if kind_of(value) ~= "object" then return nil end
    local full = value
    for i = 1, count do
      local name = names[i]
      local member = value[name]
      if member == nil then
        local default = defaults[name]
        if is_required[name] then return nil end
        if default ~= nil then
          if full == value then full = copy(value) end
          full[name] = default
        end
      elseif judges[i](member) ~= types[i] then
        return nil
      end
    end
    return full
  end
end

---@param schema any
---@param keywords table<string, true> all that are anywhere in it
---@return (fun(value: any): table?)? complete gives the value with defaults, nil if in doubt
return function(schema, keywords)
  for keyword in next, keywords do
    if not KEYWORDS[keyword] then return nil end
  end
  if type(schema) ~= "table" or schema.type ~= "object" then return nil end
  local properties, is_required = schema.properties or {}, {}
  local names, judges, types, defaults = read_properties(properties)
  if not names or keywords["$schema"] and next(defaults) then return nil end
  for _, name in ipairs(schema.required or {}) do
    if properties[name] == nil or defaults[name] ~= nil then return nil end
    is_required[name] = true
  end
  return completer(names, judges, types, is_required, defaults)
end
