-- The side of the extension.

local errors = require "pintle.error"
local json = require("pintle.core").json
local lazy = require "pintle.lazy"
local ordered_schema = require "pintle.manifest.order"
local wire = require "pintle.dialect.gevals.wire"

local binary = lazy "pintle.dialect.gevals.binary"
local execute = lazy "pintle.dialect.gevals.execute"
local extensions = lazy "pintle.dialect.gevals.extensions"

local VERSION, log_params = wire.VERSION, wire.log

local plugin = {}

-- {====== Initialize ======

local MANIFEST = json.order { "name", "version", "protocolVersion", "description", "requires", "operations",
  "capabilities" }
local OPERATION = json.order { "description", "params" }

local function requires_of(manifest)
  if #manifest.requires == 0 then return nil end
  local list = json.array()
  for i, requirement in ipairs(manifest.requires) do list[i] = { command = requirement.command } end
  return list
end

local function operations_of(manifest)
  local operations = setmetatable({}, json.order(manifest.names))
  for name, operation in pairs(manifest.operations) do
    local params = ordered_schema(operation.params)
    operations[name] = setmetatable({ description = operation.description, params = params }, OPERATION)
  end
  return operations
end

---@param self pintle.plugin
---@return table
function plugin.manifest(self)
  local manifest = self.manifest
  return setmetatable({
    name = manifest.name,
    version = manifest.version,
    protocolVersion = VERSION,
    description = manifest.description,
    requires = requires_of(manifest),
    operations = operations_of(manifest),
  }, MANIFEST)
end

-- The capabilities that both sides have; nil for a host that offers none, which is then not told of any either.
local function agree(server, offered)
  offered = offered ~= nil and extensions.set_of(offered)
  return offered and extensions.agree(offered, server.plugin.manifest.capabilities) or nil
end

local function read_initialize(params)
  local ok, err = wire.check(params, "object", "params", "required")
  if ok then ok, err = wire.check(params.protocolVersion, "string", "protocolVersion", "required") end
  if ok then ok, err = wire.check(params.config, "object", "config") end
  if not ok then return nil, err end
  return true
end

-- The initializers log to the host and see what was agreed on; if the plugin is not initialized, none of it holds.
local function begin(server, config, agreed)
  local had_host, capabilities = server.state.has_host, server.capabilities
  server.state.has_host, server.capabilities = true, agreed or capabilities
  local ok, err = server:initialize(config)
  if not ok then server.state.has_host, server.capabilities = had_host, capabilities end
  return ok, err
end

local function initialize(server, params)
  local ok, err = read_initialize(params)
  if not ok then return nil, err end
  local agreed = agree(server, params.capabilities)
  ok, err = begin(server, wire.given(params.config), agreed)
  if not ok then return nil, err end
  local manifest = plugin.manifest(server.plugin)
  if agreed then
    extensions.begin(server.peer, agreed)
    manifest.capabilities = extensions.list(agreed)
  end
  return manifest
end

-- }======

local function shutdown(server, request)
  server:shutdown(request)
  server:exit(0)
  return {}
end

---@param server pintle.server
---@return table<string, pintle.handler>
function plugin.handlers(server)
  return {
    initialize = function(params) return initialize(server, params) end,
    execute = function(params, request)
      local handler = execute.handler(server)
      server.peer:on("execute", handler)
      return handler(params, request)
    end,
    shutdown = function(_, request) return shutdown(server, request) end,
  }
end

-- {====== Speaking up ======

local PROGRESS = json.order { "id", "value", "message" }
local PART = json.order { "id", "part" }

-- Ids that are no plain values are known by their text.
local function id_of(request)
  local id = request.id
  return type(id) == "userdata" and id ~= json.null and json.raw(tostring(id)) or id
end

---Nobody initializes a plugin that is used once, from a shell: there the answer is all that belongs on stdout.
---@param server pintle.server
---@param level pintle.level
---@param message string
---@param data any
---@return true?, pintle.error?
function plugin.log(server, _, level, message, data)
  if not server.state.has_host then return server:note(level, message, data) end
  local params, err = log_params(level, message, data)
  if not params then return nil, err end
  return server.peer:notify("log", params)
end

---@param server pintle.server
---@param request pintle.request
---@param fraction number
---@param message string?
---@return true?, pintle.error?
function plugin.progress(server, request, fraction, message)
  if not server.state.has_host or request.id == nil then return true end
  if server.capabilities.progress then
    local params = { id = id_of(request), value = fraction, message = message }
    return server.peer:notify("progress", setmetatable(params, PROGRESS))
  end
  local data = { progress = fraction }
  if message and #message > wire.SHORT then return plugin.log(server, request, "debug", message, data) end
  return server.peer:notify("log",
    setmetatable({ level = "debug", message = message or "progress", data = data }, wire.LOG))
end

---@param server pintle.server
---@param request pintle.request
---@param part any
---@return true?, pintle.error?
function plugin.part(server, request, part)
  if not server.capabilities.parts then
    return nil, errors.new("invalid", "the host takes no parts of a result")
  end
  local where = not server.capabilities.bytes and binary.find(part, "")
  if where then return nil, errors.new("invalid", ("the part has bytes%s, which the host does not take"):format(
    where ~= "" and " at " .. where or "")) end
  local params = { id = id_of(request), part = server.capabilities.bytes and binary.pack(part) or part }
  return server.peer:notify("part", setmetatable(params, PART))
end

-- }======

return plugin
