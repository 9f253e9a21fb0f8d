-- Notifications of changes, to clients that have asked for them.
--
-- In the modern era a client is notified of changes only while it has a request `subscriptions/listen` open. Every
-- notification has the id of that request. The request itself is never answered.

local era = require "pintle.dialect.mcp.era"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local lazy = require "pintle.lazy"
local loop = require "pintle.loop"
local wire = require "pintle.dialect.mcp.wire"

local catalog = lazy "pintle.dialect.mcp.catalog"
local declarations = lazy "pintle.dialect.mcp.declarations"
local tasks = lazy "pintle.dialect.mcp.tasks"

local notifications = {}

local MOST_SUBSCRIPTIONS = 64

-- The member of a subscription that asks for a notification, and the capability that the server needs for it.
local LIST_CHANGES = {
  ["notifications/tools/list_changed"] = { "toolsListChanged", "tools" },
  ["notifications/prompts/list_changed"] = { "promptsListChanged", "prompts" },
  ["notifications/resources/list_changed"] = { "resourcesListChanged", "resources" },
}
local UPDATED = "notifications/resources/updated"

local ACKNOWLEDGED = json.order { "_meta", "notifications" }

-- An id that is not a plain value is sent back as text.
local function sendable_subscription_id(id) return type(id) == "userdata" and json.raw(tostring(id)) or id end

local function set_of_subscribed_items(list)
  local set = {}
  for _, item in ipairs(list) do set[item] = true end
  return set
end

-- The part of a requested subscription that the server supports.
local function supported_subscription(server, requested, request)
  local capabilities, supported = era.capabilities(server.plugin, true), {}
  for _, names in pairs(LIST_CHANGES) do
    local capability = capabilities[names[2]]
    if requested[names[1]] == true and capability and capability.listChanged then supported[names[1]] = true end
  end
  local resources = jsonrpc.given(requested.resourceSubscriptions)
  if resources and capabilities.resources and capabilities.resources.subscribe then
    supported.resourceSubscriptions = json.array(table.move(resources, 1, #resources, 1, {}))
  end
  local ids, err = jsonrpc.given(requested.taskIds), nil
  if ids then supported.taskIds, err = tasks.known(server, ids, request) end
  if err then return nil, err end
  return supported
end

local function read_subscription(params)
  local ok, err = wire.check_required(params.notifications, "object", "notifications")
  local requested = ok and params.notifications
  if ok then
    ok, err = jsonrpc.check(requested.resourceSubscriptions, "array", "notifications.resourceSubscriptions")
  end
  if ok then ok, err = jsonrpc.check(requested.taskIds, "array", "notifications.taskIds") end
  return ok and requested or nil, err
end

function notifications.listen(server, params, request)
  local requested, err = read_subscription(params)
  if not requested then return nil, err end
  local list = server.state.subscriptions
  if #list >= MOST_SUBSCRIPTIONS then
    local problem = "Invalid Request: there are %d subscriptions already"
    return wire.refuse(jsonrpc.INVALID_REQUEST, problem, MOST_SUBSCRIPTIONS)
  end
  local wanted
  wanted, err = supported_subscription(server, requested, request)
  if not wanted then return nil, err end
  local id = sendable_subscription_id(request.id)
  list[#list + 1] = {
    id = id, wanted = wanted, uris = set_of_subscribed_items(wanted.resourceSubscriptions or {}),
    task_ids = set_of_subscribed_items(wanted.taskIds or {}),
  }
  request.id = nil -- so that the request is not answered
  server.peer:notify("notifications/subscriptions/acknowledged",
    setmetatable({ _meta = { [wire.META.subscription] = id }, notifications = wanted }, ACKNOWLEDGED))
end

---Returns whether there was a subscription with this id.
function notifications.end_subscription(server, id)
  local list = server.state.subscriptions
  for i, subscription in ipairs(list) do
    local own = subscription.id
    if own == id or type(own) == "userdata" and tostring(own) == json.encode(id) then
      table.remove(list, i)
      return true
    end
  end
  return false
end

local function is_notification_wanted(subscription, method, params)
  if method == UPDATED then return type(params) == "table" and subscription.uris[params.uri] end
  return subscription.wanted[LIST_CHANGES[method][1]]
end

local function notify_subscribers(server, method, params)
  for _, subscription in ipairs(server.state.subscriptions) do
    if is_notification_wanted(subscription, method, params) then
      server.peer:notify(method, wire.with_meta(params, { [wire.META.subscription] = subscription.id }))
    end
  end
end

---Sends a notification that belongs to no request. Changes are sent to a classic client and to subscribers.
function notifications.notify(server, method, params)
  if method ~= UPDATED and not LIST_CHANGES[method] then return server.peer:notify(method, params) end
  if server.state.is_classic then server.peer:notify(method, params) end
  notify_subscribers(server, method, params)
  return true
end

local function send_announced_notifications(server)
  local announced = server.state.announced
  server.state.announced = nil
  for method, is_for_classic in pairs(announced) do
    if is_for_classic then server.peer:notify(method) end
    notify_subscribers(server, method)
  end
end

---Notifies clients that a list has changed, in the next turn and once, however often it has changed in this one. A
---client that has not finished the handshake has not read the list yet.
---@param server pintle.server
---@param method string
function notifications.announce(server, method)
  local announced = server.state.announced
  if not announced then
    announced = {}
    server.state.announced = announced
    loop.soon(send_announced_notifications, server)
  end
  announced[method] = announced[method] or server.state.version ~= nil
end

---Notifies the clients that have subscribed to a resource of a change in it.
---@param server pintle.server
---@param uri string
function notifications.resource_updated(server, uri)
  local subscribed = server.state.subscribed
  if subscribed and subscribed[uri] then server.peer:notify(UPDATED, { uri = uri }) end
  notify_subscribers(server, UPDATED, { uri = uri })
end

-- {====== Subscriptions of the classic era ======

---@param server pintle.server
---@param params table?
---@return table?, pintle.error?
function notifications.subscribe(server, params)
  local item, err, uri = catalog.find_resource(server, params)
  if not item then return nil, err end
  local state, limit = server.state, declarations.limit(server.plugin, "subscriptions")
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
function notifications.unsubscribe(server, params)
  local ok, err = wire.check_required(params, "object", "params")
  if ok then ok, err = wire.check_required(params.uri, "string", "uri") end
  if not ok then return nil, err end
  if server.state.subscribed then server.state.subscribed[params.uri] = nil end
  return {}
end

-- }======

return notifications
