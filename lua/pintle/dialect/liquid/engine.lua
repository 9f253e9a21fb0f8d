-- A template engine that an author declares in `dialects.liquid`, and the operation `render` that hosts of other
-- protocols get for it.

local json = require("pintle.core").json
local wire = require "pintle.dialect.liquid.wire"

---@class pintle.liquid.engine
---@field liquid_version? string version of the reference implementation that it follows
---@field features? string[]
---@field operation? boolean false: no operation for other protocols
---@field compile fun(source: string, options: pintle.liquid.compile.options, ctx: pintle.plugin.context): any,
---pintle.liquid.problem? returns a template, which is any value but nil; or nil and an error
---@field render fun(template: any, environment: table, options: pintle.liquid.render.options,
---ctx: pintle.plugin.context): string?, pintle.liquid.problem[]|pintle.liquid.problem|nil returns the output and the
---errors in it; or nil and the error that ended the render

local engine = {}

local PARAMS = {
  type = "object",
  required = { "template" },
  properties = {
    template = { type = "string" },
    environment = { type = "object", description = "Variables by name" },
    filesystem = {
      type = "object", additionalProperties = { type = "string" }, description = "The text of each file",
    },
    error_mode = { enum = { "strict2", "strict", "lax" }, default = "strict2" },
    line_numbers = { type = "boolean" },
    strict_variables = { type = "boolean" },
    strict_filters = { type = "boolean" },
    strict_errors = { type = "boolean", description = "Whether an error fails the render" },
    frozen_time = { type = "string", description = "The current time for templates, such as 2024-01-01T00:01:58Z" },
  },
}

local function failed(err)
  if wire.is_error(err) then return nil, err end
  return nil, wire.problem(err).message
end

local function render_options(args)
  local now = args.frozen_time and wire.seconds(args.frozen_time)
  if args.frozen_time and not now then return nil, ("frozen_time: %q is not a timestamp"):format(args.frozen_time) end
  return {
    strict_variables = args.strict_variables, strict_filters = args.strict_filters,
    strict_errors = args.strict_errors, now = now, current_time = args.frozen_time,
  }
end

local function execute(own, args, ctx)
  local options, message = render_options(args)
  if not options then return nil, message end
  local template, err = own.compile(args.template, {
    error_mode = args.error_mode, line_numbers = args.line_numbers, filesystem = args.filesystem or {},
  }, ctx)
  if template == nil then return failed(err) end
  local output, errors = own.render(template, args.environment or {}, options, ctx)
  if output == nil then return failed(errors) end
  local outputs = errors and #errors > 0 and { errors = json.encode(wire.problem_list(errors)) } or nil
  return { message = wire.valid_text(output), outputs = outputs }
end

---Adds the operation `render`, for hosts that do not speak Liquid.
---@param plugin pintle.plugin
---@return string? message nil if the declaration is valid
function engine.declare(plugin)
  local own = plugin.manifest.dialects.liquid
  if type(own.compile) ~= "function" or type(own.render) ~= "function" then
    return "compile and render must both be functions"
  end
  if own.operation == false then return end
  plugin.is_ordered = true
  plugin:operation("render", {
    description = "Render a Liquid template", params = PARAMS, dialects = { liquid = { is_engine = true } },
  }, function(args, ctx) return execute(own, args, ctx) end)
end

return engine
