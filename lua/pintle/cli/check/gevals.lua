-- What the extension protocol of gevals asks of a plugin, by two documents that differ: the specification of 0.0.1, and
-- the document of July 2026. What breaks both is a failure, what breaks one of them a warning. Where a plugin cannot
-- keep to both, that it keeps to the specification is no more than a remark.

local breach = require "pintle.cli.check.breach"
local envelope = require "pintle.cli.check.envelope"
local json = require("pintle.core").json
local manifests = require "pintle.manifest"
local misfit = require "pintle.cli.check.misfit"
local required = require "pintle.cli.check.required"
local schema = require "pintle.schema"

-- {====== Forms ======

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

local BEFORE, NOW = "the specification of 0.0.1", "the document of July 2026"
local ONLY_BEFORE = "%s: in " .. BEFORE .. ", and not in " .. NOW

local function is_failure(message)
  return envelope.is_object(message.result) and message.result.success == false
end

-- A request that is refused with one of the codes, or whose result is a failure, as it is now.
local function refused(life, params, ...)
  local key = life:ask("execute", params)
  if not is_failure(life:answer(key)) then return life:refusal(key, ...) end
  breach.warn('"success":false is by %s; %s has an error %s', NOW, BEFORE, table.concat({ ... }, " or "))
end

-- }======

-- {====== The handshake ======

local HELLO = json.order { "protocolVersion", "config" }

local function greet(life)
  local told = life:call("initialize", setmetatable({ protocolVersion = "0.0.1", config = life.context.config }, HELLO))
  life:fits(told, MANIFEST, "the manifest")
  return told
end

local function manifest(life)
  local told = life.context.told
  if not manifests.is_semantic(told.version) then breach.raise("version: %q is no semantic version", told.version) end
  for name, operation in pairs(told.operations) do
    if operation.params == nil then breach.raise("operations.%s.params is missing", name) end
    local ok, message = schema.compile(operation.params)
    if not ok then breach.raise("operations.%s.params: %s", name, message) end
  end
end

-- true is a JSON Schema, too, and what the SDK for Go sends for an operation that has none.
local function schema_objects(life)
  local names = {}
  for name, operation in pairs(life.context.told.operations) do
    if not envelope.is_object(operation.params) then names[#names + 1] = name end
  end
  if #names == 0 then return end
  table.sort(names)
  breach.raise("operations.%s.params: an object expected, got %s, by which all arguments go", names[1],
    json.encode(life.context.told.operations[names[1]].params))
end

local function requirements(life)
  local list = life.context.told.requires
  if list == nil or list == json.null then return nil end
  local problem = misfit(list, REQUIRES)
  if problem then breach.raise("requires: %s", problem) end
  return ONLY_BEFORE:format "requires"
end

-- }======

-- {====== Operations ======

-- As the document writes them: not everybody reads JSON as JSON, and that has a probe of its own.
local PARAMS, CONTEXT = json.order { "operation", "args", "context" }, json.order { "workdir", "phase" }

local function params_of(operation, args, phase)
  local context = setmetatable({ workdir = "/tmp", phase = phase or "setup" }, CONTEXT)
  return setmetatable({ operation = operation, args = args, context = context }, PARAMS)
end

local UNKNOWN = params_of("pintle-check-no-such-operation", {})

local function unknown_operation(life)
  refused(life, UNKNOWN, -32601)
  return ONLY_BEFORE:format "-32601 for an unknown operation"
end

local function no_operation(life) refused(life, { args = {}, context = {} }, -32602, -32600) end

local function bad_params(life) refused(life, { "pintle-check" }, -32602, -32600) end

local REQUIREMENT_NOT_MET = -32002

local function run(life, phase)
  local wanted = life.context.run
  local key = life:ask("execute", params_of(wanted.name, wanted.args, phase))
  local err = life:answer(key).error
  if envelope.is_object(err) and err.code == REQUIREMENT_NOT_MET then
    breach.warn("%s: %s", ONLY_BEFORE:format "-32002, a requirement that is not met", tostring(err.message))
  end
  life:fits(life:result(key), OUTCOME, "the result")
end

local function empty_phase(life) run(life, "") end

local function required_of(context)
  local operation = context.told.operations[context.run.name]
  local name = operation and required(operation.params)
  if not name then breach.skip("%s has no argument that is required", context.run.name) end
  return name
end

local function missing_argument(life)
  local name, args = required_of(life.context), {}
  for key, value in pairs(life.context.run.args) do
    if key ~= name then args[key] = value end
  end
  life:refused("execute", params_of(life.context.run.name, args), -32602)
end

-- }======

-- {====== The end ======

local function shut_down(life)
  life:fits(life:call("shutdown", {}), { type = "object" }, "the result")
  life:ended_with(0)
end

local function expect_one_shot(life, params)
  local key = life:ask("execute", params)
  life:close_input()
  life:answer(key)
  life:ended_with(0)
  if #life.notifications > 0 then
    breach.warn("besides the answer there is a %s on stdout", life.notifications[1].method)
  end
end

local function one_shot(life)
  local wanted = life.context.run
  expect_one_shot(life, wanted and params_of(wanted.name, wanted.args) or UNKNOWN)
end

-- There is no other way to configure a plugin that is used once; but the protocol does not know it.
local function one_shot_as_configured(life)
  local ok, problem = pcall(one_shot, life)
  if ok then return end
  if not breach.is(problem) or life.context.config == nil then error(problem, 0) end
  breach.of(problem.level or "warn", "%s, if it is started with --config", problem.reason)
end

local function config_argument(context) return { "--config", json.encode(context.config or {}) } end

local function config_argument_if_any(context) return context.config ~= nil and config_argument(context) or {} end

-- }======

local function judge_notification(method, params)
  if method ~= "log" then return ("it sends %s, which the protocol does not know"):format(method), "warn" end
  local problem = misfit(params, LOG)
  return problem and "log: " .. problem
end

local function judge_request(method)
  return ("it asks for %s, which the protocol does not know"):format(method), "warn"
end

---@type pintle.cli.check.dialect
return {
  variants = { { greet = greet } },
  question = { method = "execute", params = UNKNOWN },
  end_status = 0,
  judge_notification = judge_notification,
  judge_request = judge_request,
  levels = { ["string-ids"] = "warn", ["bad-json"] = "warn", ["invalid-request"] = "warn" },
  remarks = {
    ["bad-json"] = ONLY_BEFORE:format "-32700", ["invalid-request"] = ONLY_BEFORE:format "-32600",
    requires = ONLY_BEFORE:format "requires",
  },
  most_bytes_of_line = 64 * 1024, -- beyond that the program's reader does not go on
  probes = {
    { name = "manifest", rule = "the version is a semantic one, and each operation has a JSON Schema",
      run = manifest },
    { name = "schema-objects", rule = "the JSON Schema of each operation is an object", level = "warn",
      run = schema_objects },
    { name = "requires", rule = "what it requires are commands", level = "warn", run = requirements },
    { name = "unknown-operation", rule = "an unknown operation is refused with -32601, or fails",
      run = unknown_operation },
    { name = "no-operation", rule = "an execute without operation is refused with -32602 or -32600, or fails",
      run = no_operation },
    { name = "bad-params", rule = "params that are a list are refused with -32602 or -32600, or fail",
      run = bad_params },
    { name = "outcome", rule = "an operation has a result in its form", needs_run = true, run = run },
    { name = "empty-phase", rule = "a phase that is empty is taken", needs_run = true, run = empty_phase },
    { name = "missing-argument", rule = "a missing argument is refused with -32602", needs_run = true,
      run = missing_argument },
    { name = "shutdown", rule = "shutdown is answered with an object, and it ends with 0", run = shut_down },
    { name = "one-shot", rule = "one execute and the end of input: one answer, and it ends with 0", is_raw = true,
      arguments = config_argument_if_any, run = one_shot_as_configured },
    { name = "config-argument", rule = "it takes --config JSON on its command line", level = "warn", is_raw = true,
      arguments = config_argument, run = one_shot },
  },
}
