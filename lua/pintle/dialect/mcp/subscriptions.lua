-- Telling of changes in the era without a handshake: only to those who listen, each time with the id of the request by
-- which they do. Such a request stays open; it is answered by nothing but what it wanted to hear.

local identity = require "pintle.dialect.mcp.identity"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local wire = require "pintle.dialect.mcp.wire"

local MOST = 64 -- requests that listen

local subscriptions = {}

-- What each kind of change is asked for by, and the capability that a server has then.
local LISTS = {
  ["notifications/tools/list_changed"] = { "toolsListChanged", "tools" },
  ["notifications/prompts/list_changed"] = { "promptsListChanged", "prompts" },
  ["notifications/resources/list_changed"] = { "resourcesListChanged", "resources" },
}
local UPDATED = "notifications/resources/updated"

local ACKNOWLEDGED = json.order { "_meta", "notifications" }

-- {====== Listening ======

-- Ids that are no plain values are known by their text.
local function plain(id) return type(id) == "userdata" and json.raw(tostring(id)) or id end

local function set_of(list)
  local set = {}
  for _, item in ipairs(list) do set[item] = true end
  return set
end

-- As much of what is asked for as there is to hear.
local function granted(server, asked)
  local capabilities, filter = identity.capabilities(server.plugin, true), {}
  for _, names in pairs(LISTS) do
    local capability = capabilities[names[2]]
    if asked[names[1]] == true and capability and capability.listChanged then filter[names[1]] = true end
  end
  local resources = jsonrpc.given(asked.resourceSubscriptions)
  if resources and capabilities.resources and capabilities.resources.subscribe then
    filter.resourceSubscriptions = json.array(table.move(resources, 1, #resources, 1, {}))
  end
  return filter
end

local function listeners(server)
  server.state.listeners = server.state.listeners or {}
  return server.state.listeners
end

---@param server pintle.server
---@param params table
---@param request pintle.request
---@return nil, pintle.error?
function subscriptions.listen(server, params, request)
  local ok, err = wire.need(params.notifications, "object", "notifications")
  local asked = ok and params.notifications
  if ok then ok, err = jsonrpc.check(asked.resourceSubscriptions, "array", "notifications.resourceSubscriptions") end
  if not ok then return nil, err end
  local list = listeners(server)
  if #list >= MOST then return wire.refuse(jsonrpc.INVALID_REQUEST, "Invalid Request: %d listen already", MOST) end
  local filter = granted(server, asked)
  local listener = { id = plain(request.id), filter = filter, uris = set_of(filter.resourceSubscriptions or {}) }
  list[#list + 1] = listener
  request.id = nil -- so that nothing is answered
  local meta = { [wire.META.subscription] = listener.id }
  server.peer:notify("notifications/subscriptions/acknowledged",
    setmetatable({ _meta = meta, notifications = filter }, ACKNOWLEDGED))
end

---Ends the listening of a request.
---@param server pintle.server
---@param id any
---@return boolean whether there was such a request
function subscriptions.cancel(server, id)
  for i, listener in ipairs(listeners(server)) do
    if listener.id == id or type(listener.id) == "userdata" and tostring(listener.id) == json.encode(id) then
      table.remove(server.state.listeners, i)
      return true
    end
  end
  return false
end

-- }======

-- {====== Telling ======

local function wants(listener, method, params)
  if method == UPDATED then return type(params) == "table" and listener.uris[params.uri] end
  return listener.filter[LISTS[method][1]]
end

---Tells the client something that no request is about. Of changes only those hear who asked to.
---@param server pintle.server
---@param method string
---@param params any
---@return true?, pintle.error?
function subscriptions.notify(server, method, params)
  if method ~= UPDATED and not LISTS[method] then return server.peer:notify(method, params) end
  if server.state.is_classic then server.peer:notify(method, params) end
  for _, listener in ipairs(listeners(server)) do
    if wants(listener, method, params) then
      server.peer:notify(method, wire.with_meta(params, { [wire.META.subscription] = listener.id }))
    end
  end
  return true
end

-- }======

return subscriptions
