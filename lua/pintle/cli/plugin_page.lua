-- The page about a plugin: its name, what it can do in words, its operations, and what an MCP server offers besides
-- tools; wrapped to the terminal.

local consoles = require "pintle.cli.console"
local json = require("pintle.core").json
local json_values = require "pintle.cli.json_values"
local jsonrpc = require "pintle.jsonrpc"

local pages = {}

local function object_or_empty(value) return jsonrpc.is_object(value) and value or {} end

-- {====== Capabilities as words ======

---Whether a plugin has the capability of this value.
---@param value any
---@return boolean
function pages.is_offered(value) return value ~= nil and value ~= false and type(value) ~= "userdata" end

local function capability_with_details(word, details)
  return #details > 0 and ("%s (%s)"):format(word, table.concat(details, ", ")) or word
end

-- {====== Language servers ======

local LSP_WORDS = {
  callHierarchyProvider = "call hierarchy", codeActionProvider = "code actions", codeLensProvider = "code lenses",
  colorProvider = "colours", completionProvider = "completion", declarationProvider = "go to declaration",
  definitionProvider = "go to definition", diagnosticProvider = "diagnostics on request",
  documentFormattingProvider = "formatting", documentHighlightProvider = "highlights",
  documentLinkProvider = "links", documentOnTypeFormattingProvider = "formatting while typing",
  documentRangeFormattingProvider = "formatting of a selection", documentSymbolProvider = "symbols of a document",
  executeCommandProvider = "commands", foldingRangeProvider = "folding", hoverProvider = "hover",
  implementationProvider = "go to implementation", inlayHintProvider = "inlay hints",
  inlineCompletionProvider = "inline completion", inlineValueProvider = "inline values",
  linkedEditingRangeProvider = "linked editing", monikerProvider = "monikers", notebookDocumentSync = "notebooks",
  referencesProvider = "find references", renameProvider = "rename", selectionRangeProvider = "selection ranges",
  semanticTokensProvider = "semantic tokens", signatureHelpProvider = "signature help",
  typeDefinitionProvider = "go to type definition", typeHierarchyProvider = "type hierarchy",
  workspaceSymbolProvider = "symbols of the workspace",
}

-- "astProvider" is "ast", "inactiveRegionsProvider" is "inactive regions".
local function words_of_name(name) return (name:gsub("Provider$", ""):gsub("(%l)(%u)", "%1 %2"):lower()) end

local function strings_in(value)
  local list = {}
  for _, item in ipairs(type(value) == "table" and value or {}) do
    if type(item) == "string" then list[#list + 1] = item end
  end
  return list
end

local function trigger_characters(value)
  local characters = strings_in(object_or_empty(value).triggerCharacters)
  return #characters > 0 and { "after " .. table.concat(characters, " ") } or {}
end

local LSP_DETAILS = {
  completionProvider = trigger_characters, signatureHelpProvider = trigger_characters,
  codeActionProvider = function(value) return strings_in(object_or_empty(value).codeActionKinds) end,
}

local SYNC_MODES = { "by whole documents", "by changes" }

local LSP_PHRASES = {}

function LSP_PHRASES.textDocumentSync(value)
  local how = SYNC_MODES[type(value) == "number" and value or object_or_empty(value).change]
  return capability_with_details("open documents", { how })
end

function LSP_PHRASES.positionEncoding(value)
  return type(value) == "string" and "positions in " .. value:upper() or nil
end

function LSP_PHRASES.workspace(value)
  local details = {}
  for i, name in ipairs(json_values.sorted_names(object_or_empty(value))) do details[i] = words_of_name(name) end
  return #details > 0 and "workspace: " .. table.concat(details, ", ") or nil
end

function LSP_PHRASES.experimental(value)
  local names = json_values.sorted_names(object_or_empty(value))
  return #names > 0 and "experimental: " .. table.concat(names, ", ") or nil
end

local function lsp_capability(name, value)
  if LSP_PHRASES[name] then return LSP_PHRASES[name](value) end
  local details = LSP_DETAILS[name] and LSP_DETAILS[name](value) or {}
  return capability_with_details(LSP_WORDS[name] or words_of_name(name), details)
end

-- }======

-- {====== MCP ======

local MCP_DETAILS = { listChanged = "announces changes", subscribe = "subscriptions" }

local function mcp_capability(name, value)
  local details = {}
  for _, detail in ipairs(json_values.sorted_names(object_or_empty(value))) do
    if pages.is_offered(value[detail]) then details[#details + 1] = MCP_DETAILS[detail] or detail end
  end
  return capability_with_details(name, details)
end

-- }======

local DIALECT_WORDS = { lsp = lsp_capability, mcp = mcp_capability }

-- Names of capabilities in gevals.
local GEVALS_WORDS = { bytes = "binary data", cancel = "cancelling", parts = "partial results", progress = "progress" }

---The capabilities of language servers and MCP servers.
---@param dialect string
---@param raw any the manifest as it was received
---@return table capabilities empty for other dialects
function pages.offered_capabilities(dialect, raw)
  return DIALECT_WORDS[dialect] and object_or_empty(object_or_empty(raw).capabilities) or {}
end

local function capability_words(dialect, manifest, raw)
  local words, word_of, offered = {}, DIALECT_WORDS[dialect], pages.offered_capabilities(dialect, raw)
  for _, name in ipairs(json_values.sorted_names(offered)) do
    words[#words + 1] = pages.is_offered(offered[name]) and word_of(name, offered[name]) or nil
  end
  for name in pairs(manifest.capabilities) do words[#words + 1] = GEVALS_WORDS[name] or name end
  table.sort(words)
  return words
end

-- }======

-- {====== What an MCP server offers besides tools: resources, templates of resources, and prompts ======

local LIST_TIMEOUT = 10 -- seconds for each list

---@class pintle.cli.catalogue
---@field resources table[]
---@field templates table[]
---@field prompts table[]

local function objects_in(list)
  local objects = {}
  for _, item in ipairs(list) do objects[#objects + 1] = jsonrpc.is_object(item) and item or nil end
  return objects
end

-- Lists that a server says it has, but does not implement, are empty.
local function read_mcp_list(plugin, name, report)
  local list, err = plugin[name](plugin, { timeout = LIST_TIMEOUT })
  if list then return objects_in(list) end
  if err.code ~= jsonrpc.METHOD_NOT_FOUND then report(("its %s cannot be listed: %s"):format(name, tostring(err))) end
  return {}
end

---Whether a plugin has this capability of MCP.
---@param plugin pintle.hosted
---@param dialect string
---@param capability string
---@return boolean
function pages.has_mcp_capability(plugin, dialect, capability)
  return dialect == "mcp" and jsonrpc.is_object(pages.offered_capabilities(dialect, plugin.raw_manifest)[capability])
end

---Reads the lists of a server.
---@param plugin pintle.hosted
---@param dialect string
---@param report fun(message: string) called for each list that cannot be read
---@return pintle.cli.catalogue empty for other dialects
function pages.read_catalogue(plugin, dialect, report)
  local has_resources = pages.has_mcp_capability(plugin, dialect, "resources")
  local has_prompts = pages.has_mcp_capability(plugin, dialect, "prompts")
  return {
    resources = has_resources and read_mcp_list(plugin, "resources", report) or {},
    templates = has_resources and read_mcp_list(plugin, "resource_templates", report) or {},
    prompts = has_prompts and read_mcp_list(plugin, "prompts", report) or {},
  }
end

-- }======

-- {====== The page ======

local WIDEST, NARROWEST = 120, 40 -- columns of a page
local DEFAULT_WIDTH = 80 -- without a terminal
local STEP = 2 -- columns of indentation

---@class pintle.cli.page
---@field console pintle.cli.console
---@field columns integer
---@field lines string[]
local methods = {}

local metatable = { __name = "pintle.cli.page", __index = methods }

-- {====== Lines ======

---Adds wrapped text.
---@param indent integer
---@param text string
function methods:add_text(indent, text)
  for _, line in ipairs(consoles.wrap_text(consoles.harmless(text), self.columns - indent)) do
    self.lines[#self.lines + 1] = line == "" and "" or (" "):rep(indent) .. line
  end
end

---Adds wrapped text with a name in bold before its first line.
---@param indent integer
---@param name string
---@param width integer columns of the name; a longer name has a line of its own
---@param text string
function methods:add_item(indent, name, width, text)
  name = consoles.harmless(name):gsub("[\n\t]", "?")
  local space, head = (" "):rep(indent), self.console:paint("bold", name)
  local wrapped = consoles.wrap_text(consoles.harmless(text), self.columns - indent - width - STEP)
  local hanging = (" "):rep(indent + width + STEP)
  local missing = width - consoles.text_width(name)
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
function methods:add_section(heading)
  self.lines[#self.lines + 1] = ""
  self.lines[#self.lines + 1] = self.console:paint("bold", heading)
end

---Prints the page.
function methods:print_page()
  for _, line in ipairs(self.lines) do self.console:print(line) end
end

---@param console pintle.cli.console
---@return pintle.cli.page
function pages.new(console)
  local columns = console:terminal_columns() or DEFAULT_WIDTH
  columns = columns > 0 and columns or DEFAULT_WIDTH
  return setmetatable({ console = console, lines = {}, columns = math.max(math.min(columns, WIDEST), NARROWEST) },
    metatable)
end

-- }======

-- {====== Schemas ======

local function encode_choices(values)
  local encoded = {}
  for i, value in ipairs(values) do encoded[i] = json.encode(value) end
  return table.concat(encoded, ", ")
end

local schema_type_text

local function schema_choices_text(list)
  local names, is_known = {}, {}
  for _, schema in ipairs(list) do
    local name = schema_type_text(schema)
    if not is_known[name] then names[#names + 1] = name end
    is_known[name] = true
  end
  return table.concat(names, " or ")
end

-- The type in words, as the schema declares it.
function schema_type_text(schema)
  if type(schema) ~= "table" then return "any" end
  if schema.const ~= nil then return json.encode(schema.const) end
  if type(schema.enum) == "table" then return "one of " .. encode_choices(schema.enum) end
  local choices = schema.anyOf or schema.oneOf
  if type(choices) == "table" and choices[1] ~= nil then return schema_choices_text(choices) end
  if type(schema.type) == "table" then return table.concat(schema.type, " or ") end
  if schema.type == "array" and type(schema.items) == "table" and schema_type_text(schema.items) ~= "any" then
    return "array of " .. schema_type_text(schema.items)
  end
  return type(schema.type) == "string" and schema.type or type(schema.properties) == "table" and "object" or "any"
end

local function parameter_range_text(schema)
  local least, most = schema.minimum, schema.maximum
  if type(least) == "number" and type(most) == "number" then return ("%s to %s"):format(least, most) end
  if type(least) == "number" then return least .. " or more" end
  if type(most) == "number" then return "up to " .. most end
end

-- What is known about a parameter, in one line.
local function parameter_text(schema, is_required)
  local facts = { schema_type_text(schema) }
  local given = type(schema) == "table" and schema or {}
  facts[#facts + 1] = parameter_range_text(given)
  if given.minLength == 1 then facts[#facts + 1] = "not empty" end
  if type(given.format) == "string" then facts[#facts + 1] = given.format end
  if is_required then facts[#facts + 1] = "required" end
  if given.default ~= nil then facts[#facts + 1] = "default " .. json.encode(given.default) end
  local text = table.concat(facts, type(given.enum) == "table" and "; " or ", ")
  return jsonrpc.text(given.description) and text .. ". " .. given.description or text
end

local function required_set(list)
  local set = {}
  for _, name in ipairs(type(list) == "table" and list or {}) do set[name] = true end
  return set
end

-- Required parameters first, in the order of the list, then the others by name.
local function parameter_names(schema, required)
  local names = {}
  for _, name in ipairs(type(schema.required) == "table" and schema.required or {}) do
    if schema.properties[name] ~= nil then names[#names + 1] = name end
  end
  for _, name in ipairs(json_values.sorted_names(schema.properties)) do
    if not required[name] then names[#names + 1] = name end
  end
  return names
end

local MAX_DEPTH = 4 -- of nested parameters
local MAX_NAME = 24 -- columns; longer names have a line of their own

local function parameter_columns(names)
  local width = 0
  for _, name in ipairs(names) do width = math.max(width, consoles.text_width(name)) end
  return math.min(width, MAX_NAME)
end

-- The parameters of a schema, each with those of the objects in it.
local function add_parameters(self, indent, schema, depth)
  if type(schema) ~= "table" or depth > MAX_DEPTH then return end
  if schema.type == "array" then return add_parameters(self, indent, schema.items, depth + 1) end
  if type(schema.properties) ~= "table" then return end
  local required = required_set(schema.required)
  local names = parameter_names(schema, required)
  local width = parameter_columns(names)
  for _, name in ipairs(names) do
    local parameter = schema.properties[name]
    self:add_item(indent, name, width, parameter_text(parameter, required[name]))
    add_parameters(self, indent + STEP, parameter, depth + 1)
  end
end

-- }======

-- {====== Operations ======

local HINTS = {
  { "readOnlyHint", "read-only" }, { "destructiveHint", "destructive" }, { "idempotentHint", "idempotent" },
}

-- What MCP says about a tool.
local function tool_remarks(operation)
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
function methods:add_operation(operation)
  self:add_item(STEP, operation.name, consoles.text_width(operation.name), tool_remarks(operation))
  local text = operation.problem and "arguments are not checked: " .. operation.problem or operation.description
  if jsonrpc.text(text) then self:add_text(2 * STEP, text) end
  add_parameters(self, 3 * STEP, operation.params, 1)
  if type(operation.outputs) == "table" and type(operation.outputs.properties) == "table" then
    self:add_text(2 * STEP, "returns")
    add_parameters(self, 3 * STEP, operation.outputs, 1)
  end
end

---Adds the section of all operations, with an empty line around each that has more than a name.
---@param manifest pintle.manifest
function methods:add_operations(manifest)
  if #manifest.names == 0 then return end
  self:add_section "OPERATIONS"
  local was_long = false
  for i, name in ipairs(manifest.names) do
    local first = #self.lines + 1
    self:add_operation(manifest.operations[name])
    local is_long = #self.lines > first
    if i > 1 and (is_long or was_long) then table.insert(self.lines, first, "") end
    was_long = is_long
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
  self:add_section(heading)
  for _, resource in ipairs(list) do
    local address = jsonrpc.text(resource[member]) or "?"
    self:add_item(STEP, address, consoles.text_width(address), "")
    self:add_text(2 * STEP, resource_text(resource))
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
pages.prompt_schema = prompt_schema

local function add_prompts(self, list)
  if #list == 0 then return end
  self:add_section "PROMPTS"
  for _, prompt in ipairs(list) do
    local name, title = jsonrpc.text(prompt.name) or "?", jsonrpc.text(prompt.title)
    self:add_item(STEP, name, consoles.text_width(name), title or "")
    if jsonrpc.text(prompt.description) then self:add_text(2 * STEP, prompt.description) end
    add_parameters(self, 3 * STEP, prompt_schema(prompt), 1)
  end
end

---Adds the sections of what an MCP server offers besides tools.
---@param offered pintle.cli.catalogue
function methods:add_catalogue(offered)
  add_resources(self, "RESOURCES", offered.resources, "uri")
  add_resources(self, "TEMPLATES OF RESOURCES", offered.templates, "uriTemplate")
  add_prompts(self, offered.prompts)
end

-- }======

-- {====== The head ======

local function required_commands(manifest)
  local commands = {}
  for _, requirement in ipairs(manifest.requires) do
    if type(requirement) == "table" then commands[#commands + 1] = requirement.command end
  end
  return commands
end

-- Only MCP has versions that matter to a user.
local function protocol_text(dialect, raw)
  local version = dialect == "mcp" and jsonrpc.is_object(raw) and jsonrpc.text(raw.protocolVersion)
  return version and dialect .. " " .. version or dialect
end

---Adds name, version, description, protocol, requirements and capabilities.
---@param manifest pintle.manifest
---@param raw any the manifest as it was received
---@param dialect string
---@param is_recognised boolean
function methods:add_head(manifest, raw, dialect, is_recognised)
  self:add_item(0, manifest.version and manifest.name .. " " .. manifest.version or manifest.name, 0, "")
  if jsonrpc.text(manifest.description) then self:add_text(0, manifest.description) end
  self:add_text(0, ("Speaks %s%s."):format(protocol_text(dialect, raw), is_recognised and " (recognised)" or ""))
  local requires = required_commands(manifest)
  if #requires > 0 then self:add_text(0, "Requires " .. table.concat(requires, ", ") .. ".") end
  local words = capability_words(dialect, manifest, raw)
  if #words > 0 then self:add_text(0, "Supports " .. table.concat(words, ", ") .. ".") end
  if manifest.is_open then self:add_text(0, "It may offer more operations than it lists.") end
  if #manifest.names == 0 then self:add_text(0, "It lists no operations.") end
end

---Adds the instructions that an MCP server has for models.
---@param raw any the manifest as it was received
function methods:add_instructions(raw)
  local text = jsonrpc.is_object(raw) and jsonrpc.text(raw.instructions)
  if not text then return end
  self:add_section "INSTRUCTIONS"
  self:add_text(STEP, text)
end

-- }======

---Prints the page of a plugin.
---@param console pintle.cli.console
---@param plugin pintle.hosted
---@param dialect string
---@param is_recognised boolean
---@param offered pintle.cli.catalogue
function pages.print_plugin(console, plugin, dialect, is_recognised, offered)
  local page = pages.new(console)
  page:add_head(plugin.manifest, plugin.raw_manifest, dialect, is_recognised)
  page:add_instructions(plugin.raw_manifest)
  page:add_operations(plugin.manifest)
  page:add_catalogue(offered)
  page:print_page()
end

-- }======

return pages
