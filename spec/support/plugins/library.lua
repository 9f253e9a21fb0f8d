-- An MCP server with features other than plain tools: content, resources, prompts, completion, elicitation and tasks.
local pintle = require "pintle"

local plugin = pintle.plugin { name = "library", version = "1.0.0" }

-- {====== Content ======

plugin:operation("content", {}, function()
  return {
    message = "see",
    content = { pintle.bytes "\x89PNG\r\n\x1A\n", { type = "resource_link", uri = "book:///a", name = "a" } },
    outputs = { n = 1 },
  }
end)
plugin:operation("image", {}, function() return pintle.bytes("x", "image/png") end)
plugin:operation("meta", {}, function(_, ctx) return pintle.json.encode(ctx.meta) end)
plugin:operation("trace", {}, function(_, ctx)
  return pintle.json.encode(assert(ctx:call("roots/list", nil, { timeout = 30 })))
end)

-- }======

plugin:serve()
