-- Executing an operation, on the side of the extension: the request read, and the result written.

local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local lazy = require "pintle.lazy"
local wire = require "pintle.dialect.gevals.wire"

local binary = lazy "pintle.dialect.gevals.binary"
local bytes = lazy "pintle.bytes"
local duration = lazy "pintle.duration"

local type, setmetatable, kind = type, setmetatable, wire.kind

local execute = {}

local PHASES = { setup = true, verify = true, cleanup = true }
local RESULT = json.order { "success", "message", "error", "outputs" }

local function wrong(format, ...)
  return nil, errors.new("invalid", "Invalid params: " .. format:format(...), { code = jsonrpc.INVALID_PARAMS })
end

-- What is empty was left out: the client that is in use sends `""` for a phase it does not know.
local function text_of(value)
  if value ~= "" then return wire.given(value) end
end

local function check_env(env)
  if not env then return true end
  for name, value in pairs(env) do
    if type(value) ~= "string" then return wrong("context.env.%s: string expected, got %s", name, kind(value)) end
  end
  return true
end

local function read_agent(agent)
  if not agent then return nil end
  local read = {}
  for name, value in pairs(agent) do read[name] = wire.given(value) end
  local ok, err = wire.check(read.prompt, "string", "context.agent.prompt")
  if ok then ok, err = wire.check(read.output, "string", "context.agent.output") end
  if not ok then return nil, err end
  return read
end

local function read_timeout(text)
  if not text then return nil end
  local seconds, message = duration.seconds(text)
  if not seconds then return wrong("context.timeout: %s", message) end
  return seconds > 0 and seconds or nil
end

local function check_context(context)
  local ok, err = wire.check(context.workdir, "string", "context.workdir")
  if ok then ok, err = wire.check(context.phase, "string", "context.phase") end
  if ok then ok, err = wire.check(context.env, "object", "context.env") end
  if ok then ok, err = wire.check(context.timeout, "string", "context.timeout") end
  if ok then ok, err = wire.check(context.agent, "object", "context.agent") end
  return ok, err
end

local function read_context(context)
  if context == nil then return {} end
  local ok, err = check_context(context)
  if not ok then return nil, err end
  local phase, env = text_of(context.phase), wire.given(context.env)
  if phase and not PHASES[phase] then
    return wrong("context.phase: setup, verify or cleanup expected, got %q", phase)
  end
  ok, err = check_env(env)
  if not ok then return nil, err end
  local timeout, agent
  timeout, err = read_timeout(text_of(context.timeout))
  if err then return nil, err end
  agent, err = read_agent(wire.given(context.agent))
  if err then return nil, err end
  return { workdir = text_of(context.workdir), phase = phase, env = env, timeout = timeout, agent = agent }
end

local function read_args(server, params)
  local args = wire.given(params.args) or {}
  if not server.capabilities.bytes then return args end
  local unpacked, message = binary.unpack(args)
  if not unpacked then return wrong("args: %s", message) end
  return unpacked
end

-- The operation and its arguments cannot be guessed; all of the context can.
local function read_params(server, params)
  local ok, err = wire.check(params, "object", "params", "required")
  if ok then ok, err = wire.check(params.operation, "string", "operation", "required") end
  if ok and params.args == nil then ok, err = nil, wire.missing "args" end
  if ok then ok, err = wire.check(params.args, "object", "args") end
  if ok then ok, err = wire.check(params.context, "object", "context") end
  if not ok then return nil, err end
  local args, context
  args, err = read_args(server, params)
  if not args then return nil, err end
  context, err = read_context(wire.given(params.context))
  if not context then return nil, err end
  return args, context
end

-- Most requests have plain arguments, and a context of a directory and a phase: nothing in them has to be converted.
local function is_plain(server, params)
  local context = type(params) == "table" and server.operations[params.operation] and params.context
  if type(context) ~= "table" or context.env or context.agent or context.timeout then return false end
  local workdir = context.workdir
  return PHASES[context.phase] and type(workdir) == "string" and workdir ~= "" and kind(params.args) == "object"
    and not server.capabilities.bytes
end

local function blame(operation, name, problem)
  local message = ("Internal error: output %q of operation %q: %s"):format(tostring(name), operation, problem)
  error(errors.new("invalid", message, { code = jsonrpc.INTERNAL_ERROR }), 0)
end

local function output(server, operation, name, value)
  local lua_type = type(value)
  if lua_type == "string" then return value end
  if lua_type == "boolean" then return tostring(value) end
  if lua_type == "number" then
    local is_finite = value == value and value ~= math.huge and value ~= -math.huge
    return is_finite and json.encode(value) or blame(operation, name, "a finite number expected")
  end
  if bytes.is(value) then
    return server.capabilities.bytes and value or blame(operation, name, "this host takes no bytes")
  end
  blame(operation, name, ("text expected, got %s; pintle.json.encode makes some of it"):format(kind(value)))
end

local function outputs_of(server, operation, given)
  local outputs = {}
  for name, value in pairs(given) do
    if type(name) ~= "string" then blame(operation, name, "a string expected as its name") end
    outputs[name] = output(server, operation, name, value)
  end
  return outputs
end

---@param server pintle.server
---@return pintle.handler
function execute.handler(server)
  return function(params, request)
    local args, context
    if is_plain(server, params) then
      args, context = params.args, params.context
    else
      args, context = read_params(server, params)
      if not args then return nil, context end
    end
    local outcome, err = server:execute(params.operation, args, context, request)
    if not outcome then return nil, err end
    if outcome.outputs then outcome.outputs = outputs_of(server, params.operation, outcome.outputs) end
    return setmetatable(outcome, RESULT)
  end
end

return execute
