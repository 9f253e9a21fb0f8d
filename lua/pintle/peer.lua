-- One conversation: calls and notifications in both directions at once, over any pair of descriptors. This file has the
-- peer, its options, and the objects of its calls and requests; `pintle.peer.policy` has the decisions.

local core = require "pintle.core"
local errors = require "pintle.error"
local loop = require "pintle.loop"
local options = require "pintle.options"
local policy = require "pintle.peer.policy"
local tasks = require "pintle.task"

local CALL_TIMEOUT = 60 -- seconds for a call
local LINGER_TIMEOUT = 60 -- seconds for requests that are still handled when the input has ended
local MOST_REQUESTS = 256 -- running handlers
local MOST_BACKLOG = 1024 -- messages in the backlog
local CLOSE_TIMEOUT = 1 -- seconds to send what is queued when it is closed
local GRACE = 0.2 -- seconds in which a handler that computes may notice that it was stopped
local CLEANUP_TIME = 1 -- seconds in which it may clean up; then the watchdog raises before every instruction
local INVALID_REQUEST = -32600

---The codes of errors that have none, by kind.
local DEFAULT_CODES = { cancelled = -32800, timeout = -32001, requirement = -32002, invalid = -32602, full = -32000 }

core.protect()

---How a protocol cancels a request.
---@class pintle.cancellation
---@field method string
---@field params fun(id: integer, reason: string?): table what is sent
---@field id fun(params: any): any the id in received params; nil ignores the notification
---@field is_unanswered? boolean whether a cancelled request gets no answer

---How a protocol reports progress: a token is sent in the params, and comes back with each report.
---@class pintle.progress
---@field method string
---@field attach fun(params: any, token: integer): any the params with the token
---@field report fun(params: any): any, ... the token, and the arguments of the callback

---@class pintle.peer.limits: pintle.stream.limits
---@field requests? integer handlers that run at once; those that wait for the other side do not count; default: 256
---@field backlog? integer messages that wait for a handler to end before reading pauses; default: 1024, and 16 MiB

---The conventions of a protocol. A `pintle.dialect` has these fields.
---@class pintle.conventions
---@field cancellation? pintle.cancellation|false default: LSP's
---@field progress? pintle.progress default: LSP's
---@field codes? table<string, integer> codes of errors without a code, by kind
---@field ids? "integer"|"string" how own ids are sent
---@field extra? table<string, string|number|boolean> members of every message beside jsonrpc
---@field header? string what is written before the length
---@field ordered? boolean received objects keep the order of their members, with metatables like those of `json.order`
---@field big_integers? boolean integers of more than 64 bits keep their digits: docs/json.md
---@field repeated? string a member of params and results: messages share its table while its text stays the same

---@class pintle.peer.options: pintle.stream.options, pintle.conventions
---@field name? string the name of the other side in error messages
---@field timeout? number|false seconds for a call that has no timeout of its own; default: 60
---@field limits? pintle.peer.limits
---@field answer_noise? boolean answer malformed input with an error, as a server does; default: true on stdio and for
---peers of a listener, false otherwise
---@field on_noise? fun(report: pintle.report) called for malformed input
---@field on_error? fun(err: any, traceback: string?, method: string) called when a handler raises or returns a value
---that cannot be sent
---@field on_close? fun(err: pintle.error) called when the conversation has ended
---@field explain? fun(peer: pintle.peer, err: pintle.error) finds the reason why it ended, and calls `peer:finish(err)`
---@field traceback? boolean sends the traceback of an error that a handler raises
---@field spin? number seconds to poll for an answer before the loop sleeps; default: 0
---@field linger? number seconds for requests that are still handled when the input has ended; default: 60

---@alias pintle.handler fun(params: any, ctx: pintle.request): any, any

---@class pintle.peer
---@field stream pintle.core.peer
---@field handlers table<string, pintle.handler>
---@field ended pintle.error|false why the conversation is over
---@field noise string? the last malformed input
---@field child pintle.child? the program at the other end, if it was started for this
---@field stop fun(self: pintle.peer)? ends that program
local methods = { call = core.call, notify = core.notify }

local metatable = { __name = "pintle.peer", __index = methods }
function metatable:__close() self:close() end

---@class pintle.peer.module
local peers = {}

---@type pintle.cancellation
local LSP_CANCELLATION = {
  method = "$/cancelRequest",
  params = function(id) return { id = id } end,
  id = function(params) return params.id end,
}

---@type pintle.progress
local LSP_PROGRESS = {
  method = "$/progress",
  attach = function(params, token)
    local copy = { workDoneToken = token }
    for name, value in pairs(params or {}) do copy[name] = value end
    return copy
  end,
  report = function(params) return params.token, params.value end,
}

-- {====== Requests ======

---A request or notification that is being handled.
---@class pintle.request: pintle.core.context
---@field peer pintle.peer
---@field id pintle.id? nil for a notification
---@field method string
---@field due number? the deadline, by the clock of the loop
---@field must_abort boolean? whether the watchdog raises before every instruction
---@field is_uncancellable boolean? whether the other side cannot cancel it
---@field on_finish? fun() called when the handler has ended, before the answer is queued
local request_methods = {}

local request_metatable = { __name = "pintle.request", __index = request_methods }

---Whether the answer is no longer needed: the request was cancelled or timed out, or the conversation has ended.
---`why` is the error to return.
---@return boolean, pintle.error? why
function request_methods:cancelled()
  if not self.stopped and self.due and loop.now() >= self.due then self:expire() end
  return self.stopped ~= nil, self.stopped
end

---Seconds until the deadline; nil if there is none.
---@return number?
function request_methods:deadline() return self.due and math.max(self.due - loop.now(), 0) end

---Calls the peer that sent the request.
---@return any result, pintle.error?
function request_methods:call(method, params, given) return self.peer:call(method, params, given) end

---@return true?, pintle.error?
function request_methods:notify(method, params) return self.peer:notify(method, params) end

---Sets the deadline. When it has passed, waits return an error of the kind "timeout", and a handler that computes is
---interrupted.
---@param seconds number
---@param what? string what timed out, for the message; default: "the request"
function request_methods:set_deadline(seconds, what)
  self.due = loop.now() + seconds
  self.allowed, self.what = seconds, what or "the request"
  loop.set_deadline(self, seconds)
end

local function format_peer_request_seconds(seconds)
  if seconds < 1 then return ("%gms"):format(seconds * 1000) end
  return ("%gs"):format(seconds)
end

---@private
function request_methods:expire()
  local message = ("%s timed out after %s"):format(self.what, format_peer_request_seconds(self.allowed))
  self:stop(errors.new("timeout", message, { elapsed = self.allowed }))
end

---Ends its waits with `err`. A handler that computes is interrupted after a short grace.
---@param err pintle.error
function request_methods:stop(err)
  if self.stopped then return end
  self.stopped, self.stopped_at = err, loop.now()
  loop.stop(self, err)
end

---@private called while the handler computes without waiting
function request_methods:tick()
  if self.must_abort then error(self.stopped, 0) end
  self.peer:receive_while_busy()
  if not self:cancelled() then return end
  local late = loop.now() - self.stopped_at
  self.must_abort = late >= CLEANUP_TIME
  if late >= GRACE then error(self.stopped, 0) end
end

-- }======

-- {====== Calls whose answer is awaited later ======

---@class pintle.call
---@field id integer?
---@field peer pintle.peer
---@field answered pintle.event set when it was answered, or has failed
local call_methods = {}

local call_metatable = { __name = "pintle.call", __index = call_methods }

---@return any result, pintle.error?
function call_methods:wait()
  local result, err = self.answered:wait()
  if err ~= core.overdue then return result, err end
  self.overdue = self.overdue or policy.overdue(self.peer, self.id, self.method, self.timeout)
  return nil, self.overdue
end

---@return boolean whether it was answered, or has failed
function call_methods:is_done() return self.answered:is_set() end

---Cancels the call: `wait` returns an error of the kind "cancelled", and the other side gets a cancellation.
---@param reason? string
function call_methods:cancel(reason)
  if self.answered:is_set() then return end
  local err = loop.cancelled(reason)
  if self.peer.stream:complete_call(self.id, nil, err) then policy.withdrawn(self.peer, self.id, err) end
end

local function check_peer_method_name(method)
  if type(method) ~= "string" then error("method: string expected, got " .. type(method), 3) end
end

---Sends a request and returns at once; `call:wait()` returns the answer.
---@param method string
---@param params? any
---@param given? { timeout?: number|false, on_progress?: fun(...) }
---@return pintle.call
function methods:begin(method, params, given)
  check_peer_method_name(method)
  local timeout, sent, token = policy.read_options(self, params, given or {})
  local answered = loop.event()
  if token then answered:on_set(function() self.listeners[token] = nil end) end
  local id, message, kind = nil, nil, "closed"
  if not self.call_error then id, message, kind = self.stream:ask(answered, method, sent, timeout) end
  if not id then answered:set(nil, policy.failure(self, kind, message)) end
  return setmetatable({ peer = self, id = id, method = method, timeout = timeout, answered = answered }, call_metatable)
end

-- }======

-- {====== Handlers ======

local function check_peer_handler(handler)
  local metatable_of = getmetatable(handler)
  local is_callable = type(handler) == "function" or type(metatable_of) == "table" and metatable_of.__call
  if handler ~= nil and not is_callable then error("handler: function expected, got " .. type(handler), 3) end
end

---Sets the handler of a method; nil removes it. A handler returns a result; or nil and an error, a string or a table
---with `code`, `message` and `data`; or it raises, which is an internal error.
---@param method string
---@param handler pintle.handler?
function methods:on(method, handler)
  check_peer_method_name(method)
  check_peer_handler(handler)
  self.handlers[method] = handler
end

---@private
function methods:remove_handlers()
  for method in pairs(self.handlers) do self.handlers[method] = nil end
end

---Sets the handler of all other methods; `ctx.method` is the method.
---@param handler pintle.handler?
function methods:on_unknown(handler)
  check_peer_handler(handler)
  self.unknown_handler = handler
end

---The contexts of the requests that are being handled.
---@return pintle.request[]
function methods:requests() return self.stream:requests() end

---Calls `fn(peer, method, params)` with the first message, before that is handled.
---@private
function methods:on_first(fn)
  self.first_handler = fn
  policy.update_stream(self)
end

local function with_default_peer_error_codes(codes)
  local all = {}
  for _, set in ipairs { DEFAULT_CODES, codes } do
    for kind, code in pairs(set) do all[kind] = code end
  end
  return all
end

local function set_peer_control_methods(self)
  local controls = self.controls
  for method in pairs(controls) do controls[method] = nil end
  if self.cancellation then controls[self.cancellation.method] = policy.cancel end
  controls[self.progress.method] = policy.progress
end

-- The conventions that the stream does not need.
local function set_peer_conventions(self, conventions)
  if conventions.cancellation ~= nil then self.cancellation = conventions.cancellation end
  if conventions.progress then self.progress = conventions.progress end
  if conventions.codes then self.codes = with_default_peer_error_codes(conventions.codes) end
  set_peer_control_methods(self)
end

local ENVELOPE_OPTIONS = "ids extra header ordered big_integers repeated "

local function pick_peer_options(from, names)
  local picked = {}
  for name in names:gmatch "%S+" do picked[name] = from[name] end
  return picked
end

---Sets the conventions of a protocol that was recognised only now, from the next message that is sent. A field that is
---nil stays as it was.
---@param ways pintle.conventions
---@return true?, pintle.error? err what is wrong with the message by which it was recognised
function methods:adopt(conventions)
  set_peer_conventions(self, conventions)
  local ok, message, kind = self.stream:set_envelope(pick_peer_options(conventions, ENVELOPE_OPTIONS))
  if not ok then return nil, errors.new(kind, "Invalid Request: " .. message, { code = INVALID_REQUEST }) end
  return true
end

-- }======

-- {====== Waiting and ending ======

methods.fail_calls = policy.fail_calls

methods.finish = policy.finish

---@private reads while a handler computes
methods.receive_while_busy = policy.receive_while_busy

---Waits for the end of the conversation.
---@param timeout? number seconds
---@return true?, pintle.error? err of the kind "timeout" if it goes on
function methods:join(timeout)
  if self.ended then return true end
  self.end_event = self.end_event or loop.event()
  return self.end_event:wait(timeout, timeout and errors.new("timeout", "the conversation has not ended in time"))
end

---Waits until no request is being handled or waits in the backlog.
---@param timeout? number seconds
---@param asking? pintle.request the request of the caller, which does not count
---@return true?, pintle.error? err of the kind "timeout" if requests are left
function methods:wait_idle(timeout, asking)
  local own = asking and 1 or 0
  local function is_peer_idle() return self.stream:running() <= own and self.backlog_count == 0 end
  return policy.wait_until(self, is_peer_idle, timeout, "there is still something to do")
end

local function is_peer_flushed(self) return self.ended or self.lost or self.stream:queued() == 0 end

---Waits until everything that was queued has been sent.
---@param timeout? number seconds
---@return boolean whether it was
function methods:flush(timeout)
  if not self.ended then self.stream:write() end
  policy.wait_until(self, is_peer_flushed, timeout, "not everything was sent in time")
  return self.stream:queued() == 0
end

local flushed_at_exit = setmetatable({}, { __mode = "k" }) ---@type table<pintle.peer, integer> with the opener's pid
local is_flushing_at_exit = false

local function flush_all_peers()
  for peer, pid in pairs(flushed_at_exit) do
    if not peer.ended and pid == core.getpid() then peer:flush(CLOSE_TIMEOUT) end
  end
end

---Flushes the peer before os.exit ends the program, so that a log entry that says why is still sent.
---@private
function methods:flush_at_exit()
  if not is_flushing_at_exit then loop.before_exit(flush_all_peers) end
  is_flushing_at_exit = true
  flushed_at_exit[self] = core.getpid()
end

---Ends the input of the other side. Messages from it are still read.
function methods:close_output()
  self:flush(CLOSE_TIMEOUT)
  if not self.ended then self.stream:close_output() end
end

local function close_peer(self)
  if self.stop then return self:stop() end
  self:flush(CLOSE_TIMEOUT)
  self:finish(errors.new("closed", "the conversation was closed on this side"))
end

---Ends the conversation: what is queued is sent first, and a program that was started for it is stopped. Closing twice
---is fine, also from `on_close`. Closing continues if the closing task is cancelled.
function methods:close()
  if not self.closing then self.closing = tasks.start(close_peer, self) end
  if self.closing ~= loop.current() then self.closing:await() end
end

-- }======

-- {====== Opening ======

local STREAM_OPTIONS = "read write framing json raw others " .. ENVELOPE_OPTIONS
local STREAM_LIMITS = "header message nesting queue calls text values "
local LIMITS = options.names(STREAM_LIMITS .. "requests backlog")

---The names of all options.
peers.OPTIONS = options.names(STREAM_OPTIONS .. [[
  name timeout limits cancellation progress codes answer_noise on_noise on_error on_close explain traceback spin linger
]])

local function open_peer_stream(self, given)
  local limits = given.limits or {}
  local settings = pick_peer_options(given, STREAM_OPTIONS)
  settings.framing = settings.framing or "line"
  settings.limits = pick_peer_options(limits, STREAM_LIMITS)
  local stream, message, kind = core.peer(settings, self, {
    policy = policy, handlers = self.handlers, controls = self.controls, context = request_metatable,
    timeout = self.timeout, spin = given.spin or 0, requests = self.most_requests,
  })
  if not stream then return nil, errors.new(kind, message) end
  return stream
end

local function new_peer_object(given)
  local self = {
    name = given.name, timeout = given.timeout, linger = given.linger or LINGER_TIMEOUT, traceback = given.traceback,
    answer_noise = given.answer_noise, on_noise = given.on_noise, on_error = given.on_error, explain = given.explain,
    cancellation = LSP_CANCELLATION, progress = LSP_PROGRESS, codes = DEFAULT_CODES,
    most_requests = given.limits and given.limits.requests or MOST_REQUESTS,
    most_backlog = given.limits and given.limits.backlog or MOST_BACKLOG,
    handlers = {}, controls = {}, listeners = {}, last_token = 0,
    first_handler = false, unknown_handler = false, ended = false, call_error = false, conditions = false,
    is_paused = false,
  }
  if self.timeout == nil then self.timeout = CALL_TIMEOUT end
  policy.clear_backlog(self)
  return setmetatable(self, metatable)
end

---Begins a conversation over two descriptors.
---@param given pintle.peer.options
---@return pintle.peer?, pintle.error?
function peers.open(given)
  options.check_names(given.limits or {}, LIMITS, 2)
  policy.check_timeout(given.timeout, 2)
  local self = new_peer_object(given)
  local stream, err = open_peer_stream(self, given)
  if not stream then return nil, err end
  self.stream = stream
  set_peer_conventions(self, given)
  self.stream:begin()
  if self.ended then return nil, self.ended end
  self.on_close = given.on_close
  return self
end

-- }======

return peers
