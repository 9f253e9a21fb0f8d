-- The side of the template engine: one that the plugin declares, or its operations as tags.

local drops = require "pintle.dialect.liquid.drops"
local json = require("pintle.core").json
local params = require "pintle.dialect.liquid.params"
local problems = require "pintle.dialect.liquid.problems"
local requests = require "pintle.dialect.liquid.requests"
local tags = require "pintle.dialect.liquid.tags"
local valid = require "pintle.dialect.liquid.text"

local MOST_TEMPLATES = 10000 -- that are kept; the protocol has no way to let go of one

local plugin = {}

-- {====== Initialize ======

local MANIFEST = json.order { "version", "implementation", "liquid_version", "features" }

---@param self pintle.plugin
---@return table
function plugin.manifest(self)
  local own = self.manifest.dialects.liquid or {}
  local features = own.features or own.compile and { "core", "runtime_drops" } or {}
  return setmetatable({
    version = "1.0",
    implementation = self.manifest.name,
    liquid_version = own.liquid_version or self.manifest.version,
    features = json.array(table.move(features, 1, #features, 1, {})),
  }, MANIFEST)
end

local function initialize(server, received)
  local given = params.read("initialize", received)
  given:optional("version", "string")
  if given.problem then return nil, given.problem end
  local ok, err = server:initialize()
  if not ok then return nil, err end
  return plugin.manifest(server.plugin)
end

-- }======

-- {====== Compile ======

local COMPILED = json.order { "template_id", "error" }

local function keep(server, kept)
  local state = server.state
  state.templates, state.last = state.templates or {}, (state.last or 0) + 1
  state.templates["tmpl_" .. state.last] = kept
  state.templates["tmpl_" .. state.last - MOST_TEMPLATES] = nil
  return setmetatable({ template_id = "tmpl_" .. state.last }, COMPILED)
end

local function refused(err)
  return setmetatable({ template_id = json.null, error = problems.described(err, "syntax_error") }, COMPILED)
end

local function engine_of(manifest)
  local own = manifest.dialects.liquid
  return own and own.compile and own
end

local function compile(server, received, request)
  local asked, err = requests.compile(received)
  if not asked then return nil, err end
  local manifest = server.plugin.manifest
  local tag = tags.find(manifest, asked.source)
  if tag then return keep(server, { tag = tag }) end
  local engine = engine_of(manifest)
  if not engine then return refused(tags.refusal(manifest, asked.source)) end
  local ctx
  ctx, err = server:enter(request)
  if not ctx then return nil, err end
  local template
  template, err = engine.compile(asked.source, asked.options, ctx)
  if template == nil then return refused(err) end
  return keep(server, { template = template, engine = engine })
end

-- }======

-- {====== Render ======

local RENDERED = json.order { "output", "errors", "outputs" }

local function answer(output, errors, outputs)
  if output == nil then return nil, problems.failure(errors) end
  if type(output) ~= "string" then error("render: the output is a " .. type(output) .. ", not a string", 0) end
  return setmetatable({ output = valid(output), errors = problems.listed(errors), outputs = outputs }, RENDERED)
end

local function unknown(id)
  local message = ("Unknown template_id '%s'. Call compile first."):format(id)
  return params.error(message, "template_id", "Expected one that compile gave")
end

local function render(server, received, request)
  local asked, err = requests.render(received)
  if not asked then return nil, err end
  local kept = server.state.templates and server.state.templates[asked.template_id]
  if not kept then return nil, unknown(asked.template_id) end
  local environment
  environment, asked.options.markers = drops.receive(asked.environment, server.peer, received)
  if kept.tag then return answer(tags.render(server, kept.tag, environment, asked.options, request)) end
  local ctx
  ctx, err = server:enter(request)
  if not ctx then return nil, err end
  return answer(kept.engine.render(kept.template, environment, asked.options, ctx))
end

-- }======

local function quit(server, request)
  server:shutdown(request)
  server:exit(0)
end

---@param server pintle.server
---@return table<string, pintle.handler>
function plugin.handlers(server)
  return {
    initialize = function(received) return initialize(server, received) end,
    compile = function(received, request) return compile(server, received, request) end,
    render = function(received, request) return render(server, received, request) end,
    quit = function(_, request) return quit(server, request) end,
  }
end

---The client that is in use takes whatever has a method for a question of its own: nothing is sent.
---@param server pintle.server
---@param level pintle.level
---@param message string
---@param data any
---@return true
function plugin.log(server, _, level, message, data) return server:note(level, message, data) end

---@return true
function plugin.progress() return true end

return plugin
