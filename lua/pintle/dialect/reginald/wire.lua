-- What both sides know of the messages: the two releases of Reginald, the types of config entries, log messages, and
-- outcomes.

local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local manifests = require "pintle.manifest"
local name_set = require("pintle.options").names

local kind, given = json.kind, jsonrpc.given

local wire = {
  VERSION = 0,
  ---Appended to the usage of a flag, for users and for our own host: its text is JSON, or the flag is required. The
  ---protocol has no other place for that.
  JSON_MARK = "(JSON)", REQUIRED_MARK = "(required)",
}

-- {====== Releases ======

---@class pintle.reginald.release
---@field name "june"|"july"
---@field protocol string name in the handshake
---@field methods table<string, true> that a plugin answers
---@field types table<string, true> types of config entries
---@field entry_order table order of the members of a config entry
---@field flag_order table order of the members of a flag
---@field usage_member "usage"|"description" the member of a flag that describes it; hosts refuse the other one
---@field resolves_paths? boolean the host sends absolute paths, and its base directory for a path that is not set
---@field shutdown any result of shutdown
---@field codes pintle.reginald.codes

---@class pintle.reginald.codes
---@field handshake integer unsupported protocol or version
---@field unknown integer unknown command
---@field group integer a command that only has subcommands
---@field lacking integer? an unmet requirement of the command or task; default: the code of a failure
---@field config integer invalid config of a task
---@field command integer the command failed
---@field task integer the task failed

---The methods of both releases.
wire.METHODS = name_set "handshake initialize setupCommand runCommand validateTask runTask shutdown exit"

---@type table<string, pintle.reginald.release> by name
wire.releases = {
  june = {
    name = "june",
    protocol = "rpp",
    methods = wire.METHODS,
    types = name_set "bool int string",
    entry_order = json.order { "key", "value", "type", "flag", "envOverride", "flagOnly" },
    flag_order = json.order { "name", "shorthand", "usage" },
    usage_member = "usage",
    shutdown = json.null,
    codes = {
      handshake = jsonrpc.INVALID_PARAMS, unknown = jsonrpc.INVALID_PARAMS, group = jsonrpc.INVALID_PARAMS,
      config = -32050, command = -32000, task = jsonrpc.INTERNAL_ERROR,
    },
  },
  july = {
    name = "july",
    protocol = "reginald",
    methods = name_set "handshake runCommand runTask shutdown exit",
    types = name_set "bool int string path boolList intList stringList pathList",
    entry_order = json.order { "value", "type", "key", "flag", "envOverride", "flagOnly" },
    flag_order = json.order { "name", "shorthand", "description" },
    usage_member = "description",
    resolves_paths = true,
    shutdown = true,
    codes = {
      handshake = -32000, unknown = -32001, group = -32002, lacking = -32002, config = jsonrpc.INVALID_PARAMS,
      command = -32003, task = -32003,
    },
  },
}

---@type table<string, pintle.reginald.release> by the protocol in the handshake
wire.by_protocol = { rpp = wire.releases.june, reginald = wire.releases.july }

-- }======

---@param map table
---@return any[] names its keys, sorted by their text
function wire.sorted_names(map)
  local names = {}
  for name in pairs(map) do names[#names + 1] = name end
  table.sort(names, function(a, b) return tostring(a) < tostring(b) end)
  return names
end

-- {====== Types of config entries ======

-- A value whose type a release does not have is sent as JSON text in a string.

---@class pintle.reginald.form
---@field type string
---@field is_json boolean? whether the string holds JSON text


local KINDS = { boolean = "boolean", string = "string", number = "number", table = "table" }

local function reginald_kind_of_values(list)
  local found
  for _, value in ipairs(list) do
    local own = math.type(value) == "integer" and "integer" or KINDS[type(value)]
    if found and own ~= found then return nil end
    found = own
  end
  return found
end

-- The type in a schema. Null is ignored: an optional value is left out instead.
local function reginald_kind_of_schema(schema)
  local declared = schema.type
  if type(declared) ~= "table" then
    return declared or type(schema.enum) == "table" and reginald_kind_of_values(schema.enum) or nil
  end
  local found
  for _, name in ipairs(declared) do
    if name ~= "null" and found then return nil end
    if name ~= "null" then found = name end
  end
  return found
end

local function reginald_scalar_type(schema)
  if type(schema) ~= "table" then return nil end
  local own = reginald_kind_of_schema(schema)
  if own == "boolean" then return "bool" end
  if own == "integer" then return "int" end
  if own == "string" then return schema.format == "path" and "path" or "string" end
end

local function reginald_list_type(schema)
  if type(schema) ~= "table" or reginald_kind_of_schema(schema) ~= "array" then return nil end
  local item = reginald_scalar_type(schema.items)
  return item and item .. "List"
end

---The form of values of a schema in a release.
---@param schema table|boolean
---@param release pintle.reginald.release
---@return pintle.reginald.form
function wire.type_form(schema, release)
  local name = reginald_scalar_type(schema) or reginald_list_type(schema)
  if name == "path" and not release.types.path then name = "string" end
  if name and release.types[name] then return { type = name } end
  return { type = "string", is_json = true }
end

-- }======

-- {====== Values of config entries ======

local ZEROS = { bool = false, int = 0, string = "", path = "" }

---The value that means "not set".
---@param name string of a type
---@return any
function wire.zero_value(name)
  local zero = ZEROS[name]
  if zero == nil then return json.array() end
  return zero
end

---@param name string of a type
---@param value any
---@return boolean
function wire.is_zero_value(name, value)
  if type(value) == "table" then return next(value) == nil end
  return value == ZEROS[name]
end

local READ = {
  bool = function(value) return type(value) == "boolean", value end,
  int = function(value)
    local number = type(value) == "number" and math.tointeger(value)
    return number and true or false, number
  end,
  string = function(value) return type(value) == "string", value end,
}
READ.path = READ.string

local function read_reginald_list(item, value)
  if kind(value) ~= "array" and not (kind(value) == "object" and next(value) == nil) then return false end
  local list = json.array()
  for i, member in ipairs(value) do
    local ok, read = READ[item](member)
    if not ok then return false end
    list[i] = read
  end
  return true, list
end

local function reginald_list_item_type(name)
  local item = name:match "^(%l+)List$"
  return READ[item] and item
end

---@param name string
---@return boolean
function wire.is_known_type(name) return READ[name] ~= nil or reginald_list_item_type(name) ~= nil end

---Reads a received value as one of a type.
---@param name string of a type
---@param value any
---@return boolean ok, any value
function wire.read_typed(name, value)
  if READ[name] then return READ[name](value) end
  local item = reginald_list_item_type(name)
  if item then return read_reginald_list(item, value) end
  return false
end

-- Strings and paths are interchangeable.
local function reginald_type_family(name) return (name:gsub("^path", "string")) end

---@param one string
---@param other string
---@return boolean
function wire.are_compatible_types(one, other) return reginald_type_family(one) == reginald_type_family(other) end

---The name of a value's type in messages: that of the config entry, or else that of JSON.
---@param value any
---@return string
function wire.describe_type(value)
  if math.type(value) == "integer" then return "int" end
  return type(value) == "boolean" and "bool" or kind(value)
end

---The type of a value without a declared type, and the value in the form it is sent in.
---@param value any
---@return string name, any value
function wire.guess_type(value)
  if type(value) == "boolean" then return "bool", value end
  if math.type(value) == "integer" then return "int", value end
  if type(value) == "string" then return "string", value end
  return "string", json.encode(value)
end

-- }======

---Checks values that are not the arguments of a declared operation, and fills in defaults: the config of a plugin, or
---incomplete arguments.
---@param schema table|boolean
---@param values table
---@param name? string of the values in messages; default: "config"
---@return table?, pintle.error?
function wire.check_values(schema, values, name)
  name = name or "config"
  local holder, err = manifests.read { name = name, version = false, operations = { [name] = { params = schema } } }
  if not holder then return nil, err end
  return holder:check(name, values)
end

-- {====== Log levels ======

-- A level is a name with an optional offset, such as "WARN" or "info+2".
local NUMBERS = { TRACE = -8, DEBUG = -4, INFO = 0, WARN = 4, ERROR = 8 }

---@param text any
---@return integer? number the higher, the more severe; nil if it is not a level
function wire.level_number(text)
  if type(text) ~= "string" then return nil end
  local name, offset = text:match "^(%a+)([+-]%d+)$"
  local number, more = NUMBERS[(name or text):upper()], math.tointeger(tonumber(offset or 0))
  return number and more and number + more
end

---@param number integer
---@return pintle.level
function wire.level_name(number)
  if number < NUMBERS.INFO then return "debug" end
  if number < NUMBERS.WARN then return "info" end
  return number < NUMBERS.ERROR and "warn" or "error"
end

-- }======

-- {====== Log messages ======

local JUNE = json.order { "level", "msg", "fields" }
local JULY = json.order { "time", "msg", "attrs", "level" }
local ATTRIBUTE = json.order { "key", "value" }

-- A host that decodes strictly may refuse a table, so that is sent as JSON text.
local function reginald_attribute_value(value)
  if type(value) == "table" then return json.encode(value) end
  return value
end

local function write_reginald_attributes(data)
  local list = json.array()
  for i, name in ipairs(data and wire.sorted_names(data) or {}) do
    list[i] = setmetatable({ key = tostring(name), value = reginald_attribute_value(data[name]) }, ATTRIBUTE)
  end
  return list
end

local log_params = {}

function log_params.june(level, message, data)
  return setmetatable({ level = level, msg = message, fields = data }, JUNE)
end

function log_params.july(level, message, data)
  return setmetatable({
    time = os.date "!%Y-%m-%dT%H:%M:%SZ", msg = message, attrs = write_reginald_attributes(data), level = level:upper(),
  }, JULY)
end

---The params of a log message.
---@param release pintle.reginald.release
---@param level pintle.level
---@param message string
---@param data any
---@return table?, pintle.error?
function wire.log_params(release, level, message, data)
  if data ~= nil and kind(data) ~= "object" then data = { value = data } end
  local ok, params = pcall(log_params[release.name], level, message, data)
  if not ok then return nil, errors.new("invalid", "log: " .. tostring(params)) end
  return params
end

local function read_reginald_attributes(list)
  if kind(list) ~= "array" or #list == 0 then return nil end
  local data = {}
  for _, attribute in ipairs(list) do
    if kind(attribute) == "object" and type(attribute.key) == "string" then data[attribute.key] = attribute.value end
  end
  return data
end

---Reads a log message of either release.
---@param params any
---@return pintle.level? level nil if the message is malformed
---@return string? message
---@return any data
function wire.read_log(params)
  if kind(params) ~= "object" or type(params.msg) ~= "string" then return nil end
  local number = wire.level_number(params.level)
  if not number then return nil end
  return wire.level_name(number), params.msg, given(params.fields) or read_reginald_attributes(params.attrs)
end

-- }======

-- {====== Outcomes ======

-- The response to a Reginald host is {} whatever an operation returns. So the outcome of an operation goes to the log,
-- where users see it: as the last message before the response, with the id of the request among its fields. Our own
-- host finds it by that id, also when several operations run at once. A failure is an error response with all of it.

local FIELDS = json.order { "request", "outcome", "outputs" }

---The log message of an operation that succeeded.
---@param operation string
---@param id pintle.id? of the request
---@param outcome pintle.outcome
---@return string? message nil if there is neither a message nor outputs
---@return table? fields
function wire.outcome_message(operation, id, outcome)
  if not outcome.message and not outcome.outputs then return nil end
  return outcome.message or operation .. " succeeded", setmetatable({
    request = math.type(id) == "integer" and id or nil,
    outcome = outcome.message and "message" or "outputs",
    outputs = outcome.outputs,
  }, FIELDS)
end

-- Only what the text does not contain.
local function reginald_failure_data(outcome, text)
  local message = outcome.message ~= text and outcome.message or nil
  if not message and not outcome.outputs then return nil end
  return { message = message, outputs = outcome.outputs }
end

---The error response for an operation that failed.
---@param operation string
---@param outcome pintle.outcome
---@param code integer
---@return pintle.error
function wire.failure(operation, outcome, code)
  local text = outcome.error or outcome.message or operation .. " failed"
  return errors.new("remote", text, { code = code, data = reginald_failure_data(outcome, text) })
end

local function read_reginald_outputs(value)
  if type(value) == "string" then value = json.decode(value) end
  return json.kind(value) == "object" and value or nil
end

---The outcome in a log message, if there is one.
---@param message string
---@param fields any
---@return pintle.outcome?
function wire.read_outcome(message, fields)
  if fields.outcome ~= "message" and fields.outcome ~= "outputs" then return nil end
  return {
    success = true, message = fields.outcome == "message" and message or nil,
    outputs = read_reginald_outputs(fields.outputs),
  }
end

---The outcome in the error response of a failed operation.
---@param err pintle.error
---@return pintle.outcome
function wire.read_failure(err)
  local data = json.kind(err.data) == "object" and err.data or {}
  return {
    success = false, error = err.message,
    message = type(data.message) == "string" and data.message or err.message,
    outputs = read_reginald_outputs(data.outputs),
  }
end

-- }======

return wire
