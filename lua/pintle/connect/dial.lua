-- A peer at the other end of a socket.

local core = require "pintle.core"
local errors = require "pintle.error"
local loop = require "pintle.loop"
local peers = require "pintle.peer"

core.protect()

local CONNECTING = 10 -- seconds
local BUSY = 0.01 -- seconds until one who has too many waiting already is tried again

local function wait_until_connected(descriptor, where)
  local number, is_connected = descriptor:fileno(), loop.event()
  local watcher = { on_ready = function() is_connected:set(true) end }
  local ok, message, kind = loop.watch(number, "w", watcher)
  if not ok then return nil, errors.new(kind, message) end
  local late = errors.new("timeout", ("no connection to %s within %gs"):format(where, CONNECTING))
  local connected, err = is_connected:wait(CONNECTING, late)
  loop.unwatch(number, watcher)
  return connected, err
end

local function finish_dialling(descriptor, where)
  local ok, err = wait_until_connected(descriptor, where)
  if not ok then return nil, err end
  local message, kind
  ok, message, kind = core.connected(descriptor)
  if not ok then return nil, errors.new(kind, message) end
  return true
end

-- A socket of the network waits by itself for those who are asked too much; one with a path does not.
local function knock(place)
  local give_up = loop.now() + CONNECTING
  while true do
    local descriptor, pending, kind = core.connect(place)
    if descriptor then return descriptor, pending end
    if kind ~= "busy" then return nil, errors.new(kind, pending) end
    if loop.now() >= give_up then return nil, errors.new("full", pending) end
    local _, err = loop.sleep(BUSY)
    if err then return nil, err end
  end
end

---@param settings pintle.connect.options
---@return pintle.peer?, pintle.error?
return function(settings)
  local where = settings.path or ("%s:%s"):format(settings.host, settings.port)
  local descriptor, pending = knock { path = settings.path, host = settings.host, port = settings.port }
  if not descriptor then return nil, pending end
  if pending then
    local ok, err = finish_dialling(descriptor, where)
    if not ok then
      descriptor:close()
      return nil, err
    end
  end
  settings.read, settings.write = descriptor, descriptor
  settings.name = settings.name or where
  return peers.open(settings)
end
