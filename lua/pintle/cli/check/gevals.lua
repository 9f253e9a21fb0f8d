-- What the extension protocol of gevals asks of a plugin.

local breach = require "pintle.cli.check.breach"
local json = require("pintle.core").json
local misfit = require "pintle.cli.check.misfit"
local required = require "pintle.cli.check.required"
local schema = require "pintle.schema"
local versions = require "pintle.manifest.version"

-- {====== Forms ======

local TEXT = { type = "string" }

local MANIFEST = { type = "object", required = { "name", "version", "protocolVersion", "operations" }, properties = {
  name = { type = "string", minLength = 1 }, version = TEXT, protocolVersion = { const = "0.0.1" },
  description = TEXT,
  requires = { type = "array", items = { type = "object", properties = { command = TEXT } } },
  operations = { type = "object", additionalProperties = { type = "object", required = { "params" },
    properties = { description = TEXT, params = { type = "object" } } } },
} }

local OUTCOME = { type = "object", required = { "success" }, properties = {
  success = { type = "boolean" }, message = TEXT, error = TEXT,
  outputs = { type = "object", additionalProperties = TEXT },
} }

local LOG = { type = "object", required = { "level", "message" }, properties = {
  level = { enum = { "debug", "info", "warn", "error" } }, message = TEXT, data = { type = "object" },
} }

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
  if not versions.is_semantic(told.version) then breach.raise("version: %q is no semantic version", told.version) end
  for name, operation in pairs(told.operations) do
    local ok, message = schema.compile(operation.params)
    if not ok then breach.raise("operations.%s.params: %s", name, message) end
  end
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

local function unknown_operation(life) life:refused("execute", UNKNOWN, -32601) end

local function no_operation(life) life:refused("execute", { args = {}, context = {} }, -32602, -32600) end

local function bad_params(life) life:refused("execute", { "pintle-check" }, -32602, -32600) end

local function run(life, phase)
  local wanted = life.context.run
  local outcome = life:call("execute", params_of(wanted.name, wanted.args, phase))
  life:fits(outcome, OUTCOME, "the result")
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
  levels = { ["string-ids"] = "warn" },
  probes = {
    { name = "manifest", rule = "the version is a semantic one, and each operation has a JSON Schema",
      run = manifest },
    { name = "unknown-operation", rule = "an unknown operation is refused with -32601", run = unknown_operation },
    { name = "no-operation", rule = "an execute without operation is refused with -32602 or -32600",
      run = no_operation },
    { name = "bad-params", rule = "params that are a list are refused with -32602 or -32600", run = bad_params },
    { name = "outcome", rule = "an operation has a result in its form", needs_run = true, run = run },
    { name = "empty-phase", rule = "a phase that is empty is taken", needs_run = true, run = empty_phase },
    { name = "missing-argument", rule = "a missing argument is refused with -32602", needs_run = true,
      run = missing_argument },
    { name = "shutdown", rule = "shutdown is answered with an object, and it ends with 0", run = shut_down },
    { name = "one-shot", rule = "one execute and the end of input: one answer, and it ends with 0", is_raw = true,
      run = one_shot },
    { name = "config-argument", rule = "it takes --config JSON on its command line", level = "warn", is_raw = true,
      arguments = { "--config", "{}" }, run = one_shot },
  },
}
