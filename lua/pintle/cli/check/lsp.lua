-- What the base of the Language Server Protocol asks of a server.

local breach = require "pintle.cli.check.breach"
local json = require("pintle.core").json
local misfit = require "pintle.cli.check.misfit"
local processes = require "pintle.process"
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

local function greet(life)
  local told = life:call("initialize", initialize_params(life.context))
  life:fits(told, RESULT, "the result")
  life:tell("initialized", {})
  return told
end

local function early_request(life)
  life:refused("textDocument/hover", {
    textDocument = { uri = "file:///nowhere" }, position = { line = 0, character = 0 },
  }, -32002)
  greet(life)
end

local function early_notification(life)
  life:tell("textDocument/didClose", { textDocument = { uri = "file:///nowhere" } })
  greet(life)
end

local function second_initialize(life) life:refused("initialize", initialize_params(life.context)) end

-- }======

-- {====== Requests ======

local function optional_request(life) life:refused("$/pintle-check", {}, -32601) end

local function optional_notification(life)
  life:tell("$/pintle-check", {})
  life:catch_up()
end

local function cancel(life)
  local key = life:ask("workspace/symbol", { query = "pintle" })
  life:tell("$/cancelRequest", { id = life.last_id })
  life:answer(key)
  life:catch_up()
end

local function late_cancel(life)
  life:catch_up()
  life:tell("$/cancelRequest", { id = life.last_id })
  life:tell("$/cancelRequest", { id = "pintle-nobody" })
  life:catch_up()
end

local function unknown_command(life)
  life:refused("workspace/executeCommand", { command = "pintle-check.no-such", arguments = json.array() })
end

local function run(life)
  local wanted = life.context.run
  life:carry_out("workspace/executeCommand", { command = wanted.name, arguments = json.array { wanted.args } })
end

-- }======

-- {====== The end ======

local function shut_down(life)
  if life:call "shutdown" ~= json.null then breach.warn "the result of shutdown is not null" end
  life:tell "exit"
  life:ended_with(0)
end

local function exit_alone(life)
  life:tell "exit"
  life:ended_with(1)
end

local function late_request(life)
  life:call "shutdown"
  life:refused("textDocument/hover", {
    textDocument = { uri = "file:///nowhere" }, position = { line = 0, character = 0 },
  }, -32600)
end

-- The client is a process of its own here, which is killed.
local function orphan(life)
  local client <close> = assert(processes.start { command = { "sleep", "600" }, stdin = "null", stdout = "null" })
  life:fits(life:call("initialize", initialize_params(life.context, client.pid)), RESULT, "the result")
  life:tell("initialized", {})
  client:close()
  life:ended()
end

-- }======

local LOG = { type = "object", required = { "type", "message" }, properties = {
  type = { enum = { 1, 2, 3, 4, 5 } }, message = { type = "string" } } }
local PROGRESS = { type = "object", required = { "token", "value" },
  properties = { token = { type = { "integer", "string" } } } }
local FORMS = { ["window/logMessage"] = LOG, ["window/showMessage"] = LOG, ["$/progress"] = PROGRESS }

local function judge_notification(method, params)
  local problem = FORMS[method] and misfit(params, FORMS[method])
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
    { name = "early-request", rule = "before initialize requests are refused with -32002", is_raw = true,
      run = early_request },
    { name = "early-notification", rule = "before initialize notifications are dropped", is_raw = true,
      run = early_notification },
    { name = "second-initialize", rule = "a second initialize is refused", level = "warn", run = second_initialize },
    { name = "optional-request", rule = "an unknown $/ request is refused with -32601", run = optional_request },
    { name = "optional-notification", rule = "an unknown $/ notification is dropped", run = optional_notification },
    { name = "cancel", rule = "a request that was cancelled is answered, once", run = cancel },
    { name = "late-cancel", rule = "cancelling what is not under way does nothing", run = late_cancel },
    { name = "unknown-command", rule = "an unknown command is refused", run = unknown_command },
    { name = "outcome", rule = "a command is carried out", needs_run = true, run = run },
    { name = "late-request", rule = "after shutdown requests are refused with -32600", run = late_request },
    { name = "shutdown", rule = "shutdown is answered, and exit ends it with 0", run = shut_down },
    { name = "exit", rule = "exit without shutdown ends it with 1", run = exit_alone },
    { name = "orphan", rule = "it ends with the process that is its client", level = "warn", is_raw = true,
      run = orphan },
  },
}
