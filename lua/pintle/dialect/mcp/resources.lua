-- Resources, on the server's side: listed, read, and subscribed to.

local contents = require "pintle.content"
local bytes = require "pintle.bytes"
local era = require "pintle.dialect.mcp.era"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local pages = require "pintle.dialect.mcp.pages"
local settings = require "pintle.dialect.mcp.settings"
local wire = require "pintle.dialect.mcp.wire"

local resources = {}

local function catalog_of(server) return era.catalog(server.plugin) end

-- {====== Lists ======

local RESOURCE = json.order {
  "uri", "name", "title", "description", "mimeType", "size", "annotations", "icons", "_meta",
}
local TEMPLATE = json.order {
  "uriTemplate", "name", "title", "description", "mimeType", "annotations", "icons", "_meta",
}

local function described(item)
  return setmetatable({
    uri = item.uri, uriTemplate = item.uriTemplate, name = item.name, title = item.title,
    description = item.description, mimeType = item.mimeType, size = item.size, annotations = item.annotations,
    icons = item.icons, _meta = item._meta,
  }, item.uriTemplate and TEMPLATE or RESOURCE)
end

---A list as the client gets it.
---@param list table[] declared resources or templates
---@return table[]
function resources.described(list)
  local all = json.array()
  for i, item in ipairs(list) do all[i] = described(item) end
  return all
end

local function add_listed(all, template, listed)
  if type(listed) ~= "table" then
    error(("resource template %q: list returned a %s; a list expected"):format(template.key, type(listed)), 0)
  end
  for i, item in ipairs(listed) do
    if type(item) ~= "table" or type(item.uri) ~= "string" then
      error(("resource template %q: list[%d]: a table with uri expected"):format(template.key, i), 0)
    end
    local resource = described(item)
    resource.name, resource.mimeType = item.name or item.uri:match "([^/]+)/*$", item.mimeType or template.mimeType
    all[#all + 1] = resource
  end
end

-- Those that are declared, and those that the templates list.
local function list_all(server, request)
  local catalog = catalog_of(server)
  local all = resources.described(catalog.resources)
  for _, template in ipairs(catalog.templates) do
    if template.list then
      local ctx, err = server:enter(request)
      if not ctx then return nil, err end
      local listed
      listed, err = template.list(ctx)
      if listed == nil and err ~= nil then return nil, err end
      add_listed(all, template, listed or {})
    end
  end
  return all
end

local function page_of(server, params, member, all)
  local first, last, next_cursor = pages.cut(server, params, #all)
  if not first then return nil, last end
  return { [member] = json.array(table.move(all, first, last, 1, {})), nextCursor = next_cursor }
end

---@param server pintle.server
---@param params table?
---@param request pintle.request
---@return table?, any err
function resources.list(server, params, request)
  local all, err = list_all(server, request)
  if not all then return nil, err end
  return page_of(server, params, "resources", all)
end

---@param server pintle.server
---@param params table?
---@return table?, pintle.error?
function resources.list_templates(server, params)
  return page_of(server, params, "resourceTemplates", resources.described(catalog_of(server).templates))
end

-- }======

-- {====== Reading ======

-- Returns the declared resource or template of a URI, and the argument for its function.
local function find(catalog, uri)
  local resource = catalog.resources[uri]
  if resource then return resource, uri end
  for _, template in ipairs(catalog.templates) do
    local values = template.matcher:match(uri)
    if values then return template, values end
  end
end

local function read_uri(params)
  local ok, err = wire.check_required(params, "object", "params")
  if ok then ok, err = wire.check_required(params.uri, "string", "uri") end
  return ok and params.uri or nil, err
end

local function not_found(uri)
  local _, err = wire.refuse(wire.RESOURCE_NOT_FOUND, "Resource not found: %s", uri)
  err.data = { uri = uri }
  return nil, err
end

-- One piece of content, as the function of a resource has returned it.
local function content_of(item, uri, given)
  if type(given) == "string" then
    given = { uri = uri, mimeType = item.mimeType, text = given }
  elseif bytes.is(given) then
    given = { uri = uri, mimeType = item.mimeType, blob = given }
  elseif type(given) == "table" then
    local full = { uri = uri, mimeType = item.mimeType }
    for name, value in pairs(given) do full[name] = value end
    given = full
  end
  return contents.resource(given)
end

local function is_one(given)
  return type(given) ~= "table" or bytes.is(given) or given.text ~= nil or given.blob ~= nil
end

local function result_of(item, uri, given)
  if is_one(given) then given = { given } end
  local list = json.array()
  for i, one in ipairs(given) do
    local content, message = content_of(item, uri, one)
    if not content then error(("resource %q: wrong content: [%d]: %s"):format(item.key, i, message), 0) end
    list[i] = content
  end
  return { contents = list }
end

---@param server pintle.server
---@param params table?
---@param request pintle.request
---@return table?, any err
function resources.read(server, params, request)
  local uri, err = read_uri(params)
  if not uri then return nil, err end
  local item, argument = find(catalog_of(server), uri)
  if not item then return not_found(uri) end
  local ctx
  ctx, err = server:enter(request)
  if not ctx then return nil, err end
  local given
  given, err = item.fn(argument, ctx, uri)
  if given ~= nil then return result_of(item, uri, given) end
  if err ~= nil then return nil, err end
  return not_found(uri)
end

-- }======

-- {====== Subscriptions of the classic era ======

---@param server pintle.server
---@param params table?
---@return table?, pintle.error?
function resources.subscribe(server, params)
  local uri, err = read_uri(params)
  if not uri then return nil, err end
  if not find(catalog_of(server), uri) then return not_found(uri) end
  local state, limit = server.state, settings.limit(server.plugin, "subscriptions")
  local subscribed = state.subscribed or {}
  local count = 0
  for _ in pairs(subscribed) do count = count + 1 end
  if not subscribed[uri] and count >= limit then
    return wire.refuse(jsonrpc.INVALID_REQUEST, "Invalid Request: there are %d subscriptions already", limit)
  end
  subscribed[uri], state.subscribed = true, subscribed
  return {}
end

---@param server pintle.server
---@param params table?
---@return table?, pintle.error?
function resources.unsubscribe(server, params)
  local uri, err = read_uri(params)
  if not uri then return nil, err end
  if server.state.subscribed then server.state.subscribed[uri] = nil end
  return {}
end

-- }======

return resources
