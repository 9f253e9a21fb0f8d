-- A schema as config entries: what a plugin tells a host that its commands and tasks take.

local json = require("pintle.core").json
local types = require "pintle.dialect.reginald.types"

local entries = {}

---What is written behind the usage of a flag, for people and for our own host: that its text is JSON, and that it has
---to be given. There is no other way to tell.
entries.JSON, entries.REQUIRED = "(JSON)", "(required)"

---What an author says of one parameter.
---@class pintle.reginald.parameter
---@field flag? string|false the name of its flag, if not its own; false is for none
---@field shorthand? string
---@field usage? string of the flag, if not its description
---@field envOverride? string
---@field flagOnly? boolean

-- The required ones come first, as they are named; then the others.
local function names_of(schema)
  local names, is_required, others = {}, {}, {}
  for _, name in ipairs(schema.required or {}) do
    if schema.properties[name] ~= nil and not is_required[name] then
      names[#names + 1], is_required[name] = name, true
    end
  end
  for name in pairs(schema.properties) do
    if not is_required[name] then others[#others + 1] = name end
  end
  table.sort(others)
  return table.move(others, 1, #others, #names + 1, names), is_required
end

local function has_default(schema)
  return type(schema) == "table" and schema.default ~= nil and schema.default ~= json.null
end

-- Hosts expect a value of the type in any case.
local function value_of(schema, form)
  if not has_default(schema) then return types.zero(form.type) end
  if form.is_json then return json.encode(schema.default) end
  if type(schema.default) ~= "table" then return schema.default end
  return json.array(table.move(schema.default, 1, #schema.default, 1, {}))
end

local function usage_of(schema, form, given, is_required)
  local words = { given.usage or type(schema) == "table" and schema.description or nil }
  if is_required and not has_default(schema) then words[#words + 1] = entries.REQUIRED end
  if form.is_json then words[#words + 1] = entries.JSON end
  return table.concat(words, " ")
end

local function flag_of(name, schema, form, release, given, is_required)
  if given.flag == false then return nil end
  local usage = usage_of(schema, form, given, is_required)
  local flag = { name = given.flag or name, shorthand = given.shorthand or "", [release.usage] = usage }
  return setmetatable(flag, release.flag)
end

local function entry_of(name, schema, release, given, is_required)
  local form = types.of(schema, release)
  return setmetatable({
    key = name, value = value_of(schema, form), type = form.type,
    flag = given and flag_of(name, schema, form, release, given, is_required),
    envOverride = given and given.envOverride, flagOnly = given and given.flagOnly or nil,
  }, release.entry)
end

---@param schema table of the type "object"
---@param release pintle.reginald.release
---@param given? table<string, pintle.reginald.parameter> there are flags only with it
---@return table[] entries
function entries.of(schema, release, given)
  local list = json.array()
  if not schema.properties then return list end
  local names, is_required = names_of(schema)
  for i, name in ipairs(names) do
    local own = given and (given[name] or {})
    list[i] = entry_of(name, schema.properties[name], release, own, is_required[name])
  end
  return list
end

return entries
