-- A small but complete dialect: plain JSON-RPC, one message a line. An operation is a method, and rpc.discover
-- describes all of them as OpenRPC does.

local errors = require "pintle.error"
local json = require("pintle.core").json
local outcomes = require "pintle.outcome"

local OPENRPC = "1.3.2"
local FAILED = -32000 -- the code of an operation that failed

-- {====== For plugins ======

local function sorted_names(properties)
  local names = {}
  for name in pairs(properties or {}) do names[#names + 1] = name end
  table.sort(names)
  return names
end

local function describe(operation)
  local params, required = json.array {}, {}
  for _, name in ipairs(operation.params.required or {}) do required[name] = true end
  for i, name in ipairs(sorted_names(operation.params.properties)) do
    params[i] = { name = name, required = required[name] or false, schema = operation.params.properties[name] }
  end
  return {
    name = operation.name, description = operation.description, paramStructure = "by-name", params = params,
    result = { name = "outcome", schema = true },
  }
end

local plugin = {}

function plugin.manifest(self)
  local manifest, methods = self.manifest, json.array {}
  for i, name in ipairs(manifest.names) do methods[i] = describe(manifest.operations[name]) end
  local info = { title = manifest.name, version = manifest.version, description = manifest.description }
  return { openrpc = OPENRPC, info = info, methods = methods }
end

local function execute(server, operation, params, request)
  local outcome, err = server:execute(operation, params, {}, request)
  if not outcome then return nil, err end
  if outcome.success then return outcomes.value(outcome) end
  return nil, outcomes.failure(outcome, FAILED)
end

function plugin.handlers(server)
  local handlers = { ["rpc.discover"] = function() return plugin.manifest(server.plugin) end }
  for _, name in ipairs(server.plugin.manifest.names) do
    handlers[name] = function(params, request) return execute(server, name, params, request) end
  end
  return handlers
end

function plugin.log(server, _, level, message, data) return server:note(level, message, data) end

function plugin.progress() return true end

-- }======

-- {====== For hosts ======

local host = { handlers = {} }

local function operation_of(method)
  local properties, required = {}, {}
  for _, param in ipairs(method.params) do
    properties[param.name] = param.schema
    if param.required == true then required[#required + 1] = param.name end
  end
  local params = { type = "object", properties = properties, required = json.array(required) }
  return { description = method.description, params = params }
end

local function read(document)
  local operations = {}
  for _, method in ipairs(document.methods) do operations[method.name] = operation_of(method) end
  local info = document.info
  return { name = info.title, version = info.version, description = info.description, operations = operations }
end

function host.open(session)
  local document, err = session.peer:call("rpc.discover", {}, { timeout = session.handshake_timeout })
  if err then return nil, err end
  local ok, description = pcall(read, document)
  if not ok then return nil, errors.new("protocol", "what it answers to rpc.discover is no OpenRPC document") end
  return description
end

function host.execute(session, operation, args, context)
  local result, err = session.peer:call(operation, args, { timeout = context.wait_timeout })
  if not err then return outcomes.read(result) end
  if err.kind == "remote" and err.code == FAILED then return outcomes.read_failure(err) end
  return nil, err
end

-- The protocol has no request for the end: the plugin ends with its input.
function host.close() end

-- }======

---@type pintle.dialect
return {
  name = "openrpc",
  framing = "line",
  cancellation = false,
  recognises = function(method, _, framing) return method == "rpc.discover" and framing == "line" end,
  host = host,
  plugin = plugin,
}
