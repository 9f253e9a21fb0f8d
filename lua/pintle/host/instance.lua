-- One running process of a plugin: started, shaken hands with, spoken to in its dialect.

local connect = require "pintle.connect"
local core = require "pintle.core"
local errors = require "pintle.error"
local lazy = require "pintle.lazy"
local loop = require "pintle.loop"
local manifest = require "pintle.manifest"

core.protect()

local HANDSHAKE = 10 -- seconds
local TURN = 0.01 -- seconds that a manifest is read for until all else gets a turn
local AT_ONCE = { request = 0, eof = 0, term = 0.5 } -- seconds for each way of ending it

---@class pintle.instance: pintle.session
---@field dialect pintle.dialect
---@field manifest pintle.manifest
---@field dead pintle.error? why it is gone
---@field is_stopping boolean
local methods = {}

local metatable = { __name = "pintle.instance", __index = methods }

local instances = {}

---@param level pintle.level
---@param message string
---@param data any
function methods:log(level, message, data)
  if not self.shown[level] then return end
  self.logger:entry { plugin = self.name, source = "log", level = level, message = message, data = data }
end

---@private
function methods:say(source, level, message, data)
  self.logger:entry { plugin = self.name, source = source, level = level, message = message, data = data }
end

-- {====== Starting ======

local function check_sum(path, wanted)
  local sum, message = core.sha256(path)
  if not sum then return nil, errors.new("spawn", message) end
  if sum ~= wanted then
    return nil, errors.new("invalid", ("%s is not the expected file: its SHA-256 is %s"):format(path, sum))
  end
  return true
end

-- What a path in the command means is for the directory in which it is run to say.
local function find_program(spec)
  local name = spec.command[1]
  local is_relative = name:find "^[^/].*/" ~= nil
  return core.which(is_relative and spec.cwd and spec.cwd .. "/" .. name or name)
end

local function check_sums(spec)
  if not spec.sha256 then return true end
  local sums = spec.sha256
  if type(sums) == "string" then
    local path, message = find_program(spec)
    if not path then return nil, errors.new("spawn", message) end
    sums = { [path] = sums }
  end
  for path, wanted in pairs(sums) do
    local ok, err = check_sum(path, wanted)
    if not ok then return nil, err end
  end
  return true
end

local function connect_to(self, spec)
  local dialect = self.dialect
  return connect.open {
    command = spec.command, env = spec.env, inherit = spec.inherit, cwd = spec.cwd, name = self.name,
    ladder = spec.ladder, process_limits = spec.process_limits, limits = spec.limits,
    framing = dialect.framing, ids = dialect.ids, extra = dialect.extra, header = dialect.header,
    codes = dialect.codes, cancellation = dialect.cancellation, progress = dialect.progress,
    timeout = spec.timeout, spin = spec.spin,
    on_stderr = function(line) self:say("stderr", "info", line) end,
    on_noise = function(report) self:say("stdout", "warn", report.message, report.text) end,
    on_error = function(err, traceback, method)
      self:say("host", "error", ("handling its %s failed: %s"):format(method, traceback or tostring(err)))
    end,
    on_close = function(err) self:died(err) end,
  }
end

-- A handler that takes no context is one that no context is made for.
local function bound(self, handler)
  if debug.getinfo(handler, "u").nparams < 3 then return function(params) return handler(self, params) end end
  return function(params, ctx) return handler(self, params, ctx) end
end

local function install_all(self, handlers)
  for method, handler in pairs(handlers) do
    self.peer:on(method, bound(self, handler))
  end
end

local function install(self)
  install_all(self, self.dialect.host.handlers)
  install_all(self, self.dialect.host.defaults or {})
  for method, handler in pairs(self.handlers) do self.peer:on(method, handler) end
end

local function uninstall(self)
  for method in pairs(self.dialect.host.handlers) do self.peer:on(method, nil) end
  for method in pairs(self.dialect.host.defaults or {}) do self.peer:on(method, nil) end
end

-- The ways of a peer whose dialect says nothing of them.
local function usual_ways(peer)
  return {
    cancellation = peer.cancellation, progress = peer.progress, codes = {}, ids = "integer", extra = {},
    header = "Content-Length: ",
  }
end

---Goes on in another dialect with the same process. The one that it was started with has to be one without ways of its
---own.
---@param dialect pintle.dialect
function methods:speak(dialect)
  self.usual_ways = self.usual_ways or usual_ways(self.peer)
  local ways = {}
  for name, usual in pairs(self.usual_ways) do
    ways[name] = usual
    if dialect[name] ~= nil then ways[name] = dialect[name] end
  end
  assert(self.peer:adopt(ways))
  uninstall(self)
  self.dialect, self.execute, self.call_by_dialect, self.state = dialect, dialect.host.execute, dialect.host.call, {}
  install(self)
end

local function quote(text)
  local short = #text > 200 and text:sub(1, 200) .. "…" or text
  return short:gsub("%s+$", "")
end

---What is wrong with a handshake, told with what the plugin said instead.
---@param err pintle.error
---@return pintle.error
function methods:blame(err)
  local message = err.message
  if err.kind == "remote" then message = self.name .. " refused to start: " .. message end
  if err.noise and err.kind ~= "remote" then message = ("%s; it said: %s"):format(message, quote(err.noise)) end
  if not message:find(self.name, 1, true) then message = self.name .. ": " .. message end
  local copy = errors.new(err.kind, message)
  for name, value in pairs(err) do
    if copy[name] == nil then copy[name] = value end
  end
  copy.stderr = copy.stderr or self.peer.child.lines
  return copy
end

-- What does not keep it from being used.
local function warn(self, spec)
  for _, warning in ipairs(self.manifest.warnings) do self:say("host", "warn", "its manifest: " .. warning) end
  for _, requirement in ipairs(self.manifest.requires) do
    local command = type(requirement) == "table" and requirement.command
    local is_missing = type(command) == "string" and not core.which(command, spec.env and spec.env.PATH or nil)
    if is_missing then self:say("host", "warn", ("needs %s, which is not in the PATH"):format(command)) end
  end
end

-- Reading a long manifest ends at the deadline, and gives all else a turn now and then.
local function reading_until(deadline)
  local turn_at = core.now() + TURN
  return function()
    local now = core.now()
    if deadline and now >= deadline then
      return errors.new("timeout", "reading its manifest takes longer than the handshake may")
    end
    if now < turn_at then return nil end
    local _, err = loop.sleep(0)
    turn_at = core.now() + TURN
    return err
  end
end

local function shake_hands(self, spec)
  local deadline = core.now() + self.handshake_timeout
  local told, err, again = self.dialect.host.open(self)
  if told then
    self.manifest, err = manifest.read(told, reading_until(deadline))
    if self.told == nil then self.told = told end
  end
  if not self.manifest then return nil, self:blame(err), again end
  warn(self, spec)
  return true
end

---Takes on what the plugin has become. What cannot be understood leaves it as it was.
---@param told table
function methods:renew(told)
  local renewed, err = manifest.read(told)
  if not renewed then return self:say("host", "warn", err.message) end
  self.manifest = renewed
  warn(self, self.spec)
  self.on_renewal(self)
end

-- Whatever goes wrong before, also by raising, the process does not outlive it.
local function unless_ready(self)
  return setmetatable({}, {
    __close = function()
      if not self.manifest and self.peer then self:kill() end
    end,
  })
end

---@class pintle.instance.surroundings
---@field dialect pintle.dialect
---@field logger pintle.logger
---@field on_start fun(instance: pintle.instance) told when its process runs, before hands are shaken
---@field on_death fun(instance: pintle.instance) told when it has ended without having been asked to
---@field on_renewal fun(instance: pintle.instance) told when it has another manifest

-- One that takes nothing any more is as good as dead.
local function be_deserted(self, peer, why)
  if self.is_stopping then return peer:deafen(why) end
  why.stderr, why.noise = peer.child.lines, peer.noise
  peer:finish(why)
end

local function begin(self, spec, surroundings)
  local err
  self.peer, err = connect_to(self, spec)
  if not self.peer then return nil, err end
  self.peer.deserted = function(peer, why) be_deserted(self, peer, why) end
  lazy.load_all_but "plugin"
  surroundings.on_start(self)
  install(self)
  return true
end

-- A process that has not survived the first words makes way for another, which hears others.
local function begin_again(self, spec, surroundings)
  self.peer.ladder = AT_ONCE
  self.peer:close()
  if self.is_stopping then return nil, self.dead end
  self.dead, self.running = nil, {}
  return begin(self, spec, surroundings)
end

local function open(self, spec, surroundings)
  local _ <close> = unless_ready(self)
  local ok, err = begin(self, spec, surroundings)
  if not ok then return nil, err end
  local again
  ok, err, again = shake_hands(self, spec)
  if ok or not again or self.is_stopping then return ok, err end
  ok, err = begin_again(self, spec, surroundings)
  if not ok then return nil, err end
  return shake_hands(self, spec)
end

---@param spec table as `settings.plugin` made it
---@param surroundings pintle.instance.surroundings
---@return pintle.instance?, pintle.error?
function instances.start(spec, surroundings)
  local ok, err = check_sums(spec)
  if not ok then return nil, err end
  spec.memory = spec.memory or {}
  local self = setmetatable({
    spec = spec,
    name = spec.name,
    config = spec.config,
    options = spec.options or {},
    described = spec.described,
    cwd = spec.cwd,
    extensions = spec.extensions,
    handshake_timeout = spec.handshake_timeout or HANDSHAKE,
    dialect = surroundings.dialect,
    logger = surroundings.logger,
    verbosity = surroundings.logger.verbosity,
    shown = surroundings.logger.shown,
    memory = spec.memory,
    handlers = spec.handlers,
    on_death = surroundings.on_death,
    on_renewal = surroundings.on_renewal,
    execute = surroundings.dialect.host.execute,
    call_by_dialect = surroundings.dialect.host.call,
    running = {},
    state = {},
    is_stopping = false,
  }, metatable)
  ok, err = open(self, spec, surroundings)
  if not ok then return nil, err end
  return self
end

-- }======

---@private
function methods:died(err)
  self.dead = err
  self.peer.child:close()
  if not self.is_stopping then self.on_death(self) end
end

---Makes a call that is no operation.
---@param method string
---@param params any
---@param options { timeout?: number|false, on_progress?: fun(...) }
---@return any result, pintle.error?
function methods:call(method, params, options)
  if self.call_by_dialect then return self.call_by_dialect(self, method, params, options) end
  return self.peer:call(method, params, options)
end

-- The end of its input follows at once: there are plugins that wait for it.
local function ask(self, seconds)
  local ok, err = pcall(self.dialect.host.close, self, seconds)
  if not ok then self:say("host", "error", "asking it to end failed: " .. tostring(err)) end
  self.peer:close_output()
end

---Stops it, politely at first. The first who says so does it.
function methods:stop()
  if self.is_stopping then return end
  self.is_stopping = true
  self.peer.ask = function(seconds) ask(self, seconds) end
  self.peer:close()
end

---Stops it at once, for one that does not keep to the protocol.
function methods:kill()
  if self.is_stopping then return end
  self.is_stopping = true
  self.peer.ladder = AT_ONCE
  self.peer:close()
end

return instances
