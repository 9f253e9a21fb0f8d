-- The host: the client of language servers.

local core = require "pintle.core"
local dialects = require "pintle.dialect"
local json = core.json
local jsonrpc = require "pintle.jsonrpc"
local lfs = require "lfs"
local outcomes = require "pintle.outcome"
local wire = require "pintle.dialect.lsp.wire"

local protocol_error = jsonrpc.protocol_error

local host = { handlers = {}, defaults = {} }

local function lsp_object_or_empty(value) return jsonrpc.is_object(value) and value or {} end

-- {====== Options ======

---@class pintle.lsp.options
---@field root? string|false the workspace folder, as a path or a file URI; default: the directory of the process
---@field capabilities? table client capabilities in addition to those of this dialect
---@field settings? table answers to workspace/configuration; also sent after the handshake
---@field process_id? boolean false: the server is not sent a process id, for example because it runs in a container

local OPTIONS = {
  root = function(value) return value == false or type(value) == "string", "a path or false" end,
  capabilities = "object", settings = "object", process_id = "boolean",
}

-- }======

-- {====== The params of initialize ======

local function absolute_lsp_path(path)
  if path:sub(1, 1) == "/" then return path end
  return path == "." and lfs.currentdir() or lfs.currentdir() .. "/" .. path
end

-- The workspace folder as URI and path; nil if there is none. The directory of this process is no folder elsewhere.
local function lsp_workspace_root(session)
  local root = session.options.root
  if root == false then return nil end
  if root and root:find "^%a[%w+.-]*://" then return root, wire.path(root) end
  local path = root or session.cwd
  if not path and session.place then return nil end
  path = absolute_lsp_path(path or ".")
  return wire.uri(path), path
end

-- A server may end when there is no process with this id, so one on another machine is not sent it.
local function lsp_client_process_id(session)
  if session.place or session.options.process_id == false then return json.null end
  return core.getpid()
end

local function lsp_workspace_folders(root, path)
  if not root then return json.null end
  local name = (path or root):match "([^/]+)/*$" or root
  return json.array { { uri = root, name = name } }
end

local PARAMS = json.order {
  "processId", "clientInfo", "rootPath", "rootUri", "capabilities", "initializationOptions", "workspaceFolders",
}

-- Capabilities for the requests that this dialect or a handler of the user answers.
local function lsp_client_capabilities(session)
  local handlers = session.handlers or {}
  local own = {
    window = { workDoneProgress = true, showDocument = handlers["window/showDocument"] and { support = true } },
    workspace = {
      applyEdit = handlers["workspace/applyEdit"] and true, configuration = true, workspaceFolders = true,
      executeCommand = {}, didChangeConfiguration = {},
    },
    textDocument = {
      synchronization = { didSave = true },
      publishDiagnostics = handlers["textDocument/publishDiagnostics"] and {},
    },
  }
  return wire.merge(own, session.options.capabilities or {})
end

local function lsp_initialize_params(session)
  local root, path = lsp_workspace_root(session)
  session.state.folders = lsp_workspace_folders(root, path)
  return setmetatable({
    processId = lsp_client_process_id(session),
    clientInfo = { name = "pintle" },
    rootPath = path or json.null,
    rootUri = root or json.null,
    capabilities = lsp_client_capabilities(session),
    initializationOptions = session.config,
    workspaceFolders = session.state.folders,
  }, PARAMS)
end

-- }======

-- {====== Handshake ======

-- The protocol does not describe the arguments of commands.
local function read_lsp_commands(capabilities)
  local provider = jsonrpc.given(capabilities.executeCommandProvider)
  local commands = jsonrpc.is_object(provider) and jsonrpc.given(provider.commands)
  local operations = {}
  for _, name in ipairs(type(commands) == "table" and commands or {}) do
    if type(name) == "string" then operations[name] = { params = true } end
  end
  return operations
end

local function describe_lsp_server(session, result)
  local info = lsp_object_or_empty(result.serverInfo)
  return {
    name = jsonrpc.text(info.name) or session.name,
    version = jsonrpc.text(info.version) or false,
    is_version_free = true,
    operations = read_lsp_commands(result.capabilities),
  }
end

local function check_lsp_initialize_result(result)
  local kind = json.kind(result)
  if kind ~= "object" then return protocol_error("its answer to initialize: object expected, got %s", kind) end
  kind = json.kind(result.capabilities)
  if kind == "object" then return true end
  return protocol_error("its answer to initialize: capabilities: object expected, got %s", kind)
end

---@param session pintle.session
---@return table?, pintle.error?
function host.open(session)
  local ok, err = dialects.check_options(session.options, OPTIONS)
  if not ok then return nil, err end
  local result
  result, err = session.peer:call("initialize", lsp_initialize_params(session), { timeout = session.handshake_timeout })
  if err then return nil, err end
  ok, err = check_lsp_initialize_result(result)
  if not ok then return nil, err end
  session.raw_manifest = result
  ok, err = session.peer:notify("initialized", {})
  local settings = session.options.settings
  if ok and settings then ok, err = session.peer:notify("workspace/didChangeConfiguration", { settings = settings }) end
  if not ok then return nil, err end
  return describe_lsp_server(session, result)
end

-- }======

-- {====== Execute ======

local COMMAND = json.order { "command", "arguments" }

-- The arguments of a command are an array: an array is sent as it is, and an object as the only item of one.
local function lsp_command_arguments(args)
  if next(args) == nil then return json.array() end
  if json.kind(args) == "array" then return args end
  return json.array { args }
end

-- A report may come without a percentage; the callback then gets the last one. The response is the end.
local function lsp_progress_listener(context)
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
  local params = setmetatable({ command = operation, arguments = lsp_command_arguments(args) }, COMMAND)
  local result, err = session.peer:call("workspace/executeCommand", params,
    { timeout = context.wait_timeout, on_progress = lsp_progress_listener(context) })
  if err == nil then return outcomes.read(result) end
  if err.kind == "remote" and err.code == wire.REQUEST_FAILED then return outcomes.read_failure(err) end
  return nil, err
end

-- }======

---@param session pintle.session
---@param seconds number
function host.close(session, seconds)
  session.peer:call("shutdown", nil, { timeout = seconds })
  session.peer:notify "exit"
end

-- {====== Log messages of the server ======

local function log_lsp_message(session, params)
  params = lsp_object_or_empty(params)
  if type(params.message) == "string" then return session:log(wire.level(params.type), params.message) end
  session:log("warn", "malformed log message", params)
end

host.defaults["window/logMessage"] = log_lsp_message
host.defaults["window/showMessage"] = log_lsp_message

-- There is no user to choose an action: the result is null.
host.defaults["window/showMessageRequest"] = log_lsp_message

host.defaults["telemetry/event"] = function(session, params) session:log("debug", "telemetry", params) end

host.defaults["$/logTrace"] = function(session, params)
  params = lsp_object_or_empty(params)
  session:log("debug", tostring(params.message), jsonrpc.given(params.verbose))
end

-- Only the first report has the title.
local function lsp_progress_title(session, token, value)
  local titles = session.state.titles or {}
  session.state.titles = titles
  if token == nil then return "progress" end
  local title = titles[token] or type(value.title) == "string" and value.title or "progress"
  titles[token] = value.kind ~= "end" and title or nil
  return title
end

-- Progress that belongs to no call of the host. The rest goes to the caller.
host.defaults["$/progress"] = function(session, params)
  params = lsp_object_or_empty(params)
  local value = lsp_object_or_empty(params.value)
  local parts = { lsp_progress_title(session, params.token, value) }
  if type(value.message) == "string" then parts[#parts + 1] = value.message end
  if type(value.percentage) == "number" then parts[#parts + 1] = ("%g%%"):format(math.floor(value.percentage)) end
  if value.kind == "end" then parts[#parts + 1] = "done" end
  session:log("debug", table.concat(parts, ": "))
end

-- }======

-- {====== Requests of the server ======

-- The part of the settings that "a.b" names; null if there is none.
local function lsp_settings_section(settings, section)
  local value = settings
  if type(section) == "string" and section ~= "" then
    for name in section:gmatch "[^.]+" do value = lsp_object_or_empty(value)[name] end
  end
  if value == nil then return json.null end
  return value
end

host.defaults["workspace/configuration"] = function(session, params)
  local items = jsonrpc.given(lsp_object_or_empty(params).items)
  local values = json.array()
  for i, item in ipairs(type(items) == "table" and items or {}) do
    values[i] = lsp_settings_section(session.options.settings, lsp_object_or_empty(item).section)
  end
  return values
end

host.defaults["workspace/workspaceFolders"] = function(session) return session.state.folders or json.null end

host.defaults["workspace/applyEdit"] = function()
  return { applied = false, failureReason = "this client does not apply edits" }
end

host.defaults["window/showDocument"] = function() return { success = false } end

local function answer_lsp_null() return json.null end

for _, method in ipairs {
  "client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create",
  "workspace/codeLens/refresh", "workspace/diagnostic/refresh", "workspace/foldingRange/refresh",
  "workspace/inlayHint/refresh", "workspace/inlineValue/refresh", "workspace/semanticTokens/refresh",
} do
  host.defaults[method] = answer_lsp_null
end

-- }======

host.hints = {
  command = {
    "language%-?server", "langserver", "%f[%w]lsp%f[%W]", "^pylsp$", "^clangd", "^ccls$", "^gopls$", "^zls$", "^jdtls$",
    "^rust%-analyzer$",
  },
  output = { "language server", "%f[%w]lsp%f[%W]", "%f[%w]clangd%f[%W]" },
}

return host
