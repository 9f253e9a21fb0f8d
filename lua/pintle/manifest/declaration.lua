-- A manifest as the author of a plugin declares it. What is wrong raises, with the author's line.

local schema = require "pintle.schema"
local values = require "pintle.schema.values"
local versions = require "pintle.manifest.version"

local declaration = {}

local function is_list(value)
  if type(value) ~= "table" then return false end
  local n = 0
  for _ in pairs(value) do n = n + 1 end
  return n == #value
end

local function is_blank(value) return type(value) ~= "string" or value:find "%S" == nil end

-- Raised as a table here, and again as a text where the author can see it.
local function refuse(format, ...) error({ problem = format:format(...) }, 0) end

---Calls `fn(...)`; what it refuses is raised at `level`, as `error` counts them from the one who calls this.
---@param level integer
---@param fn function
function declaration.at_level(level, fn, ...)
  local ok, result = pcall(fn, ...)
  if ok then return result end
  if type(result) == "table" and result.problem then error(result.problem, level + 1) end
  error(result, 0)
end

local function check_members(where, given, known)
  if type(given) ~= "table" then refuse("%s: a table expected, got %s", where, type(given)) end
  for name in pairs(given) do
    if not known[name] then refuse("%s: there is no %q", where, tostring(name)) end
  end
end

local function check_text(where, value)
  if value ~= nil and type(value) ~= "string" then refuse("%s: a string expected, got %s", where, type(value)) end
  return value
end

local function check_name(where, value)
  if value == nil then refuse("%s is missing", where) end
  check_text(where, value)
  if is_blank(value) then refuse("%s is blank", where) end
  return value
end

local function check_version(where, value)
  check_name(where, value)
  if not versions.is_semantic(value) then
    refuse("%s: %q is no semantic version, such as 1.0.0 or 2.1.0-rc.1", where, value)
  end
  return value
end

local function requirement(where, item)
  if type(item) == "string" then item = { command = item } end
  if type(item) ~= "table" or is_blank(item.command) or next(item, next(item)) ~= nil then
    refuse("%s: a command's name expected, or { command = NAME }", where)
  end
  return { command = item.command }
end

local function check_requires(where, list)
  if list == nil then return {} end
  if not is_list(list) then refuse("%s: a list of commands expected", where) end
  local requirements = {}
  for i, item in ipairs(list) do requirements[i] = requirement(("%s[%d]"):format(where, i), item) end
  return requirements
end

local function check_capabilities(where, list)
  if list == nil then return {} end
  if not is_list(list) then refuse("%s: a list of names expected", where) end
  local set = {}
  for i, name in ipairs(list) do
    if is_blank(name) then refuse("%s[%d]: a name expected, got %s", where, i, type(name)) end
    set[name] = true
  end
  return set
end

-- What is in them only the dialects know.
local function check_dialects(where, given)
  for name, options in pairs(given or {}) do
    if type(name) ~= "string" or type(options) ~= "table" then
      refuse("%s: tables by the names of dialects expected", where)
    end
  end
  return given or {}
end

local MEMBERS = {
  name = true, version = true, description = true, requires = true, capabilities = true, dialects = true,
}

---Fills in an empty manifest.
---@param self pintle.manifest
---@param given pintle.declaration
function declaration.take(self, given)
  check_members("plugin", given, MEMBERS)
  self.name = check_name("plugin: name", given.name)
  self.version = check_version("plugin: version", given.version)
  self.description = check_text("plugin: description", given.description)
  self.requires = check_requires("plugin: requires", given.requires)
  self.capabilities = check_capabilities("plugin: capabilities", given.capabilities)
  self.dialects = check_dialects("plugin: dialects", given.dialects)
end

local OPERATION_MEMBERS = { description = true, params = true, outputs = true, requires = true, dialects = true }

local function allows_objects(kind)
  if type(kind) ~= "table" then return kind == nil or kind == "object" end
  for _, one in ipairs(kind) do
    if one == "object" then return true end
  end
  return false
end

local function compile(where, given)
  local validate, message = schema.compile(given)
  if not validate then refuse("%s: %s", where, message) end
  return validate
end

-- Arguments are always an object, so their schema need not say it.
local function check_params(where, given)
  if not values.is_object(given) or not allows_objects(given.type) then
    refuse('%s: a schema of the type "object" expected, for arguments have names', where)
  end
  return compile(where, given)
end

local function check_outputs(where, given)
  if given == nil then return nil end
  if type(given) ~= "table" or given.type ~= "object" then
    refuse('%s: a schema of the type "object" expected, for outputs have names', where)
  end
  return compile(where, given)
end

---@param self pintle.manifest
---@param name string
---@param given pintle.operation.declaration
---@return pintle.operation
function declaration.operation(self, name, given)
  check_name("operation: name", name)
  local where = ("operation %q"):format(name)
  if self.operations[name] then refuse("%s is there already", where) end
  check_members(where, given, OPERATION_MEMBERS)
  local params = given.params == nil and { type = "object" } or given.params
  return {
    name = name,
    description = check_text(where .. ": description", given.description),
    params = params,
    outputs = given.outputs,
    requires = check_requires(where .. ": requires", given.requires),
    dialects = check_dialects(where .. ": dialects", given.dialects),
    validate = check_params(where .. ": params", params),
    validate_outputs = check_outputs(where .. ": outputs", given.outputs),
  }
end

return declaration
