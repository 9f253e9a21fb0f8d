-- The host side: sends templates to be rendered. It executes the operation `render`, or a tag: a template of one tag,
-- with the arguments as its environment.

local core = require "pintle.core"
local errors = require "pintle.error"
local jsonrpc = require "pintle.jsonrpc"
local objects = require "pintle.dialect.liquid.objects"
local wire = require "pintle.dialect.liquid.wire"

local DROP_ERROR = -32002
local MOST_TEMPLATES = 256 -- whose ids are kept

local json, protocol_error = core.json, jsonrpc.protocol_error

local host = { handlers = {} }

local function invalid_liquid_args(format, ...) return nil, errors.new("invalid", format:format(...)) end

-- {====== Compiled templates ======

-- The ids of templates that the plugin has compiled, by the params of compile, so that each is sent once.

local function new_templates() return { ids = {}, keys = {}, next = 1 } end

local function remember_template(self, key, id)
  local old = self.keys[self.next]
  if old then self.ids[old] = nil end
  self.ids[key], self.keys[self.next] = id, key
  self.next = self.next % MOST_TEMPLATES + 1
end

local function forget_template(self, params) self.ids[json.encode(params)] = nil end

local function read_compiled_template(result)
  if not jsonrpc.is_object(result) then
    return protocol_error("its answer to compile: object expected, got %s", json.kind(result))
  end
  if jsonrpc.given(result.error) ~= nil then return nil, nil, result end
  local id = result.template_id
  if type(id) == "string" then return id end
  return protocol_error("its answer to compile: template_id: string expected, got %s", json.kind(id))
end

-- The id of a template, which is compiled if it is not known. Returns the id, an error, the result of compile if the
-- template has errors, and whether the template was known.
local function compiled_template_id(self, peer, params, timeout)
  local key = json.encode(params)
  if self.ids[key] then return self.ids[key], nil, nil, true end
  local result, err = peer:call("compile", params, { timeout = timeout })
  if err ~= nil then return nil, err end
  local id, problem
  id, err, problem = read_compiled_template(result)
  if id then remember_template(self, key, id) end
  return id, err, problem
end

-- }======

-- {====== Params of compile and render ======

local COMPILE = json.order { "template", "options", "filesystem" }
local COMPILE_OPTIONS = json.order { "error_mode", "line_numbers" }
local RENDER = json.order { "template_id", "environment", "options", "frozen_time" }
local RENDER_OPTIONS = json.order {
  "strict_variables", "strict_filters", "strict_errors", "resource_limits", "registers",
}

local TYPES = {
  template = "string", environment = "table", filesystem = "table", error_mode = "string", line_numbers = "boolean",
  strict_variables = "boolean", strict_filters = "boolean", strict_errors = "boolean", frozen_time = "string",
  resource_limits = "table", registers = "table",
}

local function check_liquid_render_args(args)
  for name, value in pairs(args) do
    local expected = TYPES[name]
    if not expected then return invalid_liquid_args("render: there is no %q", tostring(name)) end
    if type(value) ~= expected then
      return invalid_liquid_args("render: %s: %s expected, got %s", name, expected, type(value))
    end
  end
  if not args.template then return invalid_liquid_args "render: template is missing" end
  return true
end

local function valid_liquid_filesystem(args)
  if not args.filesystem then return nil end
  local files = {}
  for name, text in pairs(args.filesystem) do
    if type(name) ~= "string" or type(text) ~= "string" then
      return invalid_liquid_args("render: filesystem: texts by name expected, got %s at %s", type(text), tostring(name))
    end
    files[wire.valid_text(name)] = wire.valid_text(text)
  end
  return files
end

-- The time is sent where each version of the protocol expects it.
local function liquid_registers_with_time(args)
  if not args.frozen_time then return args.registers end
  local registers = { current_time = args.frozen_time }
  for name, value in pairs(args.registers or {}) do registers[name] = value end
  return registers
end

-- The params of compile and of render.
local function liquid_render_params(args)
  local ok, err = check_liquid_render_args(args)
  if not ok then return nil, err end
  local files
  files, err = valid_liquid_filesystem(args)
  if err then return nil, err end
  local line_numbers = args.line_numbers ~= false
  return {
    compile = setmetatable({
      template = wire.valid_text(args.template), filesystem = files,
      options = setmetatable({ error_mode = args.error_mode, line_numbers = line_numbers }, COMPILE_OPTIONS),
    }, COMPILE),
    render = setmetatable({
      options = setmetatable({
        strict_variables = args.strict_variables, strict_filters = args.strict_filters,
        strict_errors = args.strict_errors, resource_limits = args.resource_limits,
        registers = liquid_registers_with_time(args),
      }, RENDER_OPTIONS),
      frozen_time = args.frozen_time,
    }, RENDER),
  }
end

local function liquid_tag_params(operation)
  if operation:find "[%c{}%%]" then return invalid_liquid_args("%q is not a valid tag name", operation) end
  return liquid_render_params { template = ("{%% %s %%}"):format(operation), strict_errors = true }
end

-- }======

-- {====== Outcomes ======

local function failed_liquid_outcome(text, result, outputs)
  return { success = false, message = text, error = text, result = result, outputs = outputs }
end

-- The outcome of a template with errors, from the result of compile.
local function liquid_compile_failure(result)
  return failed_liquid_outcome(wire.error_text(result.error, "the template does not compile"), result)
end

local function object_or_nil(value) return jsonrpc.is_object(value) and value or nil end

-- A failed render is an error response with a code of its own. Any other error is not an outcome.
local function read_liquid_render_error(err)
  if err.kind ~= "remote" or err.code ~= wire.RENDER_ERROR then return nil, err end
  local data = object_or_nil(err.data) or {}
  local problem = { type = data.type, message = err.message, line = data.line }
  return failed_liquid_outcome(err.message, { errors = { problem } }, object_or_nil(data.outputs))
end

-- A null member counts as missing.
local function check_rendered_template(result)
  if not jsonrpc.is_object(result) then
    return protocol_error("its answer to render: object expected, got %s", json.kind(result))
  end
  local output, list = jsonrpc.given(result.output), jsonrpc.given(result.errors)
  if output ~= nil and type(output) ~= "string" then
    return protocol_error("its answer to render: output: string expected, got %s", json.kind(output))
  end
  local is_list = json.kind(list) == "array" or type(list) == "table" and next(list) == nil -- some send {} for none
  if list ~= nil and not is_list then
    return protocol_error("its answer to render: errors: array expected, got %s", json.kind(list))
  end
  return true
end

-- `is_strict`: errors in the output are failures, even if the plugin does not support that.
local function liquid_render_outcome(result, err, is_strict)
  if err ~= nil then return read_liquid_render_error(err) end
  local ok
  ok, err = check_rendered_template(result)
  if not ok then return nil, err end
  local first = jsonrpc.given(result.error) or is_strict and (jsonrpc.given(result.errors) or {})[1]
  local outputs = object_or_nil(result.outputs)
  if first then return failed_liquid_outcome(wire.error_text(first, "the render failed"), result, outputs) end
  return { success = true, message = jsonrpc.given(result.output) or "", result = result, outputs = outputs }
end

-- The line number is of no use, because the template is one tag.
local function without_template_line_number(text) return text and (text:gsub("^Liquid error %(line %d+%): ", "")) end

local function liquid_tag_outcome(result, err)
  local outcome
  outcome, err = liquid_render_outcome(result, err, true)
  if not outcome then return nil, err end
  outcome.error = without_template_line_number(outcome.error)
  if not outcome.success then outcome.message = outcome.error end
  return outcome
end

-- }======

-- {====== Initialize ======

---@param session pintle.session
---@return table?, pintle.error?
function host.open(session)
  session.state.objects, session.state.templates = objects.new(), new_templates()
  local params, limit = { version = wire.VERSION }, { timeout = session.handshake_timeout }
  local result, err = session.peer:call("initialize", params, limit)
  if err ~= nil then return nil, err end
  if not jsonrpc.is_object(result) then
    return protocol_error("its answer to initialize: object expected, got %s", json.kind(result))
  end
  session.raw_manifest = result
  if result.version ~= wire.VERSION then
    session:log("warn", "it may speak another version of the protocol", { version = result.version })
  end
  return {
    name = jsonrpc.text(result.implementation) or session.name,
    version = jsonrpc.text(result.liquid_version) or false,
    capabilities = result.features,
    operations = { render = { description = "Render a Liquid template", params = true } },
    is_open = true,
  }
end

-- }======

-- {====== Execute ======

local function render_seconds_left(deadline) return deadline and math.max(deadline - core.now(), 0) end

-- A plugin may drop old templates.
local function is_unknown_template(err)
  return err and err.code == jsonrpc.INVALID_PARAMS and err.message:find "template_id"
end

local function render_compiled_template(session, params, deadline, is_again)
  local state, peer = session.state, session.peer
  local timeout = render_seconds_left(deadline)
  local id, err, problem, is_old = compiled_template_id(state.templates, peer, params.compile, timeout)
  if not id then return nil, err, problem end
  params.render.template_id = id
  local result
  result, err = peer:call("render", params.render, { timeout = render_seconds_left(deadline) })
  if is_old and not is_again and is_unknown_template(err) then
    forget_template(state.templates, params.compile)
    return render_compiled_template(session, params, deadline, true)
  end
  return result, err
end

local function execute_liquid_template(session, params, environment, context)
  local scope <close> = objects.scope(session.state.objects)
  params.render.environment = scope:environment(environment)
  return render_compiled_template(session, params, context.wait_timeout and core.now() + context.wait_timeout or false)
end

local function execute_liquid_render(session, args, context)
  local params, err = liquid_render_params(args)
  if not params then return nil, err end
  local result, problem
  result, err, problem = execute_liquid_template(session, params, args.environment or {}, context)
  if problem then return liquid_compile_failure(problem) end
  return liquid_render_outcome(result, err, args.strict_errors)
end

local function execute_liquid_tag(session, operation, args, context)
  local params, err = liquid_tag_params(operation)
  if not params then return nil, err end
  local result, problem
  result, err, problem = execute_liquid_template(session, params, args, context)
  if problem then
    return nil, errors.new("invalid", liquid_compile_failure(problem).error, { code = jsonrpc.METHOD_NOT_FOUND })
  end
  return liquid_tag_outcome(result, err)
end

---@param session pintle.session
---@param operation string
---@param args table
---@param context pintle.context
---@return pintle.outcome?, pintle.error?
function host.execute(session, operation, args, context)
  if operation == "render" then return execute_liquid_render(session, args, context) end
  return execute_liquid_tag(session, operation, args, context)
end

-- }======

---@param session pintle.session
function host.close(session) session.peer:notify("quit", {}) end

-- {====== Access to objects ======

local function find_liquid_object(session, params)
  local id = jsonrpc.is_object(params) and params.drop_id
  local all = session.state.objects
  local entry = all and all.by_id[id]
  if entry then return entry end
  local message = ("Unknown drop_id '%s'. A drop lives as long as its render."):format(tostring(id or nil))
  return nil, errors.new("invalid", message, { code = jsonrpc.INVALID_PARAMS })
end

-- Messages that reveal the program: those with a source position, and those of Lua's runtime without one.
local REVEALING_MESSAGES = {
  "^[^\n]-:%d+: ", "^attempt to ", "^bad argument #", "stack overflow", "^not enough memory", "stack traceback:",
  "^[%w_.]+: 0x%x+$",
}

-- The message for the template of an error that an object raised; and the original, if that must not be shown.
local function public_message_of_drop_request(raised)
  local text = errors.text(raised)
  if raised == nil then return "internal", text end
  for _, pattern in ipairs(REVEALING_MESSAGES) do
    if text:find(pattern) then return "internal", text end
  end
  return text
end

-- A message that the template must not see goes to the log.
local function failure_of_drop_request(session, object, raised)
  local message, cause = public_message_of_drop_request(raised)
  if cause then session:log("error", ("%s failed: %s"):format(objects.type_of(object), cause)) end
  return { error = { code = DROP_ERROR, message = message } }
end

-- An error that a drop raises is sent as its result, so that the render can continue.
local function access_drop_object(session, params, member, fn, ...)
  local entry, err = find_liquid_object(session, params)
  if not entry then return nil, err end
  local ok, value = pcall(fn, entry.object, ...)
  if ok then ok, value = pcall(entry.scope.pack, entry.scope, value) end
  if not ok then return failure_of_drop_request(session, entry.object, value) end
  if value == nil then value = json.null end
  return { [member] = value }
end

function host.handlers.drop_get(session, params)
  return access_drop_object(session, params, "value", objects.get, type(params) == "table" and params.property)
end

function host.handlers.drop_iterate(session, params)
  return access_drop_object(session, params, "items", objects.iterate)
end

function host.handlers.drop_call(session, params)
  local args = type(params) == "table" and jsonrpc.given(params.args) or {}
  return access_drop_object(session, params, "value", objects.call, type(params) == "table" and params.method,
    session.state.objects and objects.unpack(session.state.objects, args))
end

-- }======

host.hints = { command = { "liquid" } }

return host
