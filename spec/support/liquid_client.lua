-- A client of the Liquid protocol that behaves like the reference client, and fails at everything that would confuse
-- that one: lines that are not messages, responses without a request, and notifications.
local children = require "spec.support.children"
local core = require "pintle.core"
local extension = require "spec.support.extension"

local json = core.json

local DROP_ERROR, METHOD_NOT_FOUND = -32002, -32601

local client = {}

local methods = {}
local metatable = { __index = methods }

-- Starts a script. `timeout` limits each request, including the requests of the server in between.
function client.start(script, timeout)
  local plugin = extension.start(script)
  return setmetatable({ plugin = plugin, drops = {}, asked = {}, last = 0, timeout = timeout }, metatable)
end

local function send(self, message)
  message.jsonrpc = "2.0"
  self.plugin:say(json.encode(message))
end

local function read(self)
  local line = self.plugin:line()
  local message = assert(json.decode(line))
  assert(message.jsonrpc == "2.0", line)
  return message, line
end

-- {====== What it is asked ======

local ANSWERS = {}

function ANSWERS.drop_get(drop, params)
  local value = drop.get
  if type(value) == "function" then value = value(params.property) else value = value[params.property] end
  return { value = value == nil and json.null or value }
end

function ANSWERS.drop_iterate(drop) return { items = json.array(drop.items) } end

function ANSWERS.drop_call(drop, params)
  if not drop[params.method] then error("Method " .. params.method .. " not found", 0) end
  return { value = drop[params.method](table.unpack(params.args)) }
end

-- A failure is sent as a result, too.
local function answer(self, request)
  local drop = self.drops[request.params.drop_id]
  if not drop then return { error = { code = DROP_ERROR, message = "Unknown drop: " .. request.params.drop_id } } end
  local ok, result = pcall(ANSWERS[request.method], drop, request.params)
  if ok then return result end
  return { error = { code = DROP_ERROR, message = result } }
end

-- A message with a method is treated as a request, even without an id.
local function be_asked(self, request, line)
  self.asked[#self.asked + 1] = line
  local id = request.id == nil and json.null or request.id
  if not ANSWERS[request.method] then
    local message = "Unknown callback method: " .. request.method
    return send(self, { id = id, error = { code = METHOD_NOT_FOUND, message = message } })
  end
  send(self, { id = id, result = answer(self, request) })
end

-- }======

-- Sends a request, and answers the requests of the server until the response arrives.
function methods:request(method, params, id)
  self.last = id or self.last + 1
  local deadline = self.timeout and core.now() + self.timeout
  send(self, { id = self.last, method = method, params = params })
  while true do
    local message, line = read(self)
    assert(not deadline or core.now() < deadline, "no answer in time")
    if not message.method then
      assert(math.type(message.id) == "integer" and message.id == self.last, "an answer to nothing: " .. line)
      assert((message.result == nil) ~= (message.error == nil), line)
      return message, line
    end
    be_asked(self, message, line)
  end
end

function methods:initialize() return assert(self:request("initialize", { version = "1.0" }).result) end

-- The id of a template, or nil and the error.
function methods:compile(template, options, filesystem)
  local message = self:request("compile", { template = template, options = options or {}, filesystem = filesystem })
  assert(not message.error, message.error and message.error.message)
  local result = message.result
  if result.error then
    assert(result.template_id == json.null)
    return nil, result.error
  end
  return assert(result.template_id)
end

-- The output; or nil and the error of a render that failed.
function methods:render(template_id, environment, options, more)
  local params = { template_id = template_id, environment = environment or {}, options = options or {} }
  for name, value in pairs(more or {}) do params[name] = value end
  local message = self:request("render", params)
  if message.error then return nil, message.error end
  assert(type(message.result.output) == "string")
  return message.result.output, message.result.errors
end

-- Compiles and renders a template without errors.
function methods:show(template, environment, options, more)
  return self:render(assert(self:compile(template)), environment, options, more)
end

-- Sends quit, and does not wait.
function methods:quit()
  send(self, { method = "quit", params = {} })
  self.plugin.process:kill "KILL"
  self.plugin.process:wait(children.patience)
end

function metatable.__close(self) self.plugin.process:close() end

-- A client of a plugin that is initialized: the engine of spec/support/plugins, or the greeter.
local function start_initialized(script)
  local self = client.start(script)
  self:initialize()
  return self
end

function client.engine() return start_initialized "spec/support/plugins/lua_for_liquid.lua" end

function client.greeter() return start_initialized "examples/greeter/plugin.lua" end

-- The error that a request is answered with.
function client.error_of(self, method, params)
  local message = self:request(method, params)
  assert(message.result == nil, "the request succeeded")
  return message.error
end

return client
