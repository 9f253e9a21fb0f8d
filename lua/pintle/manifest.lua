-- The manifest of a plugin: its name, what it needs, and its operations, described and checked. No I/O.

local errors = require "pintle.error"
local jsonrpc = require "pintle.jsonrpc"
local reading = require "pintle.manifest.reading"

---Something that has to be there for a plugin to work.
---@class pintle.requirement
---@field command? string a program in the PATH

---@class pintle.operation
---@field name string
---@field description? string
---@field params table|boolean the schema of its arguments, as it was given
---@field outputs? table|boolean the schema of its outputs, as it was given
---@field requires pintle.requirement[]
---@field problem? string why its arguments cannot be checked
---@field validate? pintle.schema.validator nil if everything goes
---@field complete? fun(args: any): table? returns valid arguments with defaults; if it returns nil, `check` decides
---@field validate_outputs? pintle.schema.validator nil if everything goes
---@field dialects? table<string, table> what only one dialect knows, by its name

---@class pintle.manifest
---@field name string
---@field version? string nil where the protocol has no way to tell
---@field is_open? boolean whether there may be operations beyond those it tells of
---@field description? string
---@field requires pintle.requirement[]
---@field dialects table<string, table> what only one dialect knows, by its name
---@field capabilities table<string, true>
---@field operations table<string, pintle.operation>
---@field names string[] of the operations, in the order they were added
---@field warnings string[] what is wrong with it and does not matter much
local methods = {}

local metatable = { __name = "pintle.manifest", __index = methods }

---@class pintle.manifest.module
local manifest = {}

local function empty()
  return setmetatable({ requires = {}, capabilities = {}, dialects = {}, operations = {}, names = {}, warnings = {} },
    metatable)
end

---@private
function methods:append(operation)
  operation.complete = operation.validate and operation.validate.complete
  self.operations[operation.name] = operation
  self.names[#self.names + 1] = operation.name
end

---What the author of a plugin declares.
---@class pintle.declaration
---@field name string
---@field version string a semantic version
---@field description? string
---@field requires? (string|pintle.requirement)[] programs that have to be in the PATH
---@field capabilities? string[] what it offers beyond its protocol, to be agreed on with the host
---@field dialects? table<string, table> what only one dialect knows, by its name: the page of the dialect tells

---Raises, at the caller's level, if anything is wrong.
---@param given pintle.declaration
---@param level? integer of the one to blame, as for `error`
---@return pintle.manifest
function manifest.new(given, level)
  local self = empty()
  reading.at_level((level or 1) + 1, reading.declare, self, given)
  return self
end

---What the author of a plugin declares of one operation.
---@class pintle.operation.declaration
---@field description? string
---@field params? table a JSON Schema of objects; default: {type = "object"}
---@field outputs? table a JSON Schema whose type is object, which its outputs have to fit
---@field requires? (string|pintle.requirement)[]
---@field dialects? table<string, table> what only one dialect knows, by its name

---Adds an operation. Raises, at the caller's level, if anything is wrong with it.
---@param name string
---@param given pintle.operation.declaration
---@param level? integer of the one to blame, as for `error`
function methods:add(name, given, level)
  self:append(reading.at_level((level or 1) + 1, reading.declare_operation, self, name, given))
end

---Reads what a plugin has sent. A mistake that does not keep the manifest from being used is a warning, and unknown
---members are ignored.
---@param sent any
---@param stop? fun(): pintle.error? asked before each operation whether reading has to end; it may wait
---@return pintle.manifest?, pintle.error? err of the kind "protocol", or what `stop` has returned
function manifest.read(sent, stop)
  local self = empty()
  local ok, message, err = reading.receive(self, sent, stop)
  if not ok then return nil, err or errors.new("protocol", "its manifest: " .. message) end
  return self
end

-- {====== The operation that was meant ======

-- Letters to insert, delete, replace or swap with the next one to turn `a` into `b`.
local function distance(a, b)
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

---The name of an operation that was probably meant: the nearest one, where at most a third of the letters is wrong.
---Of equally near ones it is the first.
---@param name string
---@return string?
function methods:nearest(name)
  local best, least = nil, math.max(1, #name // 3) + 1
  for _, other in ipairs(self.names) do
    if math.abs(#name - #other) < least then
      local far = distance(name:lower(), other:lower())
      if far < least and far < #name then best, least = other, far end
    end
  end
  return best
end

-- }======

-- {====== Arguments ======

local function unknown(self, name)
  local suggestion = self:nearest(name)
  local fields = { code = jsonrpc.METHOD_NOT_FOUND, data = suggestion and { suggestion = suggestion } }
  return errors.new("invalid", "Unknown operation: " .. name, fields)
end

local function invalid(name, err)
  local place = err.instance_path == "" and "" or ("at %s: "):format(err.instance_path)
  return errors.new("invalid", ("Invalid params for %q: %s%s"):format(name, place, err.message), {
    code = jsonrpc.INVALID_PARAMS,
    data = { path = err.instance_path, reason = err.message, schema = err.schema_path },
  })
end

local function copy(args)
  local copied = setmetatable({}, getmetatable(args))
  for name, value in pairs(args) do copied[name] = value end
  return copied
end

local function no_object(args)
  return { instance_path = "", schema_path = "/type", message = "expected object, got " .. type(args) }
end

---Checks arguments and fills in what they leave to defaults.
---@param name string of the operation
---@param args table? none is the same as an empty table
---@param is_shared? boolean the table that is returned may be the one given; by default it is a new one
---@param stop? fun(): pintle.error? asked now and then whether the check has to end
---@return table?, pintle.error? err of the kind "invalid", or "protocol" if the operation itself is not right; or what
---`stop` has returned
function methods:check(name, args, is_shared, stop)
  local operation = self.operations[name]
  local validate = operation and operation.validate
  if not operation and not self.is_open then return nil, unknown(self, name) end
  if operation and operation.problem then
    return nil, errors.new("protocol", ("operation %q cannot be used: %s"):format(name, operation.problem))
  end
  args = args == nil and {} or args
  if type(args) ~= "table" then return nil, invalid(name, no_object(args)) end
  if not validate then return is_shared and args or copy(args) end
  local full, err = validate.complete and validate.complete(args)
  if not full then
    full, err = validate:defaults(args, stop)
    local ok = full ~= nil
    if ok then ok, err = validate(full, stop) end
    if not ok then return nil, stop and stop() or invalid(name, err) end
  end
  return rawequal(full, args) and not is_shared and copy(args) or full
end

-- }======

---Checks what an operation gives back, where there is a schema for it.
---@param name string of the operation
---@param outputs table? none is the same as an empty table
---@return true?, string? message where it is wrong, and why
function methods:check_outputs(name, outputs)
  local operation = self.operations[name]
  local validate = operation and operation.validate_outputs
  if not validate then return true end
  local ok, err = validate(outputs == nil and {} or outputs)
  if ok then return true end
  return nil, ("outputs%s: %s"):format(err.instance_path, err.message)
end

return manifest
