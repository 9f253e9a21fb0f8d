-- The side of the server.

local capabilities = require "pintle.dialect.lsp.capabilities"
local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local lazy = require "pintle.lazy"
local log = require "pintle.dialect.lsp.log"

local commands = lazy "pintle.dialect.lsp.commands"
local progress = lazy "pintle.dialect.lsp.progress"

local NOT_INITIALIZED = -32002

local plugin = {}

local RESULT = json.order { "capabilities", "serverInfo" }
local INFO = json.order { "name", "version" }

local function result(self, client)
  local info = setmetatable({ name = self.manifest.name, version = self.manifest.version }, INFO)
  return setmetatable({ capabilities = capabilities.of(self, client), serverInfo = info }, RESULT)
end

---@param self pintle.plugin
---@return table
function plugin.manifest(self) return result(self) end

-- {====== Lifecycle ======

-- Where it stands: nil before initialize, "opening" while that is handled, "open", "closing" and "closed" by shutdown.
local REFUSALS = {
  opening = { NOT_INITIALIZED, "Server not initialized" },
  closing = { jsonrpc.INVALID_REQUEST, "Invalid Request: the server is shutting down" },
}
REFUSALS.closed = REFUSALS.closing

local function check_open(server)
  local stage = server.state.stage
  if stage == "open" then return true end
  local refusal = REFUSALS[stage or "opening"]
  return nil, errors.new("closed", refusal[2], { code = refusal[1] })
end

---@param server pintle.server
---@param request pintle.request
---@param params any
---@return true?, pintle.error?
function plugin.admit(server, request, params)
  local ok, err = check_open(server)
  if not ok then return nil, err end
  progress.note(request, params)
  return true
end

-- Some clients send what they like; only what is a table can be what a plugin is configured with.
local function config_of(server, params)
  local options = jsonrpc.given(params.initializationOptions)
  if options == nil or type(options) == "table" then return options end
  server:note("warn", "initializationOptions: an object expected, got " .. json.kind(options))
end

local function follow_client(server, pid)
  if jsonrpc.given(pid) == nil then return end
  local ok, err = server:follow(pid)
  if not ok then server:note("warn", "processId: " .. err.message) end
end

local function initialize(server, params)
  if server.state.stage then
    return nil, errors.new("invalid", "Invalid Request: initialize comes once", { code = jsonrpc.INVALID_REQUEST })
  end
  local ok, err = jsonrpc.check(params or json.null, "object", "params")
  if not ok then return nil, err end
  server.state.stage, server.client = "opening", jsonrpc.given(params) or {}
  ok, err = server:initialize(config_of(server, server.client))
  if not ok then
    server.state.stage, server.client = nil, nil
    return nil, err
  end
  server.state.stage = "open"
  follow_client(server, server.client.processId)
  return result(server.plugin, server.client)
end

-- An exit that does not wait for the answer has to wait here.
local function shutdown(server, request)
  local ok, err = check_open(server)
  if not ok then return nil, err end
  local state = server.state
  state.stage = "closing"
  server:shutdown(request)
  state.stage = "closed"
  if state.is_to_exit then server:exit(0) end
end

local function exit(server)
  local state = server.state
  state.is_to_exit = true
  if state.stage ~= "closing" then server:exit(state.stage == "closed" and 0 or 1) end
end

-- }======

local function ignore() end

local function check_options(server)
  for name in pairs(server.plugin.manifest.dialects.lsp or {}) do
    if name ~= "capabilities" then server:note("warn", ("dialects.lsp: there is no %q"):format(tostring(name))) end
  end
end

---@param server pintle.server
---@return table<string, pintle.handler>
function plugin.handlers(server)
  check_options(server)
  local declared, manifest = server.plugin.methods, server.plugin.manifest
  local handlers = {
    initialize = function(params) return initialize(server, params) end,
    shutdown = function(_, request) return shutdown(server, request) end,
    exit = function() exit(server) end,
  }
  -- What the author may want to see to himself.
  if not declared.initialized then handlers.initialized = ignore end
  if not declared["window/workDoneProgress/cancel"] then
    handlers["window/workDoneProgress/cancel"] = function(params) progress.cancel(server, params) end
  end
  if #manifest.names > 0 or not declared["workspace/executeCommand"] then
    handlers["workspace/executeCommand"] = function(params, request)
      local ok, err = plugin.admit(server, request, params)
      if not ok then return nil, err end
      return commands.answer(server, params, request)
    end
  end
  return handlers
end

---@param server pintle.server
---@param level pintle.level
---@param message string
---@param data any
---@return true?, pintle.error?
function plugin.log(server, _, level, message, data)
  if not server.client then return server:note(level, message, data) end
  local params, problem = log.params(level, message, data)
  if not params then return nil, errors.new("invalid", "log: " .. problem) end
  return server.peer:notify("window/logMessage", params)
end

---@param server pintle.server
---@param request pintle.request
---@param fraction number
---@param message string?
---@return true?, pintle.error?
function plugin.progress(server, request, fraction, message)
  if not server.client then return true end
  return progress.tell(server, request, fraction, message)
end

return plugin
