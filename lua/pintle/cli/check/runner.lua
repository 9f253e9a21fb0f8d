-- The probes of each dialect, and running them on a plugin, each in a session of its own.

local dialects = require "pintle.dialect"
local errors = require "pintle.error"
local options = require "pintle.cli.options"

local general = require "pintle.cli.check.general"
local sessions = require "pintle.cli.check.session"

local runner = {}

-- {====== The list of probes ======

---@class pintle.cli.check.watch a probe that watches the messages of all others
---@field name string also the rule that violations are recorded under
---@field rule string
---@field framing? "line"|"header" if it applies to that framing only
---@field only? string member of a dialect that the watch needs
---@field level? "fail"|"warn"

---@type pintle.cli.check.watch[]
local WATCHES = {
  { name = "stdout", rule = "stdout has nothing but messages" },
  { name = "framing", rule = "headers are well-formed", framing = "header" },
  { name = "line-length", rule = "no line is longer than hosts can read", only = "max_line", level = "warn" },
  { name = "envelope", rule = "every message is valid JSON-RPC 2.0" },
  { name = "answers", rule = "every request has exactly one answer" },
  { name = "traffic", rule = "requests and notifications are those of the protocol", only = "judge_notification" },
}

---A test of one rule.
---@class pintle.cli.check.probe
---@field name string
---@field rule string the rule, as a sentence
---@field level? "fail"|"warn" verdict if the plugin does not pass (default: "fail")
---@field run fun(session: pintle.cli.check.session): string? raises a failure, or returns, perhaps with a remark
---@field is_raw? boolean whether the probe runs without a handshake before
---@field needs_run? boolean whether it needs an operation given with --run
---@field framing? "line"|"header" if it applies to that framing only
---@field variant? string the variant of the dialect that it applies to
---@field arguments? fun(context: pintle.cli.check.context): string[] additional arguments of the plugin

---A version of a protocol that has several.
---@class pintle.cli.check.variant
---@field name? string nil if there is only one
---@field greet fun(session: pintle.cli.check.session): any does the handshake, and returns the plugin's manifest
---@field wrap? fun(params: any): any makes the params that are sent

---A module pintle.cli.check.NAME. Members marked (own) are copied from the dialect itself.
---@class pintle.cli.check.dialect
---@field name string (own)
---@field framing "line"|"header" (own)
---@field header? string (own)
---@field extra? table (own)
---@field ids? "integer"|"string" (own)
---@field variants pintle.cli.check.variant[]
---@field question { method: string, params: any } a request that is always answered, with a result or an error
---@field has_root? boolean whether the handshake names a workspace
---@field end_status? 0 if another exit status at the end of input is a failure
---@field is_null_an_error? boolean whether hosts treat "error":null as a failure
---@field is_exact? boolean whether hosts reject unknown members
---@field judge_notification? fun(method: string, params: any, context: table): string?, string? problem and its level
---@field judge_request? fun(method: string, params: any): string?, string?
---@field levels? table<string, "fail"|"warn"> levels of general probes that differ in this dialect
---@field remarks? table<string, string> remarks by probe: the only document that has the rule
---@field max_line? integer bytes with the line end, if hosts do not read longer lines
---@field probes pintle.cli.check.probe[]

local OWN = { "name", "framing", "header", "extra", "ids" }

---@param name string
---@return pintle.cli.check.dialect?, pintle.error?
function runner.load_probes(name)
  local known, err = options.find_dialect(name)
  if not known then return nil, err end
  if not dialects.is_built_in(name) then
    return nil, errors.new("unsupported", ("no probes for the dialect %s"):format(name))
  end
  local dialect = {}
  for member, value in pairs(require("pintle.cli.check." .. name)) do dialect[member] = value end
  for _, member in ipairs(OWN) do dialect[member] = known[member] end
  return dialect
end

---@param probe { framing?: string, only?: string }
---@param dialect pintle.cli.check.dialect
---@return boolean
local function is_probe_for_dialect(probe, dialect)
  return (not probe.framing or probe.framing == dialect.framing) and (not probe.only or dialect[probe.only] ~= nil)
end

local function add_probes(list, probes, dialect)
  for _, probe in ipairs(probes) do
    if is_probe_for_dialect(probe, dialect) then list[#list + 1] = probe end
  end
  return list
end

---The handshake probes: one for each variant.
---@param dialect pintle.cli.check.dialect
---@return pintle.cli.check.probe[]
local function handshake_probes(dialect)
  local list = {}
  for i, variant in ipairs(dialect.variants) do
    local prefix = variant.name and variant.name .. "/" or ""
    list[i] = {
      name = prefix .. "handshake", rule = "the handshake succeeds", variant = variant.name, run = function() end,
    }
  end
  return list
end

---All probes after the handshake, except the watches.
---@param dialect pintle.cli.check.dialect
---@return pintle.cli.check.probe[]
local function all_probes(dialect)
  return add_probes(add_probes({}, general, dialect), dialect.probes, dialect)
end

---@param dialect pintle.cli.check.dialect
---@param probe pintle.cli.check.probe
---@return "fail"|"warn"
local function probe_level(dialect, probe)
  return dialect.levels and dialect.levels[probe.name] or probe.level or "fail"
end

---All probes of a dialect, in order.
---@param dialect pintle.cli.check.dialect
---@return { name: string, rule: string, level: "fail"|"warn" }[]
function runner.list_probes(dialect)
  local list = {}
  local probes = add_probes(handshake_probes(dialect), all_probes(dialect), dialect)
  for _, probe in ipairs(add_probes(probes, WATCHES, dialect)) do
    list[#list + 1] = { name = probe.name, rule = probe.rule, level = probe_level(dialect, probe) }
  end
  return list
end

-- }======

---@class pintle.cli.check.context
---@field command string[]
---@field env? table<string, string>
---@field via? pintle.way
---@field timeout number seconds for each answer
---@field config any
---@field root? string path of the workspace
---@field run? { name: string, args: table } the operation that may be run
---@field dialect pintle.cli.check.dialect
---@field variant pintle.cli.check.variant
---@field manifest any the result of the handshake

---@class pintle.cli.check.result
---@field name string
---@field rule string
---@field verdict "pass"|"fail"|"warn"|"skip"
---@field reason? string why it did not pass, or a remark
---@field exchange? table[] messages in both directions
---@field left_out? integer number of messages that were not kept
---@field stderr? string[] last lines of the plugin's stderr

-- {====== One probe ======

local function with_probe_traceback(problem)
  if sessions.is_probe_failure(problem) or errors.is(problem) then return problem end
  return debug.traceback(tostring(problem), 2)
end

-- Runs a probe; returns its failure, or nil and a remark.
local function run_probe(session, probe)
  local manifest
  local ok, problem = xpcall(function()
    if not probe.is_raw then manifest = session.context.variant.greet(session) end
    session.context.manifest = session.context.manifest or manifest
    return probe.run(session)
  end, with_probe_traceback)
  if not ok and not sessions.is_probe_failure(problem) then error(problem, 0) end
  if not ok then return problem end
  return nil, type(problem) == "string" and problem or nil
end

-- Adds the remark that only one of several documents has the rule.
local function failure_reason(context, probe, problem)
  local remark = not problem.level and context.dialect.remarks and context.dialect.remarks[probe.name]
  return remark and ("%s (%s)"):format(problem.reason, remark) or problem.reason
end

-- Keeps the worst violation of each rule, with the messages of its session.
local function keep_violations(self, session, result)
  for _, violation in ipairs(session.violations) do
    local kept = self.violations[violation.rule]
    if not kept or kept.level == "warn" and violation.level == "fail" then
      self.violations[violation.rule] = { level = violation.level, reason = violation.reason, result = result }
    end
  end
end

local function try_probe(self, context, probe)
  local session <close>, err = sessions.start(context, table.unpack(probe.arguments and probe.arguments(context) or {}))
  if not session then error(err, 0) end
  local problem, remark = run_probe(session, probe)
  session:finish()
  local result = {
    name = probe.name, rule = probe.rule, verdict = "pass", reason = remark, exchange = session.pipe.pieces,
    left_out = session.pipe.left_out, stderr = session.pipe.child.lines,
  }
  if problem then
    result.verdict = problem.level or probe_level(context.dialect, probe)
    result.reason = failure_reason(context, probe, problem)
  end
  keep_violations(self, session, result)
  return result, problem
end

local function skipped_result(probe, reason)
  return { name = probe.name, rule = probe.rule, verdict = "skip", reason = reason }
end

-- }======

-- {====== All of them ======

local function variant_context(self, variant)
  return setmetatable({ variant = variant }, { __index = self.given })
end

-- A plugin may support one variant only, but a variant that it answers must be correct.
local function run_handshakes(self)
  local tried = {}
  for i, probe in ipairs(handshake_probes(self.dialect)) do
    local variant = self.dialect.variants[i]
    local context = variant_context(self, variant)
    local result, problem = try_probe(self, context, probe)
    tried[i] = { result = result, problem = problem }
    if not problem then
      self.first = self.first or context
      self.contexts[variant.name or ""] = context
    end
  end
  for _, one in ipairs(tried) do
    if self.first and one.problem and not one.problem.is_malformed then
      one.result.verdict, one.result.reason = "skip", "not supported: " .. one.result.reason
    end
    if not self.first or self.given.selects(one.result.name) then self.on_result(one.result) end
  end
  return self.first ~= nil
end

local function examine_probe(self, context, probe)
  if probe.needs_run and not context.run then return skipped_result(probe, "needs --run OPERATION") end
  return (try_probe(self, context, probe))
end

local function watch_result(self, watch)
  local violation = self.violations[watch.name]
  if not violation then return { name = watch.name, rule = watch.rule, verdict = "pass" } end
  local shown = violation.result
  return {
    name = watch.name, rule = watch.rule, verdict = violation.level,
    reason = ("%s (in %s)"):format(violation.reason, shown.name), exchange = shown.exchange, left_out = shown.left_out,
    stderr = shown.stderr,
  }
end

-- The selected probes. If only watches are selected, all probes are run.
local function selected_probes(self)
  local probes, wanted = all_probes(self.dialect), {}
  for _, probe in ipairs(probes) do
    if self.given.selects(probe.name) then wanted[#wanted + 1] = probe end
  end
  return #wanted > 0 and wanted or probes
end

-- Probes of an unsupported variant are left out; the handshake has reported it.
local function examine_selected_probes(self)
  for _, probe in ipairs(selected_probes(self)) do
    local context = self.first
    if probe.variant then context = self.contexts[probe.variant] end
    local result = context and examine_probe(self, context, probe)
    if result and self.given.selects(probe.name) then self.on_result(result) end
  end
end

---@class pintle.cli.check.given: pintle.cli.check.context
---@field selects fun(name: string): boolean whether a probe is selected

---Runs the probes. Raises a pintle.error if that is not possible.
---@param given pintle.cli.check.given
---@param on_result fun(result: pintle.cli.check.result) called with each result, in order
---@return boolean has_handshake false if no handshake succeeded, and no other probe was run
function runner.run_probes(given, on_result)
  local self = { given = given, dialect = given.dialect, on_result = on_result, contexts = {}, violations = {} }
  local has_handshake = run_handshakes(self)
  if has_handshake then examine_selected_probes(self) end
  for _, watch in ipairs(WATCHES) do
    local is_wanted = is_probe_for_dialect(watch, self.dialect) and given.selects(watch.name)
    if is_wanted and (has_handshake or self.violations[watch.name]) then on_result(watch_result(self, watch)) end
  end
  return has_handshake
end

-- }======

return runner
