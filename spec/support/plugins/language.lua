-- A language server with many features; a command returns what it has received.
local pintle = require "pintle"

local plugin = pintle.plugin {
  name = "language", version = "1.0.0",
  dialects = { lsp = {
    capabilities = function(client)
      return { textDocumentSync = { change = 2 }, hoverProvider = false, experimental = { locale = client.locale } }
    end,
  } },
}

local seen = pintle.array {}

plugin:operation("report", {
  description = "Report progress",
  params = { type = "object", properties = { at = { type = "array", items = { type = "number" } } } },
}, function(args, ctx)
  for _, fraction in ipairs(args.at or {}) do ctx:progress(fraction, "at " .. fraction) end
  return true
end)

plugin:operation("outputs", {}, function() return { message = "done", outputs = { list = { 1, 2 } } } end)
plugin:operation("fail", {}, function()
  return nil, { error = "no", message = "it did not work", outputs = { a = 1 } }
end)
plugin:operation("raise", {}, function(_, ctx)
  ctx:progress(0)
  error "on purpose"
end)
plugin:operation("needy", { requires = { "no-such-program" } }, function() return true end)
plugin:operation("sleep", {}, function(_, ctx)
  ctx:progress(0)
  return ctx:sleep(600)
end)
plugin:operation("where", {}, function(_, ctx) return ctx:path "file" end)
plugin:operation("log", {
  params = { type = "object", properties = { level = { type = "string" }, message = { type = "string" } } },
}, function(args, ctx) ctx:log(args.level, args.message, args.data) end)

plugin:method("textDocument/didOpen", function(params) seen[#seen + 1] = params.textDocument.uri end)
plugin:method("textDocument/didChange", function() end)
plugin:method("textDocument/hover", function(params, ctx)
  if params.wait then
    ctx:progress(0.5)
    return ctx:sleep(600)
  end
  return { contents = "hover" }
end)
plugin:method("textDocument/completion", function() return {} end)
plugin:method("completionItem/resolve", function(item) return item end)
plugin:method("$/seen", function(_, ctx) return { seen = seen, client = ctx.server.client } end)

plugin:on_initialize(function(config, server)
  if config.refuse then return nil, { code = -32050, message = "not with me", data = { retry = false } } end
  if config.log then server:log("info", "beginning") end
  seen[#seen + 1] = config.mark
end)

plugin:on_shutdown(function()
  io.stderr:write "shut down\n"
  pintle.sleep(0.05)
  io.stderr:write "and done\n"
end)

plugin:serve()
