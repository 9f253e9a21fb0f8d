-- What a host can do with a server beside executing its tools: the methods that this dialect adds to the handle of a
-- plugin, and the subscriptions that are made with them. Loaded when one of the methods is first used.

local calls = require "pintle.dialect.mcp.calls"
local client = require "pintle.dialect.mcp.client"
local core = require "pintle.core"
local errors = require "pintle.error"
local jsonrpc = require "pintle.jsonrpc"
local loop = require "pintle.loop"
local results = require "pintle.dialect.mcp.results"
local tasks = require "pintle.task"
local wire = require "pintle.dialect.mcp.wire"

local json = core.json
local kind_of, given, protocol_error = json.kind, jsonrpc.given, jsonrpc.protocol_error

local MOST_SUBSCRIPTIONS = 1000 -- of a plugin
local FIRST_PAUSE, LONGEST_PAUSE = 1, 60 -- seconds before a stream that the server has ended is opened again

---A `pintle.hosted` that is a server of the Model Context Protocol has these methods as well.
---@class pintle.mcp.hosted
local methods = {}

local handle = { methods = methods }

-- {====== Arguments ======

-- Raises at the line that called the method.
local function check_argument(name, value, expected)
  if type(value) ~= expected then error(("%s: %s expected, got %s"):format(name, expected, type(value)), 3) end
end

local function check_argument_strings(name, values)
  if values == nil then return end
  if type(values) ~= "table" then error(("%s: table expected, got %s"):format(name, type(values)), 3) end
  for key, value in pairs(values) do
    if type(key) ~= "string" or type(value) ~= "string" then
      error(("%s: strings by name expected, got %s at %s"):format(name, type(value), tostring(key)), 3)
    end
  end
end

-- }======

-- {====== Lists ======

local function read_list(session, options, method, member)
  local items, left = json.array(), calls.countdown(session, options.timeout)
  local is_cut, err = calls.read_pages(session, method, member, left, function(item) items[#items + 1] = item end)
  if is_cut == nil then return nil, err end
  return items
end

---All its resources, as the server describes them: `uri`, `name`, `title`, `description`, `mimeType`, `size` and so on.
---@param options? pintle.call.options
---@return table[]?, pintle.error?
function methods:resources(options)
  return self:in_session("resources/list", options, read_list, "resources/list", "resources")
end

---All its resource templates: `uriTemplate`, `name` and so on.
---@param options? pintle.call.options
---@return table[]?, pintle.error?
function methods:resource_templates(options)
  return self:in_session("resources/templates/list", options, read_list, "resources/templates/list",
    "resourceTemplates")
end

---All its prompts: `name`, `title`, `description`, `arguments` and so on.
---@param options? pintle.call.options
---@return table[]?, pintle.error?
function methods:prompts(options)
  return self:in_session("prompts/list", options, read_list, "prompts/list", "prompts")
end

-- }======

-- {====== Resources and prompts ======

-- The result of a call, which has to be an object with a list.
local function call_for_list(session, options, method, params, member)
  local result, err = calls.call(session, method, params, options)
  if err ~= nil then return nil, err end
  if kind_of(result) ~= "object" or kind_of(result[member]) ~= "array" then
    return protocol_error("its answer to %s has no list of %s", method, member)
  end
  return result
end

local function read_resource(session, options, uri)
  local result, err = call_for_list(session, options, "resources/read", { uri = uri }, "contents")
  if not result then return nil, err end
  return results.convert_list(session, result.contents, results.resource)
end

---The contents of a resource: a list, since one URI may stand for several. Each has `uri`, `mimeType`, and `text` or
---`blob`, which is `pintle.bytes`.
---@param uri string
---@param options? pintle.call.options
---@return table[]?, pintle.error?
function methods:read(uri, options)
  check_argument("uri", uri, "string")
  return self:in_session("resources/read", options, read_resource, uri)
end

-- Copies a message of a prompt, whose content is a block, or a list of blocks.
local function convert_prompt_message(session, message)
  if type(message) ~= "table" then return message end
  local copy = {}
  for name, value in pairs(message) do copy[name] = value end
  local content = copy.content
  if kind_of(content) == "array" then
    copy.content = results.convert_list(session, content, results.block)
  else
    copy.content = results.block(session, content)
  end
  return setmetatable(copy, getmetatable(message))
end

local function get_prompt(session, options, name, arguments)
  local params = { name = name, arguments = arguments }
  local result, err = call_for_list(session, options, "prompts/get", params, "messages")
  if not result then return nil, err end
  return {
    description = given(result.description), result = result,
    messages = results.convert_list(session, result.messages, convert_prompt_message),
  }
end

---A prompt: `description`, and `messages`, each with `role` and `content`, a block as an operation returns it; `result`
---is the whole result.
---@param name string
---@param args? table<string, string>
---@param options? pintle.call.options
---@return { description: string?, messages: table[], result: table }?, pintle.error?
function methods:prompt(name, args, options)
  check_argument("name", name, "string")
  check_argument_strings("args", args)
  return self:in_session("prompts/get", options, get_prompt, name, args)
end

-- }======

-- {====== Completion ======

---What to complete: an argument of a prompt, or a variable of a resource template.
---@class pintle.mcp.completion
---@field prompt? string the name of a prompt
---@field template? string the URI of a resource template, instead of a prompt
---@field argument string the name of the argument or variable
---@field value? string the beginning of its value; default: ""
---@field arguments? table<string, string> the arguments that are known already

local function completion_reference(what)
  if what.prompt then return { type = "ref/prompt", name = what.prompt } end
  return { type = "ref/resource", uri = what.template }
end

local function request_completion(session, options, params)
  local result, err = calls.call(session, "completion/complete", params, options)
  if err ~= nil then return nil, err end
  local completion = kind_of(result) == "object" and result.completion
  if kind_of(completion) ~= "object" or kind_of(completion.values) ~= "array" then
    return protocol_error "its answer to completion/complete has no list of values"
  end
  return { values = completion.values, total = given(completion.total), has_more = completion.hasMore == true }
end

---Values that the server suggests. `total` is how many there are, if the server says so.
---@param what pintle.mcp.completion
---@param options? pintle.call.options
---@return { values: string[], total: integer?, has_more: boolean }?, pintle.error?
function methods:complete(what, options)
  check_argument("what", what, "table")
  check_argument(what.prompt ~= nil and "prompt" or "template", what.prompt or what.template, "string")
  check_argument("argument", what.argument, "string")
  check_argument_strings("arguments", what.arguments)
  if what.value ~= nil then check_argument("value", what.value, "string") end
  return self:in_session("completion/complete", options, request_completion, {
    ref = completion_reference(what), argument = { name = what.argument, value = what.value or "" },
    context = what.arguments and { arguments = what.arguments },
  })
end

-- }======

-- {====== Streams of the modern era ======

-- In the classic era a subscription is a request. In the modern era it is a stream: a request `subscriptions/listen`
-- that stays open. The server acknowledges it, and answers it only to end it. `session.state.streams` has them by URI.
-- `persistent.subscriptions` has the functions of the user by URI, and `persistent.subscribing` the outcomes of
-- subscriptions that are under way: both outlive the processes of a plugin.

---@class pintle.mcp.stream
---@field uri string
---@field call pintle.call
---@field ready pintle.event set to true once it is acknowledged, or to nil and an error
---@field is_open boolean
---@field pause number? seconds that were waited before it was opened again

local open_stream

local function is_subscribed(session, uri)
  local wanted = session.persistent.subscriptions
  return wanted and wanted[uri] and not session.dead and not session.is_stopping
end

local function reopen_stream(ended)
  local session, old = ended.session, ended.stream
  if not is_subscribed(session, old.uri) or session.state.streams[old.uri] then return end
  open_stream(session, old.uri, math.min(2 * (old.pause or FIRST_PAUSE / 2), LONGEST_PAUSE))
end

-- A server that refuses a stream keeps refusing it, so only one that was open is opened again.
local function end_stream(session, stream, err)
  local streams = session.state.streams
  if streams[stream.uri] == stream then streams[stream.uri] = nil end
  stream.ready:set(nil, err)
  if not is_subscribed(session, stream.uri) then return end
  if stream.is_open then
    session:log("warn", ("it has ended the subscription of %s"):format(stream.uri))
    loop.after(2 * (stream.pause or FIRST_PAUSE / 2), reopen_stream, { session = session, stream = stream })
  elseif stream.pause then
    session:log("warn", ("it refuses to continue the subscription of %s: %s"):format(stream.uri, err.message))
  end
end

-- Its call has been answered, so `wait` returns at once.
local function read_stream_end(session, stream)
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
    read_stream_end(session, stream)
  else
    call.answered:on_set(function() read_stream_end(session, stream) end)
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

local function accepts_subscription(params, uri)
  local accepted = type(params.notifications) == "table" and params.notifications.resourceSubscriptions
  for _, one in ipairs(type(accepted) == "table" and accepted or {}) do
    if one == uri then return true end
  end
  return false
end

local function call_subscriber(session, uri, changed)
  local fn = session.persistent.subscriptions[uri]
  if fn then fn(changed or uri) end
end

---The server has acknowledged a stream, perhaps without what it was asked for.
---@param session pintle.session
---@param params any
function handle.acknowledge_stream(session, params)
  local stream = stream_of(session, params)
  if not stream then return end
  if not accepts_subscription(params, stream.uri) then
    local _, err = protocol_error("it does not notify of changes of %s", stream.uri)
    end_stream(session, stream, err)
    return stream.call:cancel "not wanted"
  end
  stream.is_open = true
  stream.ready:set(true)
  if stream.pause then call_subscriber(session, stream.uri) end
end

---The server has cancelled one of our requests, which it may do with a stream. Returns whether it was one.
---@param session pintle.session
---@param id any
---@return boolean
function handle.complete_stream(session, id)
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
  local stream = session.state.streams[uri] or open_stream(session, uri)
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
local function for_each_process(plugin, session, options, uri, act)
  local left = calls.countdown(session, options.timeout)
  local members = plugin.supervisor.members
  for _, member in ipairs(table.move(members, 1, #members, 1, {})) do
    local ok, err = act(member, uri, left)
    if not ok and not member.dead then return nil, err end
  end
  return true
end

local function count_members(map)
  local n = 0
  for _ in pairs(map) do n = n + 1 end
  return n
end

local function subscribe_processes(plugin, session, options, uri)
  local persistent, outcome = plugin.persistent, loop.event()
  persistent.subscribing[uri] = outcome
  local ok, err = for_each_process(plugin, session, options, uri, subscribe_process)
  if ok and plugin.supervisor.failure then ok, err = nil, plugin.supervisor.failure end -- no process is left
  if persistent.subscribing[uri] == outcome then
    persistent.subscribing[uri] = nil
    if not ok then persistent.subscriptions[uri] = nil end
  end
  outcome:set(ok, err)
  return ok, err
end

-- While a subscription is under way, further ones of the same URI share its outcome.
local function subscribe(session, options, plugin, uri, fn)
  local persistent = plugin.persistent
  local wanted, subscribing = persistent.subscriptions or {}, persistent.subscribing or {}
  persistent.subscriptions, persistent.subscribing = wanted, subscribing
  local is_new = not wanted[uri]
  if is_new and count_members(wanted) >= MOST_SUBSCRIPTIONS then
    return nil, errors.new("full", ("there are %d subscriptions already"):format(MOST_SUBSCRIPTIONS))
  end
  wanted[uri] = fn
  if is_new then return subscribe_processes(plugin, session, options, uri) end
  if not subscribing[uri] then return true end
  local left = calls.countdown(session, options.timeout)
  return subscribing[uri]:wait(left() or nil, subscribe_timeout_error(session, uri))
end

-- Forgets the function of a subscription. Returns whether a process has to be notified of it.
local function forget_subscription(plugin, uri)
  local persistent = plugin.persistent
  if not persistent.subscriptions or not persistent.subscriptions[uri] then return false end
  persistent.subscriptions[uri], persistent.subscribing[uri] = nil, nil
  return #plugin.supervisor.members > 0
end

local function unsubscribe(session, options, plugin, uri)
  return for_each_process(plugin, session, options, uri, unsubscribe_process)
end

---Subscribes again, in a process that has been started in place of another one.
---@param session pintle.session
function handle.restore_subscriptions(session)
  local uris = {}
  for uri in pairs(session.persistent.subscriptions) do uris[#uris + 1] = uri end
  table.sort(uris)
  for _, uri in ipairs(uris) do
    local ok, err = true, nil
    if is_subscribed(session, uri) then ok, err = subscribe_process(session, uri, calls.countdown(session)) end
    if ok then
      -- In a task of its own: a function that waits or fails does not keep the others from being called.
      tasks.start(call_subscriber, session, uri)
    elseif not session.dead then
      session:log("warn", ("cannot subscribe to %s again: %s"):format(uri, err.message))
    end
  end
end

-- }======

-- {====== Updates ======

-- A server may notify of a part of a resource.
local function is_part_of(uri, whole)
  return uri:sub(1, #whole) == whole and (whole:sub(-1) == "/" or uri:sub(#whole + 1, #whole + 1):find "[/?#]" ~= nil)
end

---@param session pintle.session
---@param params any
function handle.resource_updated(session, params)
  local uri = type(params) == "table" and params.uri
  if type(uri) ~= "string" then return session:log("warn", "a notification of a change without a URI", params) end
  local wanted, stream = session.persistent.subscriptions, stream_of(session, params)
  if stream then return call_subscriber(session, stream.uri, uri) end
  if wanted[uri] then return call_subscriber(session, uri) end
  for whole in pairs(wanted) do
    if is_part_of(uri, whole) then return call_subscriber(session, whole, uri) end
  end
end

-- }======

-- {====== Changes ======

---Calls `fn(uri)` in a task whenever the server notifies of a change of the resource. After a restart of the server it
---is called once, because changes may have been missed. A second function for the same URI replaces the first. Every
---process of a pool notifies.
---@param uri string
---@param fn fun(uri: string)
---@param options? pintle.call.options
---@return true?, pintle.error?
function methods:subscribe(uri, fn, options)
  check_argument("uri", uri, "string")
  check_argument("fn", fn, "function")
  return self:in_session("resources/subscribe", options, subscribe, self, uri, fn)
end

---Ends a subscription; without one, nothing happens.
---@param uri string
---@param options? pintle.call.options
---@return true?, pintle.error?
function methods:unsubscribe(uri, options)
  check_argument("uri", uri, "string")
  if not forget_subscription(self, uri) then return true end
  return self:in_session("resources/unsubscribe", options, unsubscribe, self, uri)
end

---Calls `fn(what)` in a task whenever the server notifies of a change of one of its lists: "tools" (the manifest is
---read again before), "resources" or "prompts". Another function replaces it; nil removes it.
---@param fn? fun(what: "tools"|"resources"|"prompts")
function methods:on_change(fn)
  if fn ~= nil then check_argument("fn", fn, "function") end
  self.persistent.on_change = fn
end

-- }======

return handle
