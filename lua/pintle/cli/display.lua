-- Manifests and outcomes of operations, as text for people and as JSON for programs.

local bytes = require "pintle.bytes"
local consoles = require "pintle.cli.console"
local indent = require("pintle.plugin.command").indent
local json = require("pintle.core").json
local order = require "pintle.manifest.order"

local harmless = consoles.harmless_line

local display = {}

-- {====== Parameters ======

local function encode_list(values)
  local texts = {}
  for i, value in ipairs(values) do texts[i] = json.encode(value) end
  return table.concat(texts, ", ")
end

---The type of a parameter in words, as its schema declares it.
---@param schema any
---@return string
local function type_of(schema)
  if type(schema) ~= "table" then return "any" end
  if type(schema.enum) == "table" then return "one of " .. encode_list(schema.enum) end
  if type(schema.type) == "table" then return table.concat(schema.type, " or ") end
  if schema.type == "array" and type(schema.items) == "table" and schema.items.type then
    return "array of " .. type_of(schema.items)
  end
  return type(schema.type) == "string" and schema.type or "any"
end

local function set_of(list)
  local set = {}
  for _, name in ipairs(type(list) == "table" and list or {}) do set[name] = true end
  return set
end

-- Required parameters first, in the order of the list, then the others by name.
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

local function string_or_empty(value) return type(value) == "string" and value or "" end

local function parameter_row(name, schema, is_required)
  local facts = type(schema) == "table" and schema or {}
  local default = facts.default ~= nil and json.encode(facts.default) or ""
  return { "", name, type_of(schema), is_required and "yes" or "no", default, string_or_empty(facts.description) }
end

local function add_parameters(rows, params)
  if type(params) ~= "table" or type(params.properties) ~= "table" then return end
  local required = set_of(params.required)
  for _, name in ipairs(parameter_names(params, required)) do
    rows[#rows + 1] = parameter_row(name, params.properties[name], required[name])
  end
end

-- }======

-- {====== Manifests as text ======

local function clean(rows)
  for _, row in ipairs(rows) do
    for i, cell in ipairs(row) do row[i] = harmless(cell) end
  end
  return rows
end

local HEADS = { "OPERATION", "PARAMETER", "TYPE", "REQUIRED", "DEFAULT", "DESCRIPTION" }

---A table with one row for each operation and each parameter.
---@param manifest pintle.manifest
---@return string[] lines the heads first
function display.operation_lines(manifest)
  local rows = {}
  for _, name in ipairs(manifest.names) do
    local operation = manifest.operations[name]
    local text = operation.problem and "arguments are not checked: " .. operation.problem or operation.description or ""
    rows[#rows + 1] = { name, "", "", "", "", text }
    add_parameters(rows, operation.params)
  end
  return consoles.table_lines(HEADS, clean(rows))
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
function display.manifest_lines(manifest, dialect, is_recognised)
  local lines = { title(manifest), ("Speaks %s%s."):format(dialect, is_recognised and " (recognised)" or "") }
  local function add(format, list)
    if #list > 0 then lines[#lines + 1] = format:format(table.concat(list, ", ")) end
  end
  add("Requires %s.", commands_of(manifest))
  add("Supports %s.", capabilities_of(manifest))
  if manifest.is_open then lines[#lines + 1] = "It may offer more operations than it lists." end
  if #manifest.names == 0 then lines[#lines + 1] = "It lists no operations." end
  for i, line in ipairs(lines) do lines[i] = harmless(line) end
  return lines
end

-- }======

-- {====== Manifests as JSON ======

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
function display.manifest_value(manifest, dialect)
  local operations = json.array()
  for i, name in ipairs(manifest.names) do operations[i] = operation_value(manifest.operations[name]) end
  return setmetatable({
    name = manifest.name, version = manifest.version, description = manifest.description, dialect = dialect,
    requires = json.array(manifest.requires), capabilities = json.array(capabilities_of(manifest)),
    is_open = manifest.is_open or false, operations = operations, warnings = json.array(manifest.warnings),
  }, MANIFEST)
end

-- }======

-- {====== Outcomes as JSON ======

local function pick(from, names)
  local copy = {}
  for _, name in ipairs(names) do copy[name] = from[name] end
  return setmetatable(copy, json.order(names))
end

---@param outcome pintle.outcome
---@param parts any[] parts of the result that arrived before
---@return table
function display.outcome_value(outcome, parts)
  local value = pick(outcome, { "success", "message", "error", "outputs", "result", "parts" })
  if #parts > 0 then value.parts = json.array(parts) end
  return value
end

---@param err pintle.error
---@return table
function display.error_value(err)
  local value = pick(err, { "kind", "message", "code", "data", "exit", "stderr" })
  if value.stderr then value.stderr = json.array(table.move(value.stderr, 1, #value.stderr, 1, {})) end
  return { error = value }
end

-- }======

-- {====== Outcomes as text ======

local function text_of(value)
  if bytes.is(value) then return tostring(value) end
  if type(value) == "string" then return value end
  return indent(json.encode(value))
end

local function sorted_names(map)
  local names = {}
  for name in pairs(map) do names[#names + 1] = name end
  table.sort(names)
  return names
end

---Prints and flushes at once, because the next part may take a while.
---@param part any
---@param console pintle.cli.console
function display.show_part(part, console)
  console:print_foreign(text_of(part))
  console:flush()
end

---Prints the message and the outputs on stdout, and the reason of a failure on stderr.
---@param outcome pintle.outcome
---@param operation string
---@param console pintle.cli.console
function display.show_outcome(outcome, operation, console)
  local message = outcome.message
  if not outcome.success then
    local reason = outcome.error or message or "no reason given"
    console:warn(("%s failed: %s"):format(operation, reason))
    if message == reason then message = nil end
  end
  if message then console:print_foreign(message) end
  for _, name in ipairs(sorted_names(outcome.outputs or {})) do
    console:print_foreign(("%s: %s"):format(name, text_of(outcome.outputs[name])))
  end
  local is_shown = outcome.message or next(outcome.outputs or {})
  if not is_shown and outcome.result ~= nil then console:print_foreign(text_of(outcome.result)) end
end

---The message of an error about an operation, with a suggestion if the operation does not exist.
---@param err pintle.error of kind "invalid"
---@param manifest pintle.manifest
---@return string message
function display.error_message(err, manifest)
  local name = type(err.data) == "table" and err.data.suggestion
  if name then return ("%s; did you mean %s?"):format(err.message, name) end
  if err.code == -32601 and err.kind == "invalid" and #manifest.names > 0 then
    return ("%s; available: %s"):format(err.message, table.concat(manifest.names, ", "))
  end
  return err.message
end

-- }======

return display
