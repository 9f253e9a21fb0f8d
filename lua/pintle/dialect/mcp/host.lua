-- The host's side of MCP.

local calls = require "pintle.dialect.mcp.calls"
local client = require "pintle.dialect.mcp.client"
local core = require "pintle.core"
local errors = require "pintle.error"
local jsonrpc = require "pintle.jsonrpc"
local loop = require "pintle.loop"
local results = require "pintle.dialect.mcp.results"
local wire = require "pintle.dialect.mcp.wire"

local json, now = core.json, core.now
local setmetatable, type, kind_of, given, text_of = setmetatable, type, json.kind, jsonrpc.given, jsonrpc.text
local protocol_error = jsonrpc.protocol_error

---@type pintle.dialect.host
local host = { handlers = {}, defaults = {} }

-- {====== Handshake ======

-- The modern era is tried first. An older server answers `server/discover` with some error, does not answer, or ends.
-- Then the classic handshake is tried. One deadline holds for both.

local PROBE = 0.25 -- the part of the handshake timeout for `server/discover`

local INITIALIZE = json.order { "protocolVersion", "capabilities", "clientInfo" }

local function mcp_handshake_time_left(session) return math.max(session.state.deadline - now(), 0) end

local function check_mcp_description(description, method)
  if kind_of(description) ~= "object" then
    return protocol_error("its answer to %s: object expected, got %s", method, kind_of(description))
  end
  local capabilities = given(description.capabilities)
  if capabilities ~= nil and kind_of(capabilities) ~= "object" then
    return protocol_error("its capabilities: object expected, got %s", kind_of(capabilities))
  end
  return description
end

local function request_mcp_description(session, method, params, seconds)
  local description, err = session.peer:call(method, params, { timeout = seconds })
  if description ~= nil then return check_mcp_description(description, method) end
  return nil, err or errors.new("protocol", ("its answer to %s is empty"):format(method))
end

local function supports_modern_mcp(description)
  local versions = given(description.supportedVersions)
  if kind_of(versions) ~= "array" then return false end
  for _, version in ipairs(versions) do
    if version == wire.MODERN then return true end
  end
  return false
end

local function request_mcp_discover(session, seconds)
  local params = wire.with_meta(nil, client.meta(session))
  local description, err = request_mcp_description(session, "server/discover", params, seconds)
  if not description then return nil, err end
  if not supports_modern_mcp(description) then
    return protocol_error("it does not speak version %s of the protocol", wire.MODERN)
  end
  session.state.is_modern = true
  return description
end

local function request_mcp_initialize(session, version)
  local params = setmetatable({
    protocolVersion = version, capabilities = client.capabilities(session), clientInfo = client.info(session),
  }, INITIALIZE)
  local description, err = request_mcp_description(session, "initialize", params, mcp_handshake_time_left(session))
  if not description then return nil, err end
  if not wire.is_classic(description.protocolVersion) then
    return protocol_error("it speaks version %s of the protocol, which this host does not support",
      tostring(description.protocolVersion))
  end
  local ok
  ok, err = session.peer:notify "notifications/initialized"
  if not ok then return nil, err end
  return description
end

local VERSIONS = { wire.MODERN, table.unpack(wire.CLASSIC) } -- newest first

-- The newest version that the error of a server lists, that is known here, and that was not tried yet.
local function supported_version_in(err, tried)
  local supported = err.kind == "remote" and type(err.data) == "table" and err.data.supported
  for _, version in ipairs(VERSIONS) do
    for _, other in ipairs(type(supported) == "table" and supported or {}) do
      if other == version and not tried[version] then return version end
    end
  end
end

-- Tries a version, and then those that the errors of the server list.
local function try_era_of_version(session, version, tried)
  local description, err
  repeat
    tried[version] = true
    if version == wire.MODERN then
      description, err = request_mcp_discover(session, mcp_handshake_time_left(session))
    else
      description, err = request_mcp_initialize(session, version)
    end
    version = not description and supported_version_in(err, tried)
  until not version
  return description, err
end

-- A modern server that was only slow to start refuses `initialize`: then `server/discover` is tried again.
local function fall_back_to_classic(session)
  session.persistent.is_classic = true
  local description, err = try_era_of_version(session, wire.CLASSIC[1], {})
  if session.state.is_modern then session.persistent.is_classic = false end
  if description or err.kind ~= "remote" then return description, err end
  local left = mcp_handshake_time_left(session)
  description = left > 0 and request_mcp_discover(session, left) or nil
  if description then session.persistent.is_classic = false end
  return description, err
end

-- The server may read an unanswered `server/discover` late, and end because of it.
local function fall_back_after_timeout(session)
  local description, err = fall_back_to_classic(session)
  return description, err, err and err.kind == "closed" and "again" or nil
end

local function try_both_eras(session)
  if session.persistent.is_classic then return fall_back_to_classic(session) end
  local description, err = request_mcp_discover(session, session.handshake_timeout * PROBE)
  if description then return description end
  if err.kind == "timeout" then return fall_back_after_timeout(session) end
  if err.kind == "closed" then
    session.persistent.is_classic = true
    return nil, err, "again"
  end
  if err.kind ~= "remote" or err.code ~= wire.UNSUPPORTED_VERSION then return fall_back_to_classic(session) end
  local tried = { [wire.MODERN] = true }
  local version = supported_version_in(err, tried)
  if version then return try_era_of_version(session, version, tried) end
  return nil, err
end

local function shake_mcp_hands(session)
  session.state.deadline = session.state.deadline or now() + session.handshake_timeout
  local era = session.options.era
  if era == wire.MODERN then return request_mcp_discover(session, mcp_handshake_time_left(session)) end
  if era then return request_mcp_initialize(session, era) end
  return try_both_eras(session)
end

-- }======

-- {====== List of tools ======

-- The members of a tool that only this protocol has.
local function server_tool_members(tool)
  return {
    title = given(tool.title), annotations = given(tool.annotations), icons = given(tool.icons),
    _meta = given(tool._meta), execution = given(tool.execution),
  }
end

-- In the classic era a tool may have to be called as a task.
local function server_tool_needs_task(session, tool)
  local state, capabilities = session.state, session.raw_manifest.capabilities
  local tasks = not state.is_modern and type(capabilities) == "table" and capabilities.tasks
  local requests = type(tasks) == "table" and tasks.requests
  local of_tools = type(requests) == "table" and requests.tools
  local can_be_task = type(of_tools) == "table" and given(of_tools.call) ~= nil
  return can_be_task and type(tool.execution) == "table" and tool.execution.taskSupport == "required"
end

local function add_server_tool(session, operations, names, tool)
  local name = type(tool) == "table" and tool.name
  if type(name) ~= "string" then return session:log("warn", "a tool that has no name", tool) end
  if operations[name] then
    session:log("warn", ("there are two tools %q; the last one counts"):format(name))
  else
    names[#names + 1] = name
  end
  operations[name] = {
    description = tool.description, params = tool.inputSchema, outputs = tool.outputSchema,
    dialects = { mcp = server_tool_members(tool) },
  }
end

---The tools of a server, as operations.
---@class pintle.mcp.tools
---@field operations table<string, table>
---@field names string[] in the server's order
---@field is_cut boolean whether the list has no end

-- `timeout_of(session)` is the timeout of the next page.
local function read_server_tools(session, timeout_of)
  local operations, names, task_tools = {}, {}, nil
  local is_cut, err = calls.read_pages(session, "tools/list", "tools", timeout_of, function(tool)
    add_server_tool(session, operations, names, tool)
    if type(tool) == "table" and tool.name ~= nil and server_tool_needs_task(session, tool) then
      task_tools = task_tools or {}
      task_tools[tool.name] = true
    end
  end)
  if is_cut == nil then return nil, err end
  session.state.task_tools = task_tools
  return { operations = operations, names = names, is_cut = is_cut } ---@type pintle.mcp.tools
end

-- }======

-- {====== Opening ======

local function load_subscriptions() return require "pintle.dialect.mcp.subscriptions" end

-- Finds the request in a received cancellation. It may also be a stream of ours that the server ends.
local function mcp_cancelled_id_reader(session)
  return function(params)
    local id = params.requestId
    local state = session.state
    if id ~= nil and state.list_stream and state.list_stream.id == id then
      session.peer.stream:complete_call(id, {})
    elseif id == nil or not state.streams or not load_subscriptions().complete_stream(session, id) then
      return id
    end
  end
end

local function server_info_of(description)
  local meta = given(description._meta)
  local info = given(description.serverInfo) or type(meta) == "table" and given(meta[wire.META.server])
  return type(info) == "table" and info or {}
end

local NO_TOOLS = { operations = {}, names = {}, is_cut = false } ---@type pintle.mcp.tools
local UNREAD_TOOLS = { operations = {}, names = {}, is_cut = true } ---@type pintle.mcp.tools

local function server_manifest(session, tools)
  local info = server_info_of(session.raw_manifest)
  return {
    name = text_of(info.name) or session.name, version = text_of(info.version) or false, is_version_free = true,
    description = text_of(info.description), operations = tools.operations, names = tools.names,
    is_open = tools.is_cut,
  }
end

local function update_server_tools(session, tools)
  session:update_manifest(server_manifest(session, tools))
  session.execute = host.execute
end

-- Stands in for `execute` after the list of tools has failed: tries the list again.
local function list_server_tools_and_execute(session, operation, args, context)
  local left = calls.countdown(session, context.wait_timeout)
  local tools, err = read_server_tools(session, left)
  if not tools then
    return nil, errors.new(err.kind, "its tools cannot be listed: " .. err.message, err)
  end
  update_server_tools(session, tools)
  args, err = session.manifest:check(operation, args)
  if not args then return nil, err end
  local rest = wire.copy_members(context, {})
  rest.wait_timeout, rest.is_shared = left(), nil
  return session.execute(session, operation, args, rest)
end

local function set_server_log_level(session, capabilities)
  local state, level = session.state, client.log_level(session)
  state.has_logs = capabilities.logging ~= nil
  if state.is_modern or not state.has_logs or not level then return end
  session.peer:begin("logging/setLevel", { level = level }, { timeout = session.handshake_timeout })
end

local LONGEST_PAUSE = 60 -- seconds before the server is asked again for notifications that it has ended

-- The request stays open until the server ends it.
local function listen_to_server_lists(session, filter, pause)
  local params = wire.with_meta({ notifications = filter }, client.meta(session))
  local call = session.peer:begin("subscriptions/listen", params, { timeout = false })
  session.state.list_stream = call
  call.answered:on_set(function()
    local _, err = call:wait()
    if session.dead or session.is_stopping then return end
    session:log("warn", "it does not notify of changes of its lists" .. (err and ": " .. err.message or " any more"))
    if err then return end
    loop.after(pause, function()
      if session.dead or session.is_stopping then return end
      listen_to_server_lists(session, filter, math.min(2 * pause, LONGEST_PAUSE))
    end)
  end)
end

-- A modern server notifies only subscribers of changes.
local function subscribe_to_server_lists(session, capabilities)
  local filter = {}
  for _, name in ipairs { "tools", "resources", "prompts" } do
    local capability = capabilities[name]
    if type(capability) == "table" and capability.listChanged == true then filter[name .. "ListChanged"] = true end
  end
  if not session.state.is_modern or not next(filter) then return end
  listen_to_server_lists(session, filter, 1)
end

function host.open(session)
  local ok, err = client.check_options(session.options)
  if not ok then return nil, err end
  local description, again
  description, err, again = shake_mcp_hands(session)
  if not description then return nil, err, again end
  -- Not before, because the handshake cannot be cancelled.
  wire.set_peer_rules(session.peer, wire.cancellation(mcp_cancelled_id_reader(session)), client.PROGRESS)
  session.raw_manifest = description
  local capabilities = given(description.capabilities) or {}
  set_server_log_level(session, capabilities)
  subscribe_to_server_lists(session, capabilities)
  if capabilities.tools == nil then return server_manifest(session, NO_TOOLS) end
  local tools
  tools, err = read_server_tools(session, mcp_handshake_time_left)
  if tools and session.state.has_changed then tools, err = read_server_tools(session, mcp_handshake_time_left) end
  if tools then return server_manifest(session, tools) end
  if err.kind ~= "remote" and err.kind ~= "protocol" then return nil, err end
  session:log("warn", "its tools cannot be listed: " .. err.message)
  session.execute = list_server_tools_and_execute
  return server_manifest(session, UNREAD_TOOLS)
end

-- }======

-- {====== Executing ======

local CALL = json.order { "name", "arguments", "_meta" }

-- Progress without a total is not a fraction: it goes to the log. `false` stands for the status message of a task.
local function mcp_progress_listener(session, context)
  local on_progress, extend, last = context.on_progress, context.extend, 0.0
  return function(progress, total, message)
    if extend then extend() end
    message = message and text_of(message)
    if progress == false then return on_progress(last, message) end
    if type(progress) ~= "number" or type(total) ~= "number" or total <= 0 then
      return session:log("debug", message or "progress", { progress = progress })
    end
    local fraction = progress / total
    if fraction < 0 then fraction = 0.0 elseif fraction > 1 then fraction = 1.0 end
    last = fraction
    on_progress(fraction, message)
  end
end

-- A call without options has the timeout that the peer was opened with.
local function server_tool_call_options(session, context)
  if context.is_shared then return nil end
  local timeout = context.wait_timeout
  if timeout == nil then timeout = context.timeout end
  return { timeout = timeout, on_progress = context.on_progress and mcp_progress_listener(session, context) }
end

host.call = calls.call

local function call_server_tool(session, params, options)
  local begun, meta = now(), session.state.encoded_meta or client.encoded_meta(session)
  params._meta = meta
  local result, err = session.peer:call("tools/call", params, options)
  if not meta or type(result) ~= "table" or result.resultType == "complete" then return result, err end
  local token = calls.progress_token(params)
  params._meta = nil
  return calls.settle_result(session, "tools/call", params, options, result, begun, token)
end

function host.execute(session, operation, args, context)
  local params, task_tools = setmetatable({ name = operation, arguments = args }, CALL), session.state.task_tools
  local call = task_tools and task_tools[operation] and calls.call_as_task or call_server_tool
  local result, err = call(session, params, server_tool_call_options(session, context))
  if err ~= nil then return nil, err end
  return results.read_outcome(session, operation, result)
end

---Called when a process takes calls: its subscriptions are those of the process that it replaces.
function host.opened(session)
  if session.persistent.subscriptions then return load_subscriptions().restore(session) end
end

---The protocol has no request for this: a server ends when its input does.
function host.close() end

-- }======

-- {====== Messages of the server ======

local REFRESH_TIMEOUT = 60 -- seconds for each page of a list of tools that has changed

local function refresh_server_call_timeout() return REFRESH_TIMEOUT end

function host.handlers.ping() return {} end

local function notify_of_server_change(session, what)
  local fn = session.persistent.on_change
  if fn then fn(what) end
end

-- The tools may change again while they are read.
host.handlers["notifications/tools/list_changed"] = function(session)
  local state = session.state
  state.has_changed = true
  if state.is_reading or not session.manifest then return end
  state.is_reading = true
  while state.has_changed do
    state.has_changed = false
    local tools, err = read_server_tools(session, refresh_server_call_timeout)
    if tools then
      update_server_tools(session, tools)
    else
      session:log("warn", "its tools have changed, and cannot be read: " .. tostring(err))
    end
  end
  state.is_reading = false
  notify_of_server_change(session, "tools")
end

for _, what in ipairs { "resources", "prompts" } do
  host.defaults[("notifications/%s/list_changed"):format(what)] = function(session)
    notify_of_server_change(session, what)
  end
end

host.defaults["notifications/resources/updated"] = function(session, params)
  if session.persistent.subscriptions then return load_subscriptions().resource_updated(session, params) end
end

-- Progress of calls that have become tasks. The peer reports that of other calls.
host.defaults["notifications/progress"] = function(session, params)
  local listeners = session.state.task_progress
  if not listeners or type(params) ~= "table" or params.progressToken == nil then return end
  local listener = listeners[params.progressToken]
  if listener then listener(params.progress, params.total, params.message) end
end

for _, method in ipairs { "notifications/tasks", "notifications/tasks/status" } do
  host.defaults[method] = function(session, params)
    if session.state.polls then return calls.wake_poll(session, params) end
  end
end

host.handlers["notifications/subscriptions/acknowledged"] = function(session, params)
  if session.state.streams then return load_subscriptions().acknowledge_stream(session, params) end
end

host.defaults["roots/list"] = client.list_roots

local LEVELS = {
  debug = "debug", info = "info", notice = "info", warning = "warn", error = "error", critical = "error",
  alert = "error", emergency = "error",
}

-- Data is any value. A pintle plugin sends an object with `message` and perhaps `data`.
local function read_server_log_data(data)
  if kind_of(data) == "object" and type(data.message) == "string" then
    local is_only_data = next(data, next(data)) == nil or data.data ~= nil and next(data, next(data, next(data))) == nil
    if is_only_data then return data.message, given(data.data) end
    return data.message, data
  end
  local ok, encoded = pcall(json.encode, data)
  return ok and encoded or tostring(data)
end

host.defaults["notifications/message"] = function(session, params)
  local level = type(params) == "table" and LEVELS[params.level]
  local data = level and params.data
  if level and data ~= nil then
    if type(data) == "string" then return session:log(level, data) end
    return session:log(level, read_server_log_data(data))
  end
  session:log("warn", "a log message that is not as it should be", params)
end

-- }======

-- {====== Methods of the handle ======

host.methods = {}

-- They are loaded when one of them is first used.
for _, name in ipairs {
  "resources", "resource_templates", "read", "prompts", "prompt", "complete", "subscribe", "unsubscribe", "on_change",
} do
  host.methods[name] = function(...) return require("pintle.dialect.mcp.handle")[name](...) end
end

-- }======

host.hints = {
  command = { "%f[%w]mcp%f[%W]", "modelcontextprotocol", "^server%-%l" },
  output = { "%f[%w]mcp%f[%W]", "model context protocol" },
}

return host
