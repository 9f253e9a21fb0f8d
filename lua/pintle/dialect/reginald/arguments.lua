-- The arguments in received config entries, read and checked.

local declarations = require "pintle.dialect.reginald.declarations"
local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local lfs = require "lfs"
local wire = require "pintle.dialect.reginald.wire"

local kind, given = json.kind, jsonrpc.given

local INVALID_PARAMS = jsonrpc.INVALID_PARAMS

local arguments = {}

---@param code integer
---@param format string
---@return nil, pintle.error
function arguments.refuse(code, format, ...)
  local message = format:format(...)
  if code == INVALID_PARAMS and not message:find "^Invalid params" then message = "Invalid params: " .. message end
  return nil, errors.new("invalid", message, { code = code })
end

local function invalid_argument(where, format, ...) return nil, ("%s: %s"):format(where, format:format(...)) end

local function wrong_argument_type(where, name, value)
  return invalid_argument(where, "%s expected, got %s", name, wire.describe_type(value))
end

-- {====== One value ======

local function read_json_argument(where, text)
  local value, message = json.decode(text)
  if value == nil then return invalid_argument(where, "JSON text expected: %s", message) end
  return value
end

local function read_argument_as(where, name, value)
  local ok, read = wire.read_typed(name, value)
  if not ok then return wrong_argument_type(where, name, value) end
  return read
end

local read_argument_entries

-- An entry that is not in the schema has the type that it names. An array of an unknown type has entries: the settings
-- of a command that only an older manifest.json has.
local function read_undeclared_argument(where, entry, release)
  local name, value = given(entry.type) or wire.guess_type(entry.value), entry.value
  if kind(value) == "array" and not wire.is_known_type(name) then
    return read_argument_entries(where, value, {}, release)
  end
  return read_argument_as(where, name, value)
end

-- For a value without a type, JSON text is expected. But an entry that has a type is read as that type.
local function read_declared_argument(where, entry, schema, release)
  local form = wire.type_form(schema, release)
  local name = given(entry.type) or form.type
  if form.is_json and name ~= "string" then return read_undeclared_argument(where, entry, release) end
  if not wire.are_compatible_types(name, form.type) then
    return invalid_argument(where, "%s expected, got %s", form.type, name)
  end
  local value, message = read_argument_as(where, form.type, entry.value)
  if message or not form.is_json then return value, message end
  if value == "" then return nil end
  return read_json_argument(where, value)
end

-- }======

-- {====== All entries ======

local function allows_undeclared_arguments(schema)
  if schema.properties == nil then return true end
  return schema.patternProperties ~= nil or given(schema.additionalProperties) and true or false
end

local function list_argument_keys(schema)
  local keys = {}
  for key in pairs(schema.properties or {}) do keys[#keys + 1] = key end
  table.sort(keys)
  return #keys > 0 and "; there are " .. table.concat(keys, ", ") or ""
end

local function argument_list_contains(list, wanted)
  for _, name in ipairs(list or {}) do
    if name == wanted then return true end
  end
  return false
end

-- By default the base directory of a host is the directory that it was started in, and its plugins start there, too.
local function is_argument_base_directory(path)
  path = path:match "^(.+)/$" or path
  return path == lfs.currentdir() or path == os.getenv "PWD"
end

-- A host sends all entries, also those that are not set. Those are left out if they are optional and have no default.
local function is_unset_argument(schema, key, value, release)
  local property = schema.properties and schema.properties[key]
  if property == nil or argument_list_contains(schema.required, key) then return false end
  if type(property) == "table" and property.default ~= nil then return false end
  local form = wire.type_form(property, release)
  if form.type == "path" and release.resolves_paths and is_argument_base_directory(value) then return true end
  return not form.is_json and wire.is_zero_value(form.type, value)
end

local function read_argument_entry(where, entry, schema, release)
  if kind(entry) ~= "object" then return invalid_argument(where, "object expected, got %s", kind(entry)) end
  local key, name = entry.key, given(entry.type)
  if type(key) ~= "string" then
    return invalid_argument(where, "key: string expected, got %s", wire.describe_type(key))
  end
  where = ("%s: key %q"):format(where:gsub("%[%d+%]$", ""), key)
  local property = schema.properties and schema.properties[key]
  if property == nil and not allows_undeclared_arguments(schema) then
    return invalid_argument(where, "there is no such key%s", list_argument_keys(schema))
  end
  if name ~= nil and type(name) ~= "string" then
    return invalid_argument(where, "type: string expected, got %s", kind(name))
  end
  if given(entry.value) == nil then return key end
  local value, message
  if property == nil then
    value, message = read_undeclared_argument(where, entry, release)
  else
    value, message = read_declared_argument(where, entry, property, release)
  end
  if message then return nil, message end
  return key, value
end

local function is_subcommand_argument(entry, commands)
  return commands and kind(entry) == "object" and entry.key ~= nil and commands[entry.key]
end

function read_argument_entries(where, list, schema, release, commands)
  local values = {}
  for i, entry in ipairs(list) do
    if not is_subcommand_argument(entry, commands) then
      local key, value = read_argument_entry(("%s[%d]"):format(where, i), entry, schema, release)
      if not key then return nil, value end
      if value ~= nil and not is_unset_argument(schema, key, value, release) then values[key] = value end
    end
  end
  return values
end

---The values of config entries by key. Messages name the key.
---@param where string name of the list in messages
---@param list any as received; nil and null are an empty list
---@param schema table of the type "object"
---@param release pintle.reginald.release
---@param commands? table<string, true> subcommands whose settings are among the entries, each under its name: skipped
---@return table? values, string? message
function arguments.values(where, list, schema, release, commands)
  if given(list) == nil then return {} end
  if kind(list) ~= "array" and not (kind(list) == "object" and next(list) == nil) then
    return invalid_argument(where, "array expected, got %s", kind(list))
  end
  return read_argument_entries(where, list, schema, release, commands)
end

-- }======

-- {====== Arguments of an operation, config of the plugin ======

local function with_argument_error_code(err, code)
  return nil, errors.new("invalid", err.message, { code = code, data = err.data })
end

---Reads the arguments of an operation, unchecked.
---@param server pintle.server
---@param operation pintle.operation
---@param list any the entries
---@param code integer error code for invalid arguments
---@param commands? table<string, true> subcommands whose settings are among the entries
---@return table?, pintle.error?
function arguments.read(server, operation, list, code, commands)
  local args, message = arguments.values("config", list, operation.params, server.state.release, commands)
  if args then return args end
  return arguments.refuse(code, "Invalid params for %q: %s", operation.name, message)
end

---Checks the arguments of an operation, and fills in defaults.
---@param server pintle.server
---@param operation pintle.operation
---@param args table
---@param code integer error code for invalid arguments
---@return table?, pintle.error?
function arguments.check(server, operation, args, code)
  local full, err = server.plugin.manifest:check(operation.name, args)
  if full then return full end
  return with_argument_error_code(err, code)
end

-- Keywords about missing members, or about several members at once.
local WHOLE_OBJECT_KEYWORDS = {
  required = true, minProperties = true, dependentRequired = true, dependentSchemas = true, dependencies = true,
  allOf = true, anyOf = true, oneOf = true, ["not"] = true, ["if"] = true, ["then"] = true, ["else"] = true,
}

---Checks each of the arguments by itself. Some may be missing.
---@param operation pintle.operation
---@param args table
---@param code integer error code for invalid arguments
---@return true?, pintle.error?
function arguments.check_each(operation, args, code)
  local schema = {}
  for keyword, value in pairs(operation.params) do
    if not WHOLE_OBJECT_KEYWORDS[keyword] then schema[keyword] = value end
  end
  local full, err = wire.check_values(schema, args, operation.name)
  if full then return true end
  return with_argument_error_code(err, code)
end

---Reads and checks the config of the plugin. If the host sends none, the config of the command line is used.
---@param server pintle.server
---@param list any the entries
---@param commands? table<string, true> subcommands whose settings are among the entries
---@return table?, pintle.error?
function arguments.config(server, list, commands)
  local schema = declarations.config(server.plugin.manifest)
  local values, message = arguments.values("config", list, schema, server.state.release, commands)
  if not values then return arguments.refuse(INVALID_PARAMS, "Invalid params: %s", message) end
  if next(values) == nil then values = server.state.command_line_config end
  local full, err = wire.check_values(schema, values)
  if not full then return with_argument_error_code(err, INVALID_PARAMS) end
  return full
end

-- }======

return arguments
