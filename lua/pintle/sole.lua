-- A program that only serves on its stdin and stdout needs no loop: the stream waits for requests and has them handled
-- by itself. So that is how one begins. All else that makes a peer, and the loop, are loaded when something is asked of
-- them, or something comes that is not so simple, and take over where this was.

local core = require "pintle.core"

local yield, resume = coroutine.yield, core.resume

local LAST_WORDS = 1 -- seconds for what is queued to be taken when the program exits

---@class pintle.sole
---@field peer? pintle.peer that has nothing yet but this
---@field attended? pintle.peer that is waited for here
local sole = {}

-- {====== Threads, which the loop goes on with ======

---Who runs in a thread. A thread that handles one request after another changes hands.
---@type table<thread, pintle.runner>
sole.owners = setmetatable({}, { __mode = "k" })

---What a thread yields when it has finished.
sole.IDLE = {}
local IDLE = sole.IDLE

local function step(fn, ...) return fn(...) end

-- Nothing that it has worked on is kept by a thread that has nothing to do.
local function work()
  while true do step(yield(IDLE)) end
end

---@return thread
function sole.new_thread()
  local thread = coroutine.create(work)
  resume(thread)
  return thread
end

---The metatable of requests.
sole.request = { __name = "pintle.request" }
function sole.request.__index(_, name) return require("pintle.request").methods[name] end

-- }======

---Makes a whole peer of it.
function sole.complete()
  local peer, peers = sole.peer, require "pintle.peer"
  sole.peer = nil
  if peer then peers.complete(peer) end
end

local methods = {}

---Says who handles a method; nil takes the handler away. A handler returns a result; or nil and an error, a string or
---a table with `code`, `message` and `data`; or it raises, which is an internal error.
---@param method string
---@param handler pintle.handler?
function sole.on(self, method, handler)
  if type(method) ~= "string" then error("method: string expected, got " .. type(method), 2) end
  if handler ~= nil and type(handler) ~= "function" then require("pintle.options").check_handler(handler) end
  self.handlers[method] = handler
end
methods.on = sole.on

local function has_loop() return package.loaded["pintle.loop"] end

local function answer(...) return require("pintle.peer.answers").answer(...) end

-- Until there is something that it cannot do. Who computes is reached by what is loaded then.
local function serve(self)
  local thread, stream = sole.new_thread(), self.stream
  local message
  sole.owners[thread] = self.reader
  resume(thread, stream.serve, stream, self, sole.owners, sole.request, answer)
  core.watch(function() return require "pintle.request" end)
  sole.attended = self
  repeat
    message = { peer = self, stream:attend() }
    local has_only_served = message[1] == false and message[2]
  until not has_only_served or has_loop()
  sole.attended = nil
  return message
end

function methods:join(timeout)
  local message = not timeout and serve(self)
  sole.complete()
  if message then self:go_on_soon_with(message) end
  return self:join(timeout)
end

local metatable = { __name = "pintle.peer" }

function metatable:__index(name)
  if methods[name] then return methods[name] end
  sole.complete()
  return self[name]
end

function metatable:__close() self:close() end

-- As `pintle.exit` has it for others.
local function exit_after_sending(peer)
  local leave, process = os.exit, core.getpid()
  os.exit = function(...) -- luacheck: ignore 122
    if peer.stream:queued() > 0 and core.getpid() == process then pcall(peer.drain, peer, LAST_WORDS) end
    return leave(...)
  end
end

local FRAMINGS = { line = true, header = true, auto = true }

local function is_simple(given)
  for name in pairs(given) do
    if name ~= "stdio" and name ~= "framing" then return false end
  end
  return given.stdio and FRAMINGS[given.framing or "line"] and not has_loop()
end

---As `connect.open`.
---@param given pintle.connect.options
---@return pintle.peer?, pintle.error?
function sole.connect(given)
  local input, output
  if type(given) == "table" and is_simple(given) then
    input, output = core.claim_stdio()
  end
  if not input then return require("pintle.connect").open(given) end
  io.stdout:setvbuf "line"
  local stream = assert(core.stream { read = input, write = output, framing = given.framing or "line" })
  sole.peer = setmetatable({ stream = stream, handlers = {}, reader = {} }, metatable)
  exit_after_sending(sole.peer)
  return sole.peer
end

return sole
