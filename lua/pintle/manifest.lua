-- The manifest of a plugin: its name, its requirements and its operations. It is either declared by the author of the
-- plugin, and a mistake raises at the author's line; or received from a plugin, and used as far as possible. The same
-- functions check both. They call `report(format, ...)` for a mistake: `raise_mistake` for a declared manifest, and a
-- function that adds a warning for a received one. No I/O.

local errors = require "pintle.error"
local jsonrpc = require "pintle.jsonrpc"
local lazy = require "pintle.lazy"
local options = require "pintle.options"
local schema = require "pintle.schema"
local values = require "pintle.schema.values"

local received = lazy "pintle.manifest.received"

---A requirement of a plugin.
---@class pintle.requirement
---@field command? string a program in the PATH

---@class pintle.operation
---@field name string
---@field description? string
---@field params table|boolean the schema of its arguments, as given
---@field outputs? table|boolean the schema of its outputs, as given
---@field requires pintle.requirement[]
---@field problem? string why its arguments are not checked: its schema is not supported
---@field validate? pintle.schema.validator nil if all arguments are valid
---@field complete? fun(args: any): table? returns valid arguments with defaults; if it returns nil, `check` decides
---@field validate_outputs? pintle.schema.validator nil if all outputs are valid
---@field dialects? table<string, table> options of single dialects, by name

---@class pintle.manifest
---@field name string
---@field version? string nil if the protocol has no version
---@field is_open? boolean whether there may be operations that it does not list
---@field description? string
---@field requires pintle.requirement[]
---@field dialects table<string, table> options of single dialects, by name
---@field capabilities table<string, true>
---@field operations table<string, pintle.operation>
---@field names string[] of the operations, in the order in which they were added
---@field warnings string[] mistakes that do not prevent its use
local methods = {}

local metatable = { __name = "pintle.manifest", __index = methods }

---@class pintle.manifest.module
local manifest = {}

local function new_manifest()
  return setmetatable({ requires = {}, capabilities = {}, dialects = {}, operations = {}, names = {}, warnings = {} },
    metatable)
end

local function append_operation(self, operation)
  operation.complete = operation.validate and operation.validate.complete
  self.operations[operation.name] = operation
  self.names[#self.names + 1] = operation.name
end

-- {====== Members ======

-- A mistake of the author: raised as a table here, and as a text with the author's line by `call_blaming_author`.
local function raise_mistake(format, ...) error({ problem = format:format(...) }, 0) end

-- Calls `fn(...)`. What it refuses is raised at `level`, as seen from the caller of this function.
local function call_blaming_author(level, fn, ...)
  local ok, result = pcall(fn, ...)
  if ok then return result end
  if type(result) == "table" and result.problem then error(result.problem, level + 1) end
  error(result, 0)
end

local function is_blank_text(value) return type(value) ~= "string" or value:find "%S" == nil end

local function is_manifest_list(value)
  if type(value) ~= "table" then return false end
  local n = 0
  for _ in pairs(value) do n = n + 1 end
  return n == #value
end

local function read_text_member(report, where, value)
  if value == nil or type(value) == "string" then return value end
  report("%s: a string expected, got %s", where, type(value))
end

local function read_list_member(report, where, value, items)
  if value == nil or is_manifest_list(value) then return value or {} end
  report("%s: a list of %s expected", where, items)
  return {}
end

-- Requirements in a received manifest may have more members than `command`.
local function read_requires(report, where, list)
  local requirements = {}
  for i, item in ipairs(read_list_member(report, where, list, "commands")) do
    if type(item) == "string" and report == raise_mistake then item = { command = item } end
    local is_known = type(item) == "table" and not is_blank_text(item.command)
    if not is_known or report == raise_mistake and next(item, next(item)) ~= nil then
      report("%s[%d]: a command's name expected, or { command = NAME }", where, i)
    end
    requirements[i] = item
  end
  return requirements
end

local function read_capabilities(report, where, list)
  local set = {}
  for i, name in ipairs(read_list_member(report, where, list, "names")) do
    if is_blank_text(name) then
      report("%s[%d]: a name expected, got %s", where, i, type(name))
    else
      set[name] = true
    end
  end
  return set
end

---@private for `pintle.manifest.received`
manifest.members = {
  new_manifest = new_manifest, append = append_operation, is_blank = is_blank_text, read_text = read_text_member,
  read_requires = read_requires, read_capabilities = read_capabilities,
}

-- }======

-- {====== Versions ======

local function is_version_number(text) return text == "0" or text:find "^[1-9]%d*$" ~= nil end

local function is_version_identifier(text) return text:find "^[%w-]+$" ~= nil end

-- A part of digits is a number, which must not have leading zeros.
local function is_prerelease_part(text)
  return is_version_identifier(text) and (text:find "%D" ~= nil or is_version_number(text))
end

local function all_version_parts(text, test)
  for part in (text .. "."):gmatch "([^.]*)%." do
    if not test(part) then return false end
  end
  return true
end

---Whether a version follows Semantic Versioning 2.0.0.
---@param text string
---@return boolean
function manifest.is_semantic(text)
  local rest, build = text:match "^([^+]*)%+(.*)$"
  local core, prerelease = (rest or text):match "^([^-]*)%-(.*)$"
  core = core or rest or text
  if build and not all_version_parts(build, is_version_identifier) then return false end
  if prerelease and not all_version_parts(prerelease, is_prerelease_part) then return false end
  local _, dots = core:gsub("%.", "")
  return dots == 2 and all_version_parts(core, is_version_number)
end

-- }======

-- {====== Declared by the author ======

local function check_manifest_types(where, given, types, level)
  if type(given) ~= "table" then error(("%s: a table expected, got %s"):format(where, type(given)), level + 1) end
  options.check_types(where, given, types, level + 1)
end

local function check_manifest_name(where, value)
  if value == nil then raise_mistake("%s is missing", where) end
  if is_blank_text(read_text_member(raise_mistake, where, value)) then raise_mistake("%s is blank", where) end
  return value
end

-- The dialects themselves check what is in the tables.
local function check_manifest_dialect_options(where, given)
  for name, own in pairs(given or {}) do
    if type(name) ~= "string" or type(own) ~= "table" then
      raise_mistake("%s: tables by the names of dialects expected", where)
    end
  end
  return given or {}
end

local function declare_manifest_members(self, given)
  self.name = check_manifest_name("plugin: name", given.name)
  self.version = check_manifest_name("plugin: version", given.version)
  if not manifest.is_semantic(self.version) then
    raise_mistake("plugin: version: %q is no semantic version, such as 1.0.0 or 2.1.0-rc.1", self.version)
  end
  self.description = given.description
  self.requires = read_requires(raise_mistake, "plugin: requires", given.requires)
  self.capabilities = read_capabilities(raise_mistake, "plugin: capabilities", given.capabilities)
  self.dialects = check_manifest_dialect_options("plugin: dialects", given.dialects)
end

local TYPES = {
  name = "string", version = "string", description = "string", requires = true, capabilities = true,
  dialects = "table",
}

---The manifest that the author of a plugin declares.
---@class pintle.declaration
---@field name string
---@field version string a semantic version
---@field description? string
---@field requires? (string|pintle.requirement)[] programs that have to be in the PATH
---@field capabilities? string[] extensions of the protocol that it offers to the host
---@field dialects? table<string, table> options of single dialects, by name (docs/dialects)

---Raises, at the caller's level, if anything is wrong.
---@param given pintle.declaration
---@param level? integer of the caller to blame, as for `error`
---@return pintle.manifest
function manifest.new(given, level)
  local self = new_manifest()
  level = (level or 1) + 1
  check_manifest_types("plugin", given, TYPES, level)
  call_blaming_author(level, declare_manifest_members, self, given)
  return self
end

local function compile_manifest_schema(where, given, is_object, what)
  if not is_object then
    raise_mistake('%s: a schema of the type "object" expected, because %s have names', where, what)
  end
  local validate, message = schema.compile(given)
  if not validate then raise_mistake("%s: %s", where, message) end
  return validate
end

-- Arguments are always an object, so their schema need not have a type.
local function allows_argument_objects(params)
  return values.is_object(params) and (params.type == nil or values.allows_type(params, "object"))
end

local function compile_manifest_outputs_schema(where, outputs)
  local is_object = type(outputs) == "table" and outputs.type == "object"
  return compile_manifest_schema(where .. ": outputs", outputs, is_object, "outputs")
end

local function declare_manifest_operation(self, where, name, given)
  check_manifest_name("operation: name", name)
  if self.operations[name] then raise_mistake("%s is already declared", where) end
  local params, outputs = given.params, given.outputs
  if params == nil then params = { type = "object" } end
  append_operation(self, {
    name = name, params = params, outputs = outputs, description = given.description,
    requires = read_requires(raise_mistake, where .. ": requires", given.requires),
    dialects = check_manifest_dialect_options(where .. ": dialects", given.dialects),
    validate = compile_manifest_schema(where .. ": params", params, allows_argument_objects(params),
      "arguments"),
    validate_outputs = outputs ~= nil and compile_manifest_outputs_schema(where, outputs) or nil,
  })
end

local OPERATION_TYPES = { description = "string", params = true, outputs = true, requires = true, dialects = "table" }

---An operation that the author of a plugin declares.
---@class pintle.operation.declaration
---@field description? string
---@field params? table a JSON Schema of objects; default: {type = "object"}
---@field outputs? table a JSON Schema of its outputs, with the type "object"
---@field requires? (string|pintle.requirement)[]
---@field dialects? table<string, table> options of single dialects, by name

---Adds an operation. Raises, at the caller's level, if anything is wrong with it.
---@param name string
---@param given pintle.operation.declaration
---@param level? integer of the caller to blame, as for `error`
function methods:add(name, given, level)
  local where = ("operation %q"):format(tostring(name))
  level = (level or 1) + 1
  check_manifest_types(where, given, OPERATION_TYPES, level)
  call_blaming_author(level, declare_manifest_operation, self, where, name, given)
end

---Removes an operation.
---@param name string
function methods:remove(name)
  self.operations[name] = nil
  for place, other in ipairs(self.names) do
    if other == name then return table.remove(self.names, place) end
  end
end

-- }======

---Reads a manifest that a plugin has sent. A mistake that does not prevent its use becomes a warning. Unknown members
---are ignored.
---@param sent any
---@param stop? fun(): pintle.error? called before each operation; returns an error to stop reading; may wait
---@return pintle.manifest?, pintle.error? err of the kind "protocol", or from `stop`
function manifest.read(sent, stop) return received.read(sent, stop) end

-- {====== Suggestions ======

-- The edit distance: how many letters of `a` to insert, delete, replace or swap with the next one to get `b`.
local function edit_distance(a, b)
  local before, last = nil, {}
  for j = 0, #b do last[j] = j end
  for i = 1, #a do
    local row = { [0] = i }
    for j = 1, #b do
      local same = a:byte(i) == b:byte(j)
      row[j] = math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (same and 0 or 1))
      local swapped = before and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j)
      if swapped then row[j] = math.min(row[j], before[j - 2] + 1) end
    end
    before, last = last, row
  end
  return last[#b]
end

---The operation whose name is most similar, if at most a third of the letters differ. Of several, the first.
---@param name string
---@return string?
function methods:nearest(name)
  local best, least = nil, math.max(1, #name // 3) + 1
  for _, other in ipairs(self.names) do
    if math.abs(#name - #other) < least then
      local far = edit_distance(name:lower(), other:lower())
      if far < least and far < #name then best, least = other, far end
    end
  end
  return best
end
manifest.nearest = methods.nearest

-- }======

-- {====== Arguments ======

local function unknown_operation_error(self, name)
  local suggestion = self:nearest(name)
  local fields = { code = jsonrpc.METHOD_NOT_FOUND, data = suggestion and { suggestion = suggestion } }
  return errors.new("invalid", "Unknown operation: " .. name, fields)
end

local function invalid_arguments_error(name, err)
  local place = err.instance_path == "" and "" or ("at %s: "):format(err.instance_path)
  return errors.new("invalid", ("Invalid params for %q: %s%s"):format(name, place, err.message), {
    code = jsonrpc.INVALID_PARAMS,
    data = { path = err.instance_path, reason = err.message, schema = err.schema_path },
  })
end

---Checks arguments and fills in defaults.
---@param name string of the operation
---@param args table? default: an empty table
---@param is_shared? boolean whether the returned table may be `args` itself; default: false
---@param stop? fun(): pintle.error? called now and then; returns an error to stop the check
---@return table?, pintle.error? err of the kind "invalid", or from `stop`
function methods:check(name, args, is_shared, stop)
  local operation = self.operations[name]
  local validate = operation and operation.validate
  if not operation and not self.is_open then return nil, unknown_operation_error(self, name) end
  args = args == nil and {} or args
  if type(args) ~= "table" then
    local message = "expected object, got " .. type(args)
    return nil, invalid_arguments_error(name, { instance_path = "", schema_path = "/type", message = message })
  end
  if not validate then return is_shared and args or values.shallow_copy(args) end
  local full, err = validate.complete and validate.complete(args)
  if not full then
    full, err = validate:defaults(args, stop)
    local ok = full ~= nil
    if ok then ok, err = validate(full, stop) end
    if not ok then return nil, stop and stop() or invalid_arguments_error(name, err) end
  end
  return rawequal(full, args) and not is_shared and values.shallow_copy(args) or full
end

-- }======

---Checks the outputs of an operation, if it has a schema for them.
---@param name string of the operation
---@param outputs table? default: an empty table
---@return true?, string? message
function methods:check_outputs(name, outputs)
  local operation = self.operations[name]
  local validate = operation and operation.validate_outputs
  if not validate then return true end
  local ok, err = validate(outputs == nil and {} or outputs)
  if ok then return true end
  return nil, ("outputs%s: %s"):format(err.instance_path, err.message)
end

return manifest
