-- Config entries that were received, as the arguments that a schema describes.

local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local lfs = require "lfs"
local types = require "pintle.dialect.reginald.types"

local kind, given = json.kind, jsonrpc.given

local reading = {}

local function problem(where, format, ...) return nil, ("%s: %s"):format(where, format:format(...)) end

local function expected(where, name, value)
  return problem(where, "%s expected, got %s", name, types.name(value))
end

-- {====== One value ======

local function read_json(where, text)
  local value, message = json.decode(text)
  if value == nil then return problem(where, "JSON text expected: %s", message) end
  return value
end

local function read_as(where, name, value)
  local ok, read = types.read(name, value)
  if not ok then return expected(where, name, value) end
  return read
end

local read_entries

-- One that no schema tells of is what it says it is. A list of an unknown type is one of entries: the settings of a
-- command that only an older manifest.json knows.
local function read_untold(where, entry, release)
  local name, value = given(entry.type) or types.guess(entry.value), entry.value
  if kind(value) == "array" and not types.is_known(name) then return read_entries(where, value, {}, release) end
  return read_as(where, name, value)
end

-- JSON text is for what has no type; what comes with one all the same is taken as that.
local function read_told(where, entry, schema, release)
  local form = types.of(schema, release)
  local said = given(entry.type) or form.type
  if form.is_json and said ~= "string" then return read_untold(where, entry, release) end
  if not types.fit(said, form.type) then return problem(where, "%s expected, got %s", form.type, said) end
  local value, message = read_as(where, form.type, entry.value)
  if message or not form.is_json then return value, message end
  if value == "" then return nil end
  return read_json(where, value)
end

-- }======

-- {====== All of them ======

local function is_open(schema)
  if schema.properties == nil then return true end
  return schema.patternProperties ~= nil or given(schema.additionalProperties) and true or false
end

local function keys_of(schema)
  local keys = {}
  for key in pairs(schema.properties or {}) do keys[#keys + 1] = key end
  table.sort(keys)
  return #keys > 0 and "; there are " .. table.concat(keys, ", ") or ""
end

local function has(list, wanted)
  for _, name in ipairs(list or {}) do
    if name == wanted then return true end
  end
  return false
end

-- By default the base directory of a host is the directory it was started in, and plugins are started there, too.
local function is_base_directory(path)
  path = path:match "^(.+)/$" or path
  return path == lfs.currentdir() or path == os.getenv "PWD"
end

-- A host sends every entry, also those that nobody has set. What neither has a default nor has to be there is then
-- left out.
local function is_unset(schema, key, value, release)
  local property = schema.properties and schema.properties[key]
  if property == nil or has(schema.required, key) then return false end
  if type(property) == "table" and property.default ~= nil then return false end
  local form = types.of(property, release)
  if form.type == "path" and release.resolves_paths and is_base_directory(value) then return true end
  return not form.is_json and types.is_zero(form.type, value)
end

local function read_entry(where, entry, schema, release)
  if kind(entry) ~= "object" then return problem(where, "object expected, got %s", kind(entry)) end
  local key, name = entry.key, given(entry.type)
  if type(key) ~= "string" then return problem(where, "key: string expected, got %s", types.name(key)) end
  where = ("%s: key %q"):format(where:gsub("%[%d+%]$", ""), key)
  local property = schema.properties and schema.properties[key]
  if property == nil and not is_open(schema) then return problem(where, "there is none such%s", keys_of(schema)) end
  if name ~= nil and type(name) ~= "string" then return problem(where, "type: string expected, got %s", kind(name)) end
  if given(entry.value) == nil then return key end
  local value, message
  if property == nil then
    value, message = read_untold(where, entry, release)
  else
    value, message = read_told(where, entry, property, release)
  end
  if message then return nil, message end
  return key, value
end

local function is_of_command(entry, commands)
  return commands and kind(entry) == "object" and entry.key ~= nil and commands[entry.key]
end

function read_entries(where, list, schema, release, commands)
  local values = {}
  for i, entry in ipairs(list) do
    if not is_of_command(entry, commands) then
      local key, value = read_entry(("%s[%d]"):format(where, i), entry, schema, release)
      if not key then return nil, value end
      if value ~= nil and not is_unset(schema, key, value, release) then values[key] = value end
    end
  end
  return values
end

---The values of config entries by their keys. What is wrong with them is told with the key.
---@param where string what the list is called
---@param list any what was received; nothing and null are an empty one
---@param schema table of the type "object"
---@param release pintle.reginald.release
---@param commands? table<string, true> whose settings are among the entries, each under its name: they are skipped
---@return table? values, string? message
function reading.values(where, list, schema, release, commands)
  if given(list) == nil then return {} end
  if kind(list) ~= "array" and not (kind(list) == "object" and next(list) == nil) then
    return problem(where, "array expected, got %s", kind(list))
  end
  return read_entries(where, list, schema, release, commands)
end

-- }======

return reading
