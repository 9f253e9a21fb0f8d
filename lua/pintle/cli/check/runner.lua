-- Leads a plugin through the probes of its dialect, each in a life of its own.

local errors = require "pintle.error"

local breach = require "pintle.cli.check.breach"
local catalog = require "pintle.cli.check.catalog"
local lives = require "pintle.cli.check.life"
local watches = require "pintle.cli.check.watch"

---@class pintle.cli.check.context
---@field command string[]
---@field env? table<string, string>
---@field timeout number seconds for each wait
---@field config any
---@field root? string path of the workspace
---@field run? { name: string, args: table } what may be run
---@field dialect pintle.cli.check.dialect
---@field variant pintle.cli.check.variant
---@field told any what the plugin has said of itself

---@class pintle.cli.check.result
---@field name string
---@field rule string
---@field verdict "pass"|"fail"|"warn"|"skip"
---@field reason? string why it is not passed, or a remark
---@field exchange? table[] what was said, both ways
---@field left_out? integer how much of it is not there
---@field stderr? string[] its last lines

local runner = {}

-- {====== One probe ======

local function with_traceback(problem)
  if breach.is(problem) or errors.is(problem) then return problem end
  return debug.traceback(tostring(problem), 2)
end

-- Why it has not done well, or what is to be said of it all the same.
local function lead(life, probe)
  local told
  local ok, problem = xpcall(function()
    if not probe.is_raw then told = life.context.variant.greet(life) end
    life.context.told = life.context.told or told
    return probe.run(life)
  end, with_traceback)
  if not ok and not breach.is(problem) then error(problem, 0) end
  if not ok then return problem end
  return nil, type(problem) == "string" and problem or nil
end

-- Where only one of several documents asks for it, that is told.
local function reason_of(context, probe, problem)
  local remark = not problem.level and context.dialect.remarks and context.dialect.remarks[probe.name]
  return remark and ("%s (%s)"):format(problem.reason, remark) or problem.reason
end

-- The gravest of each kind is kept, with the conversation it was found in.
local function keep_offences(self, life, result)
  for _, offence in ipairs(life.offences) do
    local kept = self.offences[offence.rule]
    if not kept or kept.level == "warn" and offence.level == "fail" then
      self.offences[offence.rule] = { level = offence.level, reason = offence.reason, result = result }
    end
  end
end

local function try(self, context, probe)
  local life <close>, err = lives.start(context, table.unpack(probe.arguments and probe.arguments(context) or {}))
  if not life then error(err, 0) end
  local problem, remark = lead(life, probe)
  life:finish()
  local result = {
    name = probe.name, rule = probe.rule, verdict = "pass", reason = remark, exchange = life.pipe.pieces,
    left_out = life.pipe.left_out, stderr = life.pipe.child.lines,
  }
  if problem then
    result.verdict = problem.level or catalog.level(context.dialect, probe)
    result.reason = reason_of(context, probe, problem)
  end
  keep_offences(self, life, result)
  return result, problem
end

local function skipped(probe, reason)
  return { name = probe.name, rule = probe.rule, verdict = "skip", reason = reason }
end

-- }======

-- {====== All of them ======

local function context_for(self, variant)
  return setmetatable({ variant = variant }, { __index = self.given })
end

-- A plugin may speak one variant and not the other, but not one of them badly.
local function shake_hands(self)
  local tried = {}
  for i, probe in ipairs(catalog.handshakes(self.dialect)) do
    local variant = self.dialect.variants[i]
    local context = context_for(self, variant)
    local result, problem = try(self, context, probe)
    tried[i] = { result = result, problem = problem }
    if not problem then
      self.first = self.first or context
      self.contexts[variant.name or ""] = context
    end
  end
  for _, one in ipairs(tried) do
    if self.first and one.problem and not one.problem.is_form then
      one.result.verdict, one.result.reason = "skip", "not spoken: " .. one.result.reason
    end
    if not self.first or self.given.selects(one.result.name) then self.on_result(one.result) end
  end
  return self.first ~= nil
end

local function examine(self, context, probe)
  if probe.needs_run and not context.run then return skipped(probe, "name an operation that may be run, with --run") end
  return (try(self, context, probe))
end

local function watched(self, watch)
  local offence = self.offences[watch.name]
  if not offence then return { name = watch.name, rule = watch.rule, verdict = "pass" } end
  local shown = offence.result
  return {
    name = watch.name, rule = watch.rule, verdict = offence.level,
    reason = ("%s (in %s)"):format(offence.reason, shown.name), exchange = shown.exchange, left_out = shown.left_out,
    stderr = shown.stderr,
  }
end

-- Those that are wanted. Where it is only what is found on the way, all have to be gone.
local function selection(self)
  local probes, wanted = catalog.probes(self.dialect), {}
  for _, probe in ipairs(probes) do
    if self.given.selects(probe.name) then wanted[#wanted + 1] = probe end
  end
  return #wanted > 0 and wanted or probes
end

-- That a variant is not spoken was told with its handshake.
local function examine_all(self)
  for _, probe in ipairs(selection(self)) do
    local context = self.first
    if probe.variant then context = self.contexts[probe.variant] end
    local result = context and examine(self, context, probe)
    if result and self.given.selects(probe.name) then self.on_result(result) end
  end
end

---@class pintle.cli.check.given: pintle.cli.check.context
---@field selects fun(name: string): boolean whether a probe is wanted

---Raises an error of pintle's if it cannot be done.
---@param given pintle.cli.check.given
---@param on_result fun(result: pintle.cli.check.result) told of each, in order
---@return boolean came_to_terms false if the handshake has failed, and nothing else was tried
function runner.run(given, on_result)
  local self = { given = given, dialect = given.dialect, on_result = on_result, contexts = {}, offences = {} }
  local has_shaken = shake_hands(self)
  if has_shaken then examine_all(self) end
  for _, watch in ipairs(watches) do
    local is_wanted = catalog.is_for(watch, self.dialect) and given.selects(watch.name)
    if is_wanted and (has_shaken or self.offences[watch.name]) then on_result(watched(self, watch)) end
  end
  return has_shaken
end

-- }======

return runner
