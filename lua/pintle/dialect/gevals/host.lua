-- The host's side of gevals.

local bytes = require "pintle.bytes"
local errors = require "pintle.error"
local json = require("pintle.core").json
local lazy = require "pintle.lazy"
local jsonrpc = require "pintle.jsonrpc"

local duration = lazy "pintle.duration"
local extensions = lazy "pintle.dialect.gevals.extensions"

local TIMEOUT = -32001
local NO_REASON = "the operation failed" -- a plugin need not say why
local VERSION = require("pintle.dialect.gevals").version

local given, kind_of, protocol_error = jsonrpc.given, json.kind, jsonrpc.protocol_error
local setmetatable, type = setmetatable, type

---@type pintle.dialect.host
local host = { handlers = {} }

-- {====== Initialize ======

local INITIALIZE = json.order { "protocolVersion", "config", "capabilities" }

local function check_gevals_manifest(manifest)
  if kind_of(manifest) ~= "object" then
    return protocol_error("its answer to initialize: object expected, got %s", kind_of(manifest))
  end
  local version = manifest.protocolVersion
  if version == VERSION then return true end
  if type(version) ~= "string" then
    return protocol_error("its manifest: protocolVersion: string expected, got %s", kind_of(version))
  end
  return protocol_error("it speaks version %q of the protocol; supported is %s", version, VERSION)
end

-- A capability counts if it was offered and accepted.
local function keep_agreed_gevals_capabilities(session, manifest, offered)
  local agreed = offered and extensions.set_of(given(manifest.capabilities)) or {}
  local offer = extensions.set_of(offered or {})
  for name in pairs(agreed) do
    if not offer[name] then
      session:log("warn", ("it agreed to %q, which was not offered"):format(name))
      agreed[name] = nil
    end
  end
  manifest.capabilities = extensions.list(agreed)
  session.state.agreed = agreed
  extensions.begin(session.peer, agreed)
end

function host.open(session)
  local offered = session.extensions and extensions.offer(session.extensions) or nil
  local params = { protocolVersion = VERSION, config = session.config, capabilities = offered }
  local manifest, err = session.peer:call("initialize", setmetatable(params, INITIALIZE),
    { timeout = session.handshake_timeout })
  if manifest == nil then return nil, err or errors.new("protocol", "its answer to initialize is empty") end
  local ok
  ok, err = check_gevals_manifest(manifest)
  if not ok then return nil, err end
  keep_agreed_gevals_capabilities(session, manifest, offered)
  return manifest
end

-- }======

-- {====== Execute: params ======

local EXECUTE = json.order { "operation", "args", "context" }
local CONTEXT = json.order { "workdir", "phase", "env", "timeout", "agent" }
local AGENT = json.order { "prompt", "output" }

local function invalid_execute(format, ...) return nil, errors.new("invalid", format:format(...)) end

local PHASES = { setup = true, verify = true, cleanup = true }

local function check_gevals_env(env)
  for name, value in pairs(env or {}) do
    if type(name) ~= "string" or type(value) ~= "string" then
      return invalid_execute("context.env: strings by name expected, got %s at %s", type(value), tostring(name))
    end
  end
  return true
end

local function check_gevals_agent(agent, phase)
  if not agent then return true end
  if phase ~= "verify" then return invalid_execute('context.agent is for the phase "verify", and this is %q', phase) end
  for _, name in ipairs { "prompt", "output" } do
    local value = agent[name]
    if value ~= nil and type(value) ~= "string" then
      return invalid_execute("context.agent.%s: string expected, got %s", name, type(value))
    end
  end
  return true
end

local function check_gevals_context(context, phase)
  if not PHASES[phase] then
    return invalid_execute("context.phase: setup, verify or cleanup expected, got %q", phase)
  end
  local ok, err = check_gevals_env(context.env)
  if not ok then return nil, err end
  return check_gevals_agent(context.agent, phase)
end

local function gevals_execute_context(context)
  local phase = context.phase or "setup"
  local ok, err = check_gevals_context(context, phase)
  if not ok then return nil, err end
  local agent = context.agent
  return setmetatable({
    workdir = context.workdir or os.getenv "PWD" or ".",
    phase = phase,
    env = context.env,
    timeout = context.timeout and duration.format(context.timeout) or nil,
    agent = agent and setmetatable({ prompt = agent.prompt, output = agent.output }, AGENT),
  }, CONTEXT)
end

-- Two encoded contexts are kept: that of calls without options, and the last one of calls with options.
local function cached_gevals_context(state, context)
  if context.env or context.agent then return gevals_execute_context(context) end
  local timeout, workdir, phase = context.timeout, context.workdir, context.phase
  local last = state.last_context
  if last and last.timeout == timeout and last.workdir == workdir and last.phase == phase then return last.encoded end
  local sent, err = gevals_execute_context(context)
  if not sent then return nil, err end
  local encoded = json.raw(json.encode(sent))
  if context.is_shared then
    state.shared_context, state.sent_context = context, encoded
  else
    state.last_context = { timeout = timeout, workdir = workdir, phase = phase, encoded = encoded }
  end
  return encoded
end

local function pack_gevals_args(session, args)
  if session.state.agreed.bytes then return extensions.pack(args) end
  local where = extensions.find_bytes(args, "")
  if where then return invalid_execute("the arguments have bytes at %s, which this plugin does not take", where) end
  return args
end

-- }======

-- {====== Execute: result ======

local function check_gevals_outputs(session, operation, outputs)
  local may_be_bytes = session.state.agreed.bytes
  for name, value in pairs(outputs or {}) do
    if type(value) ~= "string" and not (may_be_bytes and bytes.is(value)) then
      return protocol_error("its result of %q: outputs.%s: string expected, got %s", operation, name, kind_of(value))
    end
  end
  return outputs
end

local function read_gevals_outputs(session, operation, outputs)
  if outputs == nil or not session.state.agreed.bytes then return check_gevals_outputs(session, operation, outputs) end
  local unpacked, message = extensions.unpack(outputs)
  if not unpacked then return protocol_error("its result of %q: outputs: %s", operation, message) end
  return check_gevals_outputs(session, operation, unpacked)
end

local MEMBERS = { message = "string", error = "string", outputs = "object" }

local function read_gevals_result(session, operation, result)
  local outcome = { success = result.success }
  for name, expected in pairs(MEMBERS) do
    local value = given(result[name])
    if value ~= nil and kind_of(value) ~= expected then
      return protocol_error("its result of %q: %s: %s expected, got %s", operation, name, expected, kind_of(value))
    end
    outcome[name] = value
  end
  local err
  outcome.outputs, err = read_gevals_outputs(session, operation, outcome.outputs)
  if err then return nil, err end
  if not outcome.success then outcome.error = outcome.error or outcome.message or NO_REASON end
  return outcome
end

-- Most results have nothing but a message. `read_execute_result` reads the others.
local function read_gevals_outcome(session, operation, result)
  if type(result) == "table" then
    local success, message = result.success, result.message
    if success == true and result.outputs == nil and result.error == nil and type(message) == "string" then
      return { success = true, message = message }
    end
    if type(success) == "boolean" then return read_gevals_result(session, operation, result) end
  end
  return protocol_error("its result of %q has no success that is true or false", operation)
end

-- }======

-- {====== Execute: call ======

local function gevals_execute_options(context)
  local timeout = context.wait_timeout
  if timeout == nil then timeout = context.timeout end
  return { timeout = timeout }
end

-- A plugin sends progress and parts only if it has these capabilities.
local function wants_gevals_reports(agreed, context)
  return agreed.progress and context.on_progress or agreed.parts and context.on_part
end

local function execute_with_reports(session, params, context)
  local call = session.peer:begin("execute", params, gevals_execute_options(context))
  if call.id then session.running[call.id] = context end
  local result, err = call:wait()
  if call.id then session.running[call.id] = nil end
  if not call:is_done() then call:cancel(err and err.message) end
  return result, err
end

-- A call without options has the timeout that the peer was opened with.
local function call_gevals_execute(session, params, context)
  if context.is_shared then return session.peer:call("execute", params) end
  if wants_gevals_reports(session.state.agreed, context) then return execute_with_reports(session, params, context) end
  return session.peer:call("execute", params, gevals_execute_options(context))
end

-- Either side may be the first to notice a timeout.
local function gevals_timeout_error(err)
  if err.kind == "remote" and err.code == TIMEOUT then err.kind = "timeout" end
  return err
end

function host.execute(session, operation, args, context)
  local state, sent_args, err = session.state, args, nil
  if bytes.were_made or state.agreed.bytes then sent_args, err = pack_gevals_args(session, args) end
  if not sent_args then return nil, err end
  local sent_context = state.sent_context
  if context ~= state.shared_context then
    sent_context, err = cached_gevals_context(state, context)
    if not sent_context then return nil, err end
  end
  local params = setmetatable({ operation = operation, args = sent_args, context = sent_context }, EXECUTE)
  local result
  result, err = call_gevals_execute(session, params, context)
  if err ~= nil then return nil, gevals_timeout_error(err) end
  return read_gevals_outcome(session, operation, result)
end

-- }======

function host.close(session, seconds) session.peer:call("shutdown", {}, { timeout = seconds }) end

-- {====== Messages of the extension ======

local LEVELS = { debug = "debug", info = "info", warn = "warn", warning = "warn", error = "error" }

local function gevals_log_level(level) return type(level) == "string" and LEVELS[level:lower()] end

function host.handlers.log(session, params)
  local level = type(params) == "table" and gevals_log_level(params.level)
  if level and type(params.message) == "string" then
    return session:log(level, params.message, given(params.data))
  end
  session:log("warn", "a log message that is not as it should be", params)
end

-- The context of the call that a message is about, if the call is still running.
local function running_gevals_context(session, params)
  return type(params) == "table" and params.id ~= nil and session.running[params.id]
end

function host.handlers.progress(session, params)
  local context = running_gevals_context(session, params)
  if not context or not context.on_progress or type(params.value) ~= "number" then return end
  local message = params.message
  if type(message) ~= "string" then message = nil end
  context.on_progress(params.value, message)
end

function host.handlers.part(session, params)
  local context = running_gevals_context(session, params)
  if not context or not context.on_part then return end
  local part, message = params.part, nil
  if session.state.agreed.bytes then part, message = extensions.unpack(part) end
  if message then return session:log("warn", "a part of a result that is not as it should be: " .. message) end
  context.on_part(part)
end

-- }======

host.hints = { command = { "gevals", "mcpchecker" } }

return host
