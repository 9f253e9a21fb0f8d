-- The plugin side: a template engine that the plugin declares, or its operations as tags.

local drops = require "pintle.dialect.liquid.drops"
local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local wire = require "pintle.dialect.liquid.wire"

local MOST_TEMPLATES = 10000 -- kept; the protocol has no message to release one

local plugin = {}

-- {====== Params ======

local PARAM_DATA = json.order { "param", "message" }

---Params that are read member by member.
---@class pintle.liquid.params
---@field method string
---@field given table
---@field problem pintle.error? the first that was found
local params_methods = {}

local params_metatable = { __name = "pintle.liquid.params", __index = params_methods }

-- An error with the code of invalid params that names the param by its path.
local function liquid_param_error(message, path, reason)
  return errors.new("invalid", message, {
    code = jsonrpc.INVALID_PARAMS, data = setmetatable({ param = path, message = reason }, PARAM_DATA),
  })
end

local function read_liquid_params(method, received)
  local self = setmetatable({ method = method, given = jsonrpc.given(received) or {} }, params_metatable)
  local kind = json.kind(self.given)
  if kind ~= "object" then
    self:refuse("params", "object", kind)
    self.given = {}
  end
  return self
end

---@param path string
---@param expected string
---@param got string
function params_methods:refuse(path, expected, got)
  local reason = ("xpected %s, got %s"):format(expected, got)
  local message = ("Invalid %s: e%s"):format(path:gsub("^options%.", ""), reason)
  self.problem = self.problem or liquid_param_error(message, path, "E" .. reason)
end

-- A parent that is not an object is reported when it is read itself.
local function find_liquid_param(value, path)
  for name in path:gmatch "[^.]+" do
    if type(value) ~= "table" then return nil end
    value = value[name]
  end
  return jsonrpc.given(value)
end

---A member that may be left out, or be null.
---@param path string
---@param expected "boolean"|"string"|"object"
---@return any
function params_methods:optional(path, expected)
  local value = find_liquid_param(self.given, path)
  if value == nil then return nil end
  local kind = json.kind(value)
  if kind == expected then return value end
  self:refuse(path, expected, kind)
end

---@param path string
---@param expected "boolean"|"string"|"object"
---@return any
function params_methods:required(path, expected)
  local value = self:optional(path, expected)
  if value == nil then
    local message = ("Missing required parameter '%s' in %s request"):format(path, self.method)
    self.problem = self.problem or liquid_param_error(message, path, ("Expected %s, got nothing"):format(expected))
  end
  return value
end

-- }======

-- {====== Initialize ======

local MANIFEST = json.order { "version", "implementation", "liquid_version", "features" }

---@param self pintle.plugin
---@return table
function plugin.manifest(self)
  local own = self.manifest.dialects.liquid or {}
  local features = own.features or own.compile and { "core", "runtime_drops" } or {}
  return setmetatable({
    version = wire.VERSION,
    implementation = self.manifest.name,
    liquid_version = own.liquid_version or self.manifest.version,
    features = json.array(table.move(features, 1, #features, 1, {})),
  }, MANIFEST)
end

local function handle_liquid_initialize(server, received)
  local given = read_liquid_params("initialize", received)
  given:optional("version", "string")
  if given.problem then return nil, given.problem end
  local ok, err = server:initialize()
  if not ok then return nil, err end
  return plugin.manifest(server.plugin)
end

-- }======

-- {====== Tags ======

-- A template that is the tag of an operation and nothing else executes the operation. The environment has its
-- arguments.

local TAG_DATA = json.order { "type", "line", "outputs" }

---@class pintle.liquid.tag
---@field operation string
---@field line integer
---@field before string the white space before it
---@field after string

local function is_tag_of_operation(manifest, name)
  local operation = manifest.operations[name]
  local own = operation and operation.dialects.liquid
  return operation ~= nil and not (own and own.is_engine)
end

local function tag_line_number(source, at)
  local _, breaks = source:sub(1, at - 1):gsub("\n", "")
  return breaks + 1
end

-- nil if the template is anything else than one tag.
local function find_operation_tag(manifest, source)
  local before, trim, name, trim_after, after = source:match "^(%s*){%%(%-?)%s*(.-)%s*(%-?)%%}(%s*)$"
  if not name or not is_tag_of_operation(manifest, name) then return nil end
  return {
    operation = name, line = tag_line_number(source, #before + 1),
    before = trim == "" and before or "", after = trim_after == "" and after or "",
  }
end

local function list_operation_tags(manifest)
  local list = {}
  for _, name in ipairs(manifest.names) do
    if is_tag_of_operation(manifest, name) then list[#list + 1] = ("{%% %s %%}"):format(name) end
  end
  if #list == 0 then return "there are no tags" end
  return (#list == 1 and "there is " or "there are ") .. table.concat(list, ", ")
end

local function tag_error_text(manifest, name)
  if not name then return "Only a tag can be rendered; " .. list_operation_tags(manifest) end
  if not is_tag_of_operation(manifest, name) then
    return ("Unknown tag '%s'; %s"):format(name, list_operation_tags(manifest))
  end
  local alone = "Syntax Error in '%s' - it stands alone, and its arguments are the environment: {%% %s %%}"
  return alone:format(name, name)
end

-- The error of a template that is not a tag, in a plugin without an engine.
local function tag_syntax_error(manifest, source)
  local at, name = source:match "(){%%%-?%s*([^%s%%}]+)"
  if name then name = name:gsub("%-$", "") end
  local line = tag_line_number(source, at or 1)
  local message = ("Liquid syntax error (line %d): %s"):format(line, tag_error_text(manifest, name))
  return { type = "syntax_error", message = message, line = line }
end

-- An invalid argument is reported by its place in the environment.
local function tag_argument_error(err)
  if type(err) ~= "table" or err.code ~= jsonrpc.INVALID_PARAMS or type(err.data) ~= "table" or not err.data.path then
    return err
  end
  return liquid_param_error(err.message, "environment" .. err.data.path:gsub("/", "."), err.data.reason)
end

local function operation_tag_failure(tag, outcome, is_strict)
  local text = outcome.error or outcome.message or "the operation failed"
  local inline = ("Liquid error (line %d): %s"):format(tag.line, text)
  local data = { type = "render_error", line = tag.line, outputs = outcome.outputs }
  if is_strict then return nil, { code = wire.RENDER_ERROR, message = inline, data = setmetatable(data, TAG_DATA) } end
  local problem = { type = data.type, message = text, line = tag.line }
  return tag.before .. inline .. tag.after, { problem }, outcome.outputs
end

-- Returns the output, its errors and the outputs; or nil and an error.
local function render_operation_tag(server, tag, environment, options, request)
  local outcome, err = server:execute(tag.operation, environment, {}, request)
  if not outcome then return nil, tag_argument_error(err) end
  if not outcome.success then return operation_tag_failure(tag, outcome, options.strict_errors) end
  return tag.before .. (outcome.message or "") .. tag.after, nil, outcome.outputs
end

-- }======

-- {====== Compile ======

-- The options of all versions of the protocol are accepted.

local MODES = { strict2 = true, strict = true, lax = true }

local function read_liquid_error_mode(given)
  local mode = given:optional("options.error_mode", "string")
  if mode and not MODES[mode] then
    given:refuse("options.error_mode", "'strict' or 'lax'", ("'%s'"):format(mode)) -- as the document words it
  end
  return mode or "strict2"
end

local function read_liquid_filesystem(given)
  local files = given:optional("filesystem", "object") or {}
  for name, text in pairs(files) do
    if type(text) ~= "string" then given:refuse("filesystem." .. name, "string", type(text)) end
  end
  return files
end

---Options of compile.
---@class pintle.liquid.compile.options
---@field error_mode "strict2"|"strict"|"lax" default: strict2
---@field line_numbers? boolean
---@field template_name? string name of the template in errors; an addition to the protocol
---@field partial_path? string prefix of the names of partials in errors; an addition to the protocol
---@field filesystem table<string, string> the text of each file

local function read_liquid_compile(received)
  local given = read_liquid_params("compile", received)
  local source = given:required("template", "string")
  given:optional("options", "object")
  local options = {
    error_mode = read_liquid_error_mode(given),
    line_numbers = given:optional("options.line_numbers", "boolean"),
    template_name = given:optional("options.template_name", "string"),
    partial_path = given:optional("options.partial_path", "string"),
    filesystem = read_liquid_filesystem(given),
  }
  if given.problem then return nil, given.problem end
  return { source = source, options = options }
end

local COMPILED = json.order { "template_id", "error" }

local function keep_engine_template(server, kept)
  local state = server.state
  state.templates, state.last = state.templates or {}, (state.last or 0) + 1
  state.templates["tmpl_" .. state.last] = kept
  state.templates["tmpl_" .. state.last - MOST_TEMPLATES] = nil
  return setmetatable({ template_id = "tmpl_" .. state.last }, COMPILED)
end

local function engine_compile_error(err)
  return setmetatable({ template_id = json.null, error = wire.problem(err, "syntax_error") }, COMPILED)
end

local function liquid_engine_of(manifest)
  local own = manifest.dialects.liquid
  return own and own.compile and own
end

local function handle_liquid_compile(server, received, request)
  local params, err = read_liquid_compile(received)
  if not params then return nil, err end
  local manifest = server.plugin.manifest
  local tag = find_operation_tag(manifest, params.source)
  if tag then return keep_engine_template(server, { tag = tag }) end
  local engine = liquid_engine_of(manifest)
  if not engine then return engine_compile_error(tag_syntax_error(manifest, params.source)) end
  local ctx
  ctx, err = server:enter(request)
  if not ctx then return nil, err end
  local template
  template, err = engine.compile(params.source, params.options, ctx)
  if template == nil then return engine_compile_error(err) end
  return keep_engine_template(server, { template = template, engine = engine })
end

-- }======

-- {====== Render ======

-- The later version of the protocol has the time in the registers.
local function read_liquid_current_time(given)
  for _, path in ipairs { "options.registers.current_time", "frozen_time" } do
    local text = given:optional(path, "string")
    local seconds = text and wire.seconds(text)
    if seconds then return seconds, text end
    if text then given:refuse(path, "a time such as 2024-01-01T00:01:58Z", ("'%s'"):format(text)) end
  end
end

---Options of render.
---@class pintle.liquid.render.options
---@field strict_variables? boolean an undefined variable is an error
---@field strict_filters? boolean an undefined filter is an error
---@field strict_errors? boolean an error fails the render; default: it is rendered where it occurs
---@field now? number the current time for templates, in seconds since the epoch
---@field current_time? string the same as it was given
---@field resource_limits? table
---@field registers? table
---@field markers? pintle.liquid.place[] places of the markers in the environment, or of the drops that have replaced
---them; nil if they are not known, as in short messages

local function read_liquid_render(received)
  local given = read_liquid_params("render", received)
  local template_id = given:required("template_id", "string")
  local environment = given:optional("environment", "object") or {}
  given:optional("options", "object")
  local options = {
    resource_limits = given:optional("options.resource_limits", "object"),
    registers = given:optional("options.registers", "object"),
  }
  for _, name in ipairs { "strict_variables", "strict_filters", "strict_errors" } do
    options[name] = given:optional("options." .. name, "boolean")
  end
  options.now, options.current_time = read_liquid_current_time(given)
  if given.problem then return nil, given.problem end
  return { template_id = template_id, environment = environment, options = options }
end

local RENDERED = json.order { "output", "errors", "outputs" }

local function engine_render_result(output, problems, outputs)
  if output == nil then return nil, wire.render_error(problems) end
  if type(output) ~= "string" then error("render: the output is a " .. type(output) .. ", not a string", 0) end
  local result = { output = wire.valid_text(output), errors = wire.problem_list(problems), outputs = outputs }
  return setmetatable(result, RENDERED)
end

local function unknown_engine_template(id)
  local message = ("Unknown template_id '%s'. Call compile first."):format(id)
  return liquid_param_error(message, "template_id", "Expected a template_id from compile")
end

local function handle_liquid_render(server, received, request)
  local params, err = read_liquid_render(received)
  if not params then return nil, err end
  local kept = server.state.templates and server.state.templates[params.template_id]
  if not kept then return nil, unknown_engine_template(params.template_id) end
  local environment
  environment, params.options.markers = drops.receive(params.environment, server.peer, received)
  if kept.tag then
    return engine_render_result(render_operation_tag(server, kept.tag, environment, params.options, request))
  end
  local ctx
  ctx, err = server:enter(request)
  if not ctx then return nil, err end
  return engine_render_result(kept.engine.render(kept.template, environment, params.options, ctx))
end

-- }======

-- {====== An engine as an operation ======

-- Hosts of other protocols get the engine as the operation `render`.

---@class pintle.liquid.engine
---@field liquid_version? string version of the reference implementation that it follows
---@field features? string[]
---@field operation? boolean false: no operation for other protocols
---@field compile fun(source: string, options: pintle.liquid.compile.options, ctx: pintle.plugin.context): any,
---pintle.liquid.problem? returns a template, which is any value but nil; or nil and an error
---@field render fun(template: any, environment: table, options: pintle.liquid.render.options,
---ctx: pintle.plugin.context): string?, pintle.liquid.problem[]|pintle.liquid.problem|nil returns the output and the
---errors in it; or nil and the error that ended the render

local RENDER_PARAMS = {
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

local function engine_render_failure(err)
  if wire.is_error(err) then return nil, err end
  return nil, wire.problem(err).message
end

local function engine_render_options(args)
  local now = args.frozen_time and wire.seconds(args.frozen_time)
  if args.frozen_time and not now then return nil, ("frozen_time: %q is not a timestamp"):format(args.frozen_time) end
  return {
    strict_variables = args.strict_variables, strict_filters = args.strict_filters,
    strict_errors = args.strict_errors, now = now, current_time = args.frozen_time,
  }
end

local function execute_engine_render(own, args, ctx)
  local options, message = engine_render_options(args)
  if not options then return nil, message end
  local template, err = own.compile(args.template, {
    error_mode = args.error_mode, line_numbers = args.line_numbers, filesystem = args.filesystem or {},
  }, ctx)
  if template == nil then return engine_render_failure(err) end
  local output, problems = own.render(template, args.environment or {}, options, ctx)
  if output == nil then return engine_render_failure(problems) end
  local outputs = problems and #problems > 0 and { errors = json.encode(wire.problem_list(problems)) } or nil
  return { message = wire.valid_text(output), outputs = outputs }
end

---Adds the operation `render`, for hosts that do not speak Liquid.
---@param declaring pintle.plugin
---@return string? message nil if the declaration is valid
function plugin.declare_engine(declaring)
  local own = declaring.manifest.dialects.liquid
  if type(own.compile) ~= "function" or type(own.render) ~= "function" then
    return "compile and render must both be functions"
  end
  if own.operation == false then return end
  declaring.is_ordered = true
  declaring:operation("render", {
    description = "Render a Liquid template", params = RENDER_PARAMS, dialects = { liquid = { is_engine = true } },
  }, function(args, ctx) return execute_engine_render(own, args, ctx) end)
end

-- }======

local function handle_liquid_quit(server, request)
  server:shutdown(request)
  server:exit(0)
end

---@param server pintle.server
---@return table<string, pintle.handler>
function plugin.handlers(server)
  return {
    initialize = function(received) return handle_liquid_initialize(server, received) end,
    compile = function(received, request) return handle_liquid_compile(server, received, request) end,
    render = function(received, request) return handle_liquid_render(server, received, request) end,
    quit = function(_, request) return handle_liquid_quit(server, request) end,
  }
end

---Writes to stderr: the reference client treats every message with a method as the request of a drop, so no log message
---is sent.
---@param server pintle.server
---@param level pintle.level
---@param message string
---@param data any
---@return true
function plugin.log(server, _, level, message, data) return server:note(level, message, data) end

---@return true
function plugin.progress() return true end

return plugin
