-- The plugin: the server of this protocol. Each operation is a method, and its arguments are the params.

local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local ordered_schema = require "pintle.manifest.order"
local outcomes = require "pintle.outcome"
local wire = require "pintle.dialect.editor.wire"

local plugin = {}

-- {====== The answer to initialize ======

local MANIFEST = json.order { "server_info", "methods" }
local SERVER_INFO = json.order { "name", "version", "description" }
local METHOD = json.order { "name", "description", "params" }

local function describe_editor_methods(manifest)
  local methods = json.array()
  for i, name in ipairs(manifest.names) do
    local operation = manifest.operations[name]
    local method = { name = name, description = operation.description, params = ordered_schema(operation.params) }
    methods[i] = setmetatable(method, METHOD)
  end
  return methods
end

---The result of `initialize`.
---@param self pintle.plugin
---@return table
function plugin.manifest(self)
  local manifest = self.manifest
  local info = { name = manifest.name, version = manifest.version, description = manifest.description }
  info = setmetatable(info, SERVER_INFO)
  return setmetatable({ server_info = info, methods = describe_editor_methods(manifest) }, MANIFEST)
end

-- }======

-- {====== Initialize ======

local function check_editor_process_id(pid)
  if pid == nil then return true end
  if not wire.is_int(pid) then
    local got = type(pid) == "number" and json.encode(pid) or json.kind(pid)
    return jsonrpc.invalid_params("process_id: Int expected, got %s", got)
  end
  if pid <= 0 then return jsonrpc.invalid_params("process_id: the id of a process expected, got %d", pid) end
  return true
end

local function check_editor_client_info(info)
  local ok, err = jsonrpc.check(info, "object", "client_info")
  if not ok or info == nil then return ok, err end
  if jsonrpc.given(info.name) == nil then return jsonrpc.invalid_params "client_info.name is missing" end
  ok, err = jsonrpc.check(info.name, "string", "client_info.name")
  if ok then ok, err = jsonrpc.check(info.version, "string", "client_info.version") end
  return ok, err
end

-- The params of initialize without null members.
local function read_editor_initialize(params)
  local ok, err = jsonrpc.check(params, "object", "params")
  if not ok then return nil, err end
  local client = {}
  for name, value in pairs(params or {}) do client[name] = jsonrpc.given(value) end
  ok, err = check_editor_process_id(client.process_id)
  if ok then ok, err = check_editor_client_info(client.client_info) end
  if ok then ok, err = jsonrpc.check(client.root_path, "string", "root_path") end
  if not ok then return nil, err end
  return client
end

local function handle_editor_initialize(server, params)
  local client, err = read_editor_initialize(params)
  if not client then return nil, err end
  local ok
  ok, err = server:initialize(client.initialize_options)
  if not ok then return nil, err end
  server.client, server.state.is_ready = client, true
  if client.process_id then server:exit_with(math.tointeger(client.process_id)) end
  return plugin.manifest(server.plugin)
end

-- }======

-- {====== Operations ======

local function check_editor_initialized(server)
  if server.state.is_ready then return true end
  return nil, errors.new("invalid", "Invalid Request: initialize must be first", { code = jsonrpc.INVALID_REQUEST })
end

---@param server pintle.server
---@param request pintle.request
---@param params any
---@return true?, pintle.error?
function plugin.may_handle(server, request, params)
  local ok, err = check_editor_initialized(server)
  if not ok or not server.plugin.methods[request.method] then return ok, err end
  return wire.check_integers(request.method, params)
end

-- Arguments have names; an empty array stands for no arguments.
local function read_editor_args(server, name, params)
  if params == nil or json.kind(params) == "array" and #params == 0 then return {} end
  local ok, err = jsonrpc.check(params, "object", "params")
  if ok then ok, err = wire.check_integers(name, params, server.plugin.manifest.operations[name].params) end
  if not ok then return nil, err end
  return params
end

local function execute_editor_operation(server, name, params, request)
  local ok, err = check_editor_initialized(server)
  if not ok then return nil, request.id ~= nil and err or nil end
  local args, outcome
  args, err = read_editor_args(server, name, params)
  if not args then return nil, err end
  outcome, err = server:execute(name, args, { workdir = server.client.root_path }, request)
  if not outcome then return nil, err end
  if not outcome.success then return nil, outcomes.failure(outcome, wire.FAILED) end
  return outcomes.value(outcome)
end

---@param server pintle.server
---@return table<string, pintle.handler>
function plugin.handlers(server)
  local handlers = {}
  for name in pairs(server.plugin.manifest.operations) do
    handlers[name] = function(params, request) return execute_editor_operation(server, name, params, request) end
  end
  if handlers.initialize then server:note("warn", "the operation initialize is hidden by the protocol's own method") end
  handlers.initialize = function(params) return handle_editor_initialize(server, params) end
  return handlers
end

-- }======

-- {====== Log and progress ======

-- The protocol has messages for neither. Log messages go to stderr; progress is dropped.

---@param server pintle.server
---@param level pintle.level
---@param message string
---@param data any
---@return true?, pintle.error?
function plugin.log(server, _, level, message, data) return server:note(level, message, data) end

---@return true?, pintle.error?
function plugin.progress() return true end

-- }======

return plugin
