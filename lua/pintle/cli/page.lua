-- The page about a plugin: its name, what it can do, its operations, resources and prompts, wrapped to the terminal.

local capabilities = require "pintle.cli.capabilities"
local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local texts = require "pintle.cli.text"

local WIDEST, NARROWEST = 120, 40 -- columns of a page
local DEFAULT_WIDTH = 80 -- without a terminal
local STEP = 2 -- columns of indentation

---@class pintle.cli.page
---@field console pintle.cli.console
---@field columns integer
---@field lines string[]
local methods = {}

local metatable = { __name = "pintle.cli.page", __index = methods }

local page = {}

local function harmless(text) return errors.harmless(text, "\n\t") end

-- {====== Lines ======

---Adds wrapped text.
---@param indent integer
---@param text string
function methods:text(indent, text)
  for _, line in ipairs(texts.wrap(harmless(text), self.columns - indent)) do
    self.lines[#self.lines + 1] = line == "" and "" or (" "):rep(indent) .. line
  end
end

---Adds wrapped text with a name in bold before its first line.
---@param indent integer
---@param name string
---@param width integer columns of the name; a longer name has a line of its own
---@param text string
function methods:item(indent, name, width, text)
  name = harmless(name):gsub("[\n\t]", "?")
  local space, head = (" "):rep(indent), self.console:paint("bold", name)
  local wrapped = texts.wrap(harmless(text), self.columns - indent - width - STEP)
  local hanging = (" "):rep(indent + width + STEP)
  local missing = width - texts.width(name)
  if text == "" or missing < 0 then
    self.lines[#self.lines + 1] = space .. head
    if text == "" then return end
  else
    self.lines[#self.lines + 1] = space .. head .. (" "):rep(missing + STEP) .. table.remove(wrapped, 1)
  end
  for _, line in ipairs(wrapped) do self.lines[#self.lines + 1] = line == "" and "" or hanging .. line end
end

---Begins a section.
---@param heading string
function methods:section(heading)
  self.lines[#self.lines + 1] = ""
  self.lines[#self.lines + 1] = self.console:paint("bold", heading)
end

---Prints the page.
function methods:print()
  for _, line in ipairs(self.lines) do self.console:print(line) end
end

---@param console pintle.cli.console
---@return pintle.cli.page
function page.new(console)
  local columns = console:columns() or DEFAULT_WIDTH
  columns = columns > 0 and columns or DEFAULT_WIDTH
  return setmetatable({ console = console, lines = {}, columns = math.max(math.min(columns, WIDEST), NARROWEST) },
    metatable)
end

-- }======

-- {====== Schemas ======

local function encode_list(values)
  local encoded = {}
  for i, value in ipairs(values) do encoded[i] = json.encode(value) end
  return table.concat(encoded, ", ")
end

local type_of

local function types_of(list)
  local names, is_known = {}, {}
  for _, schema in ipairs(list) do
    local name = type_of(schema)
    if not is_known[name] then names[#names + 1] = name end
    is_known[name] = true
  end
  return table.concat(names, " or ")
end

-- The type in words, as the schema declares it.
function type_of(schema)
  if type(schema) ~= "table" then return "any" end
  if schema.const ~= nil then return json.encode(schema.const) end
  if type(schema.enum) == "table" then return "one of " .. encode_list(schema.enum) end
  local choices = schema.anyOf or schema.oneOf
  if type(choices) == "table" and choices[1] ~= nil then return types_of(choices) end
  if type(schema.type) == "table" then return table.concat(schema.type, " or ") end
  if schema.type == "array" and type(schema.items) == "table" and type_of(schema.items) ~= "any" then
    return "array of " .. type_of(schema.items)
  end
  return type(schema.type) == "string" and schema.type or type(schema.properties) == "table" and "object" or "any"
end

local function range_of(schema)
  local least, most = schema.minimum, schema.maximum
  if type(least) == "number" and type(most) == "number" then return ("%s to %s"):format(least, most) end
  if type(least) == "number" then return least .. " or more" end
  if type(most) == "number" then return "up to " .. most end
end

-- What is known about a parameter, in one line.
local function facts_of(schema, is_required)
  local facts = { type_of(schema) }
  local given = type(schema) == "table" and schema or {}
  facts[#facts + 1] = range_of(given)
  if given.minLength == 1 then facts[#facts + 1] = "not empty" end
  if type(given.format) == "string" then facts[#facts + 1] = given.format end
  if is_required then facts[#facts + 1] = "required" end
  if given.default ~= nil then facts[#facts + 1] = "default " .. json.encode(given.default) end
  local text = table.concat(facts, type(given.enum) == "table" and "; " or ", ")
  return jsonrpc.text(given.description) and text .. ". " .. given.description or text
end

local function set_of(list)
  local set = {}
  for _, name in ipairs(type(list) == "table" and list or {}) do set[name] = true end
  return set
end

-- Required parameters first, in the order of the list, then the others by name.
local function parameter_names(schema, required)
  local names, others = {}, {}
  for _, name in ipairs(type(schema.required) == "table" and schema.required or {}) do
    if schema.properties[name] ~= nil then names[#names + 1] = name end
  end
  for name in pairs(schema.properties) do
    if type(name) == "string" and not required[name] then others[#others + 1] = name end
  end
  table.sort(others)
  return table.move(others, 1, #others, #names + 1, names)
end

local MAX_DEPTH = 4 -- of nested parameters
local MAX_NAME = 24 -- columns; longer names have a line of their own

local function name_width(names)
  local width = 0
  for _, name in ipairs(names) do width = math.max(width, texts.width(name)) end
  return math.min(width, MAX_NAME)
end

-- The parameters of a schema, each with those of the objects in it.
local function add_parameters(self, indent, schema, depth)
  if type(schema) ~= "table" or depth > MAX_DEPTH then return end
  if schema.type == "array" then return add_parameters(self, indent, schema.items, depth + 1) end
  if type(schema.properties) ~= "table" then return end
  local required = set_of(schema.required)
  local names = parameter_names(schema, required)
  local width = name_width(names)
  for _, name in ipairs(names) do
    local parameter = schema.properties[name]
    self:item(indent, name, width, facts_of(parameter, required[name]))
    add_parameters(self, indent + STEP, parameter, depth + 1)
  end
end

-- }======

-- {====== Operations ======

local HINTS = {
  { "readOnlyHint", "read-only" }, { "destructiveHint", "destructive" }, { "idempotentHint", "idempotent" },
}

-- What MCP says about a tool.
local function remarks_of(operation)
  local own = type(operation.dialects) == "table" and operation.dialects.mcp or {}
  local annotations = jsonrpc.is_object(own.annotations) and own.annotations or {}
  local remarks = { jsonrpc.text(own.title) }
  for _, hint in ipairs(HINTS) do
    if annotations[hint[1]] == true then remarks[#remarks + 1] = hint[2] end
  end
  return table.concat(remarks, ", ")
end

---Adds an operation with its parameters.
---@param operation pintle.operation
function methods:operation(operation)
  self:item(STEP, operation.name, texts.width(operation.name), remarks_of(operation))
  local text = operation.problem and "arguments are not checked: " .. operation.problem or operation.description
  if jsonrpc.text(text) then self:text(2 * STEP, text) end
  add_parameters(self, 3 * STEP, operation.params, 1)
  if type(operation.outputs) == "table" and type(operation.outputs.properties) == "table" then
    self:text(2 * STEP, "returns")
    add_parameters(self, 3 * STEP, operation.outputs, 1)
  end
end

---Adds the section of all operations.
---@param manifest pintle.manifest
function methods:operations(manifest)
  if #manifest.names == 0 then return end
  self:section "OPERATIONS"
  for i, name in ipairs(manifest.names) do
    if i > 1 then self.lines[#self.lines + 1] = "" end
    self:operation(manifest.operations[name])
  end
end

-- }======

-- {====== Resources and prompts ======

local function resource_text(resource)
  local title = jsonrpc.text(resource.title) or jsonrpc.text(resource.name)
  local details = { jsonrpc.text(resource.mimeType) }
  if math.type(resource.size) == "integer" then details[#details + 1] = resource.size .. " bytes" end
  local text = title or ""
  if #details > 0 then text = ("%s (%s)"):format(text, table.concat(details, ", ")) end
  return jsonrpc.text(resource.description) and ("%s: %s"):format(text, resource.description) or text
end

-- `member` has the address.
local function add_resources(self, heading, list, member)
  if #list == 0 then return end
  self:section(heading)
  for _, resource in ipairs(list) do
    local address = jsonrpc.text(resource[member]) or "?"
    self:item(STEP, address, texts.width(address), "")
    self:text(2 * STEP, resource_text(resource))
  end
end

-- The arguments of a prompt are strings.
local function prompt_schema(prompt)
  local schema = { properties = {}, required = {} }
  for _, argument in ipairs(type(prompt.arguments) == "table" and prompt.arguments or {}) do
    local name = jsonrpc.is_object(argument) and jsonrpc.text(argument.name)
    if name then
      schema.properties[name] = { type = "string", description = argument.description }
      if argument.required == true then table.insert(schema.required, name) end
    end
  end
  return schema
end
page.prompt_schema = prompt_schema

local function add_prompts(self, list)
  if #list == 0 then return end
  self:section "PROMPTS"
  for _, prompt in ipairs(list) do
    local name, title = jsonrpc.text(prompt.name) or "?", jsonrpc.text(prompt.title)
    self:item(STEP, name, texts.width(name), title or "")
    if jsonrpc.text(prompt.description) then self:text(2 * STEP, prompt.description) end
    add_parameters(self, 3 * STEP, prompt_schema(prompt), 1)
  end
end

---Adds the sections of what an MCP server offers besides tools.
---@param offered pintle.cli.catalogue
function methods:catalogue(offered)
  add_resources(self, "RESOURCES", offered.resources, "uri")
  add_resources(self, "TEMPLATES OF RESOURCES", offered.templates, "uriTemplate")
  add_prompts(self, offered.prompts)
end

-- }======

-- {====== The head ======

local function commands_of(manifest)
  local commands = {}
  for _, requirement in ipairs(manifest.requires) do
    if type(requirement) == "table" then commands[#commands + 1] = requirement.command end
  end
  return commands
end

-- Only MCP has versions that matter to a user.
local function protocol_of(dialect, raw)
  local version = dialect == "mcp" and jsonrpc.is_object(raw) and jsonrpc.text(raw.protocolVersion)
  return version and dialect .. " " .. version or dialect
end

---Adds name, version, description, protocol, requirements and capabilities.
---@param manifest pintle.manifest
---@param raw any the manifest as it was received
---@param dialect string
---@param is_recognised boolean
function methods:head(manifest, raw, dialect, is_recognised)
  self:item(0, manifest.version and manifest.name .. " " .. manifest.version or manifest.name, 0, "")
  if jsonrpc.text(manifest.description) then self:text(0, manifest.description) end
  self:text(0, ("Speaks %s%s."):format(protocol_of(dialect, raw), is_recognised and " (recognised)" or ""))
  local requires = commands_of(manifest)
  if #requires > 0 then self:text(0, "Requires " .. table.concat(requires, ", ") .. ".") end
  local words = capabilities.words(dialect, manifest, raw)
  if #words > 0 then self:text(0, "Supports " .. table.concat(words, ", ") .. ".") end
  if manifest.is_open then self:text(0, "It may offer more operations than it lists.") end
  if #manifest.names == 0 then self:text(0, "It lists no operations.") end
end

---Adds the instructions that an MCP server has for models.
---@param raw any the manifest as it was received
function methods:instructions(raw)
  local text = jsonrpc.is_object(raw) and jsonrpc.text(raw.instructions)
  if not text then return end
  self:section "INSTRUCTIONS"
  self:text(STEP, text)
end

-- }======

return page
