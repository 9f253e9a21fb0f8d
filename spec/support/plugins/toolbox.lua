-- A plugin with a tool for every feature of an MCP server, right or wrong.
local pintle = require "pintle"

local plugin = pintle.plugin {
  name = "toolbox", version = "1.0.0",
  dialects = { mcp = {
    title = "Toolbox", instructions = "Mind your fingers.", page_size = 3,
    capabilities = { resources = { listChanged = true, subscribe = true }, experimental = { x = {} } },
  } },
}

plugin:on_initialize(function(config, server)
  if config.fail then return nil, config.fail end
  if config.slow then pintle.sleep(config.slow) end
  server:log("info", "begun")
end)

local function object(required, properties)
  return { type = "object", required = required, properties = properties }
end

plugin:operation("sum", {
  description = "Adds up",
  params = object({ "a" }, { a = { type = "integer" }, b = { type = "integer", default = 1 } }),
  outputs = object({ "sum" }, { sum = { type = "integer" } }),
  dialects = { mcp = { title = "Sum", annotations = { readOnlyHint = true } } },
}, function(args) return { message = "added", outputs = { sum = args.a + args.b } } end)

plugin:operation("fail", {}, function() return nil, { message = "no", error = "why", outputs = { tries = 2 } } end)
plugin:operation("nothing", {}, function() end)
plugin:operation("list-output", {}, function() return { outputs = { "a" } } end)
plugin:operation("raise", {}, function() error "boom" end)
plugin:operation("code", {}, function() return nil, { code = -32050, message = "refused" } end)
plugin:operation("need", { requires = { "pintle-no-such-command" } }, function() return "found" end)

plugin:operation("log", {}, function(_, ctx)
  ctx:log("debug", "a detail")
  ctx:log("info", "something", { n = 1 })
  ctx:log("warn", "careful")
  ctx:log("error", "trouble")
end)

plugin:operation("progress", {}, function(_, ctx)
  for _, fraction in ipairs { 0, 0.5, 0.5, 0.25, 1 } do ctx:progress(fraction, fraction == 0.5 and "half" or nil) end
  return "there"
end)

plugin:operation("hold", {}, function(_, ctx)
  ctx:progress(0)
  local ok, err = ctx:sleep(30)
  ctx:log("error", "too late to say so")
  ctx:progress(1)
  return ok and "held", err
end)

plugin:operation("ask", {}, function(_, ctx)
  local result, err = ctx:call("sampling/createMessage", { maxTokens = 1 }, { timeout = 30 })
  if not result then return nil, tostring(err.message) end
  return result.content.text
end)

plugin:operation("client", {}, function(_, ctx)
  return pintle.json.encode { ctx.server.capabilities.sampling or false, ctx.request.mcp.capabilities.sampling ~= nil }
end)

plugin:operation("change", {}, function(_, ctx)
  ctx:notify("notifications/resources/list_changed")
  ctx:notify("notifications/resources/updated", { uri = "x:/1" })
  ctx:notify("notifications/tools/list_changed")
  ctx:notify("custom/thing", { n = 1 })
end)

plugin:method("resources/list", function(_, ctx)
  ctx:log("info", "listing")
  ctx:progress(0.5)
  return { resources = pintle.array() }
end)
plugin:method("resources/read", function(params)
  if params.uri == "bad:" then return "text" end
  if params.uri == "text:" then return nil, "no such thing" end
  if params.uri == "table:" then return nil, { message = "no such table", data = { n = 1 } } end
  if params.uri == "kept:" then return { contents = pintle.array(), ttlMs = 5, cacheScope = "public" } end
  return nil, { code = -32002, message = "Resource not found", data = { uri = params.uri } }
end)
plugin:method("resources/subscribe", function() end)
plugin:method("prompts/get", function() return { resultType = "input_required", requestState = "s" } end)

plugin:serve()
