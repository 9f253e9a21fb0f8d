-- A plugin at work: one conversation with a host, in the dialect that the host speaks.

local core = require "pintle.core"
local dialects = require "pintle.dialect"
local errors = require "pintle.error"
local exits = require "pintle.exit"
local jsonrpc = require "pintle.jsonrpc"
local lazy = require "pintle.lazy"
local loop = require "pintle.loop"
local peers = require "pintle.peer"
local stdout = require "pintle.plugin.stdout"

local ending = lazy "pintle.plugin.ending"
local work = lazy "pintle.plugin.work"

core.protect()

local DRAIN = 600 -- seconds for requests that are being handled when input ends

---@class pintle.server
---@field operations table<string, pintle.operation> those of the plugin
local methods = {}

-- Methods of modules that are loaded when they are first used.
for name, module in pairs { execute = work, enter = work, shutdown = ending, exit = ending, follow = ending } do
  methods[name] = function(...)
    methods[name] = module[name]
    return methods[name](...)
  end
end

local metatable = { __name = "pintle.server", __index = methods }

---@class pintle.server.module
local servers = {}

-- {====== Messages ======

---Writes a line to stderr.
---@private
---@param text string
function methods:report(text) io.stderr:write(("%s: %s\n"):format(self.plugin.manifest.name, text)) end

local function text_of(data)
  if data == nil then return "" end
  local ok, text = pcall(core.json.encode, data)
  return " " .. (ok and text or tostring(data))
end

---Logs to stderr.
---@param level pintle.level
---@param message string
---@param data? any
---@return true
function methods:note(level, message, data)
  self:report(("%s: %s%s"):format(level, message, text_of(data)))
  return true
end

-- The dialect's own functions take the place of the next three once it is known.

---@private
function methods:send_log(_, level, message, data) return self:note(level, message, data) end

---@param request pintle.request
---@param fraction number
---@param message string?
---@return true?, pintle.error?
function methods:progress(request, fraction, message) return true end -- luacheck: ignore 212

---@param request pintle.request
---@param part any
---@return true?, pintle.error?
function methods:part(request, part) -- luacheck: ignore 212
  return nil, errors.new("invalid", "the host takes no parts of a result")
end

---Logs to the host; to stderr as long as the dialect is not known.
---@param level pintle.level
---@param message string
---@param data? any
---@param request? pintle.request what it is about
---@return true?, pintle.error?
function methods:log(level, message, data, request) return self:send_log(request, level, message, data) end

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

-- {====== Initializing ======

---Calls a function of the author's. An error that it raises must not leave a plugin half begun or half ended.
---@private
---@return any result, pintle.error|table|string? err
function methods:guarded(fn, ...)
  local ok, result, err = xpcall(fn, function(raised)
    self:report(debug.traceback(tostring(raised), 2))
    return raised
  end, ...)
  if ok then return result, err end
  if type(result) == "table" and result.message then return nil, result end
  return nil, errors.new("invalid", "Internal error: " .. tostring(result), { code = jsonrpc.INTERNAL_ERROR })
end

local function run_initializers(self)
  for _, fn in ipairs(self.plugin.initializers) do
    local result, err = self:guarded(fn, self.config, self)
    if not result and err ~= nil then return nil, err end
  end
  return true
end

local function refuse(kind, what)
  return nil, errors.new(kind, "Invalid Request: the plugin is " .. what, { code = jsonrpc.INVALID_REQUEST })
end

---Calls the functions of `on_initialize`, once.
---@param config? table default: the configuration of the command line
---@return true?, pintle.error|table|string? err
function methods:initialize(config)
  if self.phase ~= "new" then return refuse("invalid", "initialized already") end
  local before = self.config
  self.phase, self.config = "beginning", config or before
  local ok, err = run_initializers(self)
  if self.phase == "beginning" then self.phase = ok and "ready" or "new" end
  if ok then self.has_begun = true else self.config = before end
  for event in pairs(self.waiting) do event:set() end
  self.waiting = {}
  return ok, err
end

---Initializes the plugin if no handshake has done it. Waits if another request is doing it.
---@private
---@return true?, pintle.error|table|string? err
function methods:begin()
  while self.phase == "beginning" do
    local event = loop.event()
    self.waiting[event] = true
    local _, err = event:wait()
    self.waiting[event] = nil
    if err then return nil, err end
  end
  if self.phase == "over" then return refuse("closed", "shutting down") end
  if self.phase == "new" then return self:initialize() end
  return true
end

-- }======

-- {====== Serving ======

local function add_handlers(self, dialect)
  for method, handler in pairs(dialect.plugin.handlers(self)) do
    if self.plugin.methods[method] then
      self:report(("method %q is handled by the dialect %s, not by the plugin"):format(method, dialect.name))
    end
    self.peer:on(method, handler)
  end
  if dialect.plugin.admit then
    self.peer:otherwise(function(params, request) return work.refuse(self, params, request) end)
  end
end

local function speak(self, dialect)
  local own = dialect.plugin
  self.dialect = dialect
  self.send_log, self.progress, self.part = own.log, own.progress, own.part
  if own.stderr_line then stdout.fold_lines(own.stderr_line) end
  local ok, err = self.peer:adopt(dialect)
  add_handlers(self, dialect)
  return ok, err
end

local function recognise(self)
  self.peer:on_first(function(peer, method, params)
    local stream = peer.stream
    local declared = self.plugin.manifest.dialects
    local dialect = dialects.recognise(method, params, stream:framing(), stream:others(), declared)
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
---@field dialect? pintle.dialect default: recognised by the first message
---@field config? table
---@field drain? number seconds for requests that are being handled when input ends: 600
---@field limits? pintle.peer.limits

local function open(self, options)
  local dialect = options.dialect or {}
  return peers.open {
    read = options.read, write = options.write, name = self.plugin.manifest.name, limits = options.limits,
    framing = dialect.framing or "auto", ids = dialect.ids, extra = dialect.extra, header = dialect.header,
    others = not options.dialect, answer_noise = true, ordered = self.plugin.is_ordered,
    explain = function(peer, err) ending.of_input(self, peer, err) end,
    on_error = function(err, traceback, method)
      self:report(("%s failed: %s"):format(method, traceback or tostring(err)))
    end,
  }
end

-- `phase` is "new", "beginning", "ready" or "over"; `waiting` has the events of operations that wait for "ready";
-- `found` is for `program.check`.
local function new(plugin, options)
  return setmetatable({
    plugin = plugin, operations = plugin.manifest.operations, config = options.config or {}, capabilities = {},
    state = {}, found = {}, drain = options.drain or DRAIN, phase = "new", waiting = {}, ended = loop.event(),
  }, metatable)
end

---Serves until the host asks for the end, or closes its end of the pipe.
---@param plugin pintle.plugin
---@param options pintle.server.options
---@return integer? status of the process, pintle.error?
function servers.run(plugin, options)
  local self = new(plugin, options)
  local peer, err = open(self, options)
  if not peer then return nil, err end
  self.peer = peer
  peer.deserted = function(_, why) ending.of_input(self, peer, why) end
  peer.on_silence = function() ending.of_patience(self) end
  exits.after_sending(peer)
  add_methods(self)
  if options.dialect then speak(self, options.dialect) else recognise(self) end
  if not self.ending then self.ended:wait() end
  self.ending = self.ending or { status = 1 }
  return ending.finish(self)
end

-- }======

return servers
