-- One conversation: calls and notifications in both directions at once, over any pair of descriptors.

local core = require "pintle.core"
local errors = require "pintle.error"
local loop = require "pintle.loop"
local options = require "pintle.options"
local policy = require "pintle.peer.policy"
local request = require "pintle.request"
local tasks = require "pintle.task"

local TIMEOUT = 60 -- seconds for a call
local LINGER = 60 -- seconds for requests that are still handled when the input has ended
local MOST_REQUESTS = 256 -- handlers at work
local MOST_PARKED = 1024 -- messages taken in that wait for one of those to end
local CLOSING = 1 -- seconds to send what is queued when it is closed
local LAST_WORDS = 1 -- seconds to find the reason why the output is closed
local INVALID_REQUEST = -32600

---What an error that has no code of its own is sent as.
local CODES = { cancelled = -32800, timeout = -32001, requirement = -32002, invalid = -32602, full = -32000 }

core.protect()

---How a protocol cancels a request.
---@class pintle.cancellation
---@field method string
---@field params fun(id: integer, reason: string?): table what is sent
---@field id fun(params: any): any the id in what is received; nil ignores the notification
---@field is_unanswered? boolean whether a cancelled request gets no answer

---How a protocol tells of progress: a token goes out in the params, and comes back with each report.
---@class pintle.progress
---@field method string
---@field attach fun(params: any, token: integer): any the params with the token
---@field report fun(params: any): any, ... the token, and what the callback is given

---@class pintle.peer.limits: pintle.stream.limits
---@field requests? integer handlers at work at once; those that wait for the other side are not counted; default: 256
---@field parked? integer messages that wait for a handler to end before reading pauses; default: 1024, and 16 MiB

---@class pintle.peer.options: pintle.stream.options
---@field name? string the name of the other side in error messages
---@field timeout? number|false seconds for a call that has no timeout of its own; default: 60
---@field limits? pintle.peer.limits
---@field cancellation? pintle.cancellation|false default: LSP's
---@field progress? pintle.progress default: LSP's
---@field codes? table<string, integer> codes of errors without a code, by kind
---@field answer_noise? boolean answer malformed input with an error, as a server does; default: true on stdio and for
---peers of a listener, false otherwise
---@field on_noise? fun(report: pintle.report) called for malformed input
---@field on_error? fun(err: any, traceback: string?, method: string) called when a handler raises or returns a value
---that cannot be sent
---@field on_close? fun(err: pintle.error) called when the conversation has ended
---@field explain? fun(peer: pintle.peer, err: pintle.error) finds out why it ended and calls `peer:finish(err)`
---@field traceback? boolean send the traceback of an error that a handler raises
---@field spin? number seconds to go on asking for an answer before the loop sleeps; default: 0
---@field ordered? boolean received objects keep the order of their members, as `json.order` has it
---@field big_integers? boolean integers of more than 64 bits keep their digits: docs/json.md
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

-- {====== Calls that are waited for later ======

---@class pintle.call
---@field id integer?
---@field peer pintle.peer
local call_methods = {}

local call_metatable = { __name = "pintle.call", __index = call_methods }

-- What the answer amounts to is found out once.
local function conclude(begun, result, err)
  if begun.is_concluded then return begun.result, begun.err end
  if err == core.overdue then err = policy.overdue(begun.peer, begun.id, begun.method, begun.timeout) end
  begun.is_concluded, begun.result, begun.err = true, result, err
  if begun.token then begun.peer.listeners[begun.token] = nil end
  return result, err
end

---@return any result, pintle.error?
function call_methods:wait()
  local result, err = self.answered:wait()
  if not self.answered:is_set() then return nil, err end
  return conclude(self, result, err)
end

---@return boolean whether it was answered, or has failed
function call_methods:is_done() return self.answered:is_set() end

---Gives up on it: `wait` returns an error of the kind "cancelled", and the other side is told.
---@param reason? string
function call_methods:cancel(reason)
  if self.answered:is_set() then return end
  local err = loop.cancelled(reason)
  if self.peer.stream:settle(self.id, nil, err) then policy.withdrawn(self.peer, self.id, err) end
end

---Calls, and goes on at once; `call:wait()` has the answer.
---@param method string
---@param params? any
---@param given? { timeout?: number|false, on_progress?: fun(...) }
---@return pintle.call
function methods:begin(method, params, given)
  if type(method) ~= "string" then error("method: string expected, got " .. type(method), 2) end
  local timeout, sent, token = policy.read_options(self, params, given or {})
  local begun = setmetatable({ peer = self, method = method, timeout = timeout, token = token }, call_metatable)
  local answered = loop.event()
  begun.answered = answered
  if token then answered:on_set(function() self.listeners[token] = nil end) end
  if self.deaf then
    answered:set(nil, policy.failure(self, "closed"))
    return begun
  end
  local message, kind
  begun.id, message, kind = self.stream:ask(answered, method, sent, timeout)
  if not begun.id then answered:set(nil, policy.failure(self, kind, message)) end
  return begun
end

---Gives up on a call that was begun.
---@param begun pintle.call
---@param reason? string
function methods.cancel(_, begun, reason) begun:cancel(reason) end

-- }======

-- {====== Handlers ======

---Sets the handler of a method; nil removes it. A handler returns a result; or nil and an error, a string or a table
---with `code`, `message` and `data`; or it raises, which is an internal error.
---@param method string
---@param handler pintle.handler?
function methods:on(method, handler)
  if type(method) ~= "string" then error("method: string expected, got " .. type(method), 2) end
  options.check_handler(handler)
  self.handlers[method] = handler
end

---@private
function methods:remove_handlers()
  for method in pairs(self.handlers) do self.handlers[method] = nil end
end

---Sets the handler of all other methods; `ctx.method` is the method.
---@param handler pintle.handler?
function methods:otherwise(handler)
  options.check_handler(handler)
  self.other = handler
end

---The contexts of the requests that are being handled.
---@return pintle.request[]
function methods:requests() return self.stream:requests() end

---Has `fn(peer, method, params)` called with the first message, before it is handled.
---@private
function methods:on_first(fn)
  self.first = fn
  policy.update(self)
end

local function set_controls(self)
  local controls = self.controls
  for method in pairs(controls) do controls[method] = nil end
  if self.cancellation then controls[self.cancellation.method] = policy.cancel end
  controls[self.progress.method] = policy.progress
end

---The ways of a protocol. A `pintle.dialect` has these fields.
---@class pintle.ways
---@field cancellation? pintle.cancellation|false
---@field progress? pintle.progress
---@field codes? table<string, integer>
---@field ids? "integer"|"string"
---@field extra? table<string, string|number|boolean>
---@field header? string
---@field ordered? boolean
---@field big_integers? boolean

local FORM = { "ids", "extra", "header", "ordered", "big_integers" }

local function pick(from, names)
  local picked = {}
  for _, name in ipairs(names) do picked[name] = from[name] end
  return picked
end

---Takes on the ways of a protocol that has become known only now, with the next message that is sent; what is not named
---stays as it is.
---@param ways pintle.ways
---@return true?, pintle.error? err what is wrong with the message by which it became known
function methods:adopt(ways)
  if ways.cancellation ~= nil then self.cancellation = ways.cancellation end
  if ways.progress then self.progress = ways.progress end
  if ways.codes then self.codes = setmetatable(ways.codes, { __index = CODES }) end
  set_controls(self)
  local ok, message, kind = self.stream:speak(pick(ways, FORM))
  if not ok then return nil, errors.new(kind, "Invalid Request: " .. message, { code = INVALID_REQUEST }) end
  return true
end

-- }======

-- {====== Waiting until something has become true ======

---@private called when something has changed
function methods:review()
  local expecting = self.expecting or {}
  for event, condition in pairs(expecting) do
    if condition(self) then
      expecting[event] = nil
      event:set(true)
    end
  end
  if not next(expecting) then self.expecting = false end
  if self.ended and self.over then self.over:set(true) end
  policy.update(self)
end

local function expect(self, condition, seconds, message)
  if condition(self) then return true end
  local event = loop.event()
  self.expecting = self.expecting or {}
  self.expecting[event] = condition
  policy.update(self)
  local ok, err = event:wait(seconds, seconds and errors.new("timeout", message))
  if self.expecting then self.expecting[event] = nil end
  return ok, err
end

---Waits for the end of the conversation. The core need not report anything for that: `finish` ends the wait.
---@param timeout? number seconds
---@return true?, pintle.error? err of the kind "timeout" if it goes on
function methods:join(timeout)
  if self.ended then return true end
  self.over = self.over or loop.event()
  return self.over:wait(timeout, timeout and errors.new("timeout", "the conversation has not ended in time"))
end

---Waits until nothing is being handled, or held to be handled later.
---@param timeout? number seconds
---@param asking? pintle.request the request that asks, which does not count
---@return true?, pintle.error? err of the kind "timeout" if there is still something to do
function methods:idle(timeout, asking)
  local own = asking and 1 or 0
  local function is_idle() return self.stream:running() <= own and self.backlog_count == 0 end
  return expect(self, is_idle, timeout, "there is still something to do")
end

local function is_settled(self) return self.ended or self.lost or self.stream:queued() == 0 end

---Waits until everything that was queued has been sent.
---@param timeout? number seconds
---@return boolean whether it has
function methods:drain(timeout)
  if not self.ended then self.stream:write() end
  expect(self, is_settled, timeout, "not everything was sent in time")
  return self.stream:queued() == 0
end

-- }======

-- {====== Losing one half ======

---No answer will come any more: every call that waits, and every later one, ends with `err`. Handlers go on.
---@param err pintle.error
function methods:deafen(err)
  self.deaf = self.deaf or err
  policy.update(self)
  self.stream:deafen(err)
end

local function finish_lingering(self) self:finish(self.deaf) end

-- What was asked before is answered.
local function linger(self, err)
  self:deafen(err)
  self.lingering = self.lingering or loop.after(self.linger, finish_lingering, self)
  self.is_lingering = true
  policy.update(self)
  self.stream:write_soon()
end

---@private it is over once all is answered and the answers are out
function methods:check_lingering()
  local is_sent = self.lost or self.stream:queued() == 0
  if self.stream:running() == 0 and self.backlog_count == 0 and is_sent then finish_lingering(self) end
end

---@private Called again if memory was short for it.
function methods:end_of_input(err)
  if self.ended or self.is_ending then return end
  if self.explain then
    self.is_ending = true
    return self.explain(self, err)
  end
  linger(self, err)
  self.is_ending = true
  if self.lost then self:check_lingering() end
end

local function stop_requests(self, err)
  for _, ctx in ipairs(self.stream:requests()) do ctx:stop(err) end
end

-- A plugin whose host is gone ends by `deserted`.
local function give_up_output(self)
  self.losing = nil
  if self.ended then return end
  if self.deserted then return self:deserted(self.lost) end
  self:deafen(self.lost)
end

---The other side has closed its input, so no answer reaches it. The reason may be known soon, by the end of our input
---or of the program.
---@private
function methods:lost_output(message)
  if self.lost or self.ended then return end
  local err = errors.new("closed", message)
  self.lost = err
  self.stream:shut()
  stop_requests(self, err)
  self.losing = loop.after(LAST_WORDS, give_up_output, self)
  self:review()
  if self.is_lingering then self:check_lingering() end
end

---@private the error of a call that could not be made
function methods:explain_refusal(err)
  if err.kind == "closed" and self.lost and not self.deaf then self:join(LAST_WORDS) end
  return self.ended or err
end

---The other side sees the end of its input; what it still says is taken.
function methods:close_output()
  self:drain(CLOSING)
  if not self.ended then self.stream:shut() end
end

-- }======

-- {====== The end ======

local function forget_timers(self)
  for _, name in ipairs { "lingering", "losing", "burying" } do
    if self[name] then loop.forget(self[name]) end
    self[name] = nil
  end
end

---Ends the conversation: every call that waits, and every wait of a handler, ends with `err`.
---@param err pintle.error
function methods:finish(err)
  if self.ended then return end
  self.ended = err
  forget_timers(self)
  self.deaf = err
  self:deafen(err)
  self.stream:finish()
  policy.clear_backlog(self)
  stop_requests(self, err)
  loop.soon(self.review, self)
  if self.on_close then loop.call(self.on_close, err) end
end

local function close(self)
  if self.stop then return self:stop() end
  self:drain(CLOSING)
  self:finish(errors.new("closed", "the conversation was closed on this side"))
end

---Ends the conversation: what is queued is sent first, and a program that was started for it is stopped. Closing twice
---is fine, also from `on_close`. Closing goes on if the task that closes is cancelled.
function methods:close()
  if not self.closing then self.closing = tasks.start(close, self) end
  if self.closing ~= loop.current() then self.closing:await() end
end

-- }======

-- {====== Opening ======

---@private reads while a handler computes
methods.listen_in = policy.listen

---@private works off the backlog in the next turn
function methods:go_on_soon()
  if self.is_going_on then return end
  self.is_going_on = true
  loop.soon(policy.go_on, self)
end

---@private The program at the other end is gone: what there is of it is read, and then it is over.
function methods:expect_end()
  if not self.ended and not self.is_ending then self.stream:expect_end() end
end

local PEER_OPTIONS = {
  "name", "timeout", "limits", "cancellation", "progress", "codes", "answer_noise", "on_noise", "on_error", "on_close",
  "explain", "traceback", "spin", "linger", "ordered", "big_integers",
}
local STREAM_OPTIONS = { "read", "write", "framing", "json", "raw", "others", table.unpack(FORM) }
local STREAM_LIMITS = { "header", "message", "nesting", "queue", "calls", "text", "values" }
local LIMITS = options.set { "requests", "parked", table.unpack(STREAM_LIMITS) }

---The names of all options.
peers.OPTIONS = options.set(PEER_OPTIONS)
for name in pairs(options.set(STREAM_OPTIONS)) do peers.OPTIONS[name] = true end

local function pick_all(from)
  local picked = {}
  for name, value in pairs(from or {}) do picked[name] = value end
  return picked
end

local function init_fields(self, given)
  local timeout = given.timeout
  if timeout == nil then timeout = TIMEOUT end
  self.name, self.timeout = given.name, timeout
  self.cancellation = given.cancellation == nil and LSP_CANCELLATION or given.cancellation
  self.progress = given.progress or LSP_PROGRESS
  self.codes = setmetatable(pick_all(given.codes), { __index = CODES })
  self.answer_noise, self.on_noise, self.on_error = given.answer_noise, given.on_noise, given.on_error
  self.explain, self.traceback = given.explain, given.traceback
  self.linger = given.linger or LINGER
  self.listeners, self.last_token = {}, 0
  self.most_backlog = given.limits and given.limits.parked or MOST_PARKED
  policy.clear_backlog(self)
  set_controls(self)
end

local function check(given)
  options.check(given.limits or {}, LIMITS, 3)
  policy.check_timeout(given.timeout, 4)
end

local function open_stream(self, given)
  local limits = given.limits or {}
  local settings = pick(given, STREAM_OPTIONS)
  settings.framing = settings.framing or "line"
  settings.limits = pick(limits, STREAM_LIMITS)
  local stream, message, kind = core.peer(settings, self, {
    policy = policy, handlers = self.handlers, controls = self.controls, context = request.metatable,
    timeout = self.timeout, spin = given.spin or 0, requests = limits.requests or MOST_REQUESTS,
  })
  if not stream then return nil, errors.new(kind, message) end
  return stream
end

---Begins a conversation over two descriptors.
---@param given pintle.peer.options
---@return pintle.peer?, pintle.error?
function peers.open(given)
  check(given)
  local self = setmetatable({
    handlers = {}, controls = {}, first = false, other = false, ended = false, deaf = false, expecting = false,
    is_lingering = false, is_paused = false,
  }, metatable)
  init_fields(self, given)
  local stream, err = open_stream(self, given)
  if not stream then return nil, err end
  self.stream = stream
  stream:begin()
  if self.ended then return nil, self.ended end
  self.on_close = given.on_close
  return self
end

-- }======

return peers
