-- What Reginald asks of a plugin, in either release.

local breach = require "pintle.cli.check.breach"
local envelope = require "pintle.cli.check.envelope"
local json = require("pintle.core").json
local misfit = require "pintle.cli.check.misfit"

-- {====== Forms ======

local TEXT, NOTHING = { type = "string" }, json.null

local function exactly(required, properties)
  return { type = "object", required = required, properties = properties, additionalProperties = false }
end

-- A flag without a name has that of its key.
local ENTRY = exactly({ "key", "value", "type" }, {
  key = TEXT, value = true, type = { enum = { "bool", "int", "string" } }, envOverride = TEXT,
  flag = exactly(nil, { name = TEXT, shorthand = TEXT, usage = TEXT }), flagOnly = { type = "boolean" },
})
local ENTRIES = { type = { "array", "null" }, items = ENTRY }

local HANDS = {
  june = exactly({ "protocol", "protocolVersion", "name", "version" }, {
    protocol = { const = "rpp" }, protocolVersion = { const = 0 }, name = { type = "string", minLength = 1 },
    version = TEXT, configs = ENTRIES,
    commands = { type = { "array", "null" }, items = exactly({ "name" }, {
      name = TEXT, usage = TEXT, configs = ENTRIES }) },
    tasks = { type = { "array", "null" }, items = exactly({ "type" }, { type = TEXT }) },
  }),
  july = exactly({ "protocol", "protocolVersion", "name" }, {
    protocol = { const = "reginald" }, protocolVersion = { const = 0 }, name = { type = "string", minLength = 1 },
  }),
}

local LEVEL = { type = "string", pattern = "^([Tt][Rr][Aa][Cc][Ee]|[Dd][Ee][Bb][Uu][Gg]|[Ii][Nn][Ff][Oo]|"
  .. "[Ww][Aa][Rr][Nn]|[Ee][Rr][Rr][Oo][Rr])([+-][0-9]+)?$" }

local LOGS = {
  june = exactly({ "level", "msg" }, { level = LEVEL, msg = TEXT, fields = { type = { "object", "null" } } }),
  july = exactly({ "level", "msg" }, {
    level = LEVEL, msg = TEXT, time = TEXT,
    source = exactly(nil, { ["function"] = TEXT, file = TEXT, line = { type = "integer" } }),
    attrs = { type = { "array", "null" }, items = exactly({ "key", "value" }, { key = TEXT, value = true }) },
  }),
}

-- }======

-- {====== The handshake ======

local function shake(life, protocol)
  local told = life:call("handshake", { protocol = protocol, protocolVersion = 0 })
  life:fits(told, HANDS[life.context.variant.name], "the result")
  return told
end

local TYPES = { boolean = "bool", integer = "int", string = "string" }

local function entries_of(values)
  local entries = json.array()
  for key, value in pairs(values or {}) do
    local kind = TYPES[math.type(value) or type(value)]
    if not kind then breach.skip("%s cannot be told by an entry of a bool, an int or a string", key) end
    entries[#entries + 1] = { key = key, value = value, type = kind }
  end
  return entries
end

local function config_of(life)
  local config = life.context.config
  if config ~= nil and not envelope.is_object(config) then breach.skip "--config is no object, as it has to be here" end
  return entries_of(config)
end

local function greet_june(life)
  local told, config = shake(life, "rpp"), config_of(life)
  local result = life:call("initialize", {
    logging = { enabled = true, level = "TRACE" }, config = #config > 0 and config or nil,
  })
  life:fits(result, { type = { "object", "null" } }, "the result of initialize")
  return told
end

local function greet_july(life) return shake(life, "reginald") end

local function other_protocol(life) life:refused("handshake", { protocol = "pintle", protocolVersion = 0 }) end

local function other_version(life)
  local protocol = life.context.variant.name == "june" and "rpp" or "reginald"
  life:refused("handshake", { protocol = protocol, protocolVersion = 4711 })
end

-- }======

-- {====== Commands ======

local NOBODY = "pintle-check-no-such-command"

-- The params of a run of an unknown command, with the members of the release and no others.
local RUN_UNKNOWN = {
  june = function() return { name = NOBODY } end,
  july = function(life) return { cmd = NOBODY, config = json.array(), pluginConfig = config_of(life) } end,
}

local function unknown_june(life)
  life:refused("setupCommand", { name = NOBODY, args = NOTHING, config = json.array() }, -32602)
end

local function unknown_july(life) life:refused("runCommand", RUN_UNKNOWN.july(life)) end

local function run_june(life)
  local wanted = life.context.run
  life:call("setupCommand", { name = wanted.name, args = NOTHING, config = entries_of(wanted.args) })
  life:carry_out("runCommand", { name = wanted.name })
end

local function run_july(life)
  local wanted = life.context.run
  life:carry_out("runCommand", { cmd = wanted.name, config = entries_of(wanted.args), pluginConfig = config_of(life) })
end

-- }======

-- {====== The end ======

local SHUT_DOWN = { june = NOTHING, july = true }

local function shut_down(life)
  local wanted = SHUT_DOWN[life.context.variant.name]
  local result = life:call("shutdown", NOTHING)
  if result ~= wanted then
    breach.raise("the result of shutdown is %s, not %s", json.encode(result), json.encode(wanted))
  end
  life:tell("exit", NOTHING)
  life:ended()
end

local function late_request(life)
  life:call("shutdown", NOTHING)
  life:refused("runCommand", RUN_UNKNOWN[life.context.variant.name](life), -32600)
end

local function exit_alone(life)
  life:tell("exit", NOTHING)
  life:ended()
end

-- }======

local function judge_notification(method, params, context)
  if method ~= "log" then return ("it sends %s, and hosts know nothing but log"):format(method) end
  local problem = misfit(params, LOGS[context.variant.name])
  return problem and "log: " .. problem
end

local probes = {}

local function add(release, name, rule, run, more)
  local probe = { name = release .. "/" .. name, rule = rule, run = run, variant = release }
  for key, value in pairs(more or {}) do probe[key] = value end
  probes[#probes + 1] = probe
end

for _, release in ipairs { "june", "july" } do
  local is_june = release == "june"
  add(release, "other-protocol", "an unknown protocol is refused", other_protocol, { is_raw = true })
  add(release, "other-version", "an unknown version is refused", other_version, { is_raw = true })
  add(release, "unknown-command", "an unknown command is refused" .. (is_june and " with -32602" or ""),
    is_june and unknown_june or unknown_july)
  add(release, "outcome", "a command is carried out", is_june and run_june or run_july, { needs_run = true })
  add(release, "shutdown", ("shutdown is answered with %s, and exit ends it"):format(is_june and "null" or "true"),
    shut_down)
  add(release, "late-request", "after shutdown requests are refused with -32600", late_request,
    { level = is_june and "fail" or "warn" })
  add(release, "exit", "exit ends it without a shutdown, too", exit_alone)
end

---@type pintle.cli.check.dialect
return {
  variants = { { name = "june", greet = greet_june }, { name = "july", greet = greet_july } },
  question = { method = "pintle-check-question" },
  is_null_an_error = true,
  is_exact = true,
  judge_notification = judge_notification,
  judge_request = function(method) return ("it asks for %s, and hosts answer nothing"):format(method) end,
  probes = probes,
}
