-- Probes for the base of the Language Server Protocol.

local json = require("pintle.core").json
local processes = require "pintle.process"
local sessions = require "pintle.cli.check.session"
local wire = require "pintle.dialect.lsp.wire"

-- {====== The handshake ======

local CAPABILITIES = { workspace = { configuration = false }, textDocument = {}, general = {} }

local RESULT = { type = "object", required = { "capabilities" }, properties = {
  capabilities = { type = "object" },
  serverInfo = { type = "object", required = { "name" }, properties = {
    name = { type = "string" }, version = { type = "string" } } },
} }

local function workspace_folders(root)
  if not root then return nil end
  return json.array { { uri = wire.uri(root), name = root:match "[^/]+$" or root } }
end

local function language_server_params(context, pid)
  local root = context.root
  return {
    processId = pid or json.null, rootUri = root and wire.uri(root) or json.null, rootPath = root,
    workspaceFolders = workspace_folders(root), capabilities = CAPABILITIES, clientInfo = { name = "pintle check" },
    initializationOptions = context.config,
  }
end

local function greet_language_server(session)
  local manifest = session:call_plugin("initialize", language_server_params(session.context))
  session:check_schema(manifest, RESULT, "the result")
  session:notify_plugin("initialized", {})
  return manifest
end

local function hover_before_initialize(session)
  session:expect_refusal("textDocument/hover", {
    textDocument = { uri = "file:///nowhere" }, position = { line = 0, character = 0 },
  }, -32002)
  greet_language_server(session)
end

local function close_document_before_initialize(session)
  session:notify_plugin("textDocument/didClose", { textDocument = { uri = "file:///nowhere" } })
  greet_language_server(session)
end

local function second_initialize(session)
  session:expect_refusal("initialize", language_server_params(session.context))
end

-- }======

-- {====== Requests ======

local function send_dollar_request(session) session:expect_refusal("$/pintle-check", {}, -32601) end

local function send_dollar_notification(session)
  session:notify_plugin("$/pintle-check", {})
  session:catch_up()
end

local function cancel_symbol_request(session)
  local key = session:ask_plugin("workspace/symbol", { query = "pintle" })
  session:notify_plugin("$/cancelRequest", { id = session.last_id })
  session:await_answer(key)
  session:catch_up()
end

local function cancel_answered_symbol_request(session)
  session:catch_up()
  session:notify_plugin("$/cancelRequest", { id = session.last_id })
  session:notify_plugin("$/cancelRequest", { id = "pintle-nobody" })
  session:catch_up()
end

local function execute_unknown_command(session)
  session:expect_refusal("workspace/executeCommand", { command = "pintle-check.no-such", arguments = json.array() })
end

local function execute_command(session)
  local wanted = session.context.run
  local params = { command = wanted.name, arguments = json.array { wanted.args } }
  session:execute_in_plugin("workspace/executeCommand", params)
end

-- }======

-- {====== The end ======

local function shut_down_language_server(session)
  if session:call_plugin "shutdown" ~= json.null then session:warn_probe "the result of shutdown is not null" end
  session:notify_plugin "exit"
  session:expect_exit_status(0)
end

local function exit_language_server_at_once(session)
  session:notify_plugin "exit"
  session:expect_exit_status(1)
end

local function hover_after_shutdown(session)
  session:call_plugin "shutdown"
  session:expect_refusal("textDocument/hover", {
    textDocument = { uri = "file:///nowhere" }, position = { line = 0, character = 0 },
  }, -32600)
end

-- The client is a separate process here, which is killed.
local function orphan_language_server(session)
  local client <close> = assert(processes.start { command = { "sleep", "600" }, stdin = "null", stdout = "null" })
  local manifest = session:call_plugin("initialize", language_server_params(session.context, client.pid))
  session:check_schema(manifest, RESULT, "the result")
  session:notify_plugin("initialized", {})
  client:close()
  session:await_exit()
end

-- }======

local LOG = { type = "object", required = { "type", "message" }, properties = {
  type = { enum = { 1, 2, 3, 4, 5 } }, message = { type = "string" } } }
local PROGRESS = { type = "object", required = { "token", "value" },
  properties = { token = { type = { "integer", "string" } } } }
local FORMS = { ["window/logMessage"] = LOG, ["window/showMessage"] = LOG, ["$/progress"] = PROGRESS }

local function judge_lsp_notification(method, params)
  local problem = FORMS[method] and sessions.schema_problem(params, FORMS[method])
  return problem and ("%s: %s"):format(method, problem)
end

---@type pintle.cli.check.dialect
return {
  variants = { { greet = greet_language_server } },
  has_root = true,
  question = { method = "pintle-check/question" },
  judge_notification = judge_lsp_notification,
  levels = { ["bad-json"] = "warn", ["invalid-request"] = "warn", ["header-type"] = "fail", eof = "warn" },
  probes = {
    { name = "early-request", rule = "requests before initialize are refused with -32002", is_raw = true,
      run = hover_before_initialize },
    { name = "early-notification", rule = "notifications before initialize are ignored", is_raw = true,
      run = close_document_before_initialize },
    { name = "second-initialize", rule = "a second initialize is refused", level = "warn", run = second_initialize },
    { name = "optional-request", rule = "an unknown $/ request is refused with -32601", run = send_dollar_request },
    { name = "optional-notification", rule = "an unknown $/ notification is ignored", run = send_dollar_notification },
    { name = "cancel", rule = "a cancelled request is answered once", run = cancel_symbol_request },
    { name = "late-cancel", rule = "cancelling an unknown request is ignored", run = cancel_answered_symbol_request },
    { name = "unknown-command", rule = "an unknown command is refused", run = execute_unknown_command },
    { name = "outcome", rule = "a command is executed", needs_run = true, run = execute_command },
    { name = "late-request", rule = "requests after shutdown are refused with -32600", run = hover_after_shutdown },
    { name = "shutdown", rule = "shutdown is answered, and after exit the status is 0",
      run = shut_down_language_server },
    { name = "exit", rule = "after exit without shutdown the status is 1", run = exit_language_server_at_once },
    { name = "orphan", rule = "it exits when its client process dies", level = "warn", is_raw = true,
      run = orphan_language_server },
  },
}
