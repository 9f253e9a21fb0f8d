-- The engine as a plugin that speaks the JSON-RPC protocol of Liquid.

local errors = require "liquid.errors"
local liquid = require "liquid"
local markers = require "liquid.drops.markers"
local pintle = require "pintle"

-- Logs the cause of an internal error, which the template is not shown.
local function log_cause(err, ctx)
  if err.cause == nil then return end
  local ok, text = pcall(tostring, err.cause)
  ctx:log("error", "internal error: " .. (ok and text or type(err.cause)))
end

-- What ends a compilation or a render.
local function told(err, kind) return { type = kind, message = errors.sentence(err), line = err.line } end

-- What is in the output already, as a sentence.
local function listed(err) return { type = err.type, message = errors.message(err), line = err.line } end

local function compile(source, options, ctx)
  local template, err = liquid.compile(source, options)
  if template then return template end
  log_cause(err, ctx)
  return nil, told(err, err.type == "syntax_error" and "syntax_error" or "parse_error")
end

local function render(template, environment, options, ctx)
  local output, failures = template:render(markers(environment, options.markers), options)
  if not output then
    log_cause(failures, ctx)
    return nil, told(failures, "render_error")
  end
  local list = {}
  for i, err in ipairs(failures) do
    log_cause(err, ctx)
    list[i] = listed(err)
  end
  return output, list
end

return pintle.plugin {
  name = "pintle-liquid", version = "1.0.0", description = "Renders Liquid templates",
  dialects = {
    liquid = {
      liquid_version = liquid.version,
      features = {
        "core", "runtime_drops", "lax_parsing", "strict_parsing", "strict2_parsing", "inline_errors", "drops",
        "ruby_types", "activesupport", "shopify_blank", "shopify_string_access", "shopify_resource_limits",
        "self_environment_shadowing", "randomness",
      },
      compile = compile, render = render,
    },
  },
}
