-- One process of a plugin: starts it, does the handshake, and talks to it in its dialect.

local connect = require "pintle.connect"
local core = require "pintle.core"
local errors = require "pintle.error"
local lazy = require "pintle.lazy"
local loop = require "pintle.loop"
local manifest = require "pintle.manifest"

core.protect()

local HANDSHAKE_TIMEOUT = 10 -- seconds
local READ_SLICE = 0.01 -- seconds of reading a manifest before the loop turns
local KILL_TIMEOUTS = { request = 0, eof = 0, term = 0.5 } -- seconds for each step

---@class pintle.instance: pintle.session
---@field dialect pintle.dialect
---@field manifest pintle.manifest
---@field supervisor pintle.supervisor
---@field way pintle.way? to the machine or container where it runs, if not on this machine
---@field dead pintle.error? why the process has ended
---@field is_stopping boolean
local methods = {}

local metatable = { __name = "pintle.instance", __index = methods }

local instances = {}

---@private
function methods:say(source, level, message, data) self.logger:add(self.name, source, level, message, data) end

---@param level pintle.level
---@param message string
---@param data any
function methods:log(level, message, data)
  self.logger:add(self.name, "log", level, message, data)
end

-- {====== Starting ======

-- The checksum of the program itself is checked by core.spawn, on the descriptor that it executes.
local function check_instance_sha256(sums)
  for path, wanted in pairs(type(sums) == "table" and sums or {}) do
    local sum, message = core.sha256(path)
    if not sum then return nil, errors.new("spawn", message) end
    if sum ~= wanted then
      return nil, errors.new("invalid", ("%s is not the expected file: its SHA-256 is %s"):format(path, sum))
    end
  end
  return true
end

local function find_instance_sandbox(spec)
  if not spec.sandbox then return spec.sandbox end
  local manifest_json = type(spec.discovered_manifest) == "table" and spec.discovered_manifest or {}
  local sandbox, message = require("pintle.process.sandbox").grant(spec.sandbox, manifest_json.sandbox)
  if message then return nil, errors.new("invalid", message) end
  return sandbox
end

local function open_instance_peer(self, spec)
  local dialect, open = self.dialect, spec.open or connect.open
  return open {
    command = spec.command, env = spec.env, inherit = spec.inherit, cwd = spec.cwd, name = self.name,
    stop_timeouts = spec.stop_timeouts, process_limits = spec.process_limits, limits = spec.limits,
    framing = dialect.framing, ids = dialect.ids, extra = dialect.extra, header = dialect.header,
    codes = dialect.codes, cancellation = dialect.cancellation, progress = dialect.progress,
    timeout = spec.timeout, spin = spec.spin, sandbox = self.sandbox, ordered = spec.ordered, via = self.way,
    on_started = self.way and function() self.connected:set(true) end or nil,
    sha256 = type(spec.sha256) == "string" and spec.sha256 or nil,
    on_stderr = function(line) self:say("stderr", "info", line) end,
    on_noise = function(report) self:say("stdout", "warn", report.message, report.text) end,
    on_error = function(err, traceback, method)
      self:say("host", "error", ("handler of %s failed: %s"):format(method, traceback or tostring(err)))
    end,
    on_close = function(err)
      self.dead = err
      if self.way then self.connected:set(nil, err) end
      self.peer.child:close()
      if not self.is_stopping then self.supervisor:process_died(self) end
    end,
  }
end

-- The peer makes no context for a handler with one parameter, so the bound one has one parameter, too.
local function bind_instance_handler(self, handler)
  if debug.getinfo(handler, "u").nparams < 3 then return function(params) return handler(self, params) end end
  return function(params, ctx) return handler(self, params, ctx) end
end

-- The user's handlers may replace those in `defaults`.
local function add_instance_handlers(self)
  local host = self.dialect.host
  for _, handlers in ipairs { host.handlers, host.defaults } do
    for method, handler in pairs(handlers) do self.peer:on(method, bind_instance_handler(self, handler)) end
  end
  for method, handler in pairs(self.handlers) do self.peer:on(method, handler) end
end

local function remove_instance_handlers(self)
  local host = self.dialect.host
  for _, handlers in ipairs { host.handlers, host.defaults } do
    for method in pairs(handlers) do self.peer:on(method, nil) end
  end
end

local function set_instance_dialect(self, dialect)
  self.dialect, self.execute, self.call_by_dialect, self.state = dialect, dialect.host.execute, dialect.host.call, {}
end

---Continues with the same process in another dialect. The first dialect must not have set any of these options.
---@param dialect pintle.dialect
function methods:speak(dialect)
  self.default_ways = self.default_ways or {
    cancellation = self.peer.cancellation, progress = self.peer.progress, codes = {}, ids = "integer", extra = {},
    header = "Content-Length: ",
  }
  local ways = {}
  for name, default in pairs(self.default_ways) do
    ways[name] = default
    if dialect[name] ~= nil then ways[name] = dialect[name] end
  end
  assert(self.peer:adopt(ways))
  remove_instance_handlers(self)
  set_instance_dialect(self, dialect)
  add_instance_handlers(self)
end

local function quote_instance_noise(text)
  local short = #text > 200 and text:sub(1, 200) .. "…" or text
  return short:gsub("%s+$", "")
end

---The error of a failed handshake: names the plugin, and quotes output that is no message.
---@param err pintle.error
---@return pintle.error
function methods:blame(err)
  local message = err.message
  if err.kind == "remote" then
    message = self.name .. " refused to start: " .. message
  elseif err.noise then
    message = ("%s; it said: %s"):format(message, quote_instance_noise(err.noise))
  end
  if not message:find(self.name, 1, true) then message = self.name .. ": " .. message end
  local copy = errors.new(err.kind, message, err)
  copy.stderr = copy.stderr or self.peer.child.lines
  return copy
end

-- Warnings that the last manifest of the plugin had as well, in this process or another, are not repeated.
local function log_new_instance_warnings(self)
  local known, warnings = self.persistent.warnings or {}, {}
  for _, warning in ipairs(self.manifest.warnings) do
    warnings[warning] = true
    if not known[warning] then self:say("host", "warn", "its manifest: " .. warning) end
  end
  self.persistent.warnings = warnings
end

-- The PATH of the far end is not known here.
local function log_instance_warnings(self)
  local env = self.spec.env
  log_new_instance_warnings(self)
  if self.way then return end
  for _, requirement in ipairs(self.manifest.requires) do
    local command = type(requirement) == "table" and requirement.command
    local is_missing = type(command) == "string" and not core.which(command, env and env.PATH or nil)
    if is_missing then self:say("host", "warn", ("needs %s, which is not in the PATH"):format(command)) end
  end
end

-- Called while a long manifest is read: lets the loop turn now and then, and stops reading at the deadline.
local function limit_manifest_reading(deadline)
  local turn_at = core.now() + READ_SLICE
  return function()
    local now = core.now()
    if now >= deadline then
      return errors.new("timeout", "reading its manifest takes longer than the handshake may")
    end
    if now < turn_at then return nil end
    local _, err = loop.sleep(0)
    turn_at = core.now() + READ_SLICE
    return err
  end
end

local function do_instance_handshake(self)
  local deadline = core.now() + self.handshake_timeout
  local description, err, again = self.dialect.host.open(self)
  if description then
    self.manifest, err = manifest.read(description, limit_manifest_reading(deadline))
    if self.raw_manifest == nil then self.raw_manifest = description end
  end
  if not self.manifest then return nil, self:blame(err), again end
  log_instance_warnings(self)
  return true
end

---Replaces the manifest. One that cannot be read is logged, and changes nothing.
---@param description table
function methods:update_manifest(description)
  local renewed, err = manifest.read(description)
  if not renewed then return self:say("host", "warn", err.message) end
  self.manifest, self.supervisor.manifest = renewed, renewed
  log_instance_warnings(self)
end

-- The process reads no input any more, so it counts as dead.
local function on_instance_deserted(self, peer, why)
  if self.is_stopping then return peer:fail_calls(why) end
  why.stderr, why.noise = peer.child.lines, peer.noise
  peer:finish(why)
end

local function start_instance_process(self)
  local err
  self.peer, err = open_instance_peer(self, self.spec)
  if not self.peer then return nil, err end
  for _, gap in ipairs(self.peer.child.gaps or {}) do
    self:say("host", "warn", "its sandbox does not restrict " .. gap)
  end
  self.peer.deserted = function(peer, why) on_instance_deserted(self, peer, why) end
  lazy.load_all_but "plugin"
  self.supervisor:process_started(self)
  add_instance_handlers(self)
  return true
end

-- {====== The connection to the far end ======

-- Some servers refuse connections when many are being opened at once, so plugins take turns.
---@class pintle.host.turns
---@field taken integer
---@field waiting pintle.event[]

local turns = {} ---@type table<string, pintle.host.turns> by the client's words

local function end_turn(turn)
  local queue = turns[turn.client]
  local first = table.remove(queue.waiting, 1)
  if first then return first:set(true) end
  queue.taken = queue.taken - 1
  if queue.taken == 0 then turns[turn.client] = nil end
end

local turn_metatable = { __close = end_turn }

-- Waits in the queue. A wait that was cancelled when its turn had come passes the turn on.
local function wait_for_turn(queue, turn)
  local event = loop.event()
  table.insert(queue.waiting, event)
  local ok, err = event:wait()
  if ok then return turn end
  for i, waiting in ipairs(queue.waiting) do
    if waiting == event then return nil, err, table.remove(queue.waiting, i) end
  end
  end_turn(turn)
  return nil, err
end

-- Returns a turn, which ends when it is closed.
local function take_turn(way)
  local turn = setmetatable({ client = table.concat(way.client, "\0") }, turn_metatable)
  local queue = turns[turn.client] or { taken = 0, waiting = {} }
  turns[turn.client] = queue
  if queue.taken >= (way.at_once or math.huge) then return wait_for_turn(queue, turn) end
  queue.taken = queue.taken + 1
  return turn
end

-- Returns when the program runs at the far end, so the time that the way takes does not count as time of the handshake.
local function connect_instance_process(self)
  if not self.way then return start_instance_process(self) end
  local turn <close>, err = take_turn(self.way)
  if not turn then return nil, err end
  if self.supervisor:is_given_up() then return nil, errors.new("closed", self.name .. " was stopped") end
  self.connected = loop.event()
  local ok
  ok, err = start_instance_process(self)
  if not ok then return nil, err end
  return self.connected:wait()
end

-- }======

-- For a process that did not survive the first message: the dialect tries another message with a new one.
local function replace_instance_process(self)
  self.peer.stop_timeouts = KILL_TIMEOUTS
  self.peer:close()
  if self.is_stopping then return nil, self.dead end
  self.dead, self.running = nil, {}
  return connect_instance_process(self)
end

-- Whatever fails or raises before the manifest is read, the process is killed.
local cleanup = {
  __close = function(guard)
    local self = guard.instance
    if not self.manifest and self.peer then self:kill() end
  end,
}

local function open_instance(self)
  local _ <close> = setmetatable({ instance = self }, cleanup)
  local ok, err = connect_instance_process(self)
  if not ok then return nil, err end
  local again
  ok, err, again = do_instance_handshake(self)
  if ok or not again or self.is_stopping then return ok, err end
  ok, err = replace_instance_process(self)
  if not ok then return nil, err end
  return do_instance_handshake(self)
end

---@param supervisor pintle.supervisor
---@param way? pintle.way
---@return pintle.instance?, pintle.error?
function instances.start(supervisor, way)
  local spec, logger = supervisor.spec, supervisor.logger
  local ok, err = check_instance_sha256(spec.sha256)
  if not ok then return nil, err end
  local sandbox
  sandbox, err = find_instance_sandbox(spec)
  if err then return nil, err end
  local self = setmetatable({
    supervisor = supervisor, spec = spec, name = spec.name, config = spec.config, options = spec.options or {},
    discovered_manifest = spec.discovered_manifest, cwd = spec.cwd, extensions = spec.extensions,
    sandbox = sandbox, way = way, place = way and way.place,
    persistent = spec.persistent,
    handlers = spec.handlers, handshake_timeout = spec.handshake_timeout or HANDSHAKE_TIMEOUT,
    logger = logger, verbosity = logger.verbosity, running = {}, is_stopping = false,
  }, metatable)
  set_instance_dialect(self, supervisor.dialect)
  ok, err = open_instance(self)
  supervisor.opening[self] = nil
  return ok and self or nil, err
end

-- }======

---Makes a call that is no operation.
---@param method string
---@param params any
---@param options { timeout?: number|false, on_progress?: fun(...) }
---@return any result, pintle.error?
function methods:call(method, params, options)
  if self.call_by_dialect then return self.call_by_dialect(self, method, params, options) end
  return self.peer:call(method, params, options)
end

---Stops it: asks it to end in its dialect, and closes its input at once, since some plugins wait for that.
function methods:stop()
  if self.is_stopping then return end
  self.is_stopping = true
  function self.peer.ask(seconds)
    local ok, err = pcall(self.dialect.host.close, self, seconds)
    if not ok then self:say("host", "error", "asking it to end failed: " .. tostring(err)) end
    self.peer:close_output()
  end
  self.peer:close()
end

---Stops it at once, for a process that does not follow the protocol.
function methods:kill()
  if self.is_stopping then return end
  self.is_stopping = true
  self.peer.stop_timeouts = KILL_TIMEOUTS
  self.peer:close()
end

return instances
