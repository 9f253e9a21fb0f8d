-- Peers at the other end of a socket: connecting to one, and listening for them.

local core = require "pintle.core"
local errors = require "pintle.error"
local loop = require "pintle.loop"
local options = require "pintle.options"
local peers = require "pintle.peer"
local tasks = require "pintle.task"

core.protect()

local CONNECTING = 10 -- seconds
local BUSY = 0.01 -- seconds until a socket with a full queue is tried again
local PAUSE = 0.1 -- seconds without accepting, after there was no room for the last connection

local socket = {}

-- {====== Connecting ======

local function wait_until_socket_connected(descriptor, where)
  local number, is_connected = descriptor:fileno(), loop.event()
  local watcher = { on_ready = function() is_connected:set(true) end }
  local ok, message, kind = loop.watch(number, "w", watcher)
  if not ok then return nil, errors.new(kind, message) end
  local late = errors.new("timeout", ("no connection to %s within %gs"):format(where, CONNECTING))
  local connected, err = is_connected:wait(CONNECTING, late)
  loop.unwatch(number, watcher)
  if not connected then return nil, err end
  ok, message, kind = core.connected(descriptor)
  if ok then return true end
  return nil, errors.new(kind or "closed", message or "no connection to " .. where)
end

-- The system itself waits for a TCP server whose queue is full, but not for a Unix socket.
local function connect_socket_with_retries(place)
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
function socket.connect(settings)
  local where = settings.path or ("%s:%s"):format(settings.host, settings.port)
  local place = { path = settings.path, host = settings.host, port = settings.port }
  local descriptor, pending = connect_socket_with_retries(place)
  if not descriptor then return nil, pending end
  if pending then
    local ok, err = wait_until_socket_connected(descriptor, where)
    if not ok then
      descriptor:close()
      return nil, err
    end
  end
  settings.read, settings.write = descriptor, descriptor
  settings.name = settings.name or where
  return peers.open(settings)
end

-- }======

-- {====== Listening ======

---@class pintle.listener
---@field path string?
---@field host string?
---@field port integer? the one that was given, or that the system has chosen
local methods = {}

local metatable = { __name = "pintle.listener", __index = methods }

local function open_accepted_peer(listener, descriptor)
  local settings = { read = descriptor, write = descriptor, answer_noise = true }
  for name, value in pairs(listener.settings) do settings[name] = value end
  tasks.start(function() listener.on_peer(assert(peers.open(settings))) end)
end

-- A connection cannot be accepted, most likely because there are no descriptors left. It is tried again after a pause.
local function pause_accepting_sockets(listener)
  loop.unwatch(listener.socket:fileno(), listener.watcher)
  listener.timer = loop.after(PAUSE, listener.watch, listener)
end

local function accept_sockets(listener)
  local descriptor
  repeat
    descriptor = core.accept(listener.socket)
    if descriptor then open_accepted_peer(listener, descriptor) end
  until not descriptor or listener.socket:closed()
  if descriptor == nil then pause_accepting_sockets(listener) end
end

---@private
function methods:watch()
  self.timer = nil
  return loop.watch(self.socket:fileno(), "r", self.watcher)
end

-- Keeps a task alive while the listener is open, so that `pintle.run` waits for it.
local function wait_until_listener_closed(listener) listener.closed:wait() end

---Stops listening. Accepted peers stay open. Closing twice is fine.
function methods:close()
  if self.socket:closed() then return end
  if self.timer then loop.cancel(self.timer) end
  loop.unwatch(self.socket:fileno(), self.watcher)
  if self.path then os.remove(self.path) end -- before another process can listen on the same path
  self.socket:close()
  self.closed:set(true)
end

metatable.__close = methods.close

local LISTEN_OPTIONS = options.names "path host port mode backlog"

---@param given pintle.connect.options
---@param on_peer fun(peer: pintle.peer)
---@return pintle.listener?, pintle.error?
function socket.listen(given, on_peer)
  if type(on_peer) ~= "function" then error("on_peer: a function expected, got " .. type(on_peer), 2) end
  local settings, place = {}, {}
  for name, value in pairs(given) do
    if LISTEN_OPTIONS[name] then place[name] = value else settings[name] = value end
  end
  options.check_names(settings, peers.OPTIONS, 2)
  local ok, listening, message, kind = pcall(core.listen, place)
  if not ok then error(listening:gsub("^[^:]+:%d+: ", ""), 2) end
  if not listening then return nil, errors.new(kind, message) end
  local listener = setmetatable({
    socket = listening, settings = settings, on_peer = on_peer, closed = loop.event(),
  }, metatable)
  for name, value in pairs(core.address(listening)) do listener[name] = value end
  listener.watcher = { on_ready = function() accept_sockets(listener) end }
  assert(listener:watch())
  tasks.start(wait_until_listener_closed, listener)
  return listener
end

-- }======

return socket
