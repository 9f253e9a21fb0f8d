-- A plugin that serves: one connection to a host, in the dialect of the host, from the first message to the end.

local core = require "pintle.core"
local dialects = require "pintle.dialect"
local errors = require "pintle.error"
local jsonrpc = require "pintle.jsonrpc"
local lazy = require "pintle.lazy"
local loop = require "pintle.loop"
local peers = require "pintle.peer"

local tasks = lazy "pintle.task"
local work = lazy "pintle.plugin.work"

core.protect()

local DRAIN_TIMEOUT = 600 -- seconds for pending requests after input has ended
local STOP_TIMEOUT = 1 -- seconds for stopped requests to be answered
local POLL_INTERVAL = 0.5 -- seconds, where the system does not report the end of other processes
local LAST_TIMEOUT = 10 -- seconds for a function of on_shutdown, and for sending the last answers
local SHUTTING_DOWN = "the plugin is shutting down"

---@class pintle.server
---@field operations table<string, pintle.operation> those of the plugin
local methods = {}

-- Methods of a module that is loaded when one of them is first used.
for _, name in ipairs { "execute", "enter" } do
  methods[name] = function(...)
    methods[name] = work[name]
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

---Logs to stderr.
---@param level pintle.level
---@param message string
---@param data? any
---@return true
function methods:note(level, message, data)
  local ok, text = pcall(core.json.encode, data)
  self:report(("%s: %s%s"):format(level, message, data == nil and "" or " " .. (ok and text or tostring(data))))
  return true
end

-- The functions of the dialect replace the next three when it is known.

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

---Logs to the host; to stderr while the dialect is not known.
---@param level pintle.level
---@param message string
---@param data? any
---@param request? pintle.request the request that the entry is about
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

---@private an operation was declared or removed
function methods:operations_changed()
  local changed = self.dialect and self.dialect.plugin.operations_changed
  if changed then changed(self) end
end

-- }======

-- {====== Initializing ======

-- Calls a function of the author's. An error that it raises is reported and returned.
local function call_server_author_function(self, fn, ...)
  local ok, result, err = xpcall(fn, function(raised)
    self:report(debug.traceback(tostring(raised), 2))
    return raised
  end, ...)
  if ok then return result, err end
  if type(result) == "table" and result.message then return nil, result end
  return nil, errors.new("invalid", "Internal error: " .. tostring(result), { code = jsonrpc.INTERNAL_ERROR })
end

local function run_server_initializers(self)
  for _, fn in ipairs(self.plugin.initializers) do
    local result, err = call_server_author_function(self, fn, self.config, self)
    if not result and err ~= nil then return nil, err end
  end
  return true
end

local function refuse_in_server_phase(kind, state)
  return nil, errors.new(kind, "Invalid Request: the plugin is " .. state, { code = jsonrpc.INVALID_REQUEST })
end

---Calls the functions of `on_initialize`, once.
---@param config? table default: the configuration of the command line
---@return true?, pintle.error|table|string? err
function methods:initialize(config)
  if self.phase ~= "new" then return refuse_in_server_phase("invalid", "already initialized") end
  local before = self.config
  self.phase, self.config = "beginning", config or before
  local ok, err = run_server_initializers(self)
  if self.phase == "beginning" then self.phase = ok and "ready" or "new" end
  if ok then self.has_begun = true else self.config = before end
  for event in pairs(self.waiting) do event:set() end
  self.waiting = {}
  return ok, err
end

---Initializes the plugin if the handshake has not done it. Waits if another request is doing it.
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
  if self.phase == "over" then return refuse_in_server_phase("closed", "shutting down") end
  if self.phase == "new" then return self:initialize() end
  return true
end

-- }======

-- {====== Shutting down ======

-- Stops every request except `asking`.
local function stop_server_requests(self, message, asking)
  local err = errors.new("closed", message)
  for _, request in ipairs(self.peer:requests()) do
    if request ~= asking then request:stop(err) end
  end
end

---Ends all work, once: stops and refuses requests, and calls the functions of `on_shutdown`. The process runs until
---`exit`.
---@param request? pintle.request the request for the shutdown, which is not stopped
function methods:shutdown(request)
  if self.is_shut then return end
  self.is_shut, self.phase = true, "over"
  stop_server_requests(self, SHUTTING_DOWN, request)
  self.peer:wait_idle(STOP_TIMEOUT, request)
  for _, fn in ipairs(self.has_begun and self.plugin.finalizers or {}) do
    local _, err = tasks.start(call_server_author_function, self, fn, self):await(LAST_TIMEOUT)
    if err ~= nil then self:report("on_shutdown: " .. tostring(err)) end
  end
end

local function set_server_ending(self, ending)
  self.ending = self.ending or ending
  self.ended:set(true)
  local on_end = self.dialect and self.dialect.plugin.ended
  if on_end then on_end(self) end
end

---Ends the process when all answers are sent.
---@param status? integer default: 0
function methods:exit(status)
  self.phase = "over"
  self.peer:remove_handlers()
  self.peer:on_unknown(function() return self:begin() end) -- which refuses
  set_server_ending(self, { status = status or 0 })
end

-- Input has ended, or cannot be read.
local function end_server_input(self, peer, err)
  peer:fail_calls(err)
  set_server_ending(self, { status = err.kind == "closed" and 0 or 1, is_input = true })
end

-- }======

-- {====== Ending with another process ======

-- The host may have ended while another process still holds its pipes. `self.following` is a watcher with `server` and
-- `pid`, and with a `descriptor` that is readable when the process has ended; or with a `timer` that polls, where the
-- system has no such descriptor.

local function stop_server_following(self)
  local following = self.following
  if not following then return end
  self.following, self.peer.receive_while_busy = nil, nil
  if following.timer then loop.cancel(following.timer) end
  if following.descriptor then
    loop.unwatch(following.descriptor:fileno(), following)
    following.descriptor:close()
  end
end

local function on_server_followed_end(following)
  local self = following.server
  if self.following ~= following then return end
  stop_server_following(self)
  self:note("warn", ("process %d, which it serves, has ended"):format(following.pid))
  set_server_ending(self, { status = 1 })
  self.ending.is_deserted = true
  stop_server_requests(self, "the process to be answered has ended")
end

local function poll_server_followed(following)
  if not core.alive(following.pid) then return on_server_followed_end(following) end
  following.timer = loop.after(POLL_INTERVAL, poll_server_followed, following)
end

-- A process that has ended already is noticed in the next turn of the loop, too.
local function watch_server_followed(following)
  local descriptor = core.pidfd(following.pid)
  if descriptor and loop.watch(descriptor:fileno(), "r", following) then
    following.descriptor = descriptor
    return
  end
  if descriptor then descriptor:close() end
  following.timer = loop.after(0, poll_server_followed, following)
end

---Ends with another process, usually the host: requests are stopped, the functions of `on_shutdown` run, and the status
---is 1. Where the system does not report the end of other processes, it is polled every half second. A second call
---replaces the process.
---@param pid any the process id that the host has sent
---@return true?, pintle.error? err of the kind "invalid" if it is no process id
function methods:exit_with(pid)
  if math.type(pid) ~= "integer" or pid <= 0 or pid > 0x7FFFFFFF then
    return nil, errors.new("invalid", "a process id expected, got " .. tostring(pid))
  end
  stop_server_following(self)
  local peer, following = self.peer, { server = self, pid = pid, on_ready = on_server_followed_end }
  self.following = following
  watch_server_followed(following)
  -- While a handler computes without yielding, the loop does not turn, but `receive_while_busy` is called.
  local receive_while_busy = peer.receive_while_busy
  function peer.receive_while_busy()
    receive_while_busy(peer)
    if not core.alive(pid) then on_server_followed_end(following) end
  end
  return true
end

-- }======

-- {====== The end ======

local function has_server_open_output(self)
  local _, output = self.peer.stream:fds()
  return output ~= nil
end

-- Whether the other end of the output is closed, which shows before anything is written: its descriptor is readable.
local function is_server_output_deserted(self)
  local _, output = self.peer.stream:fds()
  return output ~= nil and core.poll(0, output, "w") == "rw"
end

-- When pending requests are stopped, counted from the end of input.
local function server_drain_deadline(self)
  if self.give_up then return self.give_up end
  local longest = self.drain
  for _, request in ipairs(self.peer:requests()) do
    local left = request:deadline()
    if left then longest = math.max(longest, left + STOP_TIMEOUT) end
  end
  self.give_up = loop.now() + longest
  return self.give_up
end

-- Input has ended. Pending requests are still answered, unless the output is closed at the other end.
local function drain_server_requests(self)
  local deadline = server_drain_deadline(self)
  repeat
    local is_done = self.peer:wait_idle(math.min(1, deadline - loop.now()))
    if not is_done and is_server_output_deserted(self) then self.ending.is_deserted = true end
  until is_done or not has_server_open_output(self) or self.ending.is_deserted or loop.now() >= deadline
end

-- Answers requests, and calls the functions of `on_shutdown`. Returns the exit status.
local function finish_server(self)
  local peer, ending = self.peer, self.ending
  if ending.is_input then drain_server_requests(self) end
  stop_server_following(self)
  self:shutdown()
  peer:wait_idle(STOP_TIMEOUT)
  local is_sent = not ending.is_deserted and peer:flush(ending.is_input and self.drain or LAST_TIMEOUT)
  local status = is_sent and has_server_open_output(self) and ending.status or 1
  peer:finish(errors.new("closed", "the plugin has ended"))
  return status
end

-- }======

-- {====== Serving ======

local function add_server_handlers(self, dialect)
  for method, handler in pairs(dialect.plugin.handlers(self)) do
    if self.plugin.methods[method] then
      self:report(("method %q is handled by the dialect %s, not by the plugin"):format(method, dialect.name))
    end
    self.peer:on(method, handler)
  end
  if dialect.plugin.may_handle then
    self.peer:on_unknown(function(params, request) return work.refuse(self, params, request) end)
  end
end

local function set_server_dialect(self, dialect)
  local own = dialect.plugin
  self.dialect = dialect
  self.send_log, self.progress, self.part = own.log, own.progress, own.part
  if own.stderr_line and self.fold_lines then self.fold_lines(own.stderr_line) end
  local ok, err = self.peer:adopt(dialect)
  add_server_handlers(self, dialect)
  return ok, err
end

local function recognise_server_dialect(self)
  self.peer:on_first(function(peer, method, params)
    local stream, declared = peer.stream, self.plugin.manifest.dialects
    local dialect = dialects.recognise(method, params, stream:framing(), stream:others(), declared)
    if dialect then return set_server_dialect(self, dialect) end
    recognise_server_dialect(self)
  end)
end

---@class pintle.server.options
---@field read pintle.descriptor
---@field write pintle.descriptor
---@field dialect? pintle.dialect default: recognised by the first message
---@field config? table
---@field drain? number seconds for pending requests after input has ended; default: 600
---@field limits? pintle.peer.limits
---@field fold_lines? fun(limit: integer) folds long lines of stderr, if that belongs to the plugin

local function open_server_peer(self, options)
  local dialect = options.dialect or {}
  local peer, err = peers.open {
    read = options.read, write = options.write, name = self.plugin.manifest.name, limits = options.limits,
    framing = dialect.framing or "auto", ids = dialect.ids, extra = dialect.extra, header = dialect.header,
    others = not options.dialect, answer_noise = true, ordered = self.plugin.is_ordered,
    explain = function(peer, err) end_server_input(self, peer, err) end,
    on_error = function(err, traceback, method)
      self:report(("%s failed: %s"):format(method, traceback or tostring(err)))
    end,
  }
  if not peer then return nil, err end
  function peer.deserted(_, why) end_server_input(self, peer, why) end
  -- Input has ended while a handler computes without yielding. It has as much time as one that waits.
  function peer.on_silence()
    if loop.now() >= server_drain_deadline(self) then stop_server_requests(self, SHUTTING_DOWN) end
  end
  peer:flush_at_exit()
  return peer
end

-- Private fields of a server: `phase` is "new", "beginning", "ready" or "over"; `waiting` has the events of requests
-- that wait for the end of "beginning"; `ended` is set when the plugin has to end; `ending` has the `status`, and
-- `is_input` if its input has ended, `is_deserted` if its output is closed at the other end; `found` is the cache of
-- `program.check`.

---Serves until the host asks the plugin to end, or closes the connection.
---@param plugin pintle.plugin
---@param options pintle.server.options
---@return integer? status of the process, pintle.error?
function servers.run(plugin, options)
  local self = setmetatable({
    plugin = plugin, operations = plugin.manifest.operations, config = options.config or {}, capabilities = {},
    state = {}, found = {}, fold_lines = options.fold_lines, drain = options.drain or DRAIN_TIMEOUT, phase = "new",
    waiting = {}, ended = loop.event(),
  }, metatable)
  local peer, err = open_server_peer(self, options)
  if not peer then return nil, err end
  self.peer, plugin.servers[self] = peer, true
  for method, fn in pairs(plugin.methods) do
    peer:on(method, function(params, request) return work.handle(self, fn, params, request) end)
  end
  if options.dialect then set_server_dialect(self, options.dialect) else recognise_server_dialect(self) end
  if not self.ending then self.ended:wait() end
  self.ending = self.ending or { status = 1 }
  local status = finish_server(self)
  plugin.servers[self] = nil
  return status
end

-- }======

return servers
