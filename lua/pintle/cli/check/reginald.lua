-- Probes for plugins of Reginald, in both releases.

local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local sessions = require "pintle.cli.check.session"

-- {====== Schemas ======

local TEXT, NOTHING = { type = "string" }, json.null

local function exact_object(required, properties)
  return { type = "object", required = required, properties = properties, additionalProperties = false }
end

-- A flag without a name has the name of its key.
local ENTRY = exact_object({ "key", "value", "type" }, {
  key = TEXT, value = true, type = { enum = { "bool", "int", "string" } }, envOverride = TEXT,
  flag = exact_object(nil, { name = TEXT, shorthand = TEXT, usage = TEXT }), flagOnly = { type = "boolean" },
})
local ENTRIES = { type = { "array", "null" }, items = ENTRY }

local HANDSHAKES = {
  june = exact_object({ "protocol", "protocolVersion", "name", "version" }, {
    protocol = { const = "rpp" }, protocolVersion = { const = 0 }, name = { type = "string", minLength = 1 },
    version = TEXT, configs = ENTRIES,
    commands = { type = { "array", "null" }, items = exact_object({ "name" }, {
      name = TEXT, usage = TEXT, configs = ENTRIES }) },
    tasks = { type = { "array", "null" }, items = exact_object({ "type" }, { type = TEXT }) },
  }),
  july = exact_object({ "protocol", "protocolVersion", "name" }, {
    protocol = { const = "reginald" }, protocolVersion = { const = 0 }, name = { type = "string", minLength = 1 },
  }),
}

local LEVEL = { type = "string", pattern = "^([Tt][Rr][Aa][Cc][Ee]|[Dd][Ee][Bb][Uu][Gg]|[Ii][Nn][Ff][Oo]|"
  .. "[Ww][Aa][Rr][Nn]|[Ee][Rr][Rr][Oo][Rr])([+-][0-9]+)?$" }

local LOGS = {
  june = exact_object({ "level", "msg" }, { level = LEVEL, msg = TEXT, fields = { type = { "object", "null" } } }),
  july = exact_object({ "level", "msg" }, {
    level = LEVEL, msg = TEXT, time = TEXT,
    source = exact_object(nil, { ["function"] = TEXT, file = TEXT, line = { type = "integer" } }),
    attrs = { type = { "array", "null" }, items = exact_object({ "key", "value" }, { key = TEXT, value = true }) },
  }),
}

-- }======

-- {====== The handshake ======

local function handshake_with_reginald_plugin(session, protocol)
  local manifest = session:call_plugin("handshake", { protocol = protocol, protocolVersion = 0 })
  session:check_schema(manifest, HANDSHAKES[session.context.variant.name], "the result")
  return manifest
end

local TYPES = { boolean = "bool", integer = "int", string = "string" }

local function config_entries(session, values)
  local entries = json.array()
  for key, value in pairs(values or {}) do
    local kind = TYPES[math.type(value) or type(value)]
    if not kind then session:skip_probe("%s is not a bool, an int or a string", key) end
    entries[#entries + 1] = { key = key, value = value, type = kind }
  end
  return entries
end

local function plugin_config(session)
  local config = session.context.config
  if config ~= nil and not jsonrpc.is_object(config) then session:skip_probe "--config is not an object" end
  return config_entries(session, config)
end

local function greet_june_plugin(session)
  local manifest, config = handshake_with_reginald_plugin(session, "rpp"), plugin_config(session)
  local result = session:call_plugin("initialize", {
    logging = { enabled = true, level = "TRACE" }, config = #config > 0 and config or nil,
  })
  session:check_schema(result, { type = { "object", "null" } }, "the result of initialize")
  return manifest
end

local function greet_july_plugin(session) return handshake_with_reginald_plugin(session, "reginald") end

local function handshake_with_other_protocol(session)
  session:expect_refusal("handshake", { protocol = "pintle", protocolVersion = 0 })
end

local function handshake_with_other_version(session)
  local protocol = session.context.variant.name == "june" and "rpp" or "reginald"
  session:expect_refusal("handshake", { protocol = protocol, protocolVersion = 4711 })
end

-- }======

-- {====== Commands ======

local UNKNOWN = "pintle-check-no-such-command"

-- The params of running an unknown command, with exactly the members of the release.
local RUN_UNKNOWN = {
  june = function() return { name = UNKNOWN } end,
  july = function(session) return { cmd = UNKNOWN, config = json.array(), pluginConfig = plugin_config(session) } end,
}

local function run_unknown_june_command(session)
  session:expect_refusal("setupCommand", { name = UNKNOWN, args = NOTHING, config = json.array() }, -32602)
end

local function run_unknown_july_command(session) session:expect_refusal("runCommand", RUN_UNKNOWN.july(session)) end

local function run_june_command(session)
  local wanted = session.context.run
  local config = config_entries(session, wanted.args)
  session:call_plugin("setupCommand", { name = wanted.name, args = NOTHING, config = config })
  session:execute_in_plugin("runCommand", { name = wanted.name })
end

local function run_july_command(session)
  local wanted = session.context.run
  session:execute_in_plugin("runCommand", {
    cmd = wanted.name, config = config_entries(session, wanted.args), pluginConfig = plugin_config(session),
  })
end

-- }======

-- {====== The end ======

local SHUT_DOWN = { june = NOTHING, july = true }

local function shut_down_reginald_plugin(session)
  local wanted = SHUT_DOWN[session.context.variant.name]
  local result = session:call_plugin("shutdown", NOTHING)
  if result ~= wanted then
    session:fail_probe("the result of shutdown is %s, not %s", json.encode(result), json.encode(wanted))
  end
  session:notify_plugin("exit", NOTHING)
  session:await_exit()
end

local function run_command_after_shutdown(session)
  session:call_plugin("shutdown", NOTHING)
  session:expect_refusal("runCommand", RUN_UNKNOWN[session.context.variant.name](session), -32600)
end

local function exit_reginald_plugin_at_once(session)
  session:notify_plugin("exit", NOTHING)
  session:await_exit()
end

-- }======

local function judge_reginald_notification(method, params, context)
  if method ~= "log" then return ("it sends the notification %s, but hosts accept only log"):format(method) end
  local problem = sessions.schema_problem(params, LOGS[context.variant.name])
  return problem and "log: " .. problem
end

local probes = {}

local function add_release_probe(release, name, rule, run, more)
  local probe = { name = release .. "/" .. name, rule = rule, run = run, variant = release }
  for key, value in pairs(more or {}) do probe[key] = value end
  probes[#probes + 1] = probe
end

for _, release in ipairs { "june", "july" } do
  local is_june = release == "june"
  add_release_probe(release, "other-protocol", "an unknown protocol is refused", handshake_with_other_protocol,
    { is_raw = true })
  add_release_probe(release, "other-version", "an unknown version is refused", handshake_with_other_version,
    { is_raw = true })
  add_release_probe(release, "unknown-command", "an unknown command is refused" .. (is_june and " with -32602" or ""),
    is_june and run_unknown_june_command or run_unknown_july_command)
  add_release_probe(release, "outcome", "a command is executed", is_june and run_june_command or run_july_command,
    { needs_run = true })
  add_release_probe(release, "shutdown",
    ("shutdown is answered with %s, and it exits after exit"):format(is_june and "null" or "true"),
    shut_down_reginald_plugin)
  add_release_probe(release, "late-request", "requests after shutdown are refused with -32600",
    run_command_after_shutdown, { level = is_june and "fail" or "warn" })
  add_release_probe(release, "exit", "it exits after exit without shutdown", exit_reginald_plugin_at_once)
end

---@type pintle.cli.check.dialect
return {
  variants = { { name = "june", greet = greet_june_plugin }, { name = "july", greet = greet_july_plugin } },
  question = { method = "pintle-check-question" },
  is_null_an_error = true,
  is_exact = true,
  judge_notification = judge_reginald_notification,
  judge_request = function(method) return ("it sends the request %s, but hosts answer none"):format(method) end,
  probes = probes,
}
