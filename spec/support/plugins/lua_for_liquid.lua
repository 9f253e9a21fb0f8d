-- A plugin with a template engine whose templates are Lua chunks. A chunk gets the environment, the options of render
-- and of compile, and the context; its results are the results of the render.
local drops = require "pintle.dialect.liquid.drops"
local pintle = require "pintle"

local scope = setmetatable({ json = pintle.json, null = pintle.null, drops = drops }, { __index = _G })

local function compile(source, options)
  local chunk, message = load(source, "=template", "t", scope)
  if chunk then return { chunk = chunk, options = options } end
  local line = math.tointeger(message:match "^template:(%d+)")
  message = ("Liquid syntax error (line %d): %s"):format(line, message)
  return nil, { type = options.error_mode == "lax" and "parse_error" or "syntax_error", message = message, line = line }
end

local plugin = pintle.plugin {
  name = "lua-for-liquid", version = "1.0.0",
  dialects = {
    liquid = {
      liquid_version = "5.8.0", features = { "core", "runtime_drops", "lax_parsing" }, compile = compile,
      render = function(template, environment, options, ctx)
        return template.chunk(environment, options, template.options, ctx)
      end,
    },
  },
}

plugin:operation("double", { params = { type = "object", properties = { n = { type = "number" } } } }, function(args)
  return { message = tostring(args.n * 2), outputs = { doubled = args.n * 2 } }
end)

plugin:serve()
