-- What a server offers: tools, resources, templates and prompts. They are listed in pages; resources and prompts are
-- read; and the variables of templates and the arguments of prompts are completed.

local era = require "pintle.dialect.mcp.era"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local lazy = require "pintle.lazy"
local ordered_schema = require "pintle.manifest.order"
local wire = require "pintle.dialect.mcp.wire"

local bytes = lazy "pintle.bytes"
local contents = lazy "pintle.content"

local catalog = {}

local function declared_catalog(server) return era.catalog(server.plugin) end

-- {====== Lists in pages ======

-- A cursor contains the number of items on earlier pages.

local PAGE_SIZE = 100

local function read_catalog_cursor(cursor, count)
  if cursor == nil then return 0 end
  local listed = math.tointeger(tonumber(cursor:match "^after%-(%d+)$"))
  if listed and listed > 0 and listed < count then return listed end
  return jsonrpc.invalid_params("cursor: there is no %q", cursor)
end

-- The part of a list that a request asks for: the numbers of its first and last item, and the cursor of the next page;
-- or nil and an error. `count` is the number of all items.
local function cut_catalog_page(server, params, count)
  local given = jsonrpc.given(params) or {}
  local ok, err = jsonrpc.check(given.cursor, "string", "cursor")
  if not ok then return nil, err end
  local listed
  listed, err = read_catalog_cursor(jsonrpc.given(given.cursor), count)
  if not listed then return nil, err end
  local last = math.min(listed + (era.declaration(server.plugin).page_size or PAGE_SIZE), count)
  return listed + 1, last, last < count and ("after-%d"):format(last) or nil
end

-- }======

-- {====== tools/list ======

local TOOL_LIST = json.order { "resultType", "tools", "nextCursor", "ttlMs", "cacheScope", "_meta" }
local TOOL = json.order {
  "name", "title", "description", "inputSchema", "outputSchema", "annotations", "icons", "_meta",
}

-- MCP requires `type` in a tool's input schema, and it has to be the string "object".
local function catalog_tool_input_schema(schema)
  if schema.type == "object" then return ordered_schema(schema) end
  local typed = {}
  for keyword, value in pairs(schema) do typed[keyword] = value end
  typed.type = "object"
  return ordered_schema(typed)
end

local function describe_catalog_tool(operation)
  local declared = operation.dialects.mcp or {}
  return setmetatable({
    name = operation.name, title = declared.title, description = operation.description,
    inputSchema = catalog_tool_input_schema(operation.params), outputSchema = ordered_schema(operation.outputs),
    annotations = declared.annotations, icons = declared.icons, _meta = declared._meta,
  }, TOOL)
end

---@param manifest pintle.manifest
---@param first integer
---@param last integer
---@return table[]
function catalog.describe_tools(manifest, first, last)
  local list = json.array()
  for i = first, last do
    list[#list + 1] = describe_catalog_tool(manifest.operations[manifest.names[i]])
  end
  return list
end

---@param server pintle.server
---@param params table?
---@return table?, pintle.error?
function catalog.list_tools(server, params)
  local manifest = server.plugin.manifest
  local first, last, next_cursor = cut_catalog_page(server, params, #manifest.names)
  if not first then return nil, last end
  -- A client that has not subscribed would not see the next change.
  local cache_time = server.state.has_changed_tools and 0 or nil
  local list = catalog.describe_tools(manifest, first, last)
  return setmetatable({ tools = list, nextCursor = next_cursor, ttlMs = cache_time }, TOOL_LIST)
end

-- }======

-- {====== resources/list, resources/templates/list ======

local RESOURCE = json.order {
  "uri", "name", "title", "description", "mimeType", "size", "annotations", "icons", "_meta",
}
local TEMPLATE = json.order {
  "uriTemplate", "name", "title", "description", "mimeType", "annotations", "icons", "_meta",
}

local function describe_catalog_resource(item)
  return setmetatable({
    uri = item.uri, uriTemplate = item.uriTemplate, name = item.name, title = item.title,
    description = item.description, mimeType = item.mimeType, size = item.size, annotations = item.annotations,
    icons = item.icons, _meta = item._meta,
  }, item.uriTemplate and TEMPLATE or RESOURCE)
end

---A list as the client gets it.
---@param list table[] declared resources or templates
---@return table[]
function catalog.describe_resources(list)
  local all = json.array()
  for i, item in ipairs(list) do all[i] = describe_catalog_resource(item) end
  return all
end

local function add_listed_catalog_resources(all, template, listed)
  if type(listed) ~= "table" then
    error(("resource template %q: list returned a %s; a list expected"):format(template.key, type(listed)), 0)
  end
  for i, item in ipairs(listed) do
    if type(item) ~= "table" or type(item.uri) ~= "string" then
      error(("resource template %q: list[%d]: a table with uri expected"):format(template.key, i), 0)
    end
    local resource = describe_catalog_resource(item)
    resource.name, resource.mimeType = item.name or item.uri:match "([^/]+)/*$", item.mimeType or template.mimeType
    all[#all + 1] = resource
  end
end

-- Those that are declared, and those that the templates list.
local function list_catalog_resources(server, request)
  local declared = declared_catalog(server)
  local all = catalog.describe_resources(declared.resources)
  for _, template in ipairs(declared.templates) do
    if template.list then
      local ctx, err = server:enter(request)
      if not ctx then return nil, err end
      local listed
      listed, err = template.list(ctx)
      if listed == nil and err ~= nil then return nil, err end
      add_listed_catalog_resources(all, template, listed or {})
    end
  end
  return all
end

local function catalog_resource_page(server, params, member, all)
  local first, last, next_cursor = cut_catalog_page(server, params, #all)
  if not first then return nil, last end
  return { [member] = json.array(table.move(all, first, last, 1, {})), nextCursor = next_cursor }
end

---@param server pintle.server
---@param params table?
---@param request pintle.request
---@return table?, any err
function catalog.list_resources(server, params, request)
  local all, err = list_catalog_resources(server, request)
  if not all then return nil, err end
  return catalog_resource_page(server, params, "resources", all)
end

---@param server pintle.server
---@param params table?
---@return table?, pintle.error?
function catalog.list_templates(server, params)
  local templates = catalog.describe_resources(declared_catalog(server).templates)
  return catalog_resource_page(server, params, "resourceTemplates", templates)
end

-- }======

-- {====== resources/read ======

-- Returns the declared resource or template of a URI, and the argument for its function.
local function find_catalog_item_by_uri(declared, uri)
  local resource = declared.resources[uri]
  if resource then return resource, uri end
  for _, template in ipairs(declared.templates) do
    local values = template.matcher:match(uri)
    if values then return template, values end
  end
end

local function catalog_resource_not_found(uri)
  local _, err = wire.refuse(wire.RESOURCE_NOT_FOUND, "Resource not found: %s", uri)
  err.data = { uri = uri }
  return nil, err
end

---The resource or template that the `uri` of params stands for.
---@param server pintle.server
---@param params any
---@return table? item, any argument for its function, or an error
---@return string? uri
function catalog.find_resource(server, params)
  local ok, err = wire.check_required(params, "object", "params")
  if ok then ok, err = wire.check_required(params.uri, "string", "uri") end
  if not ok then return nil, err end
  local uri = params.uri
  local item, argument = find_catalog_item_by_uri(declared_catalog(server), uri)
  if item then return item, argument, uri end
  return catalog_resource_not_found(uri)
end

-- One piece of content, as the function of a resource has returned it.
local function catalog_resource_content(item, uri, given)
  if type(given) == "string" then
    given = { uri = uri, mimeType = item.mimeType, text = given }
  elseif bytes.is(given) then
    given = { uri = uri, mimeType = item.mimeType, blob = given }
  elseif type(given) == "table" then
    given = wire.copy_members(given, { uri = uri, mimeType = item.mimeType })
  end
  return contents.resource(given)
end

local function is_one_resource_content(given)
  return type(given) ~= "table" or bytes.is(given) or given.text ~= nil or given.blob ~= nil
end

local function catalog_resource_result(item, uri, given)
  if is_one_resource_content(given) then given = { given } end
  local list = json.array()
  for i, one in ipairs(given) do
    local content, message = catalog_resource_content(item, uri, one)
    if not content then error(("resource %q: wrong content: [%d]: %s"):format(item.key, i, message), 0) end
    list[i] = content
  end
  return { contents = list }
end

---@param server pintle.server
---@param params table?
---@param request pintle.request
---@return table?, any err
function catalog.read_resource(server, params, request)
  local item, argument, uri = catalog.find_resource(server, params)
  if not item then return nil, argument end
  local ctx, err = server:enter(request)
  if not ctx then return nil, err end
  local given
  given, err = item.fn(argument, ctx, uri)
  if given ~= nil then return catalog_resource_result(item, uri, given) end
  if err ~= nil then return nil, err end
  return catalog_resource_not_found(uri)
end

-- }======

-- {====== prompts/list ======

local PROMPT = json.order { "name", "title", "description", "arguments", "icons", "_meta" }
local ARGUMENT = json.order { "name", "title", "description", "required" }

local function describe_prompt_arguments(list)
  if #list == 0 then return nil end
  local all = {}
  for i, argument in ipairs(list) do
    all[i] = setmetatable({
      name = argument.name, title = argument.title, description = argument.description, required = argument.required,
    }, ARGUMENT)
  end
  return all
end

---@param list table[] declared prompts
---@param first integer
---@param last integer
---@return table[] as the client gets them
function catalog.describe_prompts(list, first, last)
  local all = json.array()
  for i = first, last do
    local item = list[i]
    all[#all + 1] = setmetatable({
      name = item.name, title = item.title, description = item.description,
      arguments = describe_prompt_arguments(item.arguments), icons = item.icons, _meta = item._meta,
    }, PROMPT)
  end
  return all
end

---@param server pintle.server
---@param params table?
---@return table?, pintle.error?
function catalog.list_prompts(server, params)
  local list = declared_catalog(server).prompts
  local first, last, next_cursor = cut_catalog_page(server, params, #list)
  if not first then return nil, last end
  return { prompts = catalog.describe_prompts(list, first, last), nextCursor = next_cursor }
end

-- }======

-- {====== prompts/get ======

-- The declared arguments; others are ignored.
local function read_requested_prompt_arguments(item, given)
  local args = {}
  for _, argument in ipairs(item.arguments) do
    local name = argument.name
    local value = jsonrpc.given(given[name])
    if value == nil and argument.required then return jsonrpc.invalid_params("arguments: %s is missing", name) end
    if value ~= nil and type(value) ~= "string" then
      return jsonrpc.invalid_params("arguments: %s: string expected, got %s", name, json.kind(value))
    end
    args[name] = value
  end
  return args
end

local function read_prompt_params(server, params)
  local ok, err = wire.check_name_and_arguments(params)
  if not ok then return nil, err end
  local item = declared_catalog(server).prompts[params.name]
  if not item then return jsonrpc.invalid_params("there is no prompt %q", params.name) end
  local args
  args, err = read_requested_prompt_arguments(item, jsonrpc.given(params.arguments) or {})
  return args and item, args or err
end

local ROLES = { user = true, assistant = true }

local function catalog_prompt_message(given, place)
  local role, item = "user", given
  if type(given) == "table" and given.role ~= nil then role, item = given.role, given.content end
  if not ROLES[role] then return nil, ("role: user or assistant expected, got %s"):format(tostring(role)) end
  local block, problem = contents.block(item, place)
  if not block then return nil, problem end
  return { role = role, content = block }
end

local function is_one_message(given) return type(given) ~= "table" or bytes.is(given) or given.role or given.type end

local function catalog_prompt_result(item, given)
  local description = item.description
  if type(given) == "table" and given.messages then
    description, given = given.description or description, given.messages
  end
  if is_one_message(given) then given = { given } end
  local messages = json.array()
  for i, one in ipairs(given) do
    local message, problem = catalog_prompt_message(one, i)
    if not message then error(("prompt %q: wrong message: [%d]: %s"):format(item.name, i, problem), 0) end
    messages[i] = message
  end
  return { description = description, messages = messages }
end

---@param server pintle.server
---@param params table?
---@param request pintle.request
---@return table?, any err
function catalog.get_prompt(server, params, request)
  local item, args = read_prompt_params(server, params)
  if not item then return nil, args end
  local ctx, err = server:enter(request)
  if not ctx then return nil, err end
  local given
  given, err = item.fn(args, ctx)
  if given ~= nil then return catalog_prompt_result(item, given) end
  return nil, err or ("the prompt %q has no text"):format(item.name)
end

-- }======

-- {====== completion/complete ======

local MOST_VALUES = 100

local REFERENCES = {
  ["ref/prompt"] = { "prompts", "name" },
  ["ref/resource"] = { "templates", "uri" },
}

local function read_completion_reference(declared, ref)
  local kind = REFERENCES[ref.type]
  if not kind then return jsonrpc.invalid_params("ref: type: ref/prompt or ref/resource expected") end
  local ok, err = wire.check_required(ref[kind[2]], "string", "ref: " .. kind[2])
  if not ok then return nil, err end
  local key = ref[kind[2]]
  local item = declared[kind[1]][key] or kind[1] == "templates" and declared.resources[key]
  if item then return item end
  return jsonrpc.invalid_params("ref: there is no %s", key)
end

local function read_completion_params(server, params)
  local ok, err = wire.check_required(params, "object", "params")
  if ok then ok, err = wire.check_required(params.ref, "object", "ref") end
  if ok then ok, err = wire.check_required(params.argument, "object", "argument") end
  if ok then ok, err = wire.check_required(params.argument.name, "string", "argument: name") end
  if ok then ok, err = wire.check_required(params.argument.value, "string", "argument: value") end
  if ok then ok, err = jsonrpc.check(params.context, "object", "context") end
  local context = ok and jsonrpc.given(params.context) or {}
  if ok then ok, err = jsonrpc.check(context.arguments, "object", "context: arguments") end
  if not ok then return nil, err end
  local item
  item, err = read_completion_reference(declared_catalog(server), params.ref)
  return item, err or jsonrpc.given(context.arguments) or {}
end

local function catalog_values_beginning_with(list, typed)
  local found = {}
  for _, value in ipairs(list) do
    if value:sub(1, #typed):lower() == typed:lower() then found[#found + 1] = value end
  end
  return found
end

local function catalog_completion_values(source, typed, ctx, others)
  if type(source) == "table" then return catalog_values_beginning_with(source, typed) end
  return source(typed, ctx, others)
end

local COMPLETION = json.order { "values", "total", "hasMore" }

local function catalog_completion_result(values, total)
  local shown = json.array(table.move(values, 1, math.min(#values, MOST_VALUES), 1, {}))
  total = math.tointeger(total) or #values
  return { completion = setmetatable({ values = shown, total = total, hasMore = total > #shown }, COMPLETION) }
end

---@param server pintle.server
---@param params table?
---@param request pintle.request
---@return table?, any err
function catalog.complete(server, params, request)
  local item, others = read_completion_params(server, params)
  if not item then return nil, others end
  local source = item.complete and item.complete[params.argument.name]
  if not source then return catalog_completion_result({}, 0) end
  local ctx, err = server:enter(request)
  if not ctx then return nil, err end
  local values, total = catalog_completion_values(source, params.argument.value, ctx, others)
  if values == nil and total ~= nil then return nil, total end
  return catalog_completion_result(values or {}, total)
end

-- }======

-- {====== Everything at once ======

local MANIFEST = json.order {
  "serverInfo", "capabilities", "instructions", "tools", "resources", "resourceTemplates", "prompts",
}

---@param plugin pintle.plugin
---@return table
function catalog.manifest(plugin)
  local declared, names = era.catalog(plugin), plugin.manifest.names
  local resources, templates, prompts = declared.resources, declared.templates, declared.prompts
  return setmetatable({
    serverInfo = era.server_info(plugin), capabilities = era.capabilities(plugin, true),
    instructions = era.declaration(plugin).instructions,
    tools = catalog.describe_tools(plugin.manifest, 1, #names),
    resources = #resources > 0 and catalog.describe_resources(resources) or nil,
    resourceTemplates = #templates > 0 and catalog.describe_resources(templates) or nil,
    prompts = #prompts > 0 and catalog.describe_prompts(prompts, 1, #prompts) or nil,
  }, MANIFEST)
end

-- }======

return catalog
