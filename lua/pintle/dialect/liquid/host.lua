-- The side of the one who has templates rendered. What is executed is the operation `render`, or a tag: a template that
-- is nothing else, with the arguments as its environment.

local asking = require "pintle.dialect.liquid.asking"
local core = require "pintle.core"
local errors = require "pintle.error"
local jsonrpc = require "pintle.jsonrpc"
local objects = require "pintle.dialect.liquid.objects"
local outcomes = require "pintle.dialect.liquid.outcomes"
local problems = require "pintle.dialect.liquid.problems"
local templates = require "pintle.dialect.liquid.templates"
local words = require "pintle.dialect.liquid.words"

local DROP_ERROR = -32002
local VERSION = "1.0"

local json = core.json

local host = { handlers = {} }

-- {====== Initialize ======

local function text_or(value, otherwise)
  return type(value) == "string" and value:find "%S" and value or otherwise
end

---@param session pintle.session
---@return table?, pintle.error?
function host.open(session)
  session.state.objects, session.state.templates = objects.new(), templates.new()
  local told, err = session.peer:call("initialize", { version = VERSION }, { timeout = session.handshake_timeout })
  if err ~= nil then return nil, err end
  if json.kind(told) ~= "object" then
    return nil, errors.new("protocol", "its answer to initialize: object expected, got " .. json.kind(told))
  end
  session.told = told
  if told.version ~= VERSION then
    session:log("warn", "it may speak another version of the protocol", { version = told.version })
  end
  return {
    name = text_or(told.implementation, session.name),
    version = text_or(told.liquid_version, false),
    capabilities = told.features,
    operations = { render = { description = "Render a Liquid template", params = true } },
    is_open = true,
  }
end

-- }======

-- {====== Execute ======

local function time_left(deadline) return deadline and math.max(deadline - core.now(), 0) end

-- A plugin need not keep a template for ever.
local function is_forgotten(err)
  return err and err.code == jsonrpc.INVALID_PARAMS and err.message:find "template_id"
end

local function render(session, asked, deadline, is_again)
  local state, peer = session.state, session.peer
  local id, err, problem, is_old = templates.get(state.templates, peer, asked.compile, time_left(deadline))
  if not id then return nil, err, problem end
  asked.render.template_id = id
  local result
  result, err = peer:call("render", asked.render, { timeout = time_left(deadline) })
  if is_old and not is_again and is_forgotten(err) then
    templates.forget(state.templates, asked.compile)
    return render(session, asked, deadline, true)
  end
  return result, err
end

local function execute(session, asked, environment, context)
  local scope <close> = objects.scope(session.state.objects)
  asked.render.environment = scope:environment(environment)
  local patience = context.patience
  if patience == nil then patience = context.timeout end
  return render(session, asked, patience and core.now() + patience or false)
end

local function execute_render(session, args, context)
  local asked, err = words.of_render(args)
  if not asked then return nil, err end
  local result, problem
  result, err, problem = execute(session, asked, args.environment or {}, context)
  if problem then return outcomes.of_refusal(problem) end
  return outcomes.of_render(result, err, args.strict_errors)
end

local function execute_tag(session, operation, args, context)
  local asked, err = words.of_tag(operation)
  if not asked then return nil, err end
  local result, problem
  result, err, problem = execute(session, asked, args, context)
  if problem then
    return nil, errors.new("invalid", outcomes.of_refusal(problem).error, { code = jsonrpc.METHOD_NOT_FOUND })
  end
  return outcomes.of_tag(result, err)
end

---@param session pintle.session
---@param operation string
---@param args table
---@param context pintle.context
---@return pintle.outcome?, pintle.error?
function host.execute(session, operation, args, context)
  if operation == "render" then return execute_render(session, args, context) end
  return execute_tag(session, operation, args, context)
end

-- }======

---@param session pintle.session
function host.close(session) session.peer:notify("quit", {}) end

-- {====== What the plugin asks of objects ======

local function entry_for(session, params)
  local id = json.kind(params) == "object" and params.drop_id
  local all = session.state.objects
  local entry = all and all.by_id[id]
  if entry then return entry end
  local message = ("Unknown drop_id '%s'. A drop lives as long as its render."):format(tostring(id or nil))
  return nil, errors.new("invalid", message, { code = jsonrpc.INVALID_PARAMS })
end

-- The answer for an object that raised. A message that the template must not see goes to the log.
local function failure(session, object, raised)
  local message, cause = problems.of_object(raised)
  if cause then session:log("error", ("%s failed: %s"):format(objects.type_of(object), cause)) end
  return { error = { code = DROP_ERROR, message = message } }
end

-- What a drop raises is its result; the conversation goes on.
local function answer(session, params, member, fn, ...)
  local entry, err = entry_for(session, params)
  if not entry then return nil, err end
  local ok, value = pcall(fn, entry.object, ...)
  if ok then ok, value = pcall(entry.scope.pack, entry.scope, value) end
  if not ok then return failure(session, entry.object, value) end
  if value == nil then value = json.null end
  return { [member] = value }
end

function host.handlers.drop_get(session, params)
  return answer(session, params, "value", asking.get, type(params) == "table" and params.property)
end

function host.handlers.drop_iterate(session, params) return answer(session, params, "items", asking.iterate) end

function host.handlers.drop_call(session, params)
  local args = type(params) == "table" and jsonrpc.given(params.args) or {}
  return answer(session, params, "value", asking.call, type(params) == "table" and params.method,
    session.state.objects and objects.unpack(session.state.objects, args))
end

-- }======

host.hints = { command = { "liquid" } }

return host
