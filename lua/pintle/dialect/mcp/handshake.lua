-- Finding out which era a server is of. The newer one is tried first. Old servers answer that with some error, or not
-- at all, or they end; then they are greeted as they expect it. One deadline holds for all of it.

local ask = require "pintle.dialect.mcp.ask"
local client = require "pintle.dialect.mcp.client"
local core = require "pintle.core"
local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local wire = require "pintle.dialect.mcp.wire"

local PROBE = 0.25 -- the part of the time for a handshake after which silence is taken for an answer

local handshake = {}

-- {====== Time ======

local function begin(session)
  session.state.deadline = session.state.deadline or core.now() + session.handshake_timeout
end

---Seconds that are left for shaking hands.
---@param session pintle.session
---@return number
function handshake.time_left(session) return math.max(session.state.deadline - core.now(), 0) end

-- }======

local function protocol_error(format, ...) return nil, errors.new("protocol", format:format(...)) end

local function check_told(told, method)
  if json.kind(told) ~= "object" then
    return protocol_error("its answer to %s: object expected, got %s", method, json.kind(told))
  end
  local capabilities = jsonrpc.given(told.capabilities)
  if capabilities ~= nil and json.kind(capabilities) ~= "object" then
    return protocol_error("its capabilities: object expected, got %s", json.kind(capabilities))
  end
  return told
end

-- {====== Without a handshake ======

local function speaks_modern(told)
  local versions = jsonrpc.given(told.supportedVersions)
  if json.kind(versions) ~= "array" then return false end
  for _, version in ipairs(versions) do
    if version == wire.MODERN then return true end
  end
  return false
end

local function discover(session, seconds)
  local told, err = session.peer:call("server/discover", wire.with_meta(nil, ask.meta(session)), { timeout = seconds })
  if told == nil then return nil, err or errors.new("protocol", "its answer to server/discover is empty") end
  told, err = check_told(told, "server/discover")
  if not told then return nil, err end
  if not speaks_modern(told) then return protocol_error("it does not speak version %s of the protocol", wire.MODERN) end
  session.state.is_modern = true
  return told
end

-- }======

-- {====== With a handshake ======

local INITIALIZE = json.order { "protocolVersion", "capabilities", "clientInfo" }

local function check_version(told)
  if wire.is_classic(told.protocolVersion) then return told end
  local version = tostring(told.protocolVersion)
  return protocol_error("it speaks version %s of the protocol, which is not spoken here", version)
end

local function initialize(session, version)
  local told, err = session.peer:call("initialize", setmetatable({
    protocolVersion = version, capabilities = client.capabilities(session), clientInfo = client.info(session),
  }, INITIALIZE), { timeout = handshake.time_left(session) })
  if told == nil then return nil, err or errors.new("protocol", "its answer to initialize is empty") end
  told, err = check_told(told, "initialize")
  if told then told, err = check_version(told) end
  if not told then return nil, err end
  local ok
  ok, err = session.peer:notify "notifications/initialized"
  if not ok then return nil, err end
  return told
end

-- }======

-- {====== Either ======

-- The newest version with a handshake among those that a server says it speaks.
local function classic_among(data)
  local supported = type(data) == "table" and data.supported
  for _, version in ipairs(wire.CLASSIC) do
    for _, other in ipairs(type(supported) == "table" and supported or {}) do
      if other == version then return version end
    end
  end
end

-- One that was only slow to start may have no handshake at all, and says so now.
local function fall_back(session)
  session.memory.is_classic = true
  local told, err = initialize(session, wire.CLASSIC[1])
  if told or err.kind ~= "remote" then return told, err end
  local left = handshake.time_left(session)
  told = left > 0 and discover(session, left) or nil
  if told then session.memory.is_classic = false end
  return told, err
end

-- What was not answered may not have been heard yet, and may be the end of it when it is.
local function fall_back_late(session)
  local told, err = fall_back(session)
  return told, err, err and err.kind == "closed" and "again" or nil
end

local function try_both(session)
  if session.memory.is_classic then return fall_back(session) end
  local told, err = discover(session, session.handshake_timeout * PROBE)
  if told then return told end
  if err.kind == "timeout" then return fall_back_late(session) end
  if err.kind == "closed" then
    session.memory.is_classic = true
    return nil, err, "again"
  end
  if err.kind ~= "remote" or err.code ~= wire.UNSUPPORTED_VERSION then return fall_back(session) end
  local version = classic_among(err.data)
  if version then return initialize(session, version) end
  return nil, err
end

---@param session pintle.session
---@return table? told what the server says of itself, pintle.error?, "again"?
function handshake.shake(session)
  begin(session)
  local era = session.options.era
  if era == wire.MODERN then return discover(session, handshake.time_left(session)) end
  if era then return initialize(session, era) end
  return try_both(session)
end

-- }======

return handshake
