-- Reads a manifest that was received from a plugin. Only hosts load this file.

local errors = require "pintle.error"
local manifest = require "pintle.manifest"
local schema = require "pintle.schema"
local values = require "pintle.schema.values"

local shared = manifest.members
local append, is_blank, read_text = shared.append, shared.is_blank, shared.read_text
local new_manifest, read_requires = shared.new_manifest, shared.read_requires
local read_capabilities = shared.read_capabilities

local received = {}

local function without_received_nulls(sent)
  local members = {}
  for name, value in pairs(sent) do
    if type(value) ~= "userdata" then members[name] = value end
  end
  return members
end

-- An operation whose schema is not understood is kept with its `problem`. Its arguments are sent unchecked.
local function receive_operation(add_warning, name, sent)
  local where = "operations." .. name
  local operation = { name = name, params = true, requires = {} }
  if type(sent) ~= "table" then
    operation.problem = ("%s: an object expected, got %s"):format(where, type(sent))
    return operation
  end
  sent = without_received_nulls(sent)
  operation.dialects = sent.dialects
  operation.description = read_text(add_warning, where .. ".description", sent.description)
  operation.requires = read_requires(add_warning, where .. ".requires", sent.requires)
  local message
  if sent.outputs ~= nil then
    operation.outputs = sent.outputs
    operation.validate_outputs, message = schema.compile(sent.outputs)
    if message then add_warning("%s.outputs: %s", where, message) end
  end
  if sent.params == nil then
    add_warning("%s.params: a schema expected; arguments are not checked", where)
    return operation
  end
  operation.params = sent.params
  operation.validate, message = schema.compile(sent.params)
  if not operation.validate then operation.problem = ("%s.params: %s"):format(where, message) end
  return operation
end

-- The members of a JSON object have no order, so names without one are sorted.
local function receive_operations(self, add_warning, sent, names, stop)
  for _, name in ipairs(names or values.sorted_names(sent)) do
    local err = stop and stop()
    if err then return nil, err end
    local operation = receive_operation(add_warning, name, sent[name])
    append(self, operation)
    if operation.problem then add_warning("%s; arguments are not checked", operation.problem) end
  end
  return self
end

-- Returns why a manifest cannot be used. The version is false if the protocol has none.
local function find_received_manifest_fault(sent)
  if type(sent) ~= "table" then return "an object expected, got " .. type(sent) end
  sent = without_received_nulls(sent)
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

---`manifest.read`.
---@param sent any
---@param stop? fun(): pintle.error?
---@return pintle.manifest?, pintle.error?
function received.read(sent, stop)
  local fault = find_received_manifest_fault(sent)
  if fault then return nil, errors.new("protocol", "its manifest: " .. fault) end
  local self = new_manifest()
  local function add_warning(format, ...) self.warnings[#self.warnings + 1] = format:format(...) end
  sent = without_received_nulls(sent)
  self.name, self.version, self.is_open = sent.name, sent.version or nil, sent.is_open == true
  if self.version and not sent.is_version_free and not manifest.is_semantic(self.version) then
    add_warning("version: %q is no semantic version", self.version)
  end
  self.description = read_text(add_warning, "description", sent.description)
  self.requires = read_requires(add_warning, "requires", sent.requires)
  self.capabilities = read_capabilities(add_warning, "capabilities", sent.capabilities)
  return receive_operations(self, add_warning, sent.operations, sent.names, stop)
end

return received
