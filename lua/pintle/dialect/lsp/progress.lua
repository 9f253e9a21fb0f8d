-- Telling of progress, on the side of the server: with the token that came with a request, or else with one that the
-- client has agreed to.

local errors = require "pintle.error"
local json = require("pintle.core").json

local AGREEING = 5 -- seconds in which a client may agree to a token

local progress = {}

local PROGRESS = json.order { "token", "value" }
local VALUE = json.order { "kind", "title", "cancellable", "message", "percentage" }

local function is_token(value) return type(value) == "string" or math.type(value) == "integer" end

---Keeps the token of a request.
---@param request pintle.request
---@param params any
function progress.note(request, params)
  local token = json.kind(params) == "object" and params.workDoneToken
  request.work_token = is_token(token) and token or nil
end

local function may_ask(server)
  local capabilities = server.client and server.client.capabilities
  local window = json.kind(capabilities) == "object" and capabilities.window
  return json.kind(window) == "object" and window.workDoneProgress == true
end

local function ask_for_token(server, request)
  if not may_ask(server) then return false end
  local state = server.state
  state.last_token = (state.last_token or 0) + 1
  local token = ("%s-%d"):format(server.plugin.manifest.name, state.last_token)
  local _, err = request:call("window/workDoneProgress/create", { token = token }, { timeout = AGREEING })
  if err then return false end
  return token
end

local function send(server, request, value)
  local params = { token = request.work_token, value = setmetatable(value, VALUE) }
  return server.peer:notify("$/progress", setmetatable(params, PROGRESS))
end

local function conclude(server, request)
  local reporting = server.state.reporting
  if not reporting or reporting[request.work_token] ~= request then return end
  reporting[request.work_token] = nil
  send(server, request, { kind = "end" })
end

local function begin(server, request, percentage, message)
  local had_token = request.work_token ~= nil
  if not had_token then request.work_token = ask_for_token(server, request) end
  if not request.work_token then return true end
  server.state.reporting = server.state.reporting or {}
  server.state.reporting[request.work_token] = request
  request.concluding = function() conclude(server, request) end
  return send(server, request, {
    kind = "begin", title = request.title or request.method, cancellable = not had_token or nil,
    message = message, percentage = percentage,
  })
end

---@param server pintle.server
---@param request pintle.request
---@param fraction number
---@param message string?
---@return true?, pintle.error?
function progress.tell(server, request, fraction, message)
  if request.work_token == false then return true end
  local percentage = math.floor(fraction * 100 + 0.5)
  local reporting = server.state.reporting
  local is_begun = request.work_token ~= nil and reporting and reporting[request.work_token] == request
  if not is_begun then return begin(server, request, percentage, message) end
  return send(server, request, { kind = "report", message = message, percentage = percentage })
end

---The client wants it no more.
---@param server pintle.server
---@param params any
function progress.cancel(server, params)
  local token = json.kind(params) == "object" and params.token
  local request = is_token(token) and server.state.reporting and server.state.reporting[token]
  if request then request:stop(errors.new("cancelled", "Cancelled")) end
end

return progress
