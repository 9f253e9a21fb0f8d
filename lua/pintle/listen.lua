-- Waiting for peers on a socket.

local core = require "pintle.core"
local errors = require "pintle.error"
local loop = require "pintle.loop"
local options = require "pintle.options"
local peers = require "pintle.peer"
local tasks = require "pintle.task"

core.protect()

local PAUSE = 0.1 -- seconds for which nobody is let in when there was no room for the last

---@class pintle.listener
---@field path string?
---@field host string?
---@field port integer? the one that was given, or found
local methods = {}

local metatable = { __name = "pintle.listener", __index = methods }

local listeners = {}

local function welcome(listener, descriptor)
  local settings = { read = descriptor, write = descriptor, answer_noise = true }
  for name, value in pairs(listener.settings) do settings[name] = value end
  tasks.start(function() listener.on_peer(assert(peers.open(settings))) end)
end

-- The one who waits cannot be taken in, most likely for want of descriptors: he is not asked again at once.
local function pause(listener)
  loop.unwatch(listener.socket:fileno(), listener.watcher)
  listener.timer = loop.after(PAUSE, listener.watch, listener)
end

local function accept(listener)
  local descriptor
  repeat
    descriptor = core.accept(listener.socket)
    if descriptor then welcome(listener, descriptor) end
  until not descriptor or listener.socket:closed()
  if descriptor == nil then pause(listener) end
end

---@private
function methods:watch()
  self.timer = nil
  return loop.watch(self.socket:fileno(), "r", self.watcher)
end

-- There is a task for as long as it listens.
local function stay(listener) listener.closed:wait() end

---Stops listening; the peers that came stay. Closing twice is fine.
function methods:close()
  if self.socket:closed() then return end
  if self.timer then loop.forget(self.timer) end
  loop.unwatch(self.socket:fileno(), self.watcher)
  if self.path then os.remove(self.path) end -- once nobody listens, it may be somebody else's
  self.socket:close()
  self.closed:set(true)
end

metatable.__close = methods.close

local LISTEN_OPTIONS = options.set { "path", "host", "port", "mode", "backlog" }

---@param given pintle.connect.options
---@param on_peer fun(peer: pintle.peer)
---@return pintle.listener?, pintle.error?
function listeners.open(given, on_peer)
  if type(on_peer) ~= "function" then error("on_peer: a function expected, got " .. type(on_peer), 2) end
  local settings, place = {}, {}
  for name, value in pairs(given) do
    if LISTEN_OPTIONS[name] then place[name] = value else settings[name] = value end
  end
  options.check(settings, peers.OPTIONS)
  local ok, socket, message, kind = pcall(core.listen, place)
  if not ok then error(socket:gsub("^[^:]+:%d+: ", ""), 2) end
  if not socket then return nil, errors.new(kind, message) end
  local listener = setmetatable({
    socket = socket, settings = settings, on_peer = on_peer, closed = loop.event(),
  }, metatable)
  for name, value in pairs(core.address(socket)) do listener[name] = value end
  listener.watcher = { on_ready = function() accept(listener) end }
  assert(listener:watch())
  tasks.start(stay, listener)
  return listener
end

return listeners
