-- What the Model Context Protocol asks of a server over stdio, in either era.

local breach = require "pintle.cli.check.breach"
local lives = require "pintle.cli.check.life"
local misfit = require "pintle.cli.check.misfit"
local required = require "pintle.cli.check.required"
local schema = require "pintle.schema"

local OWN = "io.modelcontextprotocol/"
local CLASSIC = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" }
local MODERN = "2026-07-28"

-- {====== Forms ======

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

-- {====== The handshake, or none ======

local CLIENT = { name = "pintle check", version = "1" }

local function initialize(life, version)
  return life:call("initialize", { protocolVersion = version, capabilities = {}, clientInfo = CLIENT })
end

local function greet_classic(life)
  local told = initialize(life, CLASSIC[1])
  life:fits(told, INITIALIZED, "the result")
  life:tell "notifications/initialized"
  return told
end

local function greet_modern(life)
  local told = life:call "server/discover"
  life:fits(told, DISCOVERED, "the result")
  return told
end

local function with_meta(params)
  local all = {}
  for name, value in pairs(params or {}) do all[name] = value end
  all._meta = {
    [OWN .. "protocolVersion"] = MODERN, [OWN .. "clientCapabilities"] = {}, [OWN .. "clientInfo"] = CLIENT,
  }
  return all
end

local function older_versions(life)
  for i = 2, #CLASSIC do
    local fresh <close> = assert(lives.start(life.context))
    fresh:fits(initialize(fresh, CLASSIC[i]), INITIALIZED, "the result for " .. CLASSIC[i])
  end
end

local function unknown_version(life)
  life:fits(initialize(life, "1999-12-31"), INITIALIZED, "the result")
end

local function ping(life) life:fits(life:call "ping", OBJECT, "the result") end

-- }======

-- {====== Tools ======

local function need_tools(life)
  if life.context.told.capabilities.tools == nil then breach.skip "it has no tools" end
end

local function list_tools(life)
  need_tools(life)
  local told = life:call "tools/list"
  life:fits(told, TOOLS, "the result")
  if life.context.variant.wrap then life:fits(told, COMPLETE, "the result") end
  for _, tool in ipairs(told.tools) do
    for _, member in ipairs { "inputSchema", "outputSchema" } do
      local ok, message = true, nil
      if tool[member] ~= nil then ok, message = schema.compile(tool[member]) end
      if not ok then breach.raise("%s of %s: %s", member, tool.name, message) end
    end
  end
end

-- The document has both: an error is the better one, for no tool was run.
local function unknown_tool(life)
  need_tools(life)
  local key = life:ask("tools/call", { name = "pintle-check-no-such-tool", arguments = {} })
  local message = life:answer(key)
  if type(message.result) == "table" and message.result.isError == true then
    breach.warn "an unknown tool is a result with isError, not an error"
  end
  life:refusal(key)
end

local function nameless_tool(life)
  need_tools(life)
  life:refused("tools/call", { arguments = {} })
end

local function run(life)
  local wanted = life.context.run
  local result = life:call("tools/call", { name = wanted.name, arguments = wanted.args })
  life:fits(result, CALLED, "the result")
  if life.context.variant.wrap then life:fits(result, COMPLETE, "the result") end
end

local function find_tool(life, name)
  local told = life:call "tools/list"
  life:fits(told, TOOLS, "the result of tools/list")
  for _, tool in ipairs(told.tools) do
    if tool.name == name then return tool end
  end
  return breach.skip("there is no tool %s in the first page of tools/list", name)
end

local function missing_argument(life)
  local wanted = life.context.run
  local name = required(find_tool(life, wanted.name).inputSchema)
  if not name then breach.skip("%s has no argument that is required", wanted.name) end
  local args = {}
  for key, value in pairs(wanted.args) do
    if key ~= name then args[key] = value end
  end
  local message = life:answer(life:ask("tools/call", { name = wanted.name, arguments = args }))
  local is_refused = message.error ~= nil or type(message.result) == "table" and message.result.isError == true
  if not is_refused then breach.raise "it is run without an argument that is required" end
end

-- }======

-- A request that was cancelled need not be answered.
local function cancel(life)
  life:ask "tools/list"
  life:tell("notifications/cancelled", { requestId = life.last_id, reason = "pintle check" })
  life:catch_up()
end

local function late_cancel(life)
  life:tell("notifications/cancelled", { requestId = 4711 })
  life:tell("notifications/cancelled", { requestId = "pintle-nobody" })
  life:catch_up()
end

-- As if it were of the other era, before any handshake.
local function metaless(life)
  life.context = setmetatable({ variant = {} }, { __index = life.context })
  life:refused "tools/list"
end

local FORMS = { ["notifications/message"] = MESSAGE, ["notifications/progress"] = PROGRESS }

local function judge_notification(method, params)
  local problem = FORMS[method] and misfit(params, FORMS[method])
  if problem then return ("%s: %s"):format(method, problem) end
  if not method:find "^notifications/" then return ("it sends %s, which the protocol does not know"):format(method) end
end

local function both(list)
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

local probes = both {
  { name = "tools", rule = "tools/list has tools, each with a name and a schema", run = list_tools },
  { name = "unknown-tool", rule = "an unknown tool is refused", run = unknown_tool },
  { name = "nameless-tool", rule = "a tools/call without a name is refused", run = nameless_tool },
  { name = "outcome", rule = "a tool has a result in its form", needs_run = true, run = run },
  { name = "missing-argument", rule = "a missing argument is told as an error", needs_run = true,
    run = missing_argument },
  { name = "cancel", rule = "a request that was cancelled is answered once, or not", run = cancel },
  { name = "late-cancel", rule = "cancelling what is not under way does nothing", run = late_cancel },
}

for _, probe in ipairs {
  { name = "classic/ping", rule = "ping is answered", variant = "classic", run = ping },
  { name = "classic/older-versions", rule = "older versions of the protocol are answered by one that it has",
    variant = "classic", is_raw = true, run = older_versions },
  { name = "classic/unknown-version", rule = "an unknown version is answered by one that it has",
    variant = "classic", is_raw = true, run = unknown_version },
  { name = "modern/metaless", rule = "a request that tells no version is refused", variant = "modern",
    level = "warn", is_raw = true, run = metaless },
} do probes[#probes + 1] = probe end

---@type pintle.cli.check.dialect
return {
  variants = {
    { name = "classic", greet = greet_classic },
    { name = "modern", greet = greet_modern, wrap = with_meta },
  },
  question = { method = "tools/list" },
  judge_notification = judge_notification,
  levels = { ["bad-json"] = "warn", ["invalid-request"] = "warn" },
  probes = probes,
}
