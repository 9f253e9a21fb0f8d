-- A plugin that requires its configuration.
local pintle = require "pintle"
local plugin = pintle.plugin { name = "needy", version = "1.0.0", dialects = { reginald = {
  config = { type = "object", properties = { key = { type = "string" } } } } } }
plugin:on_initialize(function(config)
  if config.key ~= "k" then return nil, "no key" end
end)
plugin:operation("greet", {
  params = { properties = { name = { type = "string" } }, required = { "name" } },
}, function(args, ctx)
  if ctx.config.key ~= "k" then return nil, { code = -32602, message = "no key" } end
  return "Hello, " .. args.name
end)
plugin:serve()
