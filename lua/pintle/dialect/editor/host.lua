-- The host: the client of this protocol.

local core = require "pintle.core"
local dialects = require "pintle.dialect"
local errors = require "pintle.error"
local jsonrpc = require "pintle.jsonrpc"
local outcomes = require "pintle.outcome"
local wire = require "pintle.dialect.editor.wire"

local json = core.json
local kind, given = json.kind, jsonrpc.given

local host = { handlers = {} }

local function invalid_editor_option(format, ...) return nil, errors.new("invalid", format:format(...)) end

-- {====== Initialize ======

local INITIALIZE = json.order { "process_id", "client_info", "root_path", "initialize_options" }
local CLIENT_INFO = json.order { "name", "version" }

local OPTIONS = { process_id = "boolean", client_info = "object", root_path = "string" }

local function describe_editor_client(info)
  if not info then return { name = "pintle" } end
  if type(info.name) ~= "string" then return invalid_editor_option "options.client_info: a name expected" end
  if info.version ~= nil and type(info.version) ~= "string" then
    return invalid_editor_option("options.client_info.version: string expected, got %s", kind(info.version))
  end
  return setmetatable({ name = info.name, version = info.version }, CLIENT_INFO)
end

-- A relative directory is left out: the server runs in it already.
local function editor_workspace_path(session)
  local cwd = session.cwd
  return session.options.root_path or cwd and cwd:sub(1, 1) == "/" and cwd or nil
end

local function editor_initialize_params(session)
  local options = session.options
  local ok, err = dialects.check_options(options, OPTIONS)
  if not ok then return nil, err end
  local info
  info, err = describe_editor_client(options.client_info)
  if not info then return nil, err end
  return setmetatable({
    process_id = options.process_id ~= false and not session.place and core.getpid() or nil,
    client_info = info,
    root_path = editor_workspace_path(session),
    initialize_options = session.config,
  }, INITIALIZE)
end

-- }======

-- {====== The answer to initialize ======

-- The document does not define the result, so any result is accepted. The members that our own servers send are used.

local function read_editor_methods(session, methods)
  local operations, schemas = {}, {}
  for i, method in ipairs(methods) do
    if kind(method) == "object" and type(method.name) == "string" then
      local params = given(method.params)
      operations[method.name] = { description = given(method.description), params = params == nil or params }
      schemas[method.name] = params
    else
      session:log("warn", ("methods[%d] in its answer to initialize: an object with a name expected"):format(i - 1))
    end
  end
  return operations, schemas
end

local function editor_text_or_default(value, default) return type(value) == "string" and value or default end

local function read_editor_initialize_result(session, result)
  local answer = kind(result) == "object" and result or {}
  local info = kind(answer.server_info) == "object" and answer.server_info or {}
  local has_methods = kind(answer.methods) == "array"
  local operations, schemas = read_editor_methods(session, has_methods and answer.methods or {})
  session.state.schemas = schemas
  return {
    name = editor_text_or_default(info.name, session.name), version = editor_text_or_default(info.version, false),
    is_version_free = true, description = editor_text_or_default(info.description), operations = operations,
    is_open = not has_methods,
  }
end

---@param session pintle.session
---@return table?, pintle.error?
function host.open(session)
  local params, err = editor_initialize_params(session)
  if not params then return nil, err end
  local answer
  answer, err = session.peer:call("initialize", params, { timeout = session.handshake_timeout })
  if err ~= nil then return nil, err end
  session.raw_manifest = given(answer)
  return read_editor_initialize_result(session, answer)
end

-- }======

-- {====== Execute ======

local function editor_error_outcome(operation, err)
  if err.kind ~= "remote" then return nil, err end
  if err.code == wire.FAILED then return outcomes.read_failure(err) end
  if wire.is_int(err.code) then return nil, err end
  local format = "its error response to %q has a code that is not an Int: %s (%s)"
  return nil, errors.new("protocol", format:format(operation, tostring(err.code), err.message))
end

---@param session pintle.session
---@param operation string
---@param args table
---@param context pintle.context
---@return pintle.outcome?, pintle.error?
function host.execute(session, operation, args, context)
  local ok, err = wire.check_integers(operation, args, session.state.schemas[operation])
  if not ok then return nil, err end
  local result
  result, err = session.peer:call(operation, args, { timeout = context.wait_timeout })
  if err ~= nil then return editor_error_outcome(operation, err) end
  return outcomes.read(result)
end

-- }======

---Does nothing: the protocol has no message for it. A server ends when its input ends, which follows.
function host.close() end

return host
