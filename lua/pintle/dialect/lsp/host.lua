-- The side of the client.

local client = require "pintle.dialect.lsp.client"
local defaults = require "pintle.dialect.lsp.defaults"
local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local outcomes = require "pintle.outcome"

local REQUEST_FAILED = -32803

local host = { handlers = {}, defaults = defaults }

local function protocol_error(format, ...) return nil, errors.new("protocol", format:format(...)) end

-- {====== Opening ======

-- Nothing is told of their arguments.
local function operations_of(capabilities)
  local provider = jsonrpc.given(capabilities.executeCommandProvider)
  local commands = json.kind(provider) == "object" and jsonrpc.given(provider.commands)
  local operations = {}
  for _, name in ipairs(type(commands) == "table" and commands or {}) do
    if type(name) == "string" then operations[name] = { params = true } end
  end
  return operations
end

local function text_of(value) return type(value) == "string" and value:find "%S" and value or nil end

local function description(session, told)
  local info = json.kind(told.serverInfo) == "object" and told.serverInfo or {}
  return {
    name = text_of(info.name) or session.name,
    version = text_of(info.version) or false,
    is_version_free = true,
    operations = operations_of(told.capabilities),
  }
end

local function check_told(told)
  local kind = json.kind(told)
  if kind ~= "object" then return protocol_error("its answer to initialize: object expected, got %s", kind) end
  kind = json.kind(told.capabilities)
  if kind == "object" then return true end
  return protocol_error("its answer to initialize: capabilities: object expected, got %s", kind)
end

---@param session pintle.session
---@return table?, pintle.error?
function host.open(session)
  local ok, err = client.check(session.options)
  if not ok then return nil, err end
  local told
  told, err = session.peer:call("initialize", client.params(session), { timeout = session.handshake_timeout })
  if err then return nil, err end
  ok, err = check_told(told)
  if not ok then return nil, err end
  session.told = told
  ok, err = session.peer:notify("initialized", {})
  local settings = session.options.settings
  if ok and settings then ok, err = session.peer:notify("workspace/didChangeConfiguration", { settings = settings }) end
  if not ok then return nil, err end
  return description(session, told)
end

-- }======

-- {====== Execute ======

local COMMAND = json.order { "command", "arguments" }

-- Arguments are a list in this protocol: a list is sent as it is, and an object as the only item of one.
local function arguments_of(args)
  if next(args) == nil then return json.array() end
  if json.kind(args) == "array" then return args end
  return json.array { args }
end

-- How far it is may be left out; the callback always knows. That it is over is told by the answer.
local function listener_of(context)
  local on_progress, last = context.on_progress, 0
  if not on_progress then return nil end
  return function(fraction, message, value)
    if value.kind == "end" then return end
    last = fraction or last
    on_progress(last, message)
  end
end

---@param session pintle.session
---@param operation string
---@param args table
---@param context pintle.context
---@return pintle.outcome?, pintle.error?
function host.execute(session, operation, args, context)
  local params = setmetatable({ command = operation, arguments = arguments_of(args) }, COMMAND)
  local timeout = context.patience
  if timeout == nil then timeout = context.timeout end
  local result, err = session.peer:call("workspace/executeCommand", params,
    { timeout = timeout, on_progress = listener_of(context) })
  if err == nil then return outcomes.read(result) end
  if err.kind == "remote" and err.code == REQUEST_FAILED then return outcomes.read_failure(err) end
  return nil, err
end

-- }======

---@param session pintle.session
---@param seconds number
function host.close(session, seconds)
  session.peer:call("shutdown", nil, { timeout = seconds })
  session.peer:notify "exit"
end

host.hints = {
  command = {
    "language%-?server", "langserver", "%f[%w]lsp%f[%W]", "^pylsp$", "^clangd", "^ccls$", "^gopls$", "^zls$", "^jdtls$",
    "^rust%-analyzer$",
  },
  output = { "language server", "%f[%w]lsp%f[%W]", "%f[%w]clangd%f[%W]" },
}

return host
