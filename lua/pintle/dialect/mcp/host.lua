-- The side of the host.

local ask = require "pintle.dialect.mcp.ask"
local catalog = require "pintle.dialect.mcp.catalog"
local client = require "pintle.dialect.mcp.client"
local core = require "pintle.core"
local handshake = require "pintle.dialect.mcp.handshake"
local jsonrpc = require "pintle.jsonrpc"
local outcomes = require "pintle.dialect.mcp.outcome"
local wire = require "pintle.dialect.mcp.wire"

local json, now = core.json, core.now
local setmetatable, type = setmetatable, type

local HEARD = wire.HEARD

local REFRESH = 60 -- seconds for a list of tools that has changed

local host = { handlers = {}, defaults = {} }

-- {====== Opening ======

local function requested(params) return params.requestId end

-- The handshake itself cannot be cancelled.
local function adopt(session)
  session.peer:adopt { cancellation = wire.cancellation(requested), progress = wire.PROGRESS, codes = wire.CODES }
end

local function info_of(told)
  local meta = jsonrpc.given(told._meta)
  local info = jsonrpc.given(told.serverInfo) or type(meta) == "table" and jsonrpc.given(meta[wire.META.server])
  return type(info) == "table" and info or {}
end

local function text(value) return type(value) == "string" and value:find "%S" and value or nil end

local function manifest_of(session, operations, is_cut)
  local info = info_of(session.told)
  return {
    name = text(info.name) or session.name, version = text(info.version) or false, is_version_free = true,
    description = text(info.description), operations = operations, is_open = is_cut,
  }
end

local function set_level(session, capabilities)
  session.state.has_logs = capabilities.logging ~= nil
  local level = client.level(session)
  if session.state.is_modern or not session.state.has_logs or not level then return end
  session.peer:begin("logging/setLevel", { level = level }, { timeout = session.handshake_timeout })
end

-- Where there is no handshake, changes are told only to those who listen.
local function listen(session, capabilities)
  local can_change = type(capabilities.tools) == "table" and capabilities.tools.listChanged == true
  if not session.state.is_modern or not can_change then return end
  local params = wire.with_meta({ notifications = { toolsListChanged = true } }, ask.meta(session))
  session.peer:begin("subscriptions/listen", params, { timeout = false })
end

-- Tools that have changed while they were read are read once more.
local function read_tools(session)
  local function time_left() return handshake.time_left(session) end
  local operations, is_cut = catalog.read(session, time_left)
  if operations and session.state.has_changed then operations, is_cut = catalog.read(session, time_left) end
  return operations, is_cut
end

---@param session pintle.session
---@return table?, pintle.error?, "again"?
function host.open(session)
  local ok, err = client.check(session.options)
  if not ok then return nil, err end
  local told, again
  told, err, again = handshake.shake(session)
  if not told then return nil, err, again end
  adopt(session)
  session.told = told
  local capabilities = jsonrpc.given(told.capabilities) or {}
  set_level(session, capabilities)
  if capabilities.tools == nil then return manifest_of(session, {}) end
  listen(session, capabilities)
  local operations, is_cut = read_tools(session)
  if not operations then return nil, is_cut end
  return manifest_of(session, operations, is_cut)
end

-- }======

-- {====== Executing ======

local CALL = json.order { "name", "arguments", "_meta" }

-- Only what has a total is a fraction of something.
local function listener_of(session, on_progress)
  return function(progress, total, message)
    message = message and text(message)
    if type(progress) ~= "number" or type(total) ~= "number" or total <= 0 then
      return session:log("debug", message or "progress", { progress = progress })
    end
    local fraction = progress / total
    if fraction < 0 then fraction = 0.0 elseif fraction > 1 then fraction = 1.0 end
    on_progress(fraction, message)
  end
end

local function options_of(session, context)
  local patience, on_progress = context.patience, context.on_progress
  if patience == nil then patience = context.timeout end
  return { timeout = patience, on_progress = on_progress and listener_of(session, on_progress) }
end

host.call = ask.call

-- A call without options: its `_meta` is always the same, and it has the timeout that the peer was opened with.
local function call_plainly(session, params)
  local begun, meta = now(), session.state.meta_text or ask.meta_text(session)
  params._meta = meta
  local result, err = session.peer:call("tools/call", params)
  if not meta or type(result) ~= "table" or result.resultType ~= "input_required" then return result, err end
  params._meta = nil
  return ask.go_on(session, "tools/call", params, nil, result, begun)
end

---@param session pintle.session
---@param operation string
---@param args table
---@param context pintle.context
---@return pintle.outcome?, pintle.error?
function host.execute(session, operation, args, context)
  local params = setmetatable({ name = operation, arguments = args }, CALL)
  local result, err
  if context.is_shared then
    result, err = call_plainly(session, params)
  else
    result, err = ask.call(session, "tools/call", params, options_of(session, context))
  end
  if err ~= nil then return nil, err end
  return outcomes.of(session, operation, result)
end

---There is nothing to say: the end of its input is the sign.
function host.close() end

-- }======

-- {====== What the server says ======

function host.handlers.ping() return {} end

-- While the tools are being read they may change again.
host.handlers["notifications/tools/list_changed"] = function(session)
  local state = session.state
  state.has_changed = true
  if state.is_reading or not session.manifest then return end
  state.is_reading = true
  while state.has_changed do
    state.has_changed = false
    local operations, err = catalog.read(session, function() return REFRESH end)
    if operations then
      session:renew(manifest_of(session, operations, err))
    else
      session:log("warn", "its tools have changed, and cannot be read: " .. tostring(err))
    end
  end
  state.is_reading = false
end

host.defaults["roots/list"] = client.list_roots

-- A text, or what pintle sends: a text and something for programs.
local function read_data(data)
  if json.kind(data) == "object" and type(data.message) == "string" then
    local is_only_data = next(data, next(data)) == nil or data.data ~= nil and next(data, next(data, next(data))) == nil
    if is_only_data then return data.message, jsonrpc.given(data.data) end
    return data.message, data
  end
  local ok, encoded = pcall(json.encode, data)
  return ok and encoded or tostring(data)
end

host.defaults["notifications/message"] = function(session, params)
  local level = type(params) == "table" and HEARD[params.level]
  local data = level and params.data
  if level and data ~= nil then
    if type(data) == "string" then return session:log(level, data) end
    return session:log(level, read_data(data))
  end
  session:log("warn", "a log message that is not as it should be", params)
end

-- }======

host.hints = {
  command = { "%f[%w]mcp%f[%W]", "modelcontextprotocol", "^server%-%l" },
  output = { "%f[%w]mcp%f[%W]", "model context protocol" },
}

return host
