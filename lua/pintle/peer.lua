-- One conversation: calls and notifications in both directions at once, over any pair of descriptors.

local answers = require "pintle.peer.answers"
local backlog = require "pintle.peer.backlog"
local calls = require "pintle.peer.calls"
local core = require "pintle.core"
local ending = require "pintle.peer.ending"
local errors = require "pintle.error"
local loop = require "pintle.loop"
local options = require "pintle.options"
local policy = require "pintle.peer.policy"
local request = require "pintle.request"

local TIMEOUT = 60 -- seconds for a call
local LINGER = 60 -- seconds for requests that are still handled when the input has ended
local MOST_REQUESTS = 256 -- handlers at work
local MOST_PARKED = 1024 -- messages taken in that wait for one of those to end
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

---@class pintle.peer: pintle.peer.ending
---@field stream pintle.core.peer
---@field handlers table<string, pintle.handler>
---@field ended pintle.error|false why the conversation is over
---@field noise string? the last malformed input
---@field child pintle.child? the program at the other end, if it was started for this
---@field stop fun(self: pintle.peer)? ends that program
local methods = { call = core.call, notify = core.notify, begin = calls.begin }
for name, method in pairs(ending) do methods[name] = method end

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

-- {====== Asking and being asked ======

---Gives up on a call that was begun.
---@param begun pintle.call
---@param reason? string
function methods.cancel(_, begun, reason) begun:cancel(reason) end

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
  backlog.update(self)
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

---Takes on the ways of a protocol that has become known only now, with the next message that is sent; what is not named
---stays as it is.
---@param ways pintle.ways
---@return true?, pintle.error? err what is wrong with the message by which it became known
function methods:adopt(ways)
  if ways.ordered ~= nil then self.stream:keep_order(ways.ordered) end
  if ways.big_integers ~= nil then self.stream:keep_big_integers(ways.big_integers) end
  if ways.cancellation ~= nil then self.cancellation = ways.cancellation end
  if ways.progress then self.progress = ways.progress end
  if ways.codes then self.codes = setmetatable(ways.codes, { __index = CODES }) end
  set_controls(self)
  local ok, message, kind = self.stream:speak { ids = ways.ids, extra = ways.extra, header = ways.header }
  if not ok then return nil, errors.new(kind, "Invalid Request: " .. message, { code = INVALID_REQUEST }) end
  return true
end

-- }======

---@private works off the backlog in the next turn
function methods:go_on_soon()
  if self.is_going_on then return end
  self.is_going_on = true
  loop.soon(policy.go_on, self)
end

---@private reads while a handler computes
methods.listen_in = policy.listen
---@private
methods.report = answers.report

---@private The program at the other end is gone: what there is of it is read, and then it is over.
function methods:expect_end()
  if not self.ended and not self.is_ending then self.stream:expect_end() end
end

local PEER_OPTIONS = {
  "name", "timeout", "limits", "cancellation", "progress", "codes", "answer_noise", "on_noise", "on_error", "on_close",
  "explain", "traceback", "spin", "linger", "ordered",
  "big_integers",
}
local STREAM_OPTIONS = { "read", "write", "framing", "json", "raw", "ids", "extra", "header", "others" }
local STREAM_LIMITS = { "header", "message", "nesting", "queue", "calls", "text", "values" }
local LIMITS = options.set { "requests", "parked", table.unpack(STREAM_LIMITS) }

---The names of all options.
peers.OPTIONS = options.set(PEER_OPTIONS)
for name in pairs(options.set(STREAM_OPTIONS)) do peers.OPTIONS[name] = true end

local function pick(from, names)
  local picked = {}
  for _, name in ipairs(names) do picked[name] = from[name] end
  return picked
end

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
  backlog.clear(self)
  set_controls(self)
end

local function check(given)
  local timeout = given.timeout
  options.check(given.limits or {}, LIMITS, 3)
  if timeout and (type(timeout) ~= "number" or timeout ~= timeout or timeout < 0) then
    error("timeout: seconds expected, or false for none", 4)
  end
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
  stream:keep_order(given.ordered or false)
  stream:keep_big_integers(given.big_integers or false)
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

return peers
