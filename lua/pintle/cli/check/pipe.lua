-- A process of the plugin and the raw bytes to and from it. All that passes is kept, for whoever has to be shown it.

local errors = require "pintle.error"
local loop = require "pintle.loop"
local processes = require "pintle.process"

local breach = require "pintle.cli.check.breach"
local framers = require "pintle.cli.check.framer"

local MOST = 32 * 1024 * 1024 -- bytes of output that are read of one process
local KEPT = 200 -- pieces that are kept to be shown
local FAREWELL = 1 -- seconds that a process has to end once its input has
local LAST_WORDS = 0.5 -- seconds between the end of its output and its own

---@class pintle.cli.check.pipe
---@field exit pintle.exit? how it has ended
---@field is_over boolean whether it says nothing more
---@field pieces { from: "host"|"plugin", kind: string, text: string, problem?: string }[]
local methods = {}

local metatable = { __name = "pintle.cli.check.pipe", __index = methods }

local pipes = {}

---@param from "host"|"plugin"
---@param kind string
---@param text string
---@param problem? string
function methods:note(from, kind, text, problem)
  if #self.pieces >= KEPT then self.left_out = (self.left_out or 0) + 1 return end
  self.pieces[#self.pieces + 1] = { from = from, kind = kind, text = text, problem = problem }
end

-- {====== Reading ======

local function ring(self)
  if self.event then self.event:set(true) end
  self.event = nil
end

local function hand_out(self)
  for piece in self.framer.next, self.framer do self.on_piece(piece) end
end

local function stop_reading(self)
  if self.is_over then return end
  self.is_over = true
  loop.unwatch(self.stdout:fileno(), self.reader)
  local left = self.framer:finish()
  if left then self.on_piece(left) end
end

-- Whether there may be more at once.
local function read(self)
  if self.is_over then return false end
  local data = self.stdout:read()
  if data == false then return false end
  self.received = self.received + #(data or "")
  if data and data ~= "" then self.framer:feed(data) hand_out(self) end
  if not data or data == "" or self.received > MOST then stop_reading(self) end
  ring(self)
  return not self.is_over
end

local function bury(self, exit)
  while read(self) do end
  self.exit = exit
  self:note("plugin", "exit", errors.describe_exit(exit))
  ring(self)
end

-- }======

-- {====== Waiting ======

local LATE = errors.new("timeout", "late")

---Waits until it is so.
---@param condition fun(): any
---@param seconds? number as many as a probe may wait unless told
---@return any what the condition says then; nil when the time is over
function methods:await(condition, seconds)
  local deadline = loop.now() + (seconds or self.timeout)
  while true do
    local answer = condition()
    if answer then return answer end
    local left = deadline - loop.now()
    if left <= 0 then return nil end
    self.event = loop.event()
    local ok, err = self.event:wait(left, LATE)
    if not ok and err.kind ~= "timeout" then error(err, 0) end
  end
end

---@param seconds? number
---@return pintle.exit? nil if it has not ended in time
function methods:await_exit(seconds)
  return self:await(function() return self.exit end, seconds)
end

-- }======

-- {====== Writing ======

local function await_room(self)
  local has_room, watcher = false, {}
  local descriptor = self.stdin:fileno()
  function watcher.on_ready()
    has_room = true
    loop.unwatch(descriptor, watcher)
    ring(self)
  end
  assert(loop.watch(descriptor, "w", watcher))
  local ok, answer = pcall(self.await, self, function() return has_room or self.exit end)
  if not has_room then loop.unwatch(descriptor, watcher) end
  if not ok then error(answer, 0) end
  return answer
end

---Writes all of it. That nobody reads it any more is no news: it shows in what does not come back.
---@param data string
---@param kind? string what it is, for those who are shown it: a message unless told
---@param text? string how they are shown it
function methods:write(data, kind, text)
  self:note("host", kind or "message", text or data)
  local at = 1
  while at <= #data and not self.exit and not self.stdin:closed() do
    local written = self.stdin:write(data:sub(at, at + 65535))
    if written == nil then return end
    at = at + (written or 0)
    if not written and not await_room(self) then
      breach.raise("it has read no more than %d of %d bytes within %gs", at - 1, #data, self.timeout)
    end
  end
end

---It sees the end of its input.
function methods:close_input()
  if self.stdin:closed() then return end
  self:note("host", "closed", "")
  self.stdin:close()
end

-- }======

---How it has ended, where it says nothing more.
---@return string
function methods:describe_end()
  if self.received > MOST then return ("it has written more than %d MiB"):format(MOST // 1024 // 1024) end
  local exit = self:await_exit(LAST_WORDS)
  return exit and "it has ended with " .. errors.describe_exit(exit) or "it has closed its stdout"
end

---Lets go of it, politely as far as that goes.
function methods:finish()
  self:close_input()
  if not self:await_exit(FAREWELL) then self:note("host", "killed", "") end
  self:close()
end

---Ends it, and whatever it has left behind.
function methods:close()
  if self.is_closed then return end
  self.is_closed = true
  stop_reading(self)
  self.child:close()
end

metatable.__close = methods.close

---@class pintle.cli.check.pipe.options
---@field command string[]
---@field env? table<string, string>
---@field framing "line"|"header"
---@field timeout number seconds for each wait
---@field on_piece fun(piece: pintle.cli.check.piece)

---@param given pintle.cli.check.pipe.options
---@return pintle.cli.check.pipe?, pintle.error?
function pipes.start(given)
  local self = setmetatable({
    framer = framers.new(given.framing), timeout = given.timeout, on_piece = given.on_piece, pieces = {},
    received = 0, is_over = false,
  }, metatable)
  local child, err = processes.start {
    command = given.command, env = given.env, on_stderr = function() end, on_exit = function(exit) bury(self, exit) end,
  }
  if not child then return nil, err end
  self.child, self.stdin, self.stdout = child, child.process.stdin, child.process.stdout
  self.reader = { on_ready = function() read(self) end }
  assert(loop.watch(self.stdout:fileno(), "r", self.reader))
  return self
end

return pipes
