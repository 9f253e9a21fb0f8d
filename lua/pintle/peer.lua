-- One conversation: calls and notifications in both directions at once, over any pair of descriptors.

local core = require "pintle.core"
local answers = require "pintle.peer.answers"
local errors = require "pintle.error"
local expecting = require "pintle.peer.expecting"
local inbox = require "pintle.peer.inbox"
local lazy = require "pintle.lazy"
local loop = require "pintle.loop"
local options = require "pintle.options"

local parking = lazy "pintle.peer.parking"

local receive, flush = inbox.receive, core.stream_methods.flush

local TIMEOUT = 60 -- seconds for a call, unless told
local LINGER = 60 -- seconds for what is being handled when the other side has nothing more to say
local MOST_REQUESTS = 256 -- handlers at work
local MOST_PARKED = 1024 -- messages taken in that wait for one of those to end
local INVALID_REQUEST = -32600
local CLOGGED = 1 << 20 -- bytes of unsent answers past which no more requests are begun

---What an error that has no code of its own is sent as.
local CODES = { cancelled = -32800, timeout = -32001, requirement = -32002, invalid = -32602, full = -32000 }

---How a protocol says that an answer is not wanted any more.
---@class pintle.cancellation
---@field method string
---@field params fun(id: integer, reason: string?): table what is sent
---@field id fun(params: any): any the id in what is received; nil passes it over
---@field is_unanswered? boolean whether what was cancelled gets no answer any more

---How a protocol tells of progress: a token goes out in the params, and comes back with each report.
---@class pintle.progress
---@field method string
---@field attach fun(params: any, token: integer): any the params with the token
---@field report fun(params: any): any, ... the token, and what the callback is given

---@class pintle.peer.limits: pintle.stream.limits
---@field requests? integer handlers at work at once, besides those that wait for the other side: 256
---@field parked? integer messages that wait for one of them to end, before reading pauses: 1024; and 16 MiB of them

---@class pintle.peer.options: pintle.stream.options
---@field name? string who it is, in messages
---@field timeout? number|false seconds a call may take unless it says so itself: 60
---@field limits? pintle.peer.limits
---@field cancellation? pintle.cancellation|false LSP's unless told
---@field progress? pintle.progress LSP's unless told
---@field codes? table<string, integer> codes of errors that have none, by their kind
---@field answer_noise? boolean what is not a message is answered with an error, as a server does: true for who serves
---over stdio or listens, false for all others
---@field on_noise? fun(report: pintle.report) told of it
---@field on_error? fun(err: any, traceback: string?, method: string) a handler raised, or gave back what cannot be sent
---@field on_close? fun(err: pintle.error) told of the end
---@field explain? fun(peer: pintle.peer, err: pintle.error) finds out why it ended and calls `peer:finish(err)`
---@field traceback? boolean send the traceback of what a handler raises to the other side
---@field spin? number seconds to go on reading before sleeping, when an answer is due
---@field ordered? boolean objects that are received keep the order of their members, as `json.order` says
---@field big_integers? boolean integers of more than 64 bits keep their digits: docs/json.md
---@field linger? number seconds for what is being handled when the other side has ended its output: 60

---@alias pintle.handler fun(params: any, ctx: pintle.request): any, any

---@class pintle.peer: pintle.peer.ending, pintle.peer.expecting, pintle.peer.calls
---@field stream pintle.stream
---@field handlers table<string, pintle.handler>
---@field ended pintle.error|false why the conversation is over
---@field noise string? the last it said that was no message
---@field child pintle.child? the program at the other end, if it was started for this
---@field stop fun(self: pintle.peer)? ends that program
local methods = {}
for name, method in pairs(expecting) do methods[name] = method end

-- Methods of a module that is loaded when the first of them is used.
local function add_later(module, names)
  for _, name in ipairs(names) do
    methods[name] = function(...)
      for _, each in ipairs(names) do methods[each] = require(module)[each] end
      return methods[name](...)
    end
  end
end

add_later("pintle.peer.ending", {
  "check_lingering", "close", "close_output", "deafen", "end_of_input", "explain_refusal", "finish", "lose_output",
  "shut_output",
})
add_later("pintle.peer.calls", { "abandon", "begin", "call" })

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

-- {====== Sending ======

---@private
function methods:mark_dirty()
  if self.is_dirty then return end
  self.is_dirty = true
  loop.flush(self)
end

---@private called by the loop
function methods:flush()
  self.is_dirty = false
  local done, message = flush(self.stream)
  if not done or self.is_attended then self:see_to_output(done, message) end
end

---@private what depends on how much was sent
function methods:see_to_output(done, message)
  if done == nil and not self.ended then self:lose_output(errors.new("closed", message)) end
  if self.is_blocked ~= (done == false) then
    self.is_blocked = done == false
    self:watch()
  end
  if self.is_blocked or self.is_clogged then
    self.is_clogged = self.is_blocked and self.stream:queued() > CLOGGED
    answers.update(self)
    if self.parked_count > 0 and not self.is_clogged then self:go_on_soon() end
  end
  if self.expecting then self:review() end
  if self.is_lingering and not self.ended then self:check_lingering() end
  self.is_attended = self.is_blocked or self.is_clogged or self.is_lingering
end

---@private
function methods:failure(kind, message)
  if kind == "closed" and (self.ended or self.lost) then return self.ended or self.lost end
  return errors.new(kind, message)
end

---@param method string
---@param params? any
---@return true?, pintle.error?
function methods:notify(method, params)
  if type(method) ~= "string" then error("method: string expected, got " .. type(method), 2) end
  local ok, message, kind = self.stream:notify(method, params)
  if not ok then return nil, self:failure(kind, message) end
  self:mark_dirty()
  return true
end

-- }======

-- {====== Asking and being asked ======

---Gives up on a call that was begun.
---@param begun pintle.call
---@param reason? string
function methods.cancel(_, begun, reason) begun:cancel(reason) end

methods.on = core.sole.on

---Says who handles all other methods; `ctx.method` tells which it is.
---@param handler pintle.handler?
function methods:otherwise(handler)
  options.check_handler(handler)
  self.other = handler
end

methods.failed = answers.failed

---The ways of a protocol. A `pintle.dialect` is such a thing.
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
  local ok, message, kind = self.stream:speak { ids = ways.ids, extra = ways.extra, header = ways.header }
  if not ok then return nil, errors.new(kind, "Invalid Request: " .. message, { code = INVALID_REQUEST }) end
  return true
end

-- }======

-- {====== Readiness ======

methods.attend = inbox.attend
methods.receive_on = inbox.receive_on
methods.take_on = inbox.take_on
methods.take_over = inbox.take_over
methods.listen_in = inbox.listen_in
methods.note_serving = answers.note_serving

---@private called by the loop. An output that is broken is told of as both.
function methods:on_ready(readable, writable)
  if readable and not self.ended then receive(self) end
  if writable then self:flush() end
end

---@private called by the loop
function methods:spin_for_answer() return not self.ended and inbox.receive(self, self.spin) end

---@private for a call: its answer has to get through, and the one who asks now waits for the other side
function methods:make_way()
  parking.unpause(self)
  self:go_on_soon()
end

---@private sees to what was kept back
function methods:go_on_soon()
  if self.is_going_on then return end
  self.is_going_on = true
  loop.soon(inbox.go_on, self)
end

---@private goes on in the next turn with what was taken from the stream already
function methods:go_on_soon_with(message) loop.soon(self.take_on, message) end

---@private The program at the other end is gone: what there is of it is taken in, and then it is over.
function methods:expect_end()
  if self.ended or self.is_ending then return end
  self.is_orphaned = true
  loop.soon(self.receive_on, self)
end

local function set(self, descriptor, events)
  if events == "" then return loop.unwatch(descriptor, self) end
  local ok, message, kind = loop.watch(descriptor, events, self)
  if not ok then self:finish(errors.new(kind, message)) end
end

---@private asks the loop for what it wants to be told
function methods:watch()
  local input, output = self.stream:fds()
  local reading = input and not self.is_paused and not self.is_ending and "r" or ""
  local writing = output and self.is_blocked and "w" or ""
  if input == output and input then return set(self, input, reading .. writing) end
  if input then set(self, input, reading) end
  if output and not self.ended then set(self, output, writing) end
end

-- }======

local PEER_OPTIONS = {
  "name", "timeout", "limits", "cancellation", "progress", "codes", "answer_noise", "on_noise", "on_error", "on_close",
  "explain", "traceback", "spin", "linger", "ordered",
  "big_integers",
}
local STREAM_OPTIONS = { "read", "write", "framing", "json", "raw", "ids", "extra", "header", "others" }
local STREAM_LIMITS = { "header", "message", "nesting", "queue", "calls", "text" }
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

-- All that there is of a peer, whose stream is there already.
local function furnish(self, given)
  local limits, timeout = given.limits or {}, given.timeout
  self.name = given.name
  if timeout == nil then timeout = TIMEOUT end
  self.timeout = timeout
  self.cancellation = given.cancellation == nil and LSP_CANCELLATION or given.cancellation
  self.progress = given.progress or LSP_PROGRESS
  self.codes = setmetatable(pick_all(given.codes), { __index = CODES })
  self.answer_noise, self.on_noise, self.on_error = given.answer_noise, given.on_noise, given.on_error
  self.explain, self.traceback = given.explain, given.traceback
  self.spin = given.spin or false
  self.linger = given.linger or LINGER
  self.listeners, self.last_token = {}, 0
  self.running, self.running_count = {}, 0
  self.most_requests = limits.requests or MOST_REQUESTS
  self.parked, self.parked_first, self.parked_count, self.parked_bytes = {}, 1, 0, 0
  self.most_parked = limits.parked or MOST_PARKED
  self.spoiled, self.looks = false, 0
  self.alarm_at = math.huge
  self.is_free = true
  self.is_dirty, self.is_blocked, self.is_clogged, self.is_paused = false, false, false, false
  self.is_orphaned, self.is_lingering, self.is_attended = false, false, false
  self.expecting, self.serving, self.first, self.other = false, false, false, false
  self.ended, self.deaf = false, false
  function self.reader.failed(_, err, traceback) answers.report(self, err, traceback, "a message") end
end

local function begin(self)
  if not self.spin then self.stream:plan(self, self.timeout or nil) end
  self:watch()
end

---Begins a conversation over two descriptors.
---@param given pintle.peer.options
---@return pintle.peer?, pintle.error?
function peers.open(given)
  local limits, timeout = given.limits or {}, given.timeout
  options.check(limits, LIMITS)
  if timeout and (type(timeout) ~= "number" or timeout ~= timeout or timeout < 0) then
    error("timeout: seconds expected, or false for none", 3)
  end
  local settings = pick(given, STREAM_OPTIONS)
  settings.framing = settings.framing or "line"
  settings.limits = pick(limits, STREAM_LIMITS)
  local stream, message, kind = core.stream(settings)
  if not stream then return nil, errors.new(kind, message) end
  stream:keep_order(given.ordered or false)
  stream:keep_big_integers(given.big_integers or false)
  local self = setmetatable({ stream = stream, handlers = {}, reader = {} }, metatable)
  furnish(self, given)
  begin(self)
  if self.ended then return nil, self.ended end
  self.on_close = given.on_close
  return self
end

---Makes a whole peer of one that `core.sole` has begun.
---@private
---@param self pintle.peer
function peers.complete(self)
  furnish(setmetatable(self, metatable), { answer_noise = true })
  begin(self)
end

return peers
