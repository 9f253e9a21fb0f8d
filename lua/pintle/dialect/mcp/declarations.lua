-- Resources and prompts as the author of a plugin declares them: methods that the dialect adds to plugins.

local subscriptions = require "pintle.dialect.mcp.subscriptions"
local uri_templates = require "pintle.dialect.mcp.uri_template"

---What a plugin has declared. A list has items in their order, which are also in it by their keys.
---@class pintle.mcp.catalog
---@field resources table the keys are URIs
---@field templates table the keys are URI templates
---@field prompts table the keys are names
---@field has_completions boolean

---The methods that the dialect for MCP adds to plugins (docs/dialects/mcp.md). Other dialects ignore what they declare.
---@class pintle.mcp.plugin
local methods = {}

local RESOURCES_CHANGED = "notifications/resources/list_changed"
local PROMPTS_CHANGED = "notifications/prompts/list_changed"

-- {====== The catalog ======

local function catalog_of(plugin)
  local catalog = rawget(plugin, "mcp_catalog")
  if not catalog then
    catalog = { resources = {}, templates = {}, prompts = {}, has_completions = false }
    plugin.mcp_catalog = catalog
  end
  return catalog
end

local function announce(plugin, notification)
  for server in pairs(plugin.servers) do
    if server.state.notify_subscribers then subscriptions.announce(server, notification) end
  end
end

local function add(plugin, list, key, item, notification)
  item.key = key
  list[#list + 1], list[key] = item, item
  announce(plugin, notification)
end

local function remove(plugin, list, key, notification)
  if not list[key] then return false end
  list[key] = nil
  for place, item in ipairs(list) do
    if item.key == key then
      table.remove(list, place)
      break
    end
  end
  announce(plugin, notification)
  return true
end

-- }======

-- {====== Checks ======

local function refuse(level, format, ...) error(format:format(...), level + 1) end

local function check_members(where, given, types, level)
  if type(given) ~= "table" then refuse(level + 1, "%s: a table expected, got %s", where, type(given)) end
  for name, value in pairs(given) do
    local expected = types[name]
    if not expected then refuse(level + 1, "%s: there is no option %q", where, tostring(name)) end
    if type(value) ~= expected then
      refuse(level + 1, "%s: %s: a %s expected, got %s", where, name, expected, type(value))
    end
  end
end

local function check_declaration(where, list, key, fn, level)
  if type(key) ~= "string" or key == "" then refuse(level + 1, "%s: a string expected", where) end
  if type(fn) ~= "function" then refuse(level + 1, "%s: a function expected, got %s", where, type(fn)) end
  if list[key] then refuse(level + 1, "%s is already declared", where) end
end

-- `complete` has a function, or a list of all values, for each variable.
local function check_completions(where, complete, names, level)
  local is_known = {}
  for _, name in ipairs(names) do is_known[name] = true end
  for name, source in pairs(complete or {}) do
    if not is_known[name] then refuse(level + 1, "%s: complete: there is no %s", where, tostring(name)) end
    if type(source) ~= "function" and type(source) ~= "table" then
      refuse(level + 1, "%s: complete: %s: a function or a list expected, got %s", where, name, type(source))
    end
    for i, value in ipairs(type(source) == "table" and source or {}) do
      if type(value) ~= "string" then
        refuse(level + 1, "%s: complete: %s[%d]: a string expected, got %s", where, name, i, type(value))
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

local function copy(given)
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
  local where, list = ("resource %q"):format(tostring(uri)), catalog_of(self).resources
  check_declaration(where, list, uri, fn, 2)
  check_members(where, spec, RESOURCE_TYPES, 2)
  if not uri:find "^%a[%w+.-]*:" then refuse(2, "%s: a URI with a scheme expected, such as note:///tea", where) end
  local item = copy(spec)
  item.uri, item.fn, item.name = uri, fn, spec.name or uri:match "([^/]+)/*$"
  add(self, list, uri, item, RESOURCES_CHANGED)
end

---A list of all values; or a function that returns the values that begin with what was typed, and how many there are in
---all. `others` has the values of the other variables or arguments that the client knows. At most 100 values are sent.
---@alias pintle.mcp.values string[]|fun(typed: string, ctx: pintle.plugin.context, others: table): string[],
---integer?

---@class pintle.mcp.template.declaration: pintle.mcp.resource.declaration
---@field complete? table<string, pintle.mcp.values> for variables
---@field list? fun(ctx: pintle.plugin.context): table[]?, any returns the resources that there are now, each a table
---with `uri` and members as of a declaration

local TEMPLATE_TYPES = copy(RESOURCE_TYPES)
TEMPLATE_TYPES.complete, TEMPLATE_TYPES.list = "table", "function"

---Declares resources of MCP whose URIs have variables, as in `note:///{name}` (RFC 6570: `{name}` without slashes,
---`{+path}` with them, `{?query,limit}`, and the other expressions of levels 1 to 3). The function gets the values,
---decoded, and returns what the function of a resource returns.
---@param template string
---@param spec pintle.mcp.template.declaration
---@param fn fun(variables: table<string, string|string[]>, ctx: pintle.plugin.context, uri: string): any, any
function methods:resource_template(template, spec, fn)
  local where, catalog = ("resource template %q"):format(tostring(template)), catalog_of(self)
  check_declaration(where, catalog.templates, template, fn, 2)
  check_members(where, spec, TEMPLATE_TYPES, 2)
  local matcher, message = uri_templates.read(template)
  if not matcher then refuse(2, "%s: %s", where, message) end
  check_completions(where, spec.complete, matcher.names, 2)
  local item = copy(spec)
  item.uriTemplate, item.matcher, item.fn = template, matcher, fn
  item.name = spec.name or table.concat(matcher.names, "-")
  catalog.has_completions = catalog.has_completions or spec.complete ~= nil
  add(self, catalog.templates, template, item, RESOURCES_CHANGED)
end

---Removes a resource or a template of MCP.
---@param uri string the URI, or the template, that it was declared with
function methods:remove_resource(uri)
  local catalog = catalog_of(self)
  local is_removed = remove(self, catalog.resources, uri, RESOURCES_CHANGED)
    or remove(self, catalog.templates, uri, RESOURCES_CHANGED)
  if not is_removed then refuse(2, "remove_resource: there is no resource %q", tostring(uri)) end
end

---Notifies the MCP clients that have subscribed to a resource of a change in it.
---@param uri string
function methods:resource_updated(uri)
  if type(uri) ~= "string" then refuse(2, "resource_updated: a URI expected, got %s", type(uri)) end
  for server in pairs(self.servers) do
    if server.state.notify_subscribers then subscriptions.resource_updated(server, uri) end
  end
end

---Notifies MCP clients that the list of resources has changed: what the `list` of a template returns. Declaring and
---removing resources does this by itself.
function methods:resources_changed() announce(self, RESOURCES_CHANGED) end

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

local function read_arguments(where, given, level)
  local list, names = {}, {}
  for i, argument in ipairs(given) do
    if type(argument) == "string" then argument = { name = argument } end
    check_members(("%s: arguments[%d]"):format(where, i), argument, ARGUMENT_TYPES, level + 1)
    if not argument.name then refuse(level + 1, "%s: arguments[%d]: name is missing", where, i) end
    list[i], names[i] = argument, argument.name
  end
  if next(given) ~= nil and #list == 0 then refuse(level + 1, "%s: arguments: a list expected", where) end
  return list, names
end

---Declares a prompt of MCP. Its function returns a text, `pintle.bytes`, a list of messages, or a table with `messages`
---and `description`; or nil and an error. A message is a text or bytes, which are the user's, or a table with `role`
---and `content`. The arguments are texts.
---@param name string
---@param spec pintle.mcp.prompt.declaration
---@param fn fun(args: table<string, string>, ctx: pintle.plugin.context): any, any
function methods:prompt(name, spec, fn)
  local where, catalog = ("prompt %q"):format(tostring(name)), catalog_of(self)
  check_declaration(where, catalog.prompts, name, fn, 2)
  check_members(where, spec, PROMPT_TYPES, 2)
  local item = copy(spec)
  item.name, item.fn = name, fn
  local arguments, names = read_arguments(where, spec.arguments or {}, 2)
  item.arguments = arguments
  check_completions(where, spec.complete, names, 2)
  catalog.has_completions = catalog.has_completions or spec.complete ~= nil
  add(self, catalog.prompts, name, item, PROMPTS_CHANGED)
end

---Removes a prompt of MCP.
---@param name string
function methods:remove_prompt(name)
  if remove(self, catalog_of(self).prompts, name, PROMPTS_CHANGED) then return end
  refuse(2, "remove_prompt: there is no prompt %q", tostring(name))
end

-- }======

return methods
