-- The engine as a pintle plugin that speaks the Liquid JSON-RPC protocol. This is the only module that requires pintle.

local drops = require "liquid.drops"
local errors = require "liquid.errors"
local liquid = require "liquid"
local pintle = require "pintle"

-- Logs the cause of an internal error, which the template does not show.
local function log_cause(err, ctx)
  if err.cause == nil then return end
  local ok, text = pcall(tostring, err.cause)
  ctx:log("error", "internal error: " .. (ok and text or type(err.cause)))
end

-- An error that ended a compilation or a render, for the client.
local function final_error(err, kind) return { type = kind, message = errors.sentence(err), line = err.line } end

-- An error that the output already shows, for the client.
local function shown_error(err) return { type = err.type, message = errors.message(err), line = err.line } end

local function render(template, environment, options, ctx)
  local output, failures = template:render(drops.replace_markers(environment, options.markers), options)
  if not output then
    log_cause(failures, ctx)
    return nil, final_error(failures, "render_error")
  end
  local list = {}
  for i, err in ipairs(failures) do
    log_cause(err, ctx)
    list[i] = shown_error(err)
  end
  return output, list
end

local features = {
  "core", "runtime_drops", "lax_parsing", "strict_parsing", "strict2_parsing", "inline_errors", "drops", "ruby_types",
  "activesupport", "shopify_blank", "shopify_string_access", "shopify_resource_limits", "self_environment_shadowing",
  "randomness",
}

---A plugin that serves an engine.
---@param engine? liquid.engine default: the standard filters and tags
---@return table plugin of pintle
return function(engine)
  engine = engine or liquid.new()

  local function compile(source, options, ctx)
    local template, err = engine:compile(source, options)
    if template then return template end
    log_cause(err, ctx)
    return nil, final_error(err, err.type == "syntax_error" and "syntax_error" or "parse_error")
  end

  return pintle.plugin {
    name = "pintle-liquid", version = "1.0.0", description = "Renders Liquid templates",
    dialects = {
      liquid = { liquid_version = liquid.version, features = features, compile = compile, render = render },
    },
  }
end
