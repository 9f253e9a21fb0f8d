-- Reads a manifest: one that the author of a plugin declares, where a mistake raises at the author's line, or one that
-- a plugin has sent, which is used as far as it goes. Both go through the same checks. These call `report(format, ...)`
-- for a mistake: it raises for the first kind, and adds a warning for the second.

local schema = require "pintle.schema"
local values = require "pintle.schema.values"

local reading = {}

-- Raised as a table here, and again as a text at the author's line.
local function refuse(format, ...) error({ problem = format:format(...) }, 0) end

---Calls `fn(...)`; what it refuses is raised at `level`, as `error` counts them from the caller of this function.
---@param level integer
---@param fn function
function reading.at_level(level, fn, ...)
  local ok, result = pcall(fn, ...)
  if ok then return result end
  if type(result) == "table" and result.problem then error(result.problem, level + 1) end
  error(result, 0)
end

-- {====== Members ======

local function is_blank(value) return type(value) ~= "string" or value:find "%S" == nil end

local function is_list(value)
  if type(value) ~= "table" then return false end
  local n = 0
  for _ in pairs(value) do n = n + 1 end
  return n == #value
end

local function read_text(report, where, value)
  if value == nil or type(value) == "string" then return value end
  report("%s: a string expected, got %s", where, type(value))
end

local function read_list(report, where, value, what)
  if value == nil or is_list(value) then return value or {} end
  report("%s: a list of %s expected", where, what)
  return {}
end

-- What was sent may say more of a requirement than its command.
local function read_requires(report, where, list)
  local requirements = {}
  for i, item in ipairs(read_list(report, where, list, "commands")) do
    if type(item) == "string" and report == refuse then item = { command = item } end
    local is_known = type(item) == "table" and not is_blank(item.command)
    if not is_known or report == refuse and next(item, next(item)) ~= nil then
      report("%s[%d]: a command's name expected, or { command = NAME }", where, i)
    end
    requirements[i] = item
  end
  return requirements
end

local function read_capabilities(report, where, list)
  local set = {}
  for i, name in ipairs(read_list(report, where, list, "names")) do
    if is_blank(name) then report("%s[%d]: a name expected, got %s", where, i, type(name)) else set[name] = true end
  end
  return set
end

-- }======

-- {====== Versions ======

local function is_number(text) return text == "0" or text:find "^[1-9]%d*$" ~= nil end

local function is_name(text) return text:find "^[%w-]+$" ~= nil end

-- A part that has only digits is a number, which has no leading zeros.
local function is_prerelease(text) return is_name(text) and (text:find "%D" ~= nil or is_number(text)) end

local function all_parts(text, test)
  for part in (text .. "."):gmatch "([^.]*)%." do
    if not test(part) then return false end
  end
  return true
end

---Whether a version is written as Semantic Versioning 2.0.0 has it.
---@param text string
---@return boolean
function reading.is_semantic(text)
  local rest, build = text:match "^([^+]*)%+(.*)$"
  local core, prerelease = (rest or text):match "^([^-]*)%-(.*)$"
  core = core or rest or text
  if build and not all_parts(build, is_name) then return false end
  if prerelease and not all_parts(prerelease, is_prerelease) then return false end
  local _, dots = core:gsub("%.", "")
  return dots == 2 and all_parts(core, is_number)
end

-- }======

-- {====== What an author declares ======

local MEMBERS = {
  name = true, version = true, description = true, requires = true, capabilities = true, dialects = true,
}
local OPERATION_MEMBERS = { description = true, params = true, outputs = true, requires = true, dialects = true }

local function check_members(where, given, known)
  if type(given) ~= "table" then refuse("%s: a table expected, got %s", where, type(given)) end
  for name in pairs(given) do
    if not known[name] then refuse("%s: there is no %q", where, tostring(name)) end
  end
end

local function check_name(where, value)
  if value == nil then refuse("%s is missing", where) end
  if is_blank(read_text(refuse, where, value)) then refuse("%s is blank", where) end
  return value
end

-- The dialects check what is in the tables.
local function check_dialects(where, given)
  for name, options in pairs(given or {}) do
    if type(name) ~= "string" or type(options) ~= "table" then
      refuse("%s: tables by the names of dialects expected", where)
    end
  end
  return given or {}
end

---Fills in an empty manifest.
---@param self pintle.manifest
---@param given pintle.declaration
function reading.declare(self, given)
  check_members("plugin", given, MEMBERS)
  self.name = check_name("plugin: name", given.name)
  self.version = check_name("plugin: version", given.version)
  if not reading.is_semantic(self.version) then
    refuse("plugin: version: %q is no semantic version, such as 1.0.0 or 2.1.0-rc.1", self.version)
  end
  self.description = read_text(refuse, "plugin: description", given.description)
  self.requires = read_requires(refuse, "plugin: requires", given.requires)
  self.capabilities = read_capabilities(refuse, "plugin: capabilities", given.capabilities)
  self.dialects = check_dialects("plugin: dialects", given.dialects)
end

local function compile(where, given, is_right, what)
  if not is_right then refuse('%s: a schema of the type "object" expected, for %s have names', where, what) end
  local validate, message = schema.compile(given)
  if not validate then refuse("%s: %s", where, message) end
  return validate
end

-- Arguments are always an object, so their schema need not say it.
local function allows_objects(kind)
  if type(kind) ~= "table" then return kind == nil or kind == "object" end
  for _, one in ipairs(kind) do
    if one == "object" then return true end
  end
  return false
end

---@param self pintle.manifest
---@param name string
---@param given pintle.operation.declaration
---@return pintle.operation
function reading.declare_operation(self, name, given)
  check_name("operation: name", name)
  local where = ("operation %q"):format(name)
  if self.operations[name] then refuse("%s is there already", where) end
  check_members(where, given, OPERATION_MEMBERS)
  local params, outputs = given.params, given.outputs
  if params == nil then params = { type = "object" } end
  return {
    name = name, params = params, outputs = outputs,
    description = read_text(refuse, where .. ": description", given.description),
    requires = read_requires(refuse, where .. ": requires", given.requires),
    dialects = check_dialects(where .. ": dialects", given.dialects),
    validate = compile(where .. ": params", params, values.is_object(params) and allows_objects(params.type),
      "arguments"),
    validate_outputs = outputs ~= nil
      and compile(where .. ": outputs", outputs, type(outputs) == "table" and outputs.type == "object", "outputs")
      or nil,
  }
end

-- }======

-- {====== What a plugin has sent ======

-- A member that is null is left out.
local function without_nulls(sent)
  local members = {}
  for name, value in pairs(sent) do
    if type(value) ~= "userdata" then members[name] = value end
  end
  return members
end

-- An operation whose schema is wrong is kept: the others can be used all the same.
local function receive_operation(warn, name, sent)
  local where = "operations." .. name
  local operation = { name = name, params = true, requires = {} }
  if type(sent) ~= "table" then
    operation.problem = ("%s: an object expected, got %s"):format(where, type(sent))
    return operation
  end
  sent = without_nulls(sent)
  operation.description = read_text(warn, where .. ".description", sent.description)
  operation.requires = read_requires(warn, where .. ".requires", sent.requires)
  local message
  if sent.outputs ~= nil then
    operation.outputs = sent.outputs
    operation.validate_outputs, message = schema.compile(sent.outputs)
    if message then warn("%s.outputs: %s", where, message) end
  end
  if sent.params == nil then
    warn("%s.params: a schema expected, so all arguments go", where)
    return operation
  end
  operation.params = sent.params
  operation.validate, message = schema.compile(sent.params)
  if not operation.validate then operation.problem = ("%s.params: %s"):format(where, message) end
  return operation
end

local function receive_operations(self, warn, sent, stop)
  local names = {}
  for name in pairs(sent) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local err = stop and stop()
    if err then return nil, err.message, err end
    self:append(receive_operation(warn, name, sent[name]))
  end
  for _, name in ipairs(names) do
    local problem = self.operations[name].problem
    if problem then warn("%s", problem) end
  end
  return true
end

-- What a manifest cannot be used without. A version that is false is one that the protocol has no way to tell.
local function find_fault(sent)
  for _, member in ipairs { "name", "version" } do
    local value = sent[member]
    if value == nil then return member .. " is missing" end
    if type(value) ~= "string" and (value or member == "name") then
      return ("%s: a string expected, got %s"):format(member, type(value))
    end
  end
  if is_blank(sent.name) then return "name is blank" end
  if sent.operations == nil then return "operations are missing" end
  if type(sent.operations) ~= "table" or #sent.operations > 0 then
    return "operations: an object expected, with a member for each"
  end
end

---Fills in an empty manifest.
---@param self pintle.manifest
---@param sent any
---@param stop? fun(): pintle.error? asked before each operation whether reading has to end
---@return true?, string? message, pintle.error? err what `stop` has returned
function reading.receive(self, sent, stop)
  if type(sent) ~= "table" then return nil, "an object expected, got " .. type(sent) end
  sent = without_nulls(sent)
  local fault = find_fault(sent)
  if fault then return nil, fault end
  local function warn(format, ...) self.warnings[#self.warnings + 1] = format:format(...) end
  self.name, self.version, self.is_open = sent.name, sent.version or nil, sent.is_open == true
  if self.version and not sent.is_version_free and not reading.is_semantic(self.version) then
    warn("version: %q is no semantic version", self.version)
  end
  self.description = read_text(warn, "description", sent.description)
  self.requires = read_requires(warn, "requires", sent.requires)
  self.capabilities = read_capabilities(warn, "capabilities", sent.capabilities)
  return receive_operations(self, warn, sent.operations, stop)
end

-- }======

return reading
