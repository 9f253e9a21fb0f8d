-- The side of the plugin: june and july are told apart by the handshake.

local definition = require "pintle.dialect.reginald.definition"
local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local lazy = require "pintle.lazy"
local levels = require "pintle.dialect.reginald.level"
local log = require "pintle.dialect.reginald.log"
local names = lazy "pintle.dialect.reginald.names"
local releases = require "pintle.dialect.reginald.release"
local run = require "pintle.dialect.reginald.run"

local RELEASES = { june = lazy "pintle.dialect.reginald.june", july = lazy "pintle.dialect.reginald.july" }

local INVALID_REQUEST, INVALID_PARAMS = jsonrpc.INVALID_REQUEST, jsonrpc.INVALID_PARAMS
local END_OF_INPUT = 1 -- seconds for what is being handled when input ends, which means exit in this protocol

local given, refuse = jsonrpc.given, run.refuse

local plugin = { stderr_line = 64 << 10 }

-- {====== Handshake ======

local ANSWERS = {
  june = json.order { "protocol", "protocolVersion", "name", "version", "commands", "tasks", "configs" },
  july = json.order { "name", "protocol", "protocolVersion" },
}

local function agree(params)
  local release = releases.by_protocol[params.protocol]
  if not release then
    return refuse(INVALID_PARAMS, 'protocol %s is not spoken here, only "rpp" and "reginald"',
      json.encode(params.protocol or json.null))
  end
  if params.protocolVersion == releases.VERSION then return release end
  return refuse(release.codes.handshake, "version %s of the protocol %q is not spoken here, only %d",
    json.encode(params.protocolVersion or json.null), release.protocol, releases.VERSION)
end

-- A plugin that is not meant for Reginald is served as far as it goes.
local function check_names(manifest, release)
  local problems = names.is_meant_for_reginald(manifest) and names.check(manifest) or {}
  if #problems == 0 then return release end
  return refuse(jsonrpc.INTERNAL_ERROR, "%s", table.concat(problems, "; "))
end

local handlers = {}

function handlers.handshake(server, params)
  if server.state.release then return refuse(INVALID_REQUEST, "Invalid Request: hands are shaken already") end
  local manifest = server.plugin.manifest
  local release, err = agree(params)
  if release then release, err = check_names(manifest, release) end
  if not release then return nil, err end
  local answer = { protocol = release.protocol, protocolVersion = releases.VERSION, name = manifest.name }
  if release.name == "june" then
    answer.version = manifest.version
    answer.commands, answer.tasks, answer.configs = definition.told(manifest, release)
  end
  server.state.names, server.state.setups = definition.names(manifest), {}
  server.state.release, server.state.command_line_config = release, server.config
  server.config = run.config(server) or server.config
  return setmetatable(answer, ANSWERS[release.name])
end

-- }======

function handlers.shutdown(server, _, request)
  server.state.is_over = true
  server:shutdown(request)
  return server.state.release.shutdown
end

-- {====== Who may ask what, when ======

local function check_turn(server, method)
  if server.state.is_over then return refuse(INVALID_REQUEST, "Invalid Request: the plugin is shut down") end
  local release = server.state.release
  if method == "handshake" then return true end
  if not release then return refuse(INVALID_REQUEST, "Invalid Request: a handshake has to come first") end
  if release.methods[method] then return true end
  return refuse(jsonrpc.METHOD_NOT_FOUND, "Method not found: %s", method)
end

-- A program whose language has no other way writes null for an id that is not there.
local function see_notification(request)
  if request.id == json.null then request.id = nil end
end

local function handle(server, method, params, request)
  see_notification(request)
  local ok, err = check_turn(server, method)
  params = given(params)
  if ok then ok, err = jsonrpc.check(params, "object", "params") end
  if not ok then return nil, err end
  local handler = handlers[method] or RELEASES[server.state.release.name][method]
  return handler(server, params or {}, request)
end

-- A host that is asked something, or told what it does not know, ends the plugin or hangs.
local function keep_to_answers(server)
  local peer = server.peer
  server.state.notify = peer.notify
  local function refuse_to_send(_, method)
    return nil, errors.new("invalid", ("%q was not sent: a Reginald host takes nothing of a plugin but its log"):format(
      tostring(method)))
  end
  peer.call, peer.notify = refuse_to_send, refuse_to_send
  function peer.begin(_, method) error(select(2, refuse_to_send(nil, method)).message, 2) end
end

---@param server pintle.server
---@return table<string, pintle.handler>
function plugin.handlers(server)
  keep_to_answers(server)
  server.drain = math.min(server.drain, END_OF_INPUT)
  local all = {}
  for method in pairs(releases.METHODS) do
    all[method] = function(params, request) return handle(server, method, params, request) end
  end
  function all.exit(_, request)
    see_notification(request)
    server:exit(0)
  end
  return all
end

---@param server pintle.server
---@param request pintle.request
---@return true?, pintle.error?
function plugin.admit(server, request)
  see_notification(request)
  if not server.state.is_over then return true end
  return refuse(INVALID_REQUEST, "Invalid Request: the plugin is shut down")
end

-- }======

-- {====== Speaking up ======

---@param server pintle.server
---@param level pintle.level
---@param message string
---@param data any
---@return true?, pintle.error?
function plugin.log(server, _, level, message, data)
  local state = server.state
  if not state.release then return server:note(level, message, data) end
  if levels.number(level) < (state.threshold or -math.huge) then return true end
  local params, err = log.write(state.release, level, message, data)
  if not params then return nil, err end
  return state.notify(server.peer, "log", params)
end

local PROGRESS = json.order { "request", "progress" }

---@param server pintle.server
---@param request pintle.request
---@param fraction number
---@param message string?
---@return true?, pintle.error?
function plugin.progress(server, request, fraction, message)
  local id = math.type(request.id) == "integer" and request.id or nil
  local fields = setmetatable({ request = id, progress = fraction }, PROGRESS)
  return plugin.log(server, request, "debug", message or "progress", fields)
end

-- }======

---@param self pintle.plugin
---@return table described, string[] warnings
function plugin.manifest(self)
  local describe = require "pintle.dialect.reginald.manifest"
  return describe(self.manifest)
end

return plugin
