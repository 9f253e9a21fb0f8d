-- A manifest as a plugin has sent it: trusted with nothing, and used as far as it goes.

local schema = require "pintle.schema"
local versions = require "pintle.manifest.version"

local received = {}

-- A member may be left out, or be null, which is what some write for nothing.
local function given(value)
  if type(value) == "userdata" then return nil end
  return value
end

local function warn(self, format, ...) self.warnings[#self.warnings + 1] = format:format(...) end

local function read_text(self, where, value)
  value = given(value)
  if value == nil or type(value) == "string" then return value end
  warn(self, "%s: a string expected, got %s", where, type(value))
end

local function is_list(value) return type(value) == "table" and (#value > 0 or next(value) == nil) end

local function read_requires(self, where, list)
  list = given(list)
  if list == nil then return {} end
  if not is_list(list) then
    warn(self, "%s: a list expected", where)
    return {}
  end
  for i, item in ipairs(list) do
    local is_known = type(item) == "table" and type(item.command) == "string"
    if not is_known then warn(self, "%s[%d]: a command expected", where, i) end
  end
  return list
end

local function read_capabilities(self, list)
  list = given(list)
  local set = {}
  if list == nil then return set end
  if not is_list(list) then
    warn(self, "capabilities: a list expected")
    return set
  end
  for _, name in ipairs(list) do
    if type(name) == "string" then set[name] = true else warn(self, "capabilities: names expected") end
  end
  return set
end

-- Without a schema that can be used outputs are taken as they come.
local function read_outputs(self, where, operation, told)
  operation.outputs = given(told)
  if operation.outputs == nil then return end
  local message
  operation.validate_outputs, message = schema.compile(operation.outputs)
  if message then warn(self, "%s: %s", where, message) end
end

-- One whose schema is wrong is kept: the others can be used all the same.
local function read_operation(self, name, told)
  local where = ("operations.%s"):format(name)
  local operation = { name = name, params = true, requires = {} }
  if type(told) ~= "table" then
    operation.problem = ("%s: an object expected, got %s"):format(where, type(told))
    return operation
  end
  operation.description = read_text(self, where .. ".description", told.description)
  operation.requires = read_requires(self, where .. ".requires", told.requires)
  read_outputs(self, where .. ".outputs", operation, told.outputs)
  if given(told.params) == nil then
    warn(self, "%s.params: a schema expected, so all arguments go", where)
    return operation
  end
  operation.params = told.params
  local message
  operation.validate, message = schema.compile(told.params)
  if not operation.validate then operation.problem = ("%s.params: %s"):format(where, message) end
  return operation
end

local function read_operations(self, told, stop)
  local names = {}
  for name in pairs(told) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local err = stop and stop()
    if err then return nil, err end
    self:append(read_operation(self, name, told[name]))
  end
  for _, name in ipairs(names) do
    local problem = self.operations[name].problem
    if problem then warn(self, "%s", problem) end
  end
  return true
end

-- What it cannot be used without.
local function fault(told)
  if type(told) ~= "table" then return "an object expected, got " .. type(told) end
  for _, member in ipairs { "name", "version" } do
    local value = told[member]
    local is_untold = member == "version" and value == false
    if given(value) == nil then return member .. " is missing" end
    if type(value) ~= "string" and not is_untold then
      return ("%s: a string expected, got %s"):format(member, type(value))
    end
  end
  if not told.name:find "%S" then return "name is blank" end
  if given(told.operations) == nil then return "operations are missing" end
  if type(told.operations) ~= "table" or #told.operations > 0 then
    return "operations: an object expected, with a member for each"
  end
end

---Fills in an empty manifest.
---@param self pintle.manifest
---@param told any
---@param stop? fun(): pintle.error? asked before each operation whether reading has to end
---@return true?, string? message, pintle.error? err what `stop` has returned
function received.take(self, told, stop)
  local message = fault(told)
  if message then return nil, message end
  self.name, self.version, self.is_open = told.name, told.version or nil, told.is_open == true
  if self.version and not told.is_version_free and not versions.is_semantic(self.version) then
    warn(self, "version: %q is no semantic version", self.version)
  end
  self.description = read_text(self, "description", told.description)
  self.requires = read_requires(self, "requires", told.requires)
  self.capabilities = read_capabilities(self, told.capabilities)
  local ok, err = read_operations(self, told.operations, stop)
  return ok, err and err.message, err
end

return received
