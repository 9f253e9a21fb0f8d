-- The side of gevals.

local bytes = require "pintle.bytes"
local errors = require "pintle.error"
local json = require("pintle.core").json
local lazy = require "pintle.lazy"
local wire = require "pintle.dialect.gevals.wire"

local binary = lazy "pintle.dialect.gevals.binary"
local duration = lazy "pintle.duration"
local extensions = lazy "pintle.dialect.gevals.extensions"

local TIMEOUT = -32001
local UNEXPLAINED = "the operation failed" -- the protocol lets a plugin leave out why
local VERSION = wire.VERSION

local given, kind = wire.given, wire.kind
local setmetatable, type = setmetatable, type

local host = { handlers = {} }

-- {====== Initialize ======

local INITIALIZE = json.order { "protocolVersion", "config", "capabilities" }

local function protocol_error(format, ...) return nil, errors.new("protocol", format:format(...)) end

local function check_manifest(told)
  if kind(told) ~= "object" then
    return protocol_error("its answer to initialize: object expected, got %s", kind(told))
  end
  local version = told.protocolVersion
  if version == VERSION then return true end
  if type(version) ~= "string" then return protocol_error("its manifest: protocolVersion: string expected, got %s",
    kind(version)) end
  return protocol_error("it speaks version %q of the protocol, and only %s is spoken here", version, VERSION)
end

-- What was not offered cannot have been agreed on.
local function settle(session, told, offered)
  local agreed = offered and extensions.set_of(given(told.capabilities)) or {}
  local offer = extensions.set_of(offered or {})
  for name in pairs(agreed) do
    if not offer[name] then
      session:log("warn", ("it agreed to %q, which was not offered"):format(name))
      agreed[name] = nil
    end
  end
  told.capabilities = extensions.list(agreed)
  session.state.agreed = agreed
  extensions.begin(session.peer, agreed)
end

---@param session pintle.session
---@return table?, pintle.error?
function host.open(session)
  local offered = session.extensions and extensions.offer(session.extensions) or nil
  local params = { protocolVersion = VERSION, config = session.config, capabilities = offered }
  local told, err = session.peer:call("initialize", setmetatable(params, INITIALIZE),
    { timeout = session.handshake_timeout })
  if told == nil then return nil, err or errors.new("protocol", "its answer to initialize is empty") end
  local ok
  ok, err = check_manifest(told)
  if not ok then return nil, err end
  settle(session, told, offered)
  return told
end

-- }======

-- {====== Execute ======

local EXECUTE = json.order { "operation", "args", "context" }
local CONTEXT = json.order { "workdir", "phase", "env", "timeout", "agent" }
local AGENT = json.order { "prompt", "output" }

local function invalid(format, ...) return nil, errors.new("invalid", format:format(...)) end

local PHASES = { setup = true, verify = true, cleanup = true }

local function check_env(env)
  for name, value in pairs(env or {}) do
    if type(name) ~= "string" or type(value) ~= "string" then
      return invalid("context.env: strings by name expected, got %s at %s", type(value), tostring(name))
    end
  end
  return true
end

local function check_agent(agent, phase)
  if not agent then return true end
  if phase ~= "verify" then return invalid('context.agent is for the phase "verify", and this is %q', phase) end
  for _, name in ipairs { "prompt", "output" } do
    local value = agent[name]
    if value ~= nil and type(value) ~= "string" then
      return invalid("context.agent.%s: string expected, got %s", name, type(value))
    end
  end
  return true
end

local function check_context(context, phase)
  if not PHASES[phase] then return invalid("context.phase: setup, verify or cleanup expected, got %q", phase) end
  local ok, err = check_env(context.env)
  if not ok then return nil, err end
  return check_agent(context.agent, phase)
end

local function context_of(_, context)
  local phase = context.phase or "setup"
  local ok, err = check_context(context, phase)
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

-- The context that calls without options share is encoded once.
local function share_context(session, context)
  local made, err = context_of(session, context)
  if not made then return nil, err end
  local state = session.state
  state.shared_context, state.sent_context = context, json.raw(json.encode(made))
  return state.sent_context
end

local function args_of(session, args)
  if session.state.agreed.bytes then return binary.pack(args) end
  local where = binary.find(args, "")
  if where then return invalid("the arguments have bytes at %s, which this plugin does not take", where) end
  return args
end

local function check_outputs(session, operation, outputs)
  local may_be_bytes = session.state.agreed.bytes
  for name, value in pairs(outputs or {}) do
    if type(value) ~= "string" and not (may_be_bytes and bytes.is(value)) then
      return protocol_error("its result of %q: outputs.%s: string expected, got %s", operation, name, kind(value))
    end
  end
  return outputs
end

local function outputs_of(session, operation, outputs)
  if outputs == nil or not session.state.agreed.bytes then return check_outputs(session, operation, outputs) end
  local unpacked, message = binary.unpack(outputs)
  if not unpacked then return protocol_error("its result of %q: outputs: %s", operation, message) end
  return check_outputs(session, operation, unpacked)
end

local MEMBERS = { message = "string", error = "string", outputs = "object" }

-- Most results have nothing but a message. Any other is read member by member.
local function read_result(session, operation, result)
  local outcome = { success = result.success }
  for name, expected in pairs(MEMBERS) do
    local value = given(result[name])
    if value ~= nil and kind(value) ~= expected then
      return protocol_error("its result of %q: %s: %s expected, got %s", operation, name, expected, kind(value))
    end
    outcome[name] = value
  end
  local err
  outcome.outputs, err = outputs_of(session, operation, outcome.outputs)
  if err then return nil, err end
  if not outcome.success then outcome.error = outcome.error or outcome.message or UNEXPLAINED end
  return outcome
end

local function outcome_of(session, operation, result)
  if type(result) == "table" then
    local success, message = result.success, result.message
    if success == true and result.outputs == nil and result.error == nil and type(message) == "string" then
      return { success = true, message = message }
    end
    if type(success) == "boolean" then return read_result(session, operation, result) end
  end
  return protocol_error("its result of %q has no success that is true or false", operation)
end

local function options_of(context)
  local patience = context.patience
  if patience == nil then patience = context.timeout end
  return { timeout = patience }
end

-- Progress and parts come with the id of the call.
local function call_with_reports(session, params, context)
  local begun = session.peer:begin("execute", params, options_of(context))
  if begun.id then session.running[begun.id] = context end
  local result, err = begun:wait()
  if begun.id then session.running[begun.id] = nil end
  if not begun:is_done() then begun:cancel(err and err.message) end
  return result, err
end

-- Calls without options have the timeout that the peer was opened with.
local function call(session, params, context)
  if context.is_shared then return session.peer:call("execute", params) end
  if context.on_progress or context.on_part then return call_with_reports(session, params, context) end
  return session.peer:call("execute", params, options_of(context))
end

-- When the time is over, either side may be the first to say so.
local function named(err)
  if err.kind == "remote" and err.code == TIMEOUT then err.kind = "timeout" end
  return err
end

---@param session pintle.session
---@param operation string
---@param args table
---@param context pintle.context
---@return pintle.outcome?, pintle.error?
function host.execute(session, operation, args, context)
  local state, sent_args, err = session.state, args, nil
  if bytes.were_made or state.agreed.bytes then sent_args, err = args_of(session, args) end
  if not sent_args then return nil, err end
  local sent_context = state.sent_context
  if context ~= state.shared_context then
    sent_context, err = (context.is_shared and share_context or context_of)(session, context)
    if not sent_context then return nil, err end
  end
  local params = setmetatable({ operation = operation, args = sent_args, context = sent_context }, EXECUTE)
  local result
  result, err = call(session, params, context)
  if err ~= nil then return nil, named(err) end
  return outcome_of(session, operation, result)
end

-- }======

---@param session pintle.session
---@param seconds number
function host.close(session, seconds) session.peer:call("shutdown", {}, { timeout = seconds }) end

-- {====== What the extension says ======

local LEVELS = { debug = "debug", info = "info", warn = "warn", warning = "warn", error = "error" }

local function level_of(level) return LEVELS[level] or type(level) == "string" and LEVELS[level:lower()] end

function host.handlers.log(session, params)
  local level = type(params) == "table" and level_of(params.level)
  if level and type(params.message) == "string" then
    return session:log(level, params.message, given(params.data))
  end
  session:log("warn", "a log message that is not as it should be", params)
end

-- The call that is spoken of, if it is still waited for.
local function context_for(session, params)
  return type(params) == "table" and params.id ~= nil and session.running[params.id]
end

function host.handlers.progress(session, params)
  local context = context_for(session, params)
  if not context or not context.on_progress or type(params.value) ~= "number" then return end
  local message = params.message
  if type(message) ~= "string" then message = nil end
  context.on_progress(params.value, message)
end

function host.handlers.part(session, params)
  local context = context_for(session, params)
  if not context or not context.on_part then return end
  local part, message = params.part, nil
  if session.state.agreed.bytes then part, message = binary.unpack(part) end
  if message then return session:log("warn", "a part of a result that is not as it should be: " .. message) end
  context.on_part(part)
end

-- }======

host.hints = { command = { "gevals", "mcpchecker" } }

return host
