-- The plugin: the handshake tells whether the host is june or july.

local arguments = require "pintle.dialect.reginald.arguments"
local declarations = require "pintle.dialect.reginald.declarations"
local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local wire = require "pintle.dialect.reginald.wire"

local INVALID_REQUEST, INVALID_PARAMS = jsonrpc.INVALID_REQUEST, jsonrpc.INVALID_PARAMS
local END_OF_INPUT = 1 -- seconds for running handlers when input ends, which means exit in this protocol

local given, refuse = jsonrpc.given, arguments.refuse

local plugin = { stderr_line = 64 << 10 }

-- {====== Handshake ======

local ANSWERS = {
  june = json.order { "protocol", "protocolVersion", "name", "version", "commands", "tasks", "configs" },
  july = json.order { "name", "protocol", "protocolVersion" },
}

local function agree_on_reginald_release(params)
  local release = wire.by_protocol[params.protocol]
  if not release then
    return refuse(INVALID_PARAMS, 'protocol %s is not supported; supported are "rpp" and "reginald"',
      json.encode(params.protocol or json.null))
  end
  if params.protocolVersion == wire.VERSION then return release end
  return refuse(release.codes.handshake, "version %s of the protocol %q is not supported; supported is %d",
    json.encode(params.protocolVersion or json.null), release.protocol, wire.VERSION)
end

-- Names are checked only in a plugin that is meant for Reginald. Any other is served as far as possible.
local function check_reginald_names(manifest, release)
  local problems = declarations.is_meant_for_reginald(manifest) and declarations.check_names(manifest) or {}
  if #problems == 0 then return release end
  return refuse(jsonrpc.INTERNAL_ERROR, "%s", table.concat(problems, "; "))
end

local handlers = { june = {}, july = {} } ---@type table<string, any> those of both releases, and of each

function handlers.handshake(server, params)
  if server.state.release then return refuse(INVALID_REQUEST, "Invalid Request: handshake was sent already") end
  local manifest = server.plugin.manifest
  local release, err = agree_on_reginald_release(params)
  if release then release, err = check_reginald_names(manifest, release) end
  if not release then return nil, err end
  local answer = { protocol = release.protocol, protocolVersion = wire.VERSION, name = manifest.name }
  if release.name == "june" then
    answer.version = manifest.version
    answer.commands, answer.tasks, answer.configs = declarations.june(manifest, release)
  end
  server.state.names, server.state.setups = declarations.names(manifest), {}
  server.state.release, server.state.command_line_config = release, server.config
  server.config = arguments.config(server) or server.config
  return setmetatable(answer, ANSWERS[release.name])
end

-- }======

-- {====== Running operations ======

-- `member` is the name of the param in messages.
local function find_reginald_command(server, name, member)
  local ok, err = jsonrpc.check(name, "string", member)
  if not ok then return nil, err end
  if given(name) == nil then return refuse(INVALID_PARAMS, "Invalid params: %s is missing", member) end
  local known, codes = server.state.names, server.state.release.codes
  local operation = server.plugin.manifest.operations[known.commands[name]]
  if operation then return operation end
  if known.subcommands[name] then return refuse(codes.group, "command %q only has subcommands", name) end
  return refuse(codes.unknown, "Unknown command: %s", name)
end

local function find_reginald_task(server, name, member)
  local ok, err = jsonrpc.check(name, "string", member)
  if not ok then return nil, err end
  if given(name) == nil then return refuse(INVALID_PARAMS, "Invalid params: %s is missing", member) end
  local operation = server.plugin.manifest.operations[server.state.names.tasks[name]]
  if operation then return operation end
  return refuse(INVALID_PARAMS, "Unknown task: %s", name)
end

-- An error with the code of the release for it. An error of the author with a code stays as it is.
local function with_reginald_code(server, err, role)
  if type(err) ~= "table" then err = errors.new("remote", tostring(err)) end
  if err.code ~= nil then return err end
  local codes = server.state.release.codes
  local code = err.kind == "requirement" and codes.lacking or codes[role]
  return errors.new(err.kind or "remote", err.message, { code = code, data = err.data })
end

local function log_reginald_outcome(server, request, operation, outcome)
  local message, fields = wire.outcome_message(operation.name, request.id, outcome)
  if not message then return true end
  return server:log("info", message, fields, request)
end

-- Runs an operation. The result is {}: the outcome goes to the log.
local function execute_reginald_operation(server, request, role, operation, args, context)
  local outcome, err = server:execute(operation.name, args, context, request)
  if not outcome then return nil, with_reginald_code(server, err, role) end
  local code = server.state.release.codes[role]
  if not outcome.success then return nil, wire.failure(operation.name, outcome, code) end
  local ok
  ok, err = log_reginald_outcome(server, request, operation, outcome)
  if ok then return {} end
  return refuse(code, "%s succeeded, but its outcome cannot be sent: %s", operation.name, err.message)
end

-- }======

-- {====== Requests of june ======

local function read_reginald_log_threshold(logging)
  local ok, err = jsonrpc.check(logging, "object", "logging")
  if not ok then return nil, err end
  logging = given(logging) or {}
  ok, err = jsonrpc.check(logging.enabled, "boolean", "logging.enabled")
  if not ok then return nil, err end
  if given(logging.enabled) == false then return math.huge end
  if given(logging.level) == nil then return -math.huge end
  local threshold = wire.level_number(logging.level)
  if threshold then return threshold end
  return refuse(INVALID_PARAMS, "Invalid params: logging.level: TRACE, DEBUG, INFO, WARN or ERROR expected, got %s",
    json.encode(logging.level))
end

function handlers.june.initialize(server, params)
  local threshold, err = read_reginald_log_threshold(params.logging)
  if not threshold then return nil, err end
  local config
  config, err = arguments.config(server, params.config)
  if not config then return nil, err end
  local before, ok = server.state.threshold
  server.state.threshold = threshold
  ok, err = server:initialize(config)
  if ok then return {} end
  server.state.threshold = before
  return nil, err
end

local function read_reginald_positional_args(operation, list)
  local ok, err = jsonrpc.check(list, "array", "args")
  if not ok then return nil, err end
  if given(list) == nil or #list == 0 then return {} end
  local name = declarations.options(operation).positional
  if name then return { [name] = list } end
  return refuse(INVALID_PARAMS, "Invalid params for %q: it takes no positional arguments", operation.name)
end

-- A setup counts for all runs until the next setup; a run keeps the arguments that it has started with.
function handlers.june.setupCommand(server, params)
  local operation, err = find_reginald_command(server, params.name, "name")
  if not operation then return nil, err end
  local values
  values, err = read_reginald_positional_args(operation, params.args)
  if not values then return nil, err end
  local args
  args, err = arguments.read(server, operation, params.config, INVALID_PARAMS)
  if not args then return nil, err end
  for name, value in pairs(values) do args[name] = value end
  args, err = arguments.check(server, operation, args, INVALID_PARAMS)
  if not args then return nil, err end
  server.state.setups[operation.name] = args
  return {}
end

function handlers.june.runCommand(server, params, request)
  local operation, err = find_reginald_command(server, params.name, "name")
  if not operation then return nil, err end
  local setup = server.state.setups[operation.name] or {}
  return execute_reginald_operation(server, request, "command", operation, setup, {})
end

-- The host also validates the defaults of a task type alone, which may be incomplete. `runTask` checks all of them.
function handlers.june.validateTask(server, params)
  local operation, err = find_reginald_task(server, params.type, "type")
  if not operation then return nil, err end
  local code = server.state.release.codes.config
  local args
  args, err = arguments.read(server, operation, params.config, code)
  if not args then return nil, err end
  local ok
  ok, err = arguments.check_each(operation, args, code)
  if ok then return {} end
  return nil, err
end

function handlers.june.runTask(server, params, request)
  local operation, err = find_reginald_task(server, params.type, "type")
  if not operation then return nil, err end
  local ok
  ok, err = jsonrpc.check(params.dir, "string", "dir")
  if not ok then return nil, err end
  local code = server.state.release.codes.config
  local args
  args, err = arguments.read(server, operation, params.config, code)
  if args then args, err = arguments.check(server, operation, args, code) end
  if not args then return nil, err end
  return execute_reginald_operation(server, request, "task", operation, args, { workdir = given(params.dir) })
end

-- }======

-- {====== Requests of july ======

-- Each request has the config of the plugin. The settings of commands are among it, and those of subcommands among the
-- settings of their parent.
local function run_july_operation(server, params, request, role, operation)
  local subcommands = server.state.names.subcommands
  local own = role == "command" and subcommands[operation.name] or nil
  local args, err = arguments.read(server, operation, params.config, INVALID_PARAMS, own)
  if args then args, err = arguments.check(server, operation, args, INVALID_PARAMS) end
  if not args then return nil, err end
  local config
  config, err = arguments.config(server, params.pluginConfig, subcommands[""])
  if not config then return nil, err end
  server.config = config
  return execute_reginald_operation(server, request, role, operation, args, {})
end

function handlers.july.runCommand(server, params, request)
  local operation, err = find_reginald_command(server, params.cmd, "cmd")
  if not operation then return nil, err end
  return run_july_operation(server, params, request, "command", operation)
end

function handlers.july.runTask(server, params, request)
  local operation, err = find_reginald_task(server, params.taskType, "taskType")
  if not operation then return nil, err end
  return run_july_operation(server, params, request, "task", operation)
end

-- }======

function handlers.shutdown(server, _, request)
  server.state.is_over = true
  server:shutdown(request)
  return server.state.release.shutdown
end

-- {====== Dispatch ======

local function check_reginald_method(server, method)
  if server.state.is_over then return refuse(INVALID_REQUEST, "Invalid Request: the plugin is shut down") end
  local release = server.state.release
  if method == "handshake" then return true end
  if not release then return refuse(INVALID_REQUEST, "Invalid Request: handshake must be first") end
  if release.methods[method] then return true end
  return refuse(jsonrpc.METHOD_NOT_FOUND, "Method not found: %s", method)
end

-- Some languages write null for a missing id: such a message is a notification.
local function drop_reginald_null_id(request)
  if request.id == json.null then request.id = nil end
end

local function handle_reginald_method(server, method, params, request)
  drop_reginald_null_id(request)
  local ok, err = check_reginald_method(server, method)
  params = given(params)
  if ok then ok, err = jsonrpc.check(params, "object", "params") end
  if not ok then return nil, err end
  local handler = handlers[method] or handlers[server.state.release.name][method]
  return handler(server, params or {}, request)
end

-- A host that receives a request or an unknown notification ends the plugin or hangs.
local function block_reginald_sending(server)
  local peer = server.peer
  server.state.notify = peer.notify
  local function refuse_to_send(_, method)
    local format = "%q was not sent: a Reginald host accepts only log messages from a plugin"
    return nil, errors.new("invalid", format:format(tostring(method)))
  end
  peer.call, peer.notify = refuse_to_send, refuse_to_send
  function peer.begin(_, method) error(select(2, refuse_to_send(nil, method)).message, 2) end
end

---@param server pintle.server
---@return table<string, pintle.handler>
function plugin.handlers(server)
  block_reginald_sending(server)
  server.drain = math.min(server.drain, END_OF_INPUT)
  local all = {}
  for method in pairs(wire.METHODS) do
    all[method] = function(params, request) return handle_reginald_method(server, method, params, request) end
  end
  function all.exit(_, request)
    drop_reginald_null_id(request)
    server:exit(0)
  end
  return all
end

---@param server pintle.server
---@param request pintle.request
---@return true?, pintle.error?
function plugin.may_handle(server, request)
  drop_reginald_null_id(request)
  if not server.state.is_over then return true end
  return refuse(INVALID_REQUEST, "Invalid Request: the plugin is shut down")
end

-- }======

-- {====== Log and progress ======

---@param server pintle.server
---@param level pintle.level
---@param message string
---@param data any
---@return true?, pintle.error?
function plugin.log(server, _, level, message, data)
  local state = server.state
  if not state.release then return server:note(level, message, data) end
  if wire.level_number(level) < (state.threshold or -math.huge) then return true end
  local params, err = wire.log_params(state.release, level, message, data)
  if not params then return nil, err end
  return state.notify(server.peer, "log", params)
end

local PROGRESS = json.order { "request", "progress" }

---@param server pintle.server
---@param request pintle.request
---@param fraction number
---@param message string?
---@return true?, pintle.error?
function plugin.progress(server, request, fraction, message)
  local id = math.type(request.id) == "integer" and request.id or nil
  local fields = setmetatable({ request = id, progress = fraction }, PROGRESS)
  return plugin.log(server, request, "debug", message or "progress", fields)
end

-- }======

---july's manifest.json.
---@param self pintle.plugin
---@return table, string[] warnings
function plugin.manifest(self)
  local problems, warnings = declarations.check_names(self.manifest)
  if #problems > 0 then error(table.concat(problems, "\n"), 0) end
  return declarations.july(self.manifest), warnings
end

return plugin
