-- The extension's side of gevals.

local errors = require "pintle.error"
local json = require("pintle.core").json
local lazy = require "pintle.lazy"
local jsonrpc = require "pintle.jsonrpc"
local ordered_schema = require "pintle.manifest.order"

local bytes = lazy "pintle.bytes"
local duration = lazy "pintle.duration"
local extensions = lazy "pintle.dialect.gevals.extensions"

local type, setmetatable, kind_of, given = type, setmetatable, json.kind, jsonrpc.given

---@type pintle.dialect.plugin
local plugin = {}

-- {====== Checks ======

local function missing_gevals_member(name)
  return errors.new("invalid", ("Invalid Request: %s is missing"):format(name), { code = jsonrpc.INVALID_REQUEST })
end

local function check_required_gevals_member(value, expected, name)
  if given(value) == nil then return nil, missing_gevals_member(name) end
  return jsonrpc.check(value, expected, name)
end

-- }======

-- {====== Initialize ======

local MANIFEST = json.order { "name", "version", "protocolVersion", "description", "requires", "operations",
  "capabilities" }
local OPERATION = json.order { "description", "params" }

local function describe_gevals_requires(manifest)
  if #manifest.requires == 0 then return nil end
  local list = json.array()
  for i, requirement in ipairs(manifest.requires) do list[i] = { command = requirement.command } end
  return list
end

local function describe_gevals_operations(manifest)
  local operations = setmetatable({}, json.order(manifest.names))
  for name, operation in pairs(manifest.operations) do
    local params = ordered_schema(operation.params)
    operations[name] = setmetatable({ description = operation.description, params = params }, OPERATION)
  end
  return operations
end

function plugin.manifest(self)
  local manifest = self.manifest
  return setmetatable({
    name = manifest.name,
    version = manifest.version,
    protocolVersion = require("pintle.dialect.gevals").version,
    description = manifest.description,
    requires = describe_gevals_requires(manifest),
    operations = describe_gevals_operations(manifest),
  }, MANIFEST)
end

-- The plugin accepts `x-dialect-NAME` if it declares something for that dialect, as `pintle inspect` wants to know.
local function add_declared_gevals_dialects(names, owner)
  for name in pairs(owner.dialects) do names["x-dialect-" .. name] = true end
end

local function own_gevals_capabilities(manifest)
  local names = {}
  for name in pairs(manifest.capabilities) do names[name] = true end
  for _, operation in pairs(manifest.operations) do add_declared_gevals_dialects(names, operation) end
  add_declared_gevals_dialects(names, manifest)
  return names
end

-- The capabilities that both sides have; nil if the host offers none.
local function agreed_gevals_capabilities(server, offered)
  offered = offered ~= nil and extensions.set_of(offered)
  return offered and extensions.agree(offered, own_gevals_capabilities(server.plugin.manifest)) or nil
end

local function check_gevals_initialize(params)
  local ok, err = check_required_gevals_member(params, "object", "params")
  if ok then ok, err = check_required_gevals_member(params.protocolVersion, "string", "protocolVersion") end
  if ok then ok, err = jsonrpc.check(params.config, "object", "config") end
  return ok, err
end

-- The initializers log to the host and see the capabilities. If one of them fails, both are undone.
local function run_gevals_initializers(server, config, agreed)
  local had_host, capabilities = server.state.has_host, server.capabilities
  server.state.has_host, server.capabilities = true, agreed or capabilities
  local ok, err = server:initialize(config)
  if not ok then server.state.has_host, server.capabilities = had_host, capabilities end
  return ok, err
end

local function handle_gevals_initialize(server, params)
  local ok, err = check_gevals_initialize(params)
  if not ok then return nil, err end
  local agreed = agreed_gevals_capabilities(server, params.capabilities)
  ok, err = run_gevals_initializers(server, given(params.config), agreed)
  if not ok then return nil, err end
  local manifest = plugin.manifest(server.plugin)
  if agreed then
    extensions.begin(server.peer, agreed)
    manifest.capabilities = extensions.list(agreed)
  end
  return manifest
end

-- }======

-- {====== Execute: params ======

local PHASES = { setup = true, verify = true, cleanup = true }

-- An empty text counts as missing: the client of gevals sends `""` for an unknown phase.
local function nonempty_text(value)
  if value ~= "" then return given(value) end
end

local function read_gevals_env(env)
  if not env then return nil end
  local read = {}
  for name, value in pairs(env) do
    if type(value) ~= "string" then
      return jsonrpc.invalid_params("context.env.%s: string expected, got %s", name, kind_of(value))
    end
    read[name] = value
  end
  return read
end

local function read_gevals_agent(agent)
  if not agent then return nil end
  local read = {}
  for name, value in pairs(agent) do read[name] = given(value) end
  local ok, err = jsonrpc.check(read.prompt, "string", "context.agent.prompt")
  if ok then ok, err = jsonrpc.check(read.output, "string", "context.agent.output") end
  if not ok then return nil, err end
  return read
end

local function read_gevals_timeout(text)
  if not text then return nil end
  local seconds, message = duration.seconds(text)
  if not seconds then return jsonrpc.invalid_params("context.timeout: %s", message) end
  return seconds > 0 and seconds or nil
end

local CONTEXT = { workdir = "string", phase = "string", env = "object", timeout = "string", agent = "object" }

local function check_received_gevals_context(context)
  for name, expected in pairs(CONTEXT) do
    local ok, err = jsonrpc.check(context[name], expected, "context." .. name)
    if not ok then return nil, err end
  end
  return true
end

local function read_gevals_context(context)
  if context == nil then return {} end
  local ok, err = check_received_gevals_context(context)
  if not ok then return nil, err end
  local phase = nonempty_text(context.phase)
  if phase and not PHASES[phase] then
    return jsonrpc.invalid_params("context.phase: setup, verify or cleanup expected, got %q", phase)
  end
  local env, timeout, agent
  env, err = read_gevals_env(given(context.env))
  if err then return nil, err end
  timeout, err = read_gevals_timeout(nonempty_text(context.timeout))
  if err then return nil, err end
  agent, err = read_gevals_agent(given(context.agent))
  if err then return nil, err end
  return { workdir = nonempty_text(context.workdir), phase = phase, env = env, timeout = timeout, agent = agent }
end

-- Most requests repeat the last context: then the peer gives the same table again (`repeated`). The author may change
-- `env` and `agent`, so a context with these is read each time.
local function read_repeated_gevals_context(server, received)
  local context, err = read_gevals_context(given(received))
  if not context or context.env or context.agent then return context, err end
  server.state.received_context, server.state.context = received, context
  return context
end

local function read_gevals_args(server, params)
  local args = given(params.args) or {}
  if not server.capabilities.bytes then return args end
  local unpacked, message = extensions.unpack(args)
  if not unpacked then return jsonrpc.invalid_params("args: %s", message) end
  return unpacked
end

-- The operation and its arguments are required; the context is not.
local function read_gevals_execute_params(server, params)
  local ok, err = check_required_gevals_member(params, "object", "params")
  if ok then ok, err = check_required_gevals_member(params.operation, "string", "operation") end
  if ok and params.args == nil then ok, err = nil, missing_gevals_member "args" end
  if ok then ok, err = jsonrpc.check(params.args, "object", "args") end
  if ok then ok, err = jsonrpc.check(params.context, "object", "context") end
  if not ok then return nil, err end
  local args, context
  args, err = read_gevals_args(server, params)
  if not args then return nil, err end
  context, err = read_repeated_gevals_context(server, params.context)
  if not context then return nil, err end
  return args, context
end

-- Whether nothing has to be converted. `read_execute_params` reads the other requests.
local function is_usual_gevals_execute(server, params)
  local context = type(params) == "table" and params.context
  return context and context == server.state.received_context and server.operations[params.operation]
    and kind_of(params.args) == "object" and not server.capabilities.bytes
end

-- }======

-- {====== Execute: result ======

local RESULT = json.order { "success", "message", "error", "outputs" }

local function refuse_output(operation, name, problem)
  local message = ("Internal error: output %q of operation %q: %s"):format(tostring(name), operation, problem)
  error(errors.new("invalid", message, { code = jsonrpc.INTERNAL_ERROR }), 0)
end

-- Outputs are text in this protocol.
local function gevals_output_text(server, operation, name, value)
  local lua_type = type(value)
  if lua_type == "string" then return value end
  if lua_type == "boolean" then return tostring(value) end
  if lua_type == "number" then
    local is_finite = value == value and value ~= math.huge and value ~= -math.huge
    return is_finite and json.encode(value) or refuse_output(operation, name, "a finite number expected")
  end
  if bytes.is(value) then
    return server.capabilities.bytes and value or refuse_output(operation, name, "this host takes no bytes")
  end
  refuse_output(operation, name, ("text expected, got %s; pintle.json.encode makes some of it"):format(kind_of(value)))
end

local function gevals_output_texts(server, operation, values)
  local outputs = {}
  for name, value in pairs(values) do
    if type(name) ~= "string" then refuse_output(operation, name, "a string expected as its name") end
    outputs[name] = gevals_output_text(server, operation, name, value)
  end
  return outputs
end

-- }======

-- {====== Handlers ======

local function handle_gevals_execute(server, params, request)
  local args, context
  if is_usual_gevals_execute(server, params) then
    args, context = params.args, server.state.context
  else
    args, context = read_gevals_execute_params(server, params)
    if not args then return nil, context end
  end
  local outcome, err = server:execute(params.operation, args, context, request)
  if not outcome then return nil, err end
  if outcome.outputs then outcome.outputs = gevals_output_texts(server, params.operation, outcome.outputs) end
  return setmetatable(outcome, RESULT)
end

local function handle_gevals_shutdown(server, request)
  server:shutdown(request)
  server:exit(0)
  return {}
end

function plugin.handlers(server)
  return {
    initialize = function(params) return handle_gevals_initialize(server, params) end,
    execute = function(params, request) return handle_gevals_execute(server, params, request) end,
    shutdown = function(_, request) return handle_gevals_shutdown(server, request) end,
  }
end

-- }======

-- {====== Log ======

local LOG = json.order { "level", "message", "data" }
local MOST_PARAMS = 65000 -- bytes; some hosts read lines of at most 64 KiB
local SHORT = 1024 -- bytes of a text that needs no measuring
local FEW = 8 -- members that need no measuring, if they are short
local KEPT_MESSAGE, KEPT_DATA = 4096, 16384 -- bytes; escapes make them at most six times and twice as long

local function cut_gevals_log_text(text, most)
  if #text <= most then return text end
  while text:byte(most + 1) & 0xC0 == 0x80 do most = most - 1 end
  return text:sub(1, most) .. "…"
end

local function gevals_log_params(level, message, data)
  return setmetatable({ level = level, message = message, data = data }, LOG)
end

local function has_few_short_members(data)
  local count = 0
  for name, value in next, data do
    count = count + 1
    local lua_type = type(value)
    local is_short = lua_type == "number" or lua_type == "boolean" or lua_type == "string" and #value <= SHORT
    if not is_short or count > FEW or type(name) ~= "string" or #name > SHORT then return false end
  end
  return count > 0
end

-- The params of a log message that may be too long for a line: then they are cut, with a note that says so.
local function measured_gevals_log_params(level, message, data)
  if data ~= nil and kind_of(data) ~= "object" then data = { value = data } end
  local params = gevals_log_params(level, message, data)
  local ok, text = pcall(json.encode, params)
  if not ok then return nil, errors.new("invalid", "log: " .. text) end
  if #text <= MOST_PARAMS then return json.raw(text) end
  local kept = data ~= nil and json.encode(data)
  return gevals_log_params(level, cut_gevals_log_text(message, KEPT_MESSAGE), kept and {
    truncated = true, bytes = #kept, json = cut_gevals_log_text(kept, KEPT_DATA),
  } or nil)
end

-- The params of short messages, used again for each: `notify` encodes them before it returns.
local SHORT_LOG, SHORT_LOG_WITH_DATA = gevals_log_params("", ""), gevals_log_params("", "", true)

local function send_short_gevals_log(server, level, message, data)
  local params = data == nil and SHORT_LOG or SHORT_LOG_WITH_DATA
  params.level, params.message, params.data = level, message, data
  local ok, err = server.peer:notify("log", params)
  if data ~= nil then params.data = true end -- so that the data can be collected
  return ok, err
end

---A plugin that is run once, from a shell, is not initialized: then stdout is for the answer alone, and logs go to
---stderr.
function plugin.log(server, _, level, message, data)
  if not server.state.has_host then return server:note(level, message, data) end
  if #message <= SHORT and (data == nil or type(data) == "table" and has_few_short_members(data)) then
    return send_short_gevals_log(server, level, message, data)
  end
  local params, err = measured_gevals_log_params(level, message, data)
  if not params then return nil, err end
  return server.peer:notify("log", params)
end

-- }======

-- {====== Progress and parts ======

local PROGRESS = json.order { "id", "value", "message" }
local FRACTION = {} -- the data of a log message about progress, used again for each
local PART = json.order { "id", "part" }

-- An id that is not a plain value is sent back as text.
local function sendable_id_of(request)
  local id = request.id
  return type(id) == "userdata" and id ~= json.null and json.raw(tostring(id)) or id
end

function plugin.progress(server, request, fraction, message)
  if not server.state.has_host or request.id == nil then return true end
  if server.capabilities.progress then
    local params = { id = sendable_id_of(request), value = fraction, message = message }
    return server.peer:notify("progress", setmetatable(params, PROGRESS))
  end
  FRACTION.progress = fraction
  if message and #message > SHORT then return plugin.log(server, request, "debug", message, FRACTION) end
  return send_short_gevals_log(server, "debug", message or "progress", FRACTION)
end

function plugin.part(server, request, part)
  if not server.capabilities.parts then
    return nil, errors.new("invalid", "the host takes no parts of a result")
  end
  local path = not server.capabilities.bytes and extensions.find_bytes(part, "")
  if path then return nil, errors.new("invalid", ("the part has bytes%s, which the host does not take"):format(
    path ~= "" and " at " .. path or "")) end
  local params = { id = sendable_id_of(request), part = server.capabilities.bytes and extensions.pack(part) or part }
  return server.peer:notify("part", setmetatable(params, PART))
end

-- }======

return plugin
