-- What a plugin says of itself, for people and for programs.

local json = require("pintle.core").json
local order = require "pintle.manifest.order"

local description = {}

local harmless = require("pintle.host.log").harmless

-- {====== Parameters ======

local function list_of(values)
  local texts = {}
  for i, value in ipairs(values) do texts[i] = json.encode(value) end
  return table.concat(texts, ", ")
end

---The type of a value as a schema has it, in a word or some.
---@param schema any
---@return string
local function type_of(schema)
  if type(schema) ~= "table" then return "anything" end
  if type(schema.enum) == "table" then return "one of " .. list_of(schema.enum) end
  if type(schema.type) == "table" then return table.concat(schema.type, " or ") end
  if schema.type == "array" and type(schema.items) == "table" and schema.items.type then
    return "array of " .. type_of(schema.items)
  end
  return type(schema.type) == "string" and schema.type or "anything"
end

local function set_of(list)
  local set = {}
  for _, name in ipairs(type(list) == "table" and list or {}) do set[name] = true end
  return set
end

-- The required ones first, as they are listed, then the others by name.
local function parameter_names(params, required)
  local names, others = {}, {}
  for _, name in ipairs(type(params.required) == "table" and params.required or {}) do
    if params.properties[name] ~= nil then names[#names + 1] = name end
  end
  for name in pairs(params.properties) do
    if not required[name] then others[#others + 1] = name end
  end
  table.sort(others)
  return table.move(others, 1, #others, #names + 1, names)
end

local function text_of(value) return type(value) == "string" and value or "" end

local function parameter_row(name, schema, is_required)
  local facts = type(schema) == "table" and schema or {}
  local default = facts.default ~= nil and json.encode(facts.default) or ""
  return { "", name, type_of(schema), is_required and "yes" or "no", default, text_of(facts.description) }
end

local function add_parameters(rows, params)
  if type(params) ~= "table" or type(params.properties) ~= "table" then return end
  local required = set_of(params.required)
  for _, name in ipairs(parameter_names(params, required)) do
    rows[#rows + 1] = parameter_row(name, params.properties[name], required[name])
  end
end

-- }======

local function clean(rows)
  for _, row in ipairs(rows) do
    for i, cell in ipairs(row) do row[i] = harmless(cell) end
  end
  return rows
end

---A row for each operation and for each of its parameters: operation, parameter, type, required, default, description.
---@param manifest pintle.manifest
---@return string[][]
function description.rows(manifest)
  local rows = {}
  for _, name in ipairs(manifest.names) do
    local operation = manifest.operations[name]
    local words = operation.problem and "cannot be used: " .. operation.problem or operation.description or ""
    rows[#rows + 1] = { name, "", "", "", "", words }
    add_parameters(rows, operation.params)
  end
  return clean(rows)
end

local function commands_of(manifest)
  local commands = {}
  for _, requirement in ipairs(manifest.requires) do
    if type(requirement) == "table" then commands[#commands + 1] = requirement.command end
  end
  return commands
end

local function capabilities_of(manifest)
  local names = {}
  for name in pairs(manifest.capabilities) do names[#names + 1] = name end
  table.sort(names)
  return names
end

local function title(manifest)
  local line = manifest.version and manifest.name .. " " .. manifest.version or manifest.name
  return manifest.description and line .. ": " .. manifest.description or line
end

---@param manifest pintle.manifest
---@param dialect string
---@param is_recognised boolean
---@return string[]
function description.lines(manifest, dialect, is_recognised)
  local lines = { title(manifest), ("Speaks %s%s."):format(dialect, is_recognised and " (recognised)" or "") }
  local function add(format, list)
    if #list > 0 then lines[#lines + 1] = format:format(table.concat(list, ", ")) end
  end
  add("Requires %s.", commands_of(manifest))
  add("Agrees to %s.", capabilities_of(manifest))
  if manifest.is_open then lines[#lines + 1] = "There may be more operations than it tells of." end
  if #manifest.names == 0 then lines[#lines + 1] = "It tells of no operations." end
  for i, line in ipairs(lines) do lines[i] = harmless(line) end
  return lines
end

-- {====== For programs ======

local OPERATION = json.order { "name", "description", "params", "requires", "problem" }
local MANIFEST = json.order {
  "name", "version", "description", "dialect", "requires", "capabilities", "is_open", "operations", "warnings",
}

local function operation_value(operation)
  return setmetatable({
    name = operation.name, description = operation.description, params = order(operation.params),
    requires = json.array(operation.requires), problem = operation.problem,
  }, OPERATION)
end

---@param manifest pintle.manifest
---@param dialect string
---@return table
function description.value(manifest, dialect)
  local operations = json.array()
  for i, name in ipairs(manifest.names) do operations[i] = operation_value(manifest.operations[name]) end
  return setmetatable({
    name = manifest.name, version = manifest.version, description = manifest.description, dialect = dialect,
    requires = json.array(manifest.requires), capabilities = json.array(capabilities_of(manifest)),
    is_open = manifest.is_open or false, operations = operations, warnings = json.array(manifest.warnings),
  }, MANIFEST)
end

-- }======

return description
