-- A plugin at work: one conversation with a host, in the dialect that the host speaks.

local dialects = require "pintle.dialect"
local errors = require "pintle.error"
local json = require("pintle.core").json
local lazy = require "pintle.lazy"
local loop = require "pintle.loop"
local peers = require "pintle.peer"

local contexts = lazy "pintle.plugin.context"
local outcomes = lazy "pintle.plugin.outcome"
local requirement = lazy "pintle.plugin.requirement"
local tasks = lazy "pintle.task"

local INVALID_REQUEST, INTERNAL_ERROR = -32600, -32603
local DRAIN = 600 -- seconds for what is being handled when input ends
local STOPPING = 1 -- seconds for what is being handled to answer that it was stopped
local LAST_WORDS = 10 -- seconds for an on_shutdown, and for the last answers to be taken

---@class pintle.server
local methods = {}

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
  if not self.dialect then return self:note(level, message, data) end
  return self.dialect.plugin.log(self, request, level, message, data)
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

-- {====== Beginning ======

local function report(self, traceback)
  io.stderr:write(("%s: %s\n"):format(self.plugin.manifest.name, traceback))
end

-- What an author's function raises must not leave a plugin half begun or half ended.
local function guarded(self, fn, ...)
  local ok, result, err = xpcall(fn, function(raised)
    report(self, debug.traceback(tostring(raised), 2))
    return raised
  end, ...)
  if ok then return result, err end
  if type(result) == "table" and result.message then return nil, result end
  return nil, errors.new("invalid", "Internal error: " .. tostring(result), { code = INTERNAL_ERROR })
end

local function run_initializers(self)
  for _, fn in ipairs(self.plugin.initializers) do
    local result, err = guarded(self, fn, self.config, self)
    if not result and err ~= nil then return nil, err end
  end
  return true
end

---Begins, once, with what the host says the plugin is configured with.
---@param config table? what the command line says unless told
---@return true?, pintle.error|table|string? err
function methods:initialize(config)
  if self.phase ~= "new" then
    return nil, errors.new("invalid", "Invalid request: the plugin is initialized already", { code = INVALID_REQUEST })
  end
  self.phase = "beginning"
  self.config = config or self.config
  local ok, err = run_initializers(self)
  self.phase = ok and "ready" or "new"
  for waiter in pairs(self.waiting) do loop.wake(waiter) end
  self.waiting = {}
  return ok, err
end

local function stop_waiting(self, waiter)
  local was_waiting = self.waiting[waiter] ~= nil
  self.waiting[waiter] = nil
  return was_waiting
end

-- Without a handshake the first operation is the beginning; all others wait for it.
local function begin(self)
  while self.phase == "beginning" do
    local waiter = loop.waiter()
    self.waiting[waiter] = true
    local _, err = loop.wait(waiter, stop_waiting, self, waiter)
    if err then return nil, err end
  end
  if self.phase == "new" then return self:initialize() end
  return true
end

-- }======

-- {====== Working ======

local function refuse_when_over(self)
  if not self.is_over then return true end
  local message = "Invalid request: the plugin is shutting down"
  return nil, errors.new("closed", message, { code = INVALID_REQUEST })
end

local function find_required(self, requires, path)
  if #requires == 0 then return true end
  return requirement.check(self.found, requires, path)
end

local function prepare(self, operation, context)
  local ok, err = refuse_when_over(self)
  if ok then ok, err = begin(self) end
  local path = context.env and context.env.PATH
  local manifest = self.plugin.manifest
  if ok then ok, err = find_required(self, manifest.requires, path) end
  if ok then ok, err = find_required(self, manifest.operations[operation].requires, path) end
  return ok, err
end

---Carries out an operation.
---@param operation string
---@param args any
---@param context pintle.context
---@param request pintle.request
---@return pintle.outcome?, pintle.error|table|string? err
function methods:execute(operation, args, context, request)
  if context.timeout then request:set_deadline(context.timeout, ("Operation %q"):format(operation)) end
  local checked, err = self.plugin.manifest:check(operation, args)
  if not checked then return nil, err end
  local ok
  ok, err = prepare(self, operation, context)
  if not ok then return nil, err end
  local fn = self.plugin.functions[operation]
  local outcome
  outcome, err = outcomes.of(operation, fn(checked, contexts.new(self, request, operation, context)))
  local is_unwanted, why = request:cancelled()
  if is_unwanted then return nil, why end
  return outcome, err
end

local function handle_method(self, fn, params, request)
  local ok, err = refuse_when_over(self)
  if ok then ok, err = begin(self) end
  if not ok then return nil, err end
  return fn(params, contexts.new(self, request))
end

-- }======

-- {====== Ending ======

-- Every request but the one that asks for it is stopped.
local function stop_requests(self, asking)
  local err = errors.new("closed", "the plugin is shutting down")
  for i = self.peer.running_count, 1, -1 do
    local request = self.peer.running[i]
    if request ~= asking then request:stop(err) end
  end
  self.peer:idle(STOPPING, asking)
end

local function run_finalizers(self)
  for _, fn in ipairs(self.plugin.finalizers) do
    local task = tasks.start(guarded, self, fn, self)
    local _, err = task:await(LAST_WORDS)
    if err ~= nil then report(self, "on_shutdown: " .. tostring(err)) end
  end
end

---Ends all work: what is being handled is stopped, nothing is begun any more, and the functions of `on_shutdown` run.
---Only once; the process goes on until `exit`.
---@param request? pintle.request the one that asks for it
function methods:shutdown(request)
  if self.is_shut then return end
  self.is_shut, self.is_over = true, true
  stop_requests(self, request)
  if self.phase == "ready" then run_finalizers(self) end
end

local function refuse_all(self)
  self.peer.handlers = {}
  self.peer:otherwise(function() return refuse_when_over(self) end)
end

local function wake(self, ending)
  self.ending = self.ending or ending
  if not self.waiter then return end
  loop.wake(self.waiter, true)
  self.waiter = nil
end

---Ends the process as soon as the answers that are due are out.
---@param status? integer 0 unless told
function methods:exit(status)
  self.is_over = true
  refuse_all(self)
  wake(self, { status = status or 0 })
end

-- Nobody reads what is sent.
local function is_cut_off(self)
  local _, output = self.peer.stream:fds()
  return output == nil
end

local function time_needed(self)
  local longest = self.drain
  for i = 1, self.peer.running_count do
    local left = self.peer.running[i]:deadline()
    if left then longest = math.max(longest, left + STOPPING) end
  end
  return longest
end

-- Input has ended, but what was asked before that is answered. That nobody reads the answers may show meanwhile.
local function finish_work(self)
  local give_up = loop.now() + time_needed(self)
  repeat
    local is_done = self.peer:idle(math.min(1, give_up - loop.now()))
  until is_done or is_cut_off(self) or loop.now() >= give_up
end

local function close(self)
  local peer, status = self.peer, self.ending.status
  peer:idle(STOPPING)
  local is_sent = peer:drain(self.ending.is_input and self.drain or LAST_WORDS)
  if is_cut_off(self) or not is_sent then status = 1 end
  peer:finish(errors.new("closed", "the plugin has ended"))
  return status
end

-- }======

-- {====== Serving ======

local function speak(self, dialect)
  self.dialect = dialect
  self.peer:adopt(dialect)
  for method, handler in pairs(dialect.plugin.handlers(self)) do
    if self.plugin.methods[method] then
      report(self, ("method %q is handled by the dialect %s, not by the plugin"):format(method, dialect.name))
    end
    self.peer:on(method, handler)
  end
end

local function recognise(self)
  self.peer.first = function(peer, method, params)
    local dialect = dialects.recognise(method, params, peer.stream:framing())
    if dialect then speak(self, dialect) else recognise(self) end
  end
end

local function add_methods(self)
  for method, fn in pairs(self.plugin.methods) do
    self.peer:on(method, function(params, request) return handle_method(self, fn, params, request) end)
  end
end

local function end_of_input(self)
  return function(peer, err)
    peer:deafen(err)
    wake(self, { status = err.kind == "closed" and 0 or 1, is_input = true })
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
    extra = dialect and dialect.extra, header = dialect and dialect.header,
    answer_noise = true,
    explain = end_of_input(self),
    on_error = function(err, traceback, method)
      report(self, ("%s failed: %s"):format(method, traceback or tostring(err)))
    end,
  }
end

local function forget_waiter(self)
  local was_waiting = self.waiter ~= nil
  self.waiter = nil
  return was_waiting
end

local function wait_for_end(self)
  if self.ending then return end
  self.waiter = loop.waiter()
  loop.wait(self.waiter, forget_waiter, self)
  self.ending = self.ending or { status = 1 }
end

---Serves until the host says that it is enough, or its end of the pipe is closed.
---@param plugin pintle.plugin
---@param options pintle.server.options
---@return integer? status of the process, pintle.error?
function servers.run(plugin, options)
  local self = setmetatable({
    plugin = plugin, config = options.config or {}, capabilities = {}, state = {}, found = {},
    drain = options.drain or DRAIN, phase = "new", waiting = {}, is_over = false, is_shut = false,
  }, metatable)
  local err
  self.peer, err = open(self, options)
  if not self.peer then return nil, err end
  add_methods(self)
  if options.dialect then speak(self, options.dialect) else recognise(self) end
  wait_for_end(self)
  if self.ending.is_input then finish_work(self) end
  self:shutdown()
  return close(self)
end

return servers
