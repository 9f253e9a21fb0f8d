-- A server for an editor, with an operation for every rule of the protocol.
local pintle = require "pintle"

local plugin = pintle.plugin {
  name = "scribe", version = "2.0.0", description = arg[1] == "described" and "Writes" or nil,
}

plugin:on_initialize(function(config)
  if type(config) == "table" and config.fail then return nil, config.fail end
end)
plugin:on_shutdown(function() io.stderr:write("shut down\n") end)

plugin:operation("edit", {
  description = "Change a line",
  params = {
    type = "object", required = { "text" },
    properties = {
      text = { type = "string" }, line = { type = "integer", minimum = 0 }, shift = { type = "integer" },
      weight = { type = "number" },
      cells = { type = "array", items = { type = "integer", minimum = 0 }, prefixItems = { { type = "integer" } } },
    },
  },
}, function(args)
  if args.text == "" then return nil, "nothing to write" end
  return "wrote " .. args.text
end)

plugin:operation("move-cursor", {}, function(args) return { message = "moved", outputs = args } end)
plugin:operation("print", {}, function(args)
  print(args.text)
  return "printed"
end)
plugin:operation("nothing", {}, function() end)
plugin:operation("outputs", {}, function() return { outputs = { lines = 3, text = "ä" } } end)
plugin:operation("long-failure", {}, function()
  return nil, { message = "Nothing changed", error = "the file is locked", outputs = { by = "Ada" } }
end)
plugin:operation("silent-failure", {}, function() return false end)
plugin:operation("huge-code", {}, function() return nil, { code = 1 << 31, message = "too much" } end)
plugin:operation("raise", {}, function() error { code = -(1 << 31) - 1, message = "too little" } end)
plugin:operation("code", {}, function() return nil, { code = 2147483647, message = "just fits", data = { 1 } } end)
plugin:operation("log", {}, function(_, ctx)
  ctx:log("info", "writing", { to = "x" })
  ctx:progress(0.5)
  return "logged"
end)
plugin:operation("sleep", {}, function(args, ctx)
  local ok, err = ctx:sleep(args.seconds)
  if not ok then return nil, err end
  return "slept"
end)
plugin:operation("surroundings", {}, function(_, ctx)
  local client = ctx.server.client
  return { outputs = {
    path = ctx:path "notes.txt", config = ctx.config, client = client.client_info and client.client_info.name,
  } }
end)
plugin:operation("back", {}, function(_, ctx)
  local result, err = ctx:call("question", { "life" }, { timeout = 30 })
  if err then return nil, err.message end
  return "answer: " .. result
end)

plugin:method("count", function(params) return params end)
plugin:method("huge", function() return nil, { code = 1 << 40, message = "too much", kind = "invalid" } end)

if arg[1] == "hidden" then plugin:operation("initialize", {}, function() return "never" end) end

plugin:serve()
