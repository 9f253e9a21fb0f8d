-- Probes for servers of the Model Context Protocol over stdio, in both eras.

local schema = require "pintle.schema"
local sessions = require "pintle.cli.check.session"

local OWN = "io.modelcontextprotocol/"
local CLASSIC = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" }
local MODERN = "2026-07-28"

-- {====== Schemas ======

local TEXT, OBJECT = { type = "string" }, { type = "object" }

local INITIALIZED = { type = "object", required = { "protocolVersion", "capabilities", "serverInfo" }, properties = {
  protocolVersion = { enum = CLASSIC }, capabilities = OBJECT, instructions = TEXT,
  serverInfo = { type = "object", required = { "name", "version" }, properties = { name = TEXT, version = TEXT } },
} }

local DISCOVERED = { type = "object", required = { "supportedVersions", "capabilities", "resultType" }, properties = {
  supportedVersions = { type = "array", contains = { const = MODERN } }, capabilities = OBJECT,
  resultType = { const = "complete" },
} }

local TOOLS = { type = "object", required = { "tools" }, properties = {
  nextCursor = TEXT,
  tools = { type = "array", items = { type = "object", required = { "name", "inputSchema" }, properties = {
    name = { type = "string", minLength = 1 }, title = TEXT, description = TEXT,
    inputSchema = { type = "object", required = { "type" }, properties = { type = { const = "object" } } },
    outputSchema = OBJECT, annotations = OBJECT,
  } } },
} }

local CALLED = { type = "object", required = { "content" }, properties = {
  content = { type = "array", items = { type = "object", required = { "type" }, properties = { type = TEXT },
    ["if"] = { properties = { type = { const = "text" } } },
    ["then"] = { required = { "text" }, properties = { text = TEXT } } } },
  structuredContent = OBJECT, isError = { type = "boolean" },
} }

local COMPLETE = { type = "object", required = { "resultType" }, properties = { resultType = { const = "complete" } } }

local MESSAGE = { type = "object", required = { "level", "data" }, properties = { logger = TEXT, level = {
  enum = { "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency" } } } }
local PROGRESS = { type = "object", required = { "progressToken", "progress" }, properties = {
  progressToken = { type = { "string", "integer" } }, progress = { type = "number" }, total = { type = "number" },
  message = TEXT } }

-- }======

-- {====== The handshake ======

local CLIENT = { name = "pintle check", version = "1" }

local function initialize_mcp_server(session, version)
  return session:call_plugin("initialize", { protocolVersion = version, capabilities = {}, clientInfo = CLIENT })
end

local function greet_classic_server(session)
  local manifest = initialize_mcp_server(session, CLASSIC[1])
  session:check_schema(manifest, INITIALIZED, "the result")
  session:notify_plugin "notifications/initialized"
  return manifest
end

local function greet_modern_server(session)
  local manifest = session:call_plugin "server/discover"
  session:check_schema(manifest, DISCOVERED, "the result")
  return manifest
end

local function with_mcp_meta(params)
  local all = {}
  for name, value in pairs(params or {}) do all[name] = value end
  all._meta = {
    [OWN .. "protocolVersion"] = MODERN, [OWN .. "clientCapabilities"] = {}, [OWN .. "clientInfo"] = CLIENT,
  }
  return all
end

local function initialize_with_older_versions(session)
  for i = 2, #CLASSIC do
    local fresh <close> = assert(sessions.start(session.context))
    fresh:check_schema(initialize_mcp_server(fresh, CLASSIC[i]), INITIALIZED, "the result for " .. CLASSIC[i])
  end
end

local function initialize_with_unknown_version(session)
  session:check_schema(initialize_mcp_server(session, "1999-12-31"), INITIALIZED, "the result")
end

local function ping_mcp_server(session) session:check_schema(session:call_plugin "ping", OBJECT, "the result") end

-- }======

-- {====== Tools ======

local function skip_without_tools(session)
  if session.context.manifest.capabilities.tools == nil then session:skip_probe "it has no tools" end
end

local function list_tools(session)
  skip_without_tools(session)
  local manifest = session:call_plugin "tools/list"
  session:check_schema(manifest, TOOLS, "the result")
  if session.context.variant.wrap then session:check_schema(manifest, COMPLETE, "the result") end
  for _, tool in ipairs(manifest.tools) do
    for _, member in ipairs { "inputSchema", "outputSchema" } do
      local ok, message = true, nil
      if tool[member] ~= nil then ok, message = schema.compile(tool[member]) end
      if not ok then session:fail_probe("%s of %s: %s", member, tool.name, message) end
    end
  end
end

-- The document allows both; an error is better, because no tool was run.
local function call_unknown_tool(session)
  skip_without_tools(session)
  local key = session:ask_plugin("tools/call", { name = "pintle-check-no-such-tool", arguments = {} })
  local message = session:await_answer(key)
  if type(message.result) == "table" and message.result.isError == true then
    session:warn_probe "an unknown tool is answered with a result with isError, not with an error"
  end
  session:await_refusal(key)
end

local function call_nameless_tool(session)
  skip_without_tools(session)
  session:expect_refusal("tools/call", { arguments = {} })
end

local function call_tool(session)
  local wanted = session.context.run
  local result = session:call_plugin("tools/call", { name = wanted.name, arguments = wanted.args })
  session:check_schema(result, CALLED, "the result")
  if session.context.variant.wrap then session:check_schema(result, COMPLETE, "the result") end
end

local function find_tool(session, name)
  local manifest = session:call_plugin "tools/list"
  session:check_schema(manifest, TOOLS, "the result of tools/list")
  for _, tool in ipairs(manifest.tools) do
    if tool.name == name then return tool end
  end
  return session:skip_probe("no tool %s on the first page of tools/list", name)
end

-- Since this version wrong arguments are a result with isError, which a model can read.
local RETURNS_WRONG_ARGUMENTS = "2025-11-25"

local function returns_wrong_arguments(session)
  local version = session.context.manifest.protocolVersion
  return session.context.variant.wrap ~= nil or type(version) == "string" and version >= RETURNS_WRONG_ARGUMENTS
end

local function call_tool_without_argument(session)
  local wanted = session.context.run
  local name = sessions.first_required(find_tool(session, wanted.name).inputSchema)
  if not name then session:skip_probe("%s has no required argument", wanted.name) end
  local args = {}
  for key, value in pairs(wanted.args) do
    if key ~= name then args[key] = value end
  end
  local message = session:await_answer(session:ask_plugin("tools/call", { name = wanted.name, arguments = args }))
  local is_refused = message.error ~= nil or type(message.result) == "table" and message.result.isError == true
  if not is_refused then session:fail_probe "it is run without a required argument" end
  if message.error ~= nil and returns_wrong_arguments(session) then
    session:warn_probe "wrong arguments are answered with an error, not with a result with isError"
  end
end

-- }======

-- A cancelled request need not be answered.
local function cancel_tools_list(session)
  session:ask_plugin "tools/list"
  session:notify_plugin("notifications/cancelled", { requestId = session.last_id, reason = "pintle check" })
  session:catch_up()
end

local function cancel_unknown_mcp_request(session)
  session:notify_plugin("notifications/cancelled", { requestId = 4711 })
  session:notify_plugin("notifications/cancelled", { requestId = "pintle-nobody" })
  session:catch_up()
end

-- Sends a request of the other era, before any handshake.
local function list_tools_without_meta(session)
  session.context = setmetatable({ variant = {} }, { __index = session.context })
  session:expect_refusal "tools/list"
end

local SCHEMAS = { ["notifications/message"] = MESSAGE, ["notifications/progress"] = PROGRESS }

local function judge_mcp_notification(method, params)
  local problem = SCHEMAS[method] and sessions.schema_problem(params, SCHEMAS[method])
  if problem then return ("%s: %s"):format(method, problem) end
  if not method:find "^notifications/" then
    return ("it sends the notification %s, which is not in the protocol"):format(method)
  end
end

local function probes_for_both_eras(list)
  local all = {}
  for _, era in ipairs { "classic", "modern" } do
    for _, probe in ipairs(list) do
      local copy = { variant = era }
      for name, value in pairs(probe) do copy[name] = value end
      copy.name = era .. "/" .. probe.name
      all[#all + 1] = copy
    end
  end
  return all
end

local probes = probes_for_both_eras {
  { name = "tools", rule = "tools/list returns tools with names and schemas", run = list_tools },
  { name = "unknown-tool", rule = "an unknown tool is refused", run = call_unknown_tool },
  { name = "nameless-tool", rule = "tools/call without a name is refused", run = call_nameless_tool },
  { name = "outcome", rule = "the result of a tool matches its schema", needs_run = true, run = call_tool },
  { name = "missing-argument", rule = "a missing argument is an error", needs_run = true,
    run = call_tool_without_argument },
  { name = "cancel", rule = "a cancelled request is answered at most once", run = cancel_tools_list },
  { name = "late-cancel", rule = "cancelling an unknown request is ignored", run = cancel_unknown_mcp_request },
}

for _, probe in ipairs {
  { name = "classic/ping", rule = "ping is answered", variant = "classic", run = ping_mcp_server },
  { name = "classic/older-versions", rule = "older versions are answered with a supported version",
    variant = "classic", is_raw = true, run = initialize_with_older_versions },
  { name = "classic/unknown-version", rule = "an unknown version is answered with a supported version",
    variant = "classic", is_raw = true, run = initialize_with_unknown_version },
  { name = "modern/metaless", rule = "a request without a version is refused", variant = "modern",
    level = "warn", is_raw = true, run = list_tools_without_meta },
} do probes[#probes + 1] = probe end

---@type pintle.cli.check.dialect
return {
  variants = {
    { name = "classic", greet = greet_classic_server },
    { name = "modern", greet = greet_modern_server, wrap = with_mcp_meta },
  },
  question = { method = "tools/list" },
  judge_notification = judge_mcp_notification,
  levels = { ["bad-json"] = "warn", ["invalid-request"] = "warn" },
  probes = probes,
}
