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

local function folders_of(root)
  if not root then return nil end
  return json.array { { uri = wire.uri(root), name = root:match "[^/]+$" or root } }
end

local function initialize_params(context, pid)
  local root = context.root
  return {
    processId = pid or json.null, rootUri = root and wire.uri(root) or json.null, rootPath = root,
    workspaceFolders = folders_of(root), capabilities = CAPABILITIES, clientInfo = { name = "pintle check" },
    initializationOptions = context.config,
  }
end

local function greet(session)
  local manifest = session:call("initialize", initialize_params(session.context))
  session:check_schema(manifest, RESULT, "the result")
  session:notify("initialized", {})
  return manifest
end

local function early_request(session)
  session:refused("textDocument/hover", {
    textDocument = { uri = "file:///nowhere" }, position = { line = 0, character = 0 },
  }, -32002)
  greet(session)
end

local function early_notification(session)
  session:notify("textDocument/didClose", { textDocument = { uri = "file:///nowhere" } })
  greet(session)
end

local function second_initialize(session) session:refused("initialize", initialize_params(session.context)) end

-- }======

-- {====== Requests ======

local function optional_request(session) session:refused("$/pintle-check", {}, -32601) end

local function optional_notification(session)
  session:notify("$/pintle-check", {})
  session:catch_up()
end

local function cancel(session)
  local key = session:ask("workspace/symbol", { query = "pintle" })
  session:notify("$/cancelRequest", { id = session.last_id })
  session:answer(key)
  session:catch_up()
end

local function late_cancel(session)
  session:catch_up()
  session:notify("$/cancelRequest", { id = session.last_id })
  session:notify("$/cancelRequest", { id = "pintle-nobody" })
  session:catch_up()
end

local function unknown_command(session)
  session:refused("workspace/executeCommand", { command = "pintle-check.no-such", arguments = json.array() })
end

local function run(session)
  local wanted = session.context.run
  session:execute("workspace/executeCommand", { command = wanted.name, arguments = json.array { wanted.args } })
end

-- }======

-- {====== The end ======

local function shut_down(session)
  if session:call "shutdown" ~= json.null then session:warn "the result of shutdown is not null" end
  session:notify "exit"
  session:ended_with(0)
end

local function exit_alone(session)
  session:notify "exit"
  session:ended_with(1)
end

local function late_request(session)
  session:call "shutdown"
  session:refused("textDocument/hover", {
    textDocument = { uri = "file:///nowhere" }, position = { line = 0, character = 0 },
  }, -32600)
end

-- The client is a separate process here, which is killed.
local function orphan(session)
  local client <close> = assert(processes.start { command = { "sleep", "600" }, stdin = "null", stdout = "null" })
  session:check_schema(session:call("initialize", initialize_params(session.context, client.pid)), RESULT, "the result")
  session:notify("initialized", {})
  client:close()
  session:ended()
end

-- }======

local LOG = { type = "object", required = { "type", "message" }, properties = {
  type = { enum = { 1, 2, 3, 4, 5 } }, message = { type = "string" } } }
local PROGRESS = { type = "object", required = { "token", "value" },
  properties = { token = { type = { "integer", "string" } } } }
local FORMS = { ["window/logMessage"] = LOG, ["window/showMessage"] = LOG, ["$/progress"] = PROGRESS }

local function judge_notification(method, params)
  local problem = FORMS[method] and sessions.schema_problem(params, FORMS[method])
  return problem and ("%s: %s"):format(method, problem)
end

---@type pintle.cli.check.dialect
return {
  variants = { { greet = greet } },
  has_root = true,
  question = { method = "pintle-check/question" },
  judge_notification = judge_notification,
  levels = { ["bad-json"] = "warn", ["invalid-request"] = "warn", ["header-type"] = "fail", eof = "warn" },
  probes = {
    { name = "early-request", rule = "requests before initialize are refused with -32002", is_raw = true,
      run = early_request },
    { name = "early-notification", rule = "notifications before initialize are ignored", is_raw = true,
      run = early_notification },
    { name = "second-initialize", rule = "a second initialize is refused", level = "warn", run = second_initialize },
    { name = "optional-request", rule = "an unknown $/ request is refused with -32601", run = optional_request },
    { name = "optional-notification", rule = "an unknown $/ notification is ignored", run = optional_notification },
    { name = "cancel", rule = "a cancelled request is answered once", run = cancel },
    { name = "late-cancel", rule = "cancelling an unknown request is ignored", run = late_cancel },
    { name = "unknown-command", rule = "an unknown command is refused", run = unknown_command },
    { name = "outcome", rule = "a command is executed", needs_run = true, run = run },
    { name = "late-request", rule = "requests after shutdown are refused with -32600", run = late_request },
    { name = "shutdown", rule = "shutdown is answered, and after exit the status is 0", run = shut_down },
    { name = "exit", rule = "after exit without shutdown the status is 1", run = exit_alone },
    { name = "orphan", rule = "it exits when its client process dies", level = "warn", is_raw = true,
      run = orphan },
  },
}
