-- Subscriptions of a host to resources of a server. In the classic era a subscription is a request. In the modern era
-- it is a request `subscriptions/listen` that stays open; the server acknowledges it, and answers it only to end it.
-- `persistent.subscriptions` has the functions of the user by URI: it outlives the processes of a plugin.

local client = require "pintle.dialect.mcp.client"
local core = require "pintle.core"
local errors = require "pintle.error"
local loop = require "pintle.loop"
local tasks = require "pintle.task"
local wire = require "pintle.dialect.mcp.wire"

local json, protocol_error = core.json, client.protocol_error

local MOST = 1000 -- subscriptions of a plugin
local REOPENING, LONGEST_PAUSE = 1, 60 -- seconds before a stream that the server has ended is opened again

local changes = {}

-- {====== Streams ======

-- `streams` of a session's state has the open requests of the modern era by URI.

---@class pintle.mcp.stream
---@field uri string
---@field call pintle.call
---@field ready pintle.event set to true once it is acknowledged, or to nil and an error
---@field is_open boolean
---@field pause number? seconds that were waited before it was opened again

local open_stream

local function is_wanted(session, uri)
  local wanted = session.persistent.subscriptions
  return wanted and wanted[uri] and not session.dead and not session.is_stopping
end

local function reopen(ended)
  local session, old = ended.session, ended.stream
  if not is_wanted(session, old.uri) or session.state.streams[old.uri] then return end
  open_stream(session, old.uri, math.min(2 * (old.pause or REOPENING / 2), LONGEST_PAUSE))
end

-- A server that refuses a stream keeps refusing it, so only one that was open is opened again.
local function end_stream(session, stream, err)
  local streams = session.state.streams
  if streams[stream.uri] == stream then streams[stream.uri] = nil end
  stream.ready:set(nil, err)
  if not is_wanted(session, stream.uri) then return end
  if stream.is_open then
    session:log("warn", ("it has ended the subscription of %s"):format(stream.uri))
    loop.after(2 * (stream.pause or REOPENING / 2), reopen, { session = session, stream = stream })
  elseif stream.pause then
    session:log("warn", ("it refuses to continue the subscription of %s: %s"):format(stream.uri, err.message))
  end
end

-- Its call has been answered, so `wait` returns at once.
local function read_end(session, stream)
  local _, err = stream.call:wait()
  end_stream(session, stream, err or errors.new("protocol", "it has ended the subscription of " .. stream.uri))
end

function open_stream(session, uri, pause)
  local filter = { resourceSubscriptions = json.array { uri } }
  local params = wire.with_meta({ notifications = filter }, client.meta(session))
  local call = session.peer:begin("subscriptions/listen", params, { timeout = false })
  local stream = { uri = uri, call = call, ready = loop.event(), is_open = false, pause = pause }
  session.state.streams[uri] = stream
  if call:is_done() then
    read_end(session, stream)
  else
    call.answered:on_set(function() read_end(session, stream) end)
  end
  return stream
end

-- The stream that a notification belongs to.
local function stream_of(session, params)
  local meta = type(params) == "table" and params._meta
  local id = type(meta) == "table" and meta[wire.META.subscription]
  for _, stream in pairs(id and session.state.streams or {}) do
    if stream.call.id == id then return stream end
  end
end

local function has_accepted(params, uri)
  local accepted = type(params.notifications) == "table" and params.notifications.resourceSubscriptions
  for _, one in ipairs(type(accepted) == "table" and accepted or {}) do
    if one == uri then return true end
  end
  return false
end

local function notify(session, uri, changed)
  local fn = session.persistent.subscriptions[uri]
  if fn then fn(changed or uri) end
end

---The server has acknowledged a stream, perhaps without what it was asked for.
---@param session pintle.session
---@param params any
function changes.acknowledge(session, params)
  local stream = stream_of(session, params)
  if not stream then return end
  if not has_accepted(params, stream.uri) then
    local _, err = protocol_error("it does not notify of changes of %s", stream.uri)
    end_stream(session, stream, err)
    return stream.call:cancel "not wanted"
  end
  stream.is_open = true
  stream.ready:set(true)
  if stream.pause then notify(session, stream.uri) end
end

---The server has cancelled one of our requests, which it may do with a stream. Returns whether it was one.
---@param session pintle.session
---@param id any
---@return boolean
function changes.cancelled(session, id)
  for _, stream in pairs(session.state.streams or {}) do
    if stream.call.id == id then return session.peer.stream:complete_call(id, {}) end
  end
  return false
end

-- }======

-- {====== Subscribing ======

local function timeout_error(session, uri)
  return errors.new("timeout", ("%s: the subscription of %s was not acknowledged in time"):format(session.name, uri))
end

local function subscribe_modern(session, uri, left)
  session.state.streams = session.state.streams or {}
  local stream = session.state.streams[uri] or open_stream(session, uri)
  local ok, err = stream.ready:wait(left() or nil, timeout_error(session, uri))
  if ok then return true end
  stream.call:cancel(err.message)
  return nil, err
end

local function subscribe_session(session, uri, left)
  if session.state.is_modern then return subscribe_modern(session, uri, left) end
  local _, err = session.peer:call("resources/subscribe", { uri = uri }, { timeout = left() })
  return err == nil or nil, err
end

local function unsubscribe_session(session, uri, left)
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
local function for_each_process(plugin, session, options, uri, act)
  local left = client.countdown(session, options.timeout)
  local members = plugin.supervisor.members
  for _, member in ipairs(table.move(members, 1, #members, 1, {})) do
    local ok, err = act(member, uri, left)
    if not ok and not member.dead then return nil, err end
  end
  return true
end

local function count(map)
  local n = 0
  for _ in pairs(map) do n = n + 1 end
  return n
end

---@param session pintle.session
---@param options { timeout: number|false }
---@param plugin pintle.hosted
---@param uri string
---@param fn fun(uri: string)
---@return true?, pintle.error?
function changes.subscribe(session, options, plugin, uri, fn)
  local persistent = plugin.persistent
  local wanted = persistent.subscriptions or {}
  persistent.subscriptions = wanted
  if not wanted[uri] and count(wanted) >= MOST then
    return nil, errors.new("full", ("there are %d subscriptions already"):format(MOST))
  end
  local is_new = not wanted[uri]
  wanted[uri] = fn
  if not is_new then return true end
  local ok, err = for_each_process(plugin, session, options, uri, subscribe_session)
  if ok and plugin.supervisor.failure then ok, err = nil, plugin.supervisor.failure end -- no process is left
  if not ok and wanted[uri] == fn then wanted[uri] = nil end
  return ok, err
end

---Forgets the function of a subscription. Returns whether a process has to be notified of it.
---@param plugin pintle.hosted
---@param uri string
---@return boolean
function changes.forget(plugin, uri)
  local wanted = plugin.persistent.subscriptions
  if not wanted or not wanted[uri] then return false end
  wanted[uri] = nil
  return #plugin.supervisor.members > 0
end

---@param session pintle.session
---@param options { timeout: number|false }
---@param plugin pintle.hosted
---@param uri string
---@return true?, pintle.error?
function changes.unsubscribe(session, options, plugin, uri)
  return for_each_process(plugin, session, options, uri, unsubscribe_session)
end

---Subscribes again, in a process that has been started in place of another one.
---@param session pintle.session
function changes.restore(session)
  local uris = {}
  for uri in pairs(session.persistent.subscriptions) do uris[#uris + 1] = uri end
  table.sort(uris)
  for _, uri in ipairs(uris) do
    local ok, err = true, nil
    if is_wanted(session, uri) then ok, err = subscribe_session(session, uri, client.countdown(session)) end
    if ok then
      tasks.start(notify, session, uri) -- so that a function that waits or fails does not keep the others from it
    elseif not session.dead then
      session:log("warn", ("cannot subscribe to %s again: %s"):format(uri, err.message))
    end
  end
end

-- }======

-- {====== Updates ======

-- A server may notify of a part of a resource.
local function is_part(uri, whole)
  return uri:sub(1, #whole) == whole and (whole:sub(-1) == "/" or uri:sub(#whole + 1, #whole + 1):find "[/?#]" ~= nil)
end

---@param session pintle.session
---@param params any
function changes.updated(session, params)
  local uri = type(params) == "table" and params.uri
  if type(uri) ~= "string" then return session:log("warn", "a notification of a change without a URI", params) end
  local wanted, stream = session.persistent.subscriptions, stream_of(session, params)
  if stream then return notify(session, stream.uri, uri) end
  if wanted[uri] then return notify(session, uri) end
  for whole in pairs(wanted) do
    if is_part(uri, whole) then return notify(session, whole, uri) end
  end
end

-- }======

return changes
