-- Probes for the extension protocol of gevals, which has two documents that differ: the specification of 0.0.1, and the
-- document of July 2026. A violation of both is a failure, of one of them a warning. If a plugin cannot conform to
-- both, conforming to the specification is only a remark.

local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local manifests = require "pintle.manifest"
local schema = require "pintle.schema"
local sessions = require "pintle.cli.check.session"

-- {====== Schemas ======

local TEXT = { type = "string" }

local MANIFEST = { type = "object", required = { "name", "version", "protocolVersion", "operations" }, properties = {
  name = { type = "string", minLength = 1 }, version = TEXT, protocolVersion = { const = "0.0.1" },
  description = TEXT,
  operations = { type = "object", additionalProperties = { type = "object", properties = { description = TEXT } } },
} }

local REQUIRES = { type = "array", items = { type = "object", properties = { command = TEXT } } }

local OUTCOME = { type = "object", required = { "success" }, properties = {
  success = { type = "boolean" }, message = TEXT, error = TEXT,
  outputs = { type = "object", additionalProperties = TEXT },
} }

local LOG = { type = "object", required = { "level", "message" }, properties = {
  level = { enum = { "debug", "info", "warn", "error" } }, message = TEXT, data = { type = "object" },
} }

-- }======

-- {====== Documents ======

local OLD, NEW = "the specification of 0.0.1", "the document of July 2026"
local ONLY_OLD = "%s: only in " .. OLD .. ", not in " .. NEW

local function is_failed_outcome(message)
  return jsonrpc.is_object(message.result) and message.result.success == false
end

-- Expects an error with one of the codes, or a failed result as in the new document.
local function expect_refusal_or_failure(session, params, ...)
  local key = session:ask_plugin("execute", params)
  if not is_failed_outcome(session:await_answer(key)) then return session:await_refusal(key, ...) end
  session:warn_probe('"success":false is by %s; %s has an error %s', NEW, OLD, table.concat({ ... }, " or "))
end

-- }======

-- {====== The handshake ======

local HELLO = json.order { "protocolVersion", "config" }

local function greet_gevals_plugin(session)
  local params = setmetatable({ protocolVersion = "0.0.1", config = session.context.config }, HELLO)
  local manifest = session:call_plugin("initialize", params)
  session:check_schema(manifest, MANIFEST, "the manifest")
  return manifest
end

local function check_gevals_manifest(session)
  local manifest = session.context.manifest
  if not manifests.is_semantic(manifest.version) then
    session:fail_probe("version: %q is not a semantic version", manifest.version)
  end
  for name, operation in pairs(manifest.operations) do
    if operation.params == nil then session:fail_probe("operations.%s.params is missing", name) end
    local ok, message = schema.compile(operation.params)
    if not ok then session:fail_probe("operations.%s.params: %s", name, message) end
  end
end

-- true is a JSON Schema, too; the SDK for Go sends it for an operation without a schema.
local function check_operation_schemas(session)
  local names = {}
  for name, operation in pairs(session.context.manifest.operations) do
    if not jsonrpc.is_object(operation.params) then names[#names + 1] = name end
  end
  if #names == 0 then return end
  table.sort(names)
  session:fail_probe("operations.%s.params: an object expected, got %s, which accepts any arguments", names[1],
    json.encode(session.context.manifest.operations[names[1]].params))
end

local function check_requirements(session)
  local list = session.context.manifest.requires
  if list == nil or list == json.null then return nil end
  local problem = sessions.schema_problem(list, REQUIRES)
  if problem then session:fail_probe("requires: %s", problem) end
  return ONLY_OLD:format "requires"
end

-- }======

-- {====== Operations ======

-- Members in the order of the document: some plugins do not parse JSON properly, and another probe tests that.
local PARAMS, CONTEXT = json.order { "operation", "args", "context" }, json.order { "workdir", "phase" }

local function execute_params(operation, args, phase)
  local context = setmetatable({ workdir = "/tmp", phase = phase or "setup" }, CONTEXT)
  return setmetatable({ operation = operation, args = args, context = context }, PARAMS)
end

local UNKNOWN = execute_params("pintle-check-no-such-operation", {})

local function execute_unknown_operation(session)
  expect_refusal_or_failure(session, UNKNOWN, -32601)
  return ONLY_OLD:format "-32601 for an unknown operation"
end

local function execute_no_operation(session)
  expect_refusal_or_failure(session, { args = {}, context = {} }, -32602, -32600)
end

local function execute_with_array(session) expect_refusal_or_failure(session, { "pintle-check" }, -32602, -32600) end

local REQUIREMENT_NOT_MET = -32002

local function execute_operation(session, phase)
  local wanted = session.context.run
  local key = session:ask_plugin("execute", execute_params(wanted.name, wanted.args, phase))
  local err = session:await_answer(key).error
  if jsonrpc.is_object(err) and err.code == REQUIREMENT_NOT_MET then
    session:warn_probe("%s: %s", ONLY_OLD:format "-32002, a requirement that is not met", tostring(err.message))
  end
  session:check_schema(session:await_result(key), OUTCOME, "the result")
end

local function execute_in_empty_phase(session) execute_operation(session, "") end

local function required_argument(session)
  local context = session.context
  local operation = context.manifest.operations[context.run.name]
  local name = operation and sessions.first_required(operation.params)
  if not name then session:skip_probe("%s has no required argument", context.run.name) end
  return name
end

local function execute_without_argument(session)
  local name, args = required_argument(session), {}
  for key, value in pairs(session.context.run.args) do
    if key ~= name then args[key] = value end
  end
  session:expect_refusal("execute", execute_params(session.context.run.name, args), -32602)
end

-- }======

-- {====== The end ======

local function shut_down_gevals_plugin(session)
  session:check_schema(session:call_plugin("shutdown", {}), { type = "object" }, "the result")
  session:expect_exit_status(0)
end

local function expect_one_shot(session, params)
  local key = session:ask_plugin("execute", params)
  session:close_input()
  session:await_answer(key)
  session:expect_exit_status(0)
  if #session.notifications > 0 then
    session:warn_probe("stdout has a %s besides the answer", session.notifications[1].method)
  end
end

local function execute_one_shot(session)
  local wanted = session.context.run
  expect_one_shot(session, wanted and execute_params(wanted.name, wanted.args) or UNKNOWN)
end

-- --config is the only way to configure a plugin that is used once, but it is not in the protocol.
local function execute_one_shot_as_configured(session)
  local ok, problem = pcall(execute_one_shot, session)
  if ok then return end
  if not sessions.is_probe_failure(problem) or session.context.config == nil then error(problem, 0) end
  session:fail_probe_with(problem.level or "warn", "%s, if it is started with --config", problem.reason)
end

local function config_argument(context) return { "--config", json.encode(context.config or {}) } end

local function config_argument_if_any(context) return context.config ~= nil and config_argument(context) or {} end

-- }======

local function judge_gevals_notification(method, params)
  if method ~= "log" then
    return ("it sends the notification %s, which is not in the protocol"):format(method), "warn"
  end
  local problem = sessions.schema_problem(params, LOG)
  return problem and "log: " .. problem
end

local function judge_gevals_request(method)
  return ("it sends the request %s, which is not in the protocol"):format(method), "warn"
end

---@type pintle.cli.check.dialect
return {
  variants = { { greet = greet_gevals_plugin } },
  question = { method = "execute", params = UNKNOWN },
  end_status = 0,
  judge_notification = judge_gevals_notification,
  judge_request = judge_gevals_request,
  levels = { ["string-ids"] = "warn", ["bad-json"] = "warn", ["invalid-request"] = "warn" },
  remarks = {
    ["bad-json"] = ONLY_OLD:format "-32700", ["invalid-request"] = ONLY_OLD:format "-32600",
    requires = ONLY_OLD:format "requires",
  },
  max_line = 64 * 1024, -- the reader of gevals stops at longer lines
  probes = {
    { name = "manifest", rule = "the version is semantic, and each operation has a JSON Schema",
      run = check_gevals_manifest },
    { name = "schema-objects", rule = "the JSON Schema of each operation is an object", level = "warn",
      run = check_operation_schemas },
    { name = "requires", rule = "the requirements are commands", level = "warn", run = check_requirements },
    { name = "unknown-operation", rule = "an unknown operation is refused with -32601, or fails",
      run = execute_unknown_operation },
    { name = "no-operation", rule = "execute without an operation is refused with -32602 or -32600, or fails",
      run = execute_no_operation },
    { name = "bad-params", rule = "an array as params is refused with -32602 or -32600, or fails",
      run = execute_with_array },
    { name = "outcome", rule = "the result of an operation matches its schema", needs_run = true,
      run = execute_operation },
    { name = "empty-phase", rule = "an empty phase is accepted", needs_run = true, run = execute_in_empty_phase },
    { name = "missing-argument", rule = "a missing argument is refused with -32602", needs_run = true,
      run = execute_without_argument },
    { name = "shutdown", rule = "shutdown is answered with an object, and the status is 0",
      run = shut_down_gevals_plugin },
    { name = "one-shot", rule = "after one execute and the end of input: one answer, status 0", is_raw = true,
      arguments = config_argument_if_any, run = execute_one_shot_as_configured },
    { name = "config-argument", rule = "it accepts --config JSON on its command line", level = "warn", is_raw = true,
      arguments = config_argument, run = execute_one_shot },
  },
}
