-- Manifests as JSON, and outcomes of operations as text and as JSON.

local attachments = require "pintle.cli.attachment"
local bytes = require "pintle.bytes"
local received = require "pintle.dialect.mcp.received"
local indent = require("pintle.plugin.command").indent
local json = require("pintle.core").json
local order = require "pintle.manifest.order"

local display = {}

local function sorted_names(map)
  local names = {}
  for name in pairs(map) do names[#names + 1] = name end
  table.sort(names)
  return names
end

-- {====== Manifests as JSON ======

local OPERATION = json.order { "name", "description", "params", "requires", "problem" }
local MANIFEST = json.order {
  "name", "version", "description", "dialect", "requires", "capabilities", "is_open", "operations", "resources",
  "resource_templates", "prompts", "warnings", "raw_manifest",
}

local function operation_value(operation)
  return setmetatable({
    name = operation.name, description = operation.description, params = order(operation.params),
    requires = json.array(operation.requires), problem = operation.problem,
  }, OPERATION)
end

local function list_or_nil(list) return #list > 0 and json.array(list) or nil end

---@param manifest pintle.manifest
---@param raw any the manifest as it was received
---@param dialect string
---@param offered pintle.cli.catalogue
---@return table
function display.manifest_value(manifest, raw, dialect, offered)
  local operations = json.array()
  for i, name in ipairs(manifest.names) do operations[i] = operation_value(manifest.operations[name]) end
  return setmetatable({
    name = manifest.name, version = manifest.version, description = manifest.description, dialect = dialect,
    requires = json.array(manifest.requires), capabilities = json.array(sorted_names(manifest.capabilities)),
    is_open = manifest.is_open or false, operations = operations, resources = list_or_nil(offered.resources),
    resource_templates = list_or_nil(offered.templates), prompts = list_or_nil(offered.prompts),
    warnings = json.array(manifest.warnings), raw_manifest = raw,
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

-- A value as text, with an announcement in the place of bytes.
local function text_of(value)
  local shown = attachments.extract(value)
  return type(shown) == "string" and shown or indent(json.encode(shown))
end

---Prints and flushes at once, because the next part may take a while.
---@param part any
---@param console pintle.cli.console
function display.show_part(part, console)
  console:print_foreign(text_of(part))
  console:flush()
end

local function has_more_than_text(content)
  for _, block in ipairs(content or {}) do
    if type(block) == "table" and block.type ~= "text" then return true end
  end
  return false
end

-- The message of a result with images and the like would leave these out.
local function message_of(outcome)
  if not has_more_than_text(outcome.content) then return outcome.message end
  return received.text(outcome.content) or outcome.message
end

---Prints the message and the outputs on stdout, and the reason of a failure on stderr.
---@param outcome pintle.outcome
---@param operation string
---@param console pintle.cli.console
function display.show_outcome(outcome, operation, console)
  local message = message_of(outcome)
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

---What `--output` saves of an outcome: the bytes in it; without any, its message.
---@param outcome pintle.outcome
---@param parts any[] parts of the result that arrived before
---@return pintle.cli.attachment[]
function display.attachments(outcome, parts)
  local list = {}
  for _, part in ipairs(parts) do attachments.extract(part, list) end
  attachments.extract(outcome.content, list)
  attachments.extract(outcome.outputs, list)
  if list[1] or not outcome.message then return list end
  return { { bytes = bytes.new(outcome.message), type = "text/plain" } }
end

---What `--output` saves of the result of a method: the bytes in it; without any, its JSON.
---@param result any
---@return pintle.cli.attachment[]
function display.attachments_of_result(result)
  local _, list = attachments.extract(result)
  if list[1] then return list end
  return { { bytes = bytes.new(indent(json.encode(result)) .. "\n"), type = "application/json" } }
end

-- }======

return display
