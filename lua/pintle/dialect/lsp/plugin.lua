-- The plugin: a language server.

local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local outcomes = require "pintle.outcome"
local wire = require "pintle.dialect.lsp.wire"

local NOT_INITIALIZED = -32002
local TOKEN_TIMEOUT = 5 -- seconds in which a client may accept a progress token

local plugin = {}

-- {====== Capabilities: derived from the methods that the author has declared, plus what the author adds ======

local PROVIDERS = {
  ["textDocument/codeAction"] = "codeActionProvider",
  ["textDocument/codeLens"] = "codeLensProvider",
  ["textDocument/completion"] = "completionProvider",
  ["textDocument/declaration"] = "declarationProvider",
  ["textDocument/definition"] = "definitionProvider",
  ["textDocument/diagnostic"] = "diagnosticProvider",
  ["textDocument/documentColor"] = "colorProvider",
  ["textDocument/documentHighlight"] = "documentHighlightProvider",
  ["textDocument/documentLink"] = "documentLinkProvider",
  ["textDocument/documentSymbol"] = "documentSymbolProvider",
  ["textDocument/foldingRange"] = "foldingRangeProvider",
  ["textDocument/formatting"] = "documentFormattingProvider",
  ["textDocument/hover"] = "hoverProvider",
  ["textDocument/implementation"] = "implementationProvider",
  ["textDocument/inlayHint"] = "inlayHintProvider",
  ["textDocument/inlineValue"] = "inlineValueProvider",
  ["textDocument/linkedEditingRange"] = "linkedEditingRangeProvider",
  ["textDocument/moniker"] = "monikerProvider",
  ["textDocument/prepareCallHierarchy"] = "callHierarchyProvider",
  ["textDocument/prepareTypeHierarchy"] = "typeHierarchyProvider",
  ["textDocument/rangeFormatting"] = "documentRangeFormattingProvider",
  ["textDocument/references"] = "referencesProvider",
  ["textDocument/rename"] = "renameProvider",
  ["textDocument/selectionRange"] = "selectionRangeProvider",
  ["textDocument/signatureHelp"] = "signatureHelpProvider",
  ["textDocument/typeDefinition"] = "typeDefinitionProvider",
  ["workspace/symbol"] = "workspaceSymbolProvider",
}

---The capability of a server for each method of a client.
plugin.PROVIDERS = PROVIDERS

-- Providers that have to be objects.
local OBJECTS = {
  codeLensProvider = true, completionProvider = true, documentLinkProvider = true, signatureHelpProvider = true,
}

-- Methods that add a member to another provider.
local ADDITIONS = {
  ["codeAction/resolve"] = { "codeActionProvider", "resolveProvider" },
  ["codeLens/resolve"] = { "codeLensProvider", "resolveProvider" },
  ["completionItem/resolve"] = { "completionProvider", "resolveProvider" },
  ["documentLink/resolve"] = { "documentLinkProvider", "resolveProvider" },
  ["inlayHint/resolve"] = { "inlayHintProvider", "resolveProvider" },
  ["textDocument/prepareRename"] = { "renameProvider", "prepareProvider" },
  ["workspaceSymbol/resolve"] = { "workspaceSymbolProvider", "resolveProvider" },
}

local FULL = 1 -- the client sends the whole document on each change

local SYNC = {
  ["textDocument/didOpen"] = { "openClose", true },
  ["textDocument/didClose"] = { "openClose", true },
  ["textDocument/didChange"] = { "change", FULL },
  ["textDocument/willSave"] = { "willSave", true },
  ["textDocument/willSaveWaitUntil"] = { "willSaveWaitUntil", true },
  ["textDocument/didSave"] = { "save", true },
}

local function add_lsp_providers(derived, methods)
  for method, provider in pairs(PROVIDERS) do
    if methods[method] then derived[provider] = OBJECTS[provider] and {} or true end
  end
  for method, addition in pairs(ADDITIONS) do
    local provider, member = addition[1], addition[2]
    if methods[method] and derived[provider] then
      if derived[provider] == true then derived[provider] = {} end
      derived[provider][member] = true
    end
  end
  if derived.diagnosticProvider then
    local has_workspace = methods["workspace/diagnostic"] ~= nil
    derived.diagnosticProvider = { interFileDependencies = false, workspaceDiagnostics = has_workspace }
  end
end

local function add_lsp_document_sync(derived, methods)
  for method, member in pairs(SYNC) do
    if methods[method] then
      derived.textDocumentSync = derived.textDocumentSync or {}
      derived.textDocumentSync[member[1]] = member[2]
    end
  end
end

local function add_lsp_workspace_folders(derived, methods)
  if not methods["workspace/didChangeWorkspaceFolders"] then return end
  derived.workspace = { workspaceFolders = { supported = true, changeNotifications = true } }
end

local function add_lsp_commands(derived, names)
  if #names == 0 then return end
  local commands = json.array(table.move(names, 1, #names, 1, {}))
  derived.executeCommandProvider = { commands = commands, workDoneProgress = true }
end

-- With members in alphabetical order, so that the text is always the same.
local function sort_lsp_capabilities(value)
  if json.kind(value) ~= "object" or getmetatable(value) then return value end
  local names, copy = {}, {}
  for name, member in pairs(value) do
    names[#names + 1] = name
    copy[name] = sort_lsp_capabilities(member)
  end
  table.sort(names)
  return setmetatable(copy, json.order(names))
end

-- `client` has the params of initialize; it is nil before that.
local function derive_lsp_capabilities(declared, client)
  local derived = {}
  add_lsp_providers(derived, declared.methods)
  add_lsp_document_sync(derived, declared.methods)
  add_lsp_workspace_folders(derived, declared.methods)
  add_lsp_commands(derived, declared.manifest.names)
  local own = declared.manifest.dialects.lsp
  local given = own and own.capabilities
  if type(given) == "function" then given = given(client or {}) end
  return sort_lsp_capabilities(given and wire.merge(derived, given) or derived)
end

-- }======

local RESULT = json.order { "capabilities", "serverInfo" }
local INFO = json.order { "name", "version" }

local function lsp_initialize_result(self, client)
  local info = setmetatable({ name = self.manifest.name, version = self.manifest.version }, INFO)
  return setmetatable({ capabilities = derive_lsp_capabilities(self, client), serverInfo = info }, RESULT)
end

---@param self pintle.plugin
---@return table
function plugin.manifest(self) return lsp_initialize_result(self) end

-- {====== Progress ======

-- Reported with the token of the request, or else with a token that the client has accepted.

local PROGRESS = json.order { "token", "value" }
local VALUE = json.order { "kind", "title", "cancellable", "message", "percentage" }

local function is_lsp_progress_token(value) return type(value) == "string" or math.type(value) == "integer" end

local function keep_lsp_progress_token(request, params)
  local token = jsonrpc.is_object(params) and params.workDoneToken
  request.work_token = is_lsp_progress_token(token) and token or nil
end

local function accepts_lsp_progress_tokens(server)
  local client = server.client and server.client.capabilities
  local window = jsonrpc.is_object(client) and client.window
  return jsonrpc.is_object(window) and window.workDoneProgress == true
end

local function create_lsp_progress_token(server, request)
  if not accepts_lsp_progress_tokens(server) then return false end
  local state = server.state
  state.last_token = (state.last_token or 0) + 1
  local token = ("%s-%d"):format(server.plugin.manifest.name, state.last_token)
  local _, err = request:call("window/workDoneProgress/create", { token = token }, { timeout = TOKEN_TIMEOUT })
  if err then return false end
  return token
end

local function send_lsp_progress(server, request, value)
  local params = { token = request.work_token, value = setmetatable(value, VALUE) }
  return server.peer:notify("$/progress", setmetatable(params, PROGRESS))
end

local function end_lsp_progress(server, request)
  local reporting = server.state.reporting
  if not reporting or reporting[request.work_token] ~= request then return end
  reporting[request.work_token] = nil
  send_lsp_progress(server, request, { kind = "end" })
end

local function begin_lsp_progress(server, request, percentage, message)
  local had_token = request.work_token ~= nil
  if not had_token then request.work_token = create_lsp_progress_token(server, request) end
  if not request.work_token then return true end
  server.state.reporting = server.state.reporting or {}
  server.state.reporting[request.work_token] = request
  request.on_finish = function() end_lsp_progress(server, request) end
  return send_lsp_progress(server, request, {
    kind = "begin", title = request.title or request.method, cancellable = not had_token or nil,
    message = message, percentage = percentage,
  })
end

local function report_lsp_progress(server, request, fraction, message)
  if request.work_token == false then return true end
  local percentage = math.floor(fraction * 100 + 0.5)
  local reporting = server.state.reporting
  local is_begun = request.work_token ~= nil and reporting and reporting[request.work_token] == request
  if not is_begun then return begin_lsp_progress(server, request, percentage, message) end
  return send_lsp_progress(server, request, { kind = "report", message = message, percentage = percentage })
end

-- window/workDoneProgress/cancel
local function cancel_lsp_work(server, params)
  local token = jsonrpc.is_object(params) and params.token
  local request = is_lsp_progress_token(token) and server.state.reporting and server.state.reporting[token]
  if request then request:stop(errors.new("cancelled", "Cancelled")) end
end

-- }======

-- {====== Lifecycle ======

-- The stage is nil before initialize, "opening" while that is handled, then "open"; shutdown makes it "closing", then
-- "closed".
local REFUSALS = {
  opening = { NOT_INITIALIZED, "Server not initialized" },
  closing = { jsonrpc.INVALID_REQUEST, "Invalid Request: the server is shutting down" },
}
REFUSALS.closed = REFUSALS.closing

local function check_lsp_server_open(server)
  local stage = server.state.stage
  if stage == "open" then return true end
  local refusal = REFUSALS[stage or "opening"]
  return nil, errors.new("closed", refusal[2], { code = refusal[1] })
end

---@param server pintle.server
---@param request pintle.request
---@param params any
---@return true?, pintle.error?
function plugin.may_handle(server, request, params)
  local ok, err = check_lsp_server_open(server)
  if not ok then return nil, err end
  keep_lsp_progress_token(request, params)
  return true
end

-- Some clients send other values; a plugin is configured with an object.
local function lsp_plugin_config(server, params)
  local options = jsonrpc.given(params.initializationOptions)
  if options == nil or type(options) == "table" then return options end
  server:note("warn", "initializationOptions: an object expected, got " .. json.kind(options))
end

local function follow_lsp_client(server, pid)
  if jsonrpc.given(pid) == nil then return end
  local ok, err = server:exit_with(pid)
  if not ok then server:note("warn", "processId: " .. err.message) end
end

local function handle_lsp_initialize(server, params)
  if server.state.stage then
    local message = "Invalid Request: initialize was sent already"
    return nil, errors.new("invalid", message, { code = jsonrpc.INVALID_REQUEST })
  end
  local ok, err = jsonrpc.check(params or json.null, "object", "params")
  if not ok then return nil, err end
  server.state.stage, server.client = "opening", jsonrpc.given(params) or {}
  ok, err = server:initialize(lsp_plugin_config(server, server.client))
  if not ok then
    server.state.stage, server.client = nil, nil
    return nil, err
  end
  server.state.stage = "open"
  follow_lsp_client(server, server.client.processId)
  return lsp_initialize_result(server.plugin, server.client)
end

-- An exit notification that arrives before shutdown is answered is carried out here.
local function handle_lsp_shutdown(server, request)
  local ok, err = check_lsp_server_open(server)
  if not ok then return nil, err end
  local state = server.state
  state.stage = "closing"
  server:shutdown(request)
  state.stage = "closed"
  if state.is_to_exit then server:exit(0) end
end

local function handle_lsp_exit(server)
  local state = server.state
  state.is_to_exit = true
  if state.stage ~= "closing" then server:exit(state.stage == "closed" and 0 or 1) end
end

-- }======

-- {====== Commands ======

-- The arguments of a command are an array, but those of an operation have names. So the array has one item, an object
-- with all arguments.
local function lsp_command_args(list)
  if #list > 1 then return jsonrpc.invalid_params("arguments: one object expected, got %d items", #list) end
  local args = jsonrpc.given(list[1])
  if args == nil then return {} end
  if jsonrpc.is_object(args) then return args end
  return jsonrpc.invalid_params("arguments[0]: object expected, got %s", json.kind(args))
end

local function read_lsp_command(params)
  if not jsonrpc.is_object(params) then return jsonrpc.invalid_params("object expected, got %s", json.kind(params)) end
  if type(params.command) ~= "string" then
    return jsonrpc.invalid_params("command: string expected, got %s", json.kind(params.command))
  end
  local ok, err = jsonrpc.check(params.arguments, "array", "arguments")
  if not ok then return nil, err end
  return lsp_command_args(jsonrpc.given(params.arguments) or {})
end

local function find_lsp_operation(server, name)
  local operation = server.plugin.manifest.operations[name]
  if operation then return operation end
  local _, err = server.plugin.manifest:check(name)
  err.code, err.message = jsonrpc.INVALID_PARAMS, "Invalid params: " .. err.message
  return nil, err
end

-- The first workspace folder of the client; older clients send rootUri.
local function lsp_client_directory(client)
  local folders = jsonrpc.given(client.workspaceFolders)
  local first = json.kind(folders) == "array" and folders[1]
  return jsonrpc.is_object(first) and wire.path(first.uri) or wire.path(client.rootUri)
end

-- workspace/executeCommand
local function execute_lsp_command(server, params, request)
  local args, err = read_lsp_command(params)
  if not args then return nil, err end
  local operation
  operation, err = find_lsp_operation(server, params.command)
  if not operation then return nil, err end
  request.title = operation.description or operation.name
  local outcome
  outcome, err = server:execute(operation.name, args, { workdir = lsp_client_directory(server.client) }, request)
  if not outcome then return nil, err end
  if outcome.success then return outcomes.value(outcome) end
  return nil, outcomes.failure(outcome, wire.REQUEST_FAILED)
end

-- }======

local function ignore_lsp_initialized() end

local function check_lsp_declaration(server)
  for name in pairs(server.plugin.manifest.dialects.lsp or {}) do
    if name ~= "capabilities" then server:note("warn", ("dialects.lsp: there is no %q"):format(tostring(name))) end
  end
end

---@param server pintle.server
---@return table<string, pintle.handler>
function plugin.handlers(server)
  check_lsp_declaration(server)
  local declared, manifest = server.plugin.methods, server.plugin.manifest
  local handlers = {
    initialize = function(params) return handle_lsp_initialize(server, params) end,
    shutdown = function(_, request) return handle_lsp_shutdown(server, request) end,
    exit = function() handle_lsp_exit(server) end,
  }
  -- The author may declare these.
  if not declared.initialized then handlers.initialized = ignore_lsp_initialized end
  if not declared["window/workDoneProgress/cancel"] then
    handlers["window/workDoneProgress/cancel"] = function(params) cancel_lsp_work(server, params) end
  end
  if #manifest.names > 0 or not declared["workspace/executeCommand"] then
    handlers["workspace/executeCommand"] = function(params, request)
      local ok, err = plugin.may_handle(server, request, params)
      if not ok then return nil, err end
      return execute_lsp_command(server, params, request)
    end
  end
  return handlers
end

---@param server pintle.server
---@param level pintle.level
---@param message string
---@param data any
---@return true?, pintle.error?
function plugin.log(server, _, level, message, data)
  if not server.client then return server:note(level, message, data) end
  local params, problem = wire.log_params(level, message, data)
  if not params then return nil, errors.new("invalid", "log: " .. problem) end
  return server.peer:notify("window/logMessage", params)
end

---@param server pintle.server
---@param request pintle.request
---@param fraction number
---@param message string?
---@return true?, pintle.error?
function plugin.progress(server, request, fraction, message)
  if not server.client then return true end
  return report_lsp_progress(server, request, fraction, message)
end

return plugin
