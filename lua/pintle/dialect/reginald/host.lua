-- The host: Reginald itself, as june or as july.

local core = require "pintle.core"
local dialects = require "pintle.dialect"
local errors = require "pintle.error"
local json = core.json
local jsonrpc = require "pintle.jsonrpc"
local loop = require "pintle.loop"
local manifest = require "pintle.dialect.reginald.manifest"
local wire = require "pintle.dialect.reginald.wire"

local kind, given, protocol_error = json.kind, jsonrpc.given, jsonrpc.protocol_error
local june, july = wire.releases.june, wire.releases.july

local HANDSHAKE = 5 -- seconds for handshake, and the same for initialize
local LOG_TIMEOUT = 1 -- seconds for log messages that came before a response and are still queued
local LEVEL = "TRACE"

local host = { handlers = {}, discovery = manifest.discovery }

---@class pintle.reginald.options
---@field release? "june"|"july" default: july for a plugin with a manifest.json; otherwise negotiated
---@field level? string minimum log level that a plugin of june is to send; default: TRACE

local OPTIONS = {
  release = function(value) return wire.releases[value] ~= nil, '"june" or "july"' end,
  level = function(value) return wire.level_number(value) ~= nil, "TRACE, DEBUG, INFO, WARN or ERROR" end,
}

-- {====== Handshake ======

local HELLO = json.order { "protocol", "protocolVersion" }
local INITIALIZE = json.order { "logging", "config" }
local LOGGING = json.order { "enabled", "level" }

local function reginald_handshake_timeout(session) return math.min(session.handshake_timeout, HANDSHAKE) end

local function check_reginald_handshake(answer)
  if kind(answer) ~= "object" then
    return protocol_error("its answer to handshake: object expected, got %s", kind(answer))
  end
  local release = wire.by_protocol[answer.protocol]
  if not release then
    return protocol_error('its answer to handshake: protocol: "rpp" or "reginald" expected, got %s',
      json.encode(answer.protocol or json.null))
  end
  if answer.protocolVersion ~= wire.VERSION then
    return protocol_error("it speaks version %s of the protocol; supported is %d",
      json.encode(answer.protocolVersion or json.null), wire.VERSION)
  end
  if type(answer.name) ~= "string" then
    return protocol_error("its answer to handshake: name: string expected, got %s", kind(answer.name))
  end
  return release
end

-- The answer shows the release of the plugin, which may differ from that of the request.
local function request_reginald_handshake(session, release)
  local params = setmetatable({ protocol = release.protocol, protocolVersion = wire.VERSION }, HELLO)
  local answer, err = session.peer:call("handshake", params, { timeout = reginald_handshake_timeout(session) })
  if err ~= nil then return nil, err end
  local spoken
  spoken, err = check_reginald_handshake(answer)
  if not spoken then return nil, err end
  return answer, spoken
end

-- The config of the plugin as config entries, checked against the declared ones, and with their defaults.
local function checked_reginald_config(session, list, release)
  local values = session.config
  if values ~= nil and kind(values) ~= "object" then
    return nil, errors.new("invalid", "config: an object expected, got " .. kind(values))
  end
  local schema = manifest.schema(list)
  if schema == true and values == nil then return json.array() end
  local full, err = wire.check_values(schema, values or {})
  if not full then return nil, err end
  return manifest.write(full, list, release)
end

local function request_reginald_initialize(session, config)
  local params = setmetatable({
    logging = setmetatable({ enabled = true, level = session.options.level or LEVEL }, LOGGING),
    config = #config > 0 and config or nil,
  }, INITIALIZE)
  local _, err = session.peer:call("initialize", params, { timeout = reginald_handshake_timeout(session) })
  if err ~= nil then return nil, err end
  return true
end

local function init_reginald_session(session, release, from, member)
  local found = manifest.operations(from, member)
  session.state.release, session.state.targets, session.state.queues = release, found.targets, {}
  return found.operations
end

local function open_june_session(session, answer)
  local config, err = checked_reginald_config(session, answer.configs, june)
  if not config then return nil, err end
  local ok
  ok, err = request_reginald_initialize(session, config)
  if not ok then return nil, err end
  local operations = init_reginald_session(session, june, answer, "type")
  return { name = answer.name, version = given(answer.version) or false, operations = operations }
end

local function open_july_session(session, answer)
  local discovered_manifest = session.discovered_manifest
  if discovered_manifest and discovered_manifest.name ~= nil and discovered_manifest.name ~= answer.name then
    return protocol_error("its name is %q in the handshake, and %q in its manifest.json", answer.name,
      tostring(discovered_manifest.name))
  end
  local from = discovered_manifest or {}
  local config, err = checked_reginald_config(session, from.config, july)
  if not config then return nil, err end
  session.state.config = config
  return {
    name = answer.name, version = given(from.version) or false, description = given(from.description),
    operations = init_reginald_session(session, july, from, "taskType"), is_open = not discovered_manifest,
  }
end

local OPEN = { june = open_june_session, july = open_july_session }

local function expected_reginald_release(session)
  return wire.releases[session.options.release or session.discovered_manifest and "july"]
end

-- A plugin that does not support june may support july.
local function negotiate_reginald_release(session)
  local answer, spoken = request_reginald_handshake(session, june)
  if answer then return answer, spoken end
  if spoken.kind ~= "remote" and spoken.kind ~= "timeout" then return nil, spoken end
  local refused = spoken
  answer, spoken = request_reginald_handshake(session, july)
  if answer then return answer, spoken end
  return nil, spoken.kind == "closed" and spoken or refused
end

---@param session pintle.session
---@return table?, pintle.error?
function host.open(session)
  local ok, err = dialects.check_options(session.options, OPTIONS)
  if not ok then return nil, err end
  local expected = expected_reginald_release(session)
  local answer, spoken
  if expected then
    answer, spoken = request_reginald_handshake(session, expected)
  else
    answer, spoken = negotiate_reginald_release(session)
  end
  if not answer then return nil, spoken end
  if expected and spoken ~= expected then
    return protocol_error("it speaks the protocol %q instead of %q", spoken.protocol, expected.protocol)
  end
  return OPEN[spoken.name](session, answer)
end

-- }======

-- {====== Execute ======

local function leave_reginald_queue(queue, waiter)
  for i, other in ipairs(queue) do
    if other == waiter then return table.remove(queue, i) end
  end
end

local function release_reginald_lock(lock)
  local waiter = table.remove(lock.queue, 1)
  if waiter then return waiter:set(true) end
  lock.queues[lock.name] = nil
end

local lock_metatable = { __close = release_reginald_lock }

-- Waits until no other run has the lock of a command. Closing the lock releases it.
local function take_reginald_lock(queues, name, seconds)
  local queue = queues[name]
  if queue then
    local waiter = loop.event()
    queue[#queue + 1] = waiter
    local late = seconds and errors.new("timeout", ("%q has been running for %gs already"):format(name, seconds))
    local ok, err = waiter:wait(seconds or nil, late)
    if not ok then
      leave_reginald_queue(queue, waiter)
      return nil, err
    end
  else
    queues[name] = {}
  end
  return setmetatable({ queues = queues, name = name, queue = queues[name] }, lock_metatable)
end

local SETUP = json.order { "name", "args", "config" }
local JUNE_TASK = json.order { "type", "dir", "config" }
local JULY_COMMAND = json.order { "cmd", "config", "pluginConfig" }
local JULY_TASK = json.order { "taskType", "config" }

local function reginald_seconds_left(deadline)
  if deadline then return math.max(deadline - core.now(), 0) end
  return deadline
end

local function is_empty_reginald_result(result)
  if type(result) == "table" then return next(result) == nil end
  return result == nil or result == json.null
end

-- A failure of the operation is an outcome. Any other error means that it was not run.
local function read_reginald_outcome(session, role, result, err, context)
  if err == nil then
    local outcome = context.outcome or { success = true }
    outcome.result = not is_empty_reginald_result(result) and result or nil
    return outcome
  end
  local is_failure = err.kind == "remote" and err.code == session.state.release.codes[role]
  if is_failure then return wire.read_failure(err) end
  return nil, err
end

-- The outcome comes before the response, in the log.
local function call_reginald_with_reports(session, role, method, params, deadline, listener)
  local begun = session.peer:begin(method, params, { timeout = reginald_seconds_left(deadline) })
  local context = { on_progress = listener.on_progress }
  if begun.id then session.running[begun.id] = context end
  local result, err = begun:wait()
  if session.peer.backlog_count > 0 then session.peer:wait_idle(LOG_TIMEOUT) end
  if begun.id then session.running[begun.id] = nil end
  if not begun:is_done() then begun:cancel(err and err.message) end
  return read_reginald_outcome(session, role, result, err, context)
end

local run = { june = {}, july = {} }

-- The lock covers both requests, so that no other run sets up the same command in between.
function run.june.command(session, target, config, deadline, context)
  local lock <close>, err = take_reginald_lock(session.state.queues, target.name, reginald_seconds_left(deadline))
  if not lock then return nil, err end
  local setup = setmetatable({ name = target.name, args = json.null, config = config }, SETUP)
  local _
  _, err = session.peer:call("setupCommand", setup, { timeout = reginald_seconds_left(deadline) })
  if err ~= nil then return nil, err end
  return call_reginald_with_reports(session, "command", "runCommand", { name = target.name }, deadline, context)
end

function run.june.task(session, target, config, deadline, context)
  local params = setmetatable({ type = target.name, config = config }, JUNE_TASK)
  local _, err = session.peer:call("validateTask", params, { timeout = reginald_seconds_left(deadline) })
  if err ~= nil then return nil, err end
  params.dir = context.workdir
  return call_reginald_with_reports(session, "task", "runTask", params, deadline, context)
end

function run.july.command(session, target, config, deadline, context)
  local params = setmetatable({
    cmd = target.name, config = #config > 0 and config or nil, pluginConfig = session.state.config,
  }, JULY_COMMAND)
  return call_reginald_with_reports(session, "command", "runCommand", params, deadline, context)
end

function run.july.task(session, target, config, deadline, context)
  local params = setmetatable({ taskType = target.name, config = config }, JULY_TASK)
  return call_reginald_with_reports(session, "task", "runTask", params, deadline, context)
end

---@param session pintle.session
---@param operation string
---@param args table
---@param context pintle.context
---@return pintle.outcome?, pintle.error?
function host.execute(session, operation, args, context)
  local target, release = session.state.targets[operation] or manifest.guess(operation), session.state.release
  local config, err = manifest.write(args, target.config, release)
  if not config then return nil, err end
  local deadline = context.wait_timeout and core.now() + context.wait_timeout
  return run[release.name][target.role](session, target, config, deadline, context)
end

-- }======

---@param session pintle.session
---@param seconds number
function host.close(session, seconds)
  local release = session.state.release
  local answer, err = session.peer:call("shutdown", json.null, { timeout = seconds })
  if err == nil and release == july and answer ~= july.shutdown then
    session:log("warn", "its answer to shutdown: true expected, got " .. kind(answer))
  end
  session.peer:notify("exit", json.null)
end

-- {====== Log messages of the plugin ======

-- Takes the outcome or the progress of a running operation from a log message. Returns whether there was any.
local function take_reginald_report(session, message, data)
  local context = jsonrpc.is_object(data) and data.request ~= nil and session.running[data.request]
  if not context then return false end
  local outcome = wire.read_outcome(message, data)
  if outcome then
    context.outcome = outcome
  elseif type(data.progress) == "number" and context.on_progress then
    context.on_progress(data.progress, message ~= "progress" and message or nil)
  else
    return false
  end
  return true
end

-- Some languages write null for a missing id: such a message is a notification.
function host.handlers.log(session, params, ctx)
  if ctx.id == json.null then ctx.id = nil end
  local level, message, data = wire.read_log(params)
  if not level then return session:log("warn", "malformed log message", params) end
  if not take_reginald_report(session, message, data) then session:log(level, message, data) end
end

-- }======

host.hints = { command = { "^reginald" }, output = { "%f[%w]reginald%f[%W]" } }

return host
