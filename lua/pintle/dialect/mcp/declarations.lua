-- What the author of a plugin declares for MCP: options of the plugin and of its operations; and resources and prompts,
-- with methods that the dialect adds to plugins.

local lazy = require "pintle.lazy"
local options = require "pintle.options"

local notifications = lazy "pintle.dialect.mcp.notifications"
local uri_templates = lazy "pintle.dialect.mcp.uri_template"

---What a plugin has declared. A list has items in their order, which are also in it by their keys.
---@class pintle.mcp.catalog
---@field resources table the keys are URIs
---@field templates table the keys are URI templates
---@field prompts table the keys are names
---@field has_completions boolean

---The methods that the dialect for MCP adds to plugins (docs/dialects/mcp.md). Other dialects ignore what they declare.
---@class pintle.mcp.plugin
local methods = {}

local declarations = { methods = methods }

local RESOURCES_CHANGED = "notifications/resources/list_changed"
local PROMPTS_CHANGED = "notifications/prompts/list_changed"

-- {====== Options of the plugin and of its operations ======

---What a plugin may declare for this dialect.
---@class pintle.mcp.declaration
---@field title? string shown to people instead of the name
---@field instructions? string how a model should use the server
---@field websiteUrl? string
---@field icons? table[]
---@field page_size? integer items in one page of a list; default: 100
---@field capabilities? table added to those that follow from what is declared
---@field limits? pintle.mcp.limits

---Bounds of a server.
---@class pintle.mcp.limits
---@field subscriptions? integer resources that a client with a handshake may subscribe to; default: 1000
---@field questions? integer requests that may wait for a client without a handshake to answer; default: 64
---@field question_time? number seconds that such a request waits; default: 600
---@field tasks? integer tasks that are kept, with those that have ended; default: 64
---@field task_time? number seconds after which a task is stopped, and its result forgotten; default: 3600

-- Defaults.
local LIMITS = { subscriptions = 1000, questions = 64, question_time = 600, tasks = 64, task_time = 3600 }
local ARE_SECONDS = { question_time = true, task_time = true }

---What an operation may declare for this dialect.
---@class pintle.mcp.operation.declaration
---@field title? string shown to people instead of the name
---@field annotations? table
---@field icons? table[]
---@field _meta? table
---@field task? "optional"|"required" whether it runs as a task, for a client that supports the tasks of 2026-07-28; a
---client that does not gets the result as usual, or an error if a task is required
---@field task_after? number seconds after which it becomes a task, unless it has ended; default: 0

local TYPES = {
  title = "string", instructions = "string", websiteUrl = "string", icons = "table", page_size = "number",
  capabilities = "table", limits = "table",
}
local OPERATION_TYPES = {
  title = "string", annotations = "table", icons = "table", _meta = "table", task = "string", task_after = "number",
}
local TASK_SUPPORT = { optional = true, required = true }

local function declaration_option_fault(declared, types)
  for name, value in pairs(declared) do
    local expected = types[name]
    if not expected then return ("there is no %q"):format(tostring(name)) end
    if type(value) ~= expected then return ("%s: %s expected, got %s"):format(name, expected, type(value)) end
  end
end

local function declaration_limits_fault(limits)
  for name, value in pairs(limits) do
    if not LIMITS[name] then return ("limits: there is no %q"):format(tostring(name)) end
    local is_valid = ARE_SECONDS[name] and type(value) == "number" or math.type(value) == "integer"
    local is_bound = is_valid and value >= 0 and value < math.huge
    if not is_bound then return ("limits: %s: a finite number of 0 or more expected"):format(name) end
  end
end

---Returns a message if the declaration of a plugin is wrong.
---@param declared table
---@return string?
function declarations.check_plugin(declared)
  local fault, size = declaration_option_fault(declared, TYPES), declared.page_size
  if fault then return fault end
  if size and (math.type(size) ~= "integer" or size < 1) then return "page_size: an integer of 1 or more expected" end
  return declaration_limits_fault(declared.limits or {})
end

---The same for the declaration of an operation.
---@param declared table
---@return string?
function declarations.check_operation(declared)
  local fault = declaration_option_fault(declared, OPERATION_TYPES)
  if fault then return fault end
  if declared.task and not TASK_SUPPORT[declared.task] then return "task: optional or required expected" end
  if declared.task_after and declared.task_after < 0 then return "task_after: seconds expected" end
end

---@param plugin pintle.plugin
---@param name string
---@return number
function declarations.limit(plugin, name)
  local declared = plugin.manifest.dialects.mcp
  local limits = declared and declared.limits
  return limits and limits[name] or LIMITS[name]
end

-- }======

-- {====== The catalog ======

local function ensure_declared_catalog(plugin)
  local catalog = rawget(plugin, "mcp_catalog")
  if not catalog then
    catalog = { resources = {}, templates = {}, prompts = {}, has_completions = false }
    plugin.mcp_catalog = catalog
    plugin.manifest.dialects.mcp = plugin.manifest.dialects.mcp or {}
  end
  return catalog
end

local function announce_declaration_change(plugin, notification)
  for server in pairs(plugin.servers) do
    if server.state.notify_subscribers then notifications.announce(server, notification) end
  end
end

local function add_declaration(plugin, list, key, item, notification)
  item.key = key
  list[#list + 1], list[key] = item, item
  announce_declaration_change(plugin, notification)
end

local function remove_declaration(plugin, list, key, notification)
  if not list[key] then return false end
  list[key] = nil
  for place, item in ipairs(list) do
    if item.key == key then
      table.remove(list, place)
      break
    end
  end
  announce_declaration_change(plugin, notification)
  return true
end

-- }======

-- {====== Checks ======

local function refuse_declaration(level, format, ...) error(format:format(...), level + 1) end

local function check_declaration_option_types(where, given, types, level)
  if type(given) ~= "table" then refuse_declaration(level + 1, "%s: a table expected, got %s", where, type(given)) end
  options.check_types(where, given, types, level + 1)
end

local function check_new_declaration(where, list, key, fn, level)
  if type(key) ~= "string" or key == "" then refuse_declaration(level + 1, "%s: a string expected", where) end
  if type(fn) ~= "function" then refuse_declaration(level + 1, "%s: a function expected, got %s", where, type(fn)) end
  if list[key] then refuse_declaration(level + 1, "%s is already declared", where) end
end

-- `complete` has a function, or a list of all values, for each variable.
local function check_declared_completions(where, complete, names, level)
  local is_known = {}
  for _, name in ipairs(names) do is_known[name] = true end
  for name, source in pairs(complete or {}) do
    if not is_known[name] then refuse_declaration(level + 1, "%s: complete: there is no %s", where, tostring(name)) end
    if type(source) ~= "function" and type(source) ~= "table" then
      local problem = "%s: complete: %s: a function or a list expected, got %s"
      refuse_declaration(level + 1, problem, where, name, type(source))
    end
    for i, value in ipairs(type(source) == "table" and source or {}) do
      if type(value) ~= "string" then
        refuse_declaration(level + 1, "%s: complete: %s[%d]: a string expected, got %s", where, name, i, type(value))
      end
    end
  end
end

-- }======

-- {====== Resources ======

---@class pintle.mcp.resource.declaration
---@field name? string default: the last part of the URI
---@field title? string shown to people instead of the name
---@field description? string
---@field mimeType? string also of contents without one of their own
---@field size? integer bytes
---@field annotations? table
---@field icons? table[]
---@field _meta? table

local RESOURCE_TYPES = {
  name = "string", title = "string", description = "string", mimeType = "string", size = "number",
  annotations = "table", icons = "table", _meta = "table",
}

local function copy_declaration(given)
  local copied = {}
  for name, value in pairs(given) do copied[name] = value end
  return copied
end

---Declares a resource of MCP. Its function returns a text, `pintle.bytes`, or a list of contents, each a text, bytes,
---or a table with `uri`, `mimeType`, and `text` or `blob`; or nil and an error. Nil alone means that there is no such
---resource.
---@param uri string
---@param spec pintle.mcp.resource.declaration
---@param fn fun(uri: string, ctx: pintle.plugin.context): any, any
function methods:resource(uri, spec, fn)
  local where, list = ("resource %q"):format(tostring(uri)), ensure_declared_catalog(self).resources
  check_new_declaration(where, list, uri, fn, 2)
  check_declaration_option_types(where, spec, RESOURCE_TYPES, 2)
  if not uri:find "^%a[%w+.-]*:" then
    refuse_declaration(2, "%s: a URI with a scheme expected, such as note:///tea", where)
  end
  local item = copy_declaration(spec)
  item.uri, item.fn, item.name = uri, fn, spec.name or uri:match "([^/]+)/*$"
  add_declaration(self, list, uri, item, RESOURCES_CHANGED)
end

---A list of all values; or a function that returns the values that begin with what was typed, and how many there are in
---all. `others` has the values of the other variables or arguments that the client knows. At most 100 values are sent.
---@alias pintle.mcp.values string[]|fun(typed: string, ctx: pintle.plugin.context, others: table): string[],
---integer?

---@class pintle.mcp.template.declaration: pintle.mcp.resource.declaration
---@field complete? table<string, pintle.mcp.values> for variables
---@field list? fun(ctx: pintle.plugin.context): table[]?, any returns the resources that there are now, each a table
---with `uri` and members as of a declaration

local TEMPLATE_TYPES = copy_declaration(RESOURCE_TYPES)
TEMPLATE_TYPES.complete, TEMPLATE_TYPES.list = "table", "function"

---Declares resources of MCP whose URIs have variables, as in `note:///{name}` (RFC 6570: `{name}` without slashes,
---`{+path}` with them, `{?query,limit}`, and the other expressions of levels 1 to 3). The function gets the values,
---decoded, and returns what the function of a resource returns.
---@param template string
---@param spec pintle.mcp.template.declaration
---@param fn fun(variables: table<string, string|string[]>, ctx: pintle.plugin.context, uri: string): any, any
function methods:resource_template(template, spec, fn)
  local where, catalog = ("resource template %q"):format(tostring(template)), ensure_declared_catalog(self)
  check_new_declaration(where, catalog.templates, template, fn, 2)
  check_declaration_option_types(where, spec, TEMPLATE_TYPES, 2)
  local matcher, message = uri_templates.read(template)
  if not matcher then refuse_declaration(2, "%s: %s", where, message) end
  check_declared_completions(where, spec.complete, matcher.names, 2)
  local item = copy_declaration(spec)
  item.uriTemplate, item.matcher, item.fn = template, matcher, fn
  item.name = spec.name or table.concat(matcher.names, "-")
  catalog.has_completions = catalog.has_completions or spec.complete ~= nil
  add_declaration(self, catalog.templates, template, item, RESOURCES_CHANGED)
end

---Removes a resource or a template of MCP.
---@param uri string the URI, or the template, that it was declared with
function methods:remove_resource(uri)
  local catalog = ensure_declared_catalog(self)
  local is_removed = remove_declaration(self, catalog.resources, uri, RESOURCES_CHANGED)
    or remove_declaration(self, catalog.templates, uri, RESOURCES_CHANGED)
  if not is_removed then refuse_declaration(2, "remove_resource: there is no resource %q", tostring(uri)) end
end

---Notifies the MCP clients that have subscribed to a resource of a change in it.
---@param uri string
function methods:resource_updated(uri)
  if type(uri) ~= "string" then refuse_declaration(2, "resource_updated: a URI expected, got %s", type(uri)) end
  for server in pairs(self.servers) do
    if server.state.notify_subscribers then notifications.resource_updated(server, uri) end
  end
end

---Notifies MCP clients that the list of resources has changed: what the `list` of a template returns. Declaring and
---removing resources does this by itself.
function methods:resources_changed() announce_declaration_change(self, RESOURCES_CHANGED) end

-- }======

-- {====== Prompts ======

---@class pintle.mcp.prompt.argument
---@field name string
---@field title? string
---@field description? string
---@field required? boolean

---@class pintle.mcp.prompt.declaration
---@field title? string shown to people instead of the name
---@field description? string
---@field arguments? (string|pintle.mcp.prompt.argument)[] a name alone is an argument that may be left out
---@field complete? table<string, pintle.mcp.values> for arguments
---@field icons? table[]
---@field _meta? table

local PROMPT_TYPES = {
  title = "string", description = "string", arguments = "table", complete = "table", icons = "table", _meta = "table",
}
local ARGUMENT_TYPES = { name = "string", title = "string", description = "string", required = "boolean" }

local function read_declared_prompt_arguments(where, given, level)
  local list, names = {}, {}
  for i, argument in ipairs(given) do
    if type(argument) == "string" then argument = { name = argument } end
    check_declaration_option_types(("%s: arguments[%d]"):format(where, i), argument, ARGUMENT_TYPES, level + 1)
    if not argument.name then refuse_declaration(level + 1, "%s: arguments[%d]: name is missing", where, i) end
    list[i], names[i] = argument, argument.name
  end
  if next(given) ~= nil and #list == 0 then refuse_declaration(level + 1, "%s: arguments: a list expected", where) end
  return list, names
end

---Declares a prompt of MCP. Its function returns a text, `pintle.bytes`, a list of messages, or a table with `messages`
---and `description`; or nil and an error. A message is a text or bytes, which are the user's, or a table with `role`
---and `content`. The arguments are texts.
---@param name string
---@param spec pintle.mcp.prompt.declaration
---@param fn fun(args: table<string, string>, ctx: pintle.plugin.context): any, any
function methods:prompt(name, spec, fn)
  local where, catalog = ("prompt %q"):format(tostring(name)), ensure_declared_catalog(self)
  check_new_declaration(where, catalog.prompts, name, fn, 2)
  check_declaration_option_types(where, spec, PROMPT_TYPES, 2)
  local item = copy_declaration(spec)
  item.name, item.fn = name, fn
  local arguments, names = read_declared_prompt_arguments(where, spec.arguments or {}, 2)
  item.arguments = arguments
  check_declared_completions(where, spec.complete, names, 2)
  catalog.has_completions = catalog.has_completions or spec.complete ~= nil
  add_declaration(self, catalog.prompts, name, item, PROMPTS_CHANGED)
end

---Removes a prompt of MCP.
---@param name string
function methods:remove_prompt(name)
  if remove_declaration(self, ensure_declared_catalog(self).prompts, name, PROMPTS_CHANGED) then return end
  refuse_declaration(2, "remove_prompt: there is no prompt %q", tostring(name))
end

-- }======

return declarations
