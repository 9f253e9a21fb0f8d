-- A plugin at work: one conversation with a host, in the dialect that the host speaks.

local beginning = require "pintle.plugin.beginning"
local dialects = require "pintle.dialect"
local errors = require "pintle.error"
local exits = require "pintle.exit"
local json = require("pintle.core").json
local lazy = require "pintle.lazy"
local loop = require "pintle.loop"
local peers = require "pintle.peer"

local ending = lazy "pintle.plugin.ending"
local fold = lazy "pintle.plugin.fold"
local work = lazy "pintle.plugin.work"

require("pintle.core").protect()

local DRAIN = 600 -- seconds for what is being handled when input ends

---@class pintle.server
local methods = {
  initialize = beginning.initialize,
  execute = function(...) return work.execute(...) end,
  enter = function(...) return work.enter(...) end,
  shutdown = function(self, request) ending.shutdown(self, request) end,
  exit = function(self, status) ending.exit(self, status) end,
  follow = function(self, pid) return ending.follow(self, pid) end,
}

local metatable = { __name = "pintle.server", __index = methods }

---@class pintle.server.module
local servers = {}

-- {====== Speaking up ======

local function text_of(data)
  if data == nil then return "" end
  local ok, text = pcall(json.encode, data)
  return " " .. (ok and text or tostring(data))
end

---Tells people something, on stderr.
---@param level pintle.level
---@param message string
---@param data? any
---@return true
function methods:note(level, message, data)
  io.stderr:write(("%s: %s: %s%s\n"):format(self.plugin.manifest.name, level, message, text_of(data)))
  return true
end

---Tells the host something; before it is known how, it goes to stderr.
---@param level pintle.level
---@param message string
---@param data? any
---@param request? pintle.request what it is about
---@return true?, pintle.error?
function methods:log(level, message, data, request)
  local dialect = self.dialect
  if not dialect then return self:note(level, message, data) end
  return dialect.plugin.log(self, request, level, message, data)
end

---@param request pintle.request
---@param fraction number
---@param message string?
---@return true?, pintle.error?
function methods:progress(request, fraction, message)
  if self.dialect then return self.dialect.plugin.progress(self, request, fraction, message) end
end

---@param request pintle.request
---@param part any
---@return true?, pintle.error?
function methods:part(request, part)
  local send = self.dialect and self.dialect.plugin.part
  if not send then return nil, errors.new("invalid", "the host takes no parts of a result") end
  return send(self, request, part)
end

---@param method string
---@param params? any
---@param options? { timeout?: number|false }
---@return any result, pintle.error?
function methods:call(method, params, options) return self.peer:call(method, params, options) end

---@param method string
---@param params? any
---@return true?, pintle.error?
function methods:notify(method, params) return self.peer:notify(method, params) end

-- }======

-- {====== Serving ======

local function speak(self, dialect)
  self.dialect = dialect
  if dialect.plugin.stderr_line then fold.lines_below(dialect.plugin.stderr_line) end
  local ok, err = self.peer:adopt(dialect)
  for method, handler in pairs(dialect.plugin.handlers(self)) do
    if self.plugin.methods[method] then
      beginning.report(self, ("method %q is handled by the dialect %s, not by the plugin"):format(method, dialect.name))
    end
    self.peer:on(method, handler)
  end
  if dialect.plugin.admit then
    self.peer:otherwise(function(params, request) return work.refuse(self, params, request) end)
  end
  return ok, err
end

local function recognise(self)
  self.peer:on_first(function(peer, method, params)
    local stream = peer.stream
    local own = self.plugin.manifest.dialects
    local dialect = dialects.recognise(method, params, stream:framing(), stream:others(), own)
    if dialect then return speak(self, dialect) end
    recognise(self)
  end)
end

local function add_methods(self)
  for method, fn in pairs(self.plugin.methods) do
    self.peer:on(method, function(params, request) return work.handle(self, fn, params, request) end)
  end
end

---@class pintle.server.options
---@field read pintle.descriptor
---@field write pintle.descriptor
---@field dialect? pintle.dialect the first message tells unless told
---@field config? table
---@field drain? number seconds for what is being handled when input ends: 600
---@field limits? pintle.peer.limits

local function open(self, options)
  local dialect = options.dialect
  return peers.open {
    read = options.read, write = options.write, name = self.plugin.manifest.name, limits = options.limits,
    framing = dialect and dialect.framing or "auto", ids = dialect and dialect.ids,
    extra = dialect and dialect.extra, header = dialect and dialect.header, others = not dialect,
    answer_noise = true, ordered = self.plugin.is_ordered,
    explain = function(peer, err) ending.of_input(self, peer, err) end,
    on_error = function(err, traceback, method)
      beginning.report(self, ("%s failed: %s"):format(method, traceback or tostring(err)))
    end,
  }
end

local function wait_for_end(self)
  if not self.ending then self.ended:wait() end
  self.ending = self.ending or { status = 1 }
end

---Serves until the host says that it is enough, or its end of the pipe is closed.
---@param plugin pintle.plugin
---@param options pintle.server.options
---@return integer? status of the process, pintle.error?
function servers.run(plugin, options)
  local self = setmetatable({
    plugin = plugin, config = options.config or {}, capabilities = {}, state = {}, found = {},
    drain = options.drain or DRAIN, phase = "new", waiting = {}, ended = loop.event(), is_over = false, is_shut = false,
  }, metatable)
  local err
  self.peer, err = open(self, options)
  if not self.peer then return nil, err end
  self.peer.deserted = function(peer, why) ending.of_input(self, peer, why) end
  exits.after_sending(self.peer)
  self.peer.on_silence = function() ending.of_patience(self) end
  add_methods(self)
  if options.dialect then speak(self, options.dialect) else recognise(self) end
  wait_for_end(self)
  return ending.finish(self)
end

return servers
