-- Subscriptions of a host to resources of a server.
--
-- In the classic era a subscription is a request. In the modern era it is a stream: a request `subscriptions/listen`
-- that stays open. The server acknowledges it, and answers it only to end it. `session.state.streams` has them by URI.
-- `persistent.subscriptions` has the functions of the user by URI, and `persistent.subscribing` the outcomes of
-- subscriptions that are under way: both outlive the processes of a plugin.

local calls = require "pintle.dialect.mcp.calls"
local client = require "pintle.dialect.mcp.client"
local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local loop = require "pintle.loop"
local tasks = require "pintle.task"
local wire = require "pintle.dialect.mcp.wire"

local MOST_SUBSCRIPTIONS = 1000 -- of a plugin
local FIRST_PAUSE, LONGEST_PAUSE = 1, 60 -- seconds before a stream that the server has ended is opened again

local protocol_error = jsonrpc.protocol_error

local subscriptions = {}

-- {====== Streams of the modern era ======

---@class pintle.mcp.stream
---@field uri string
---@field call pintle.call
---@field ready pintle.event set to true once it is acknowledged, or to nil and an error
---@field is_open boolean
---@field pause number? seconds that were waited before it was opened again

local open_subscription_stream

local function is_subscribed(session, uri)
  local wanted = session.persistent.subscriptions
  return wanted and wanted[uri] and not session.dead and not session.is_stopping
end

local function reopen_subscription(ended)
  local session, old = ended.session, ended.stream
  if not is_subscribed(session, old.uri) or session.state.streams[old.uri] then return end
  open_subscription_stream(session, old.uri, math.min(2 * (old.pause or FIRST_PAUSE / 2), LONGEST_PAUSE))
end

-- A server that refuses a stream keeps refusing it, so only one that was open is opened again.
local function end_subscription(session, stream, err)
  local streams = session.state.streams
  if streams[stream.uri] == stream then streams[stream.uri] = nil end
  stream.ready:set(nil, err)
  if not is_subscribed(session, stream.uri) then return end
  if stream.is_open then
    session:log("warn", ("it has ended the subscription of %s"):format(stream.uri))
    loop.after(2 * (stream.pause or FIRST_PAUSE / 2), reopen_subscription, { session = session, stream = stream })
  elseif stream.pause then
    session:log("warn", ("it refuses to continue the subscription of %s: %s"):format(stream.uri, err.message))
  end
end

-- Its call has been answered, so `wait` returns at once.
local function read_subscription_end(session, stream)
  local _, err = stream.call:wait()
  end_subscription(session, stream, err or errors.new("protocol", "it has ended the subscription of " .. stream.uri))
end

function open_subscription_stream(session, uri, pause)
  local filter = { resourceSubscriptions = json.array { uri } }
  local params = wire.with_meta({ notifications = filter }, client.meta(session))
  local call = session.peer:begin("subscriptions/listen", params, { timeout = false })
  local stream = { uri = uri, call = call, ready = loop.event(), is_open = false, pause = pause }
  session.state.streams[uri] = stream
  if call:is_done() then
    read_subscription_end(session, stream)
  else
    call.answered:on_set(function() read_subscription_end(session, stream) end)
  end
  return stream
end

-- The stream that a notification belongs to.
local function find_subscription(session, params)
  local meta = type(params) == "table" and params._meta
  local id = type(meta) == "table" and meta[wire.META.subscription]
  for _, stream in pairs(id and session.state.streams or {}) do
    if stream.call.id == id then return stream end
  end
end

local function accepts_subscription(params, uri)
  local accepted = type(params.notifications) == "table" and params.notifications.resourceSubscriptions
  for _, one in ipairs(type(accepted) == "table" and accepted or {}) do
    if one == uri then return true end
  end
  return false
end

local function call_subscription_function(session, uri, changed)
  local fn = session.persistent.subscriptions[uri]
  if fn then fn(changed or uri) end
end

---The server has acknowledged a stream, perhaps without what it was asked for.
---@param session pintle.session
---@param params any
function subscriptions.acknowledge_stream(session, params)
  local stream = find_subscription(session, params)
  if not stream then return end
  if not accepts_subscription(params, stream.uri) then
    local _, err = protocol_error("it does not notify of changes of %s", stream.uri)
    end_subscription(session, stream, err)
    return stream.call:cancel "not wanted"
  end
  stream.is_open = true
  stream.ready:set(true)
  if stream.pause then call_subscription_function(session, stream.uri) end
end

---The server has cancelled one of our requests, which it may do with a stream. Returns whether it was one.
---@param session pintle.session
---@param id any
---@return boolean
function subscriptions.complete_stream(session, id)
  for _, stream in pairs(session.state.streams or {}) do
    if stream.call.id == id then return session.peer.stream:complete_call(id, {}) end
  end
  return false
end

-- }======

-- {====== Subscribing ======

local function subscribe_timeout_error(session, uri)
  return errors.new("timeout", ("%s: the subscription of %s was not acknowledged in time"):format(session.name, uri))
end

local function subscribe_modern(session, uri, left)
  session.state.streams = session.state.streams or {}
  local stream = session.state.streams[uri] or open_subscription_stream(session, uri)
  local ok, err = stream.ready:wait(left() or nil, subscribe_timeout_error(session, uri))
  if ok then return true end
  stream.call:cancel(err.message)
  return nil, err
end

local function subscribe_process(session, uri, left)
  if session.state.is_modern then return subscribe_modern(session, uri, left) end
  local _, err = session.peer:call("resources/subscribe", { uri = uri }, { timeout = left() })
  return err == nil or nil, err
end

local function unsubscribe_process(session, uri, left)
  local streams = session.state.streams
  if not session.state.is_modern then
    local _, err = session.peer:call("resources/unsubscribe", { uri = uri }, { timeout = left() })
    return err == nil or nil, err
  end
  local stream = streams and streams[uri]
  if stream then
    streams[uri] = nil
    stream.call:cancel "unsubscribed"
  end
  return true
end

-- Does the same with each process of a plugin. The list may change meanwhile.
local function for_each_subscribed_process(plugin, session, options, uri, act)
  local left = calls.countdown(session, options.timeout)
  local members = plugin.supervisor.members
  for _, member in ipairs(table.move(members, 1, #members, 1, {})) do
    local ok, err = act(member, uri, left)
    if not ok and not member.dead then return nil, err end
  end
  return true
end

local function count_subscriptions(map)
  local n = 0
  for _ in pairs(map) do n = n + 1 end
  return n
end

local function subscribe_processes(plugin, session, options, uri)
  local persistent, outcome = plugin.persistent, loop.event()
  persistent.subscribing[uri] = outcome
  local ok, err = for_each_subscribed_process(plugin, session, options, uri, subscribe_process)
  if ok and plugin.supervisor.failure then ok, err = nil, plugin.supervisor.failure end -- no process is left
  if persistent.subscribing[uri] == outcome then
    persistent.subscribing[uri] = nil
    if not ok then persistent.subscriptions[uri] = nil end
  end
  outcome:set(ok, err)
  return ok, err
end

---While a subscription is under way, further ones of the same URI share its outcome.
---@param session pintle.session
---@param options { timeout: number|false }
---@param plugin pintle.hosted
---@param uri string
---@param fn fun(uri: string)
---@return true?, pintle.error?
function subscriptions.subscribe(session, options, plugin, uri, fn)
  local persistent = plugin.persistent
  local wanted, subscribing = persistent.subscriptions or {}, persistent.subscribing or {}
  persistent.subscriptions, persistent.subscribing = wanted, subscribing
  local is_new = not wanted[uri]
  if is_new and count_subscriptions(wanted) >= MOST_SUBSCRIPTIONS then
    return nil, errors.new("full", ("there are %d subscriptions already"):format(MOST_SUBSCRIPTIONS))
  end
  wanted[uri] = fn
  if is_new then return subscribe_processes(plugin, session, options, uri) end
  if not subscribing[uri] then return true end
  local left = calls.countdown(session, options.timeout)
  return subscribing[uri]:wait(left() or nil, subscribe_timeout_error(session, uri))
end

---Forgets the function of a subscription. Returns whether a process has to be notified of it.
---@param plugin pintle.hosted
---@param uri string
---@return boolean
function subscriptions.forget(plugin, uri)
  local persistent = plugin.persistent
  if not persistent.subscriptions or not persistent.subscriptions[uri] then return false end
  persistent.subscriptions[uri], persistent.subscribing[uri] = nil, nil
  return #plugin.supervisor.members > 0
end

---@param session pintle.session
---@param options { timeout: number|false }
---@param plugin pintle.hosted
---@param uri string
---@return true?, pintle.error?
function subscriptions.unsubscribe(session, options, plugin, uri)
  return for_each_subscribed_process(plugin, session, options, uri, unsubscribe_process)
end

---Subscribes again, in a process that has been started in place of another one.
---@param session pintle.session
function subscriptions.restore(session)
  local uris = {}
  for uri in pairs(session.persistent.subscriptions) do uris[#uris + 1] = uri end
  table.sort(uris)
  for _, uri in ipairs(uris) do
    local ok, err = true, nil
    if is_subscribed(session, uri) then ok, err = subscribe_process(session, uri, calls.countdown(session)) end
    if ok then
      -- In a task of its own: a function that waits or fails does not keep the others from being called.
      tasks.start(call_subscription_function, session, uri)
    elseif not session.dead then
      session:log("warn", ("cannot subscribe to %s again: %s"):format(uri, err.message))
    end
  end
end

-- }======

-- {====== Updates ======

-- A server may notify of a part of a resource.
local function is_part_of_resource(uri, whole)
  return uri:sub(1, #whole) == whole and (whole:sub(-1) == "/" or uri:sub(#whole + 1, #whole + 1):find "[/?#]" ~= nil)
end

---@param session pintle.session
---@param params any
function subscriptions.resource_updated(session, params)
  local uri = type(params) == "table" and params.uri
  if type(uri) ~= "string" then return session:log("warn", "a notification of a change without a URI", params) end
  local wanted, stream = session.persistent.subscriptions, find_subscription(session, params)
  if stream then return call_subscription_function(session, stream.uri, uri) end
  if wanted[uri] then return call_subscription_function(session, uri) end
  for whole in pairs(wanted) do
    if is_part_of_resource(uri, whole) then return call_subscription_function(session, whole, uri) end
  end
end

-- }======

return subscriptions
