-- A process of the plugin and the raw bytes to and from it. A strict framer reports what a lenient reader would ignore.
-- Everything that passes is kept, to be shown in the report.

local errors = require "pintle.error"
local loop = require "pintle.loop"
local processes = require "pintle.process"

-- {====== The framer ======

---@class pintle.cli.check.piece
---@field kind "message"|"noise"
---@field text string
---@field problem? string what is wrong with the frame, or why it is not a message

---@class pintle.cli.check.framer
---@field feed fun(self: pintle.cli.check.framer, data: string)
---@field next fun(self: pintle.cli.check.framer): pintle.cli.check.piece?
---@field finish fun(self: pintle.cli.check.framer): pintle.cli.check.piece? an incomplete message at the end

-- Methods of both framings.
local shared = {}

function shared:feed(data)
  self.rest = self.rest:sub(self.at) .. data
  self.at = 1
end

local function bytes_left(self) return #self.rest - self.at + 1 end

local function take_bytes(self, bytes)
  local text = self.rest:sub(self.at, self.at + bytes - 1)
  self.at = self.at + bytes
  return text
end

-- The next line with its line end.
local function take_bytes_of_line(self)
  local stop = self.rest:find("\n", self.at, true)
  return stop and take_bytes(self, stop - self.at + 1)
end

local function noise_piece(text, problem) return { kind = "noise", text = text, problem = problem } end

-- One message per line.
local line_methods = setmetatable({}, { __index = shared })

function line_methods:next()
  local line = take_bytes_of_line(self)
  if not line then return nil end
  local text = line:gsub("\r?\n$", "")
  if text == "" then return noise_piece("", "an empty line") end
  return { kind = "message", text = text }
end

function line_methods:finish()
  local rest = take_bytes(self, bytes_left(self))
  return rest ~= "" and noise_piece(rest, "an incomplete line") or nil
end

-- A header before each message.
local header_methods = setmetatable({}, { __index = shared })

local function read_header_line(self, line)
  local name, value = line:match "^(%a[%w-]*):[ \t]*([^\r\n]*)\r?\n$"
  if not name then
    self.length, self.problem = nil, nil
    return noise_piece((line:gsub("\r?\n$", "")), "not a header line")
  end
  if not line:find "\r\n$" then self.problem = "a header line ends with LF, not CR LF" end
  if name:lower() == "content-length" then
    self.length = math.tointeger(value:match "^%d+$" and tonumber(value))
    if not self.length then self.problem = "Content-Length is not a number" end
  end
end

local function read_header(self)
  while not self.is_in_body do
    local line = take_bytes_of_line(self)
    if not line then return nil end
    if line:find "^\r?\n$" and self.length then
      self.is_in_body = true
    else
      local piece = read_header_line(self, line)
      if piece then return piece end
    end
  end
end

function header_methods:next()
  local piece = read_header(self)
  if piece or not self.is_in_body or bytes_left(self) < self.length then return piece end
  piece = { kind = "message", text = take_bytes(self, self.length), problem = self.problem }
  self.is_in_body, self.length, self.problem = false, nil, nil
  return piece
end

function header_methods:finish()
  local rest = take_bytes(self, bytes_left(self))
  return (rest ~= "" or self.length) and noise_piece(rest, "an incomplete message") or nil
end

local METATABLES = { line = { __index = line_methods }, header = { __index = header_methods } }

---@param framing "line"|"header"
---@return pintle.cli.check.framer
local function new_framer(framing) return setmetatable({ rest = "", at = 1 }, METATABLES[framing]) end

-- }======

local MAX_OUTPUT = 32 * 1024 * 1024 -- bytes read from one process
local MAX_PIECES = 200 -- kept for the report
local EXIT_TIMEOUT = 1 -- seconds after the end of input
local EXIT_DELAY = 0.5 -- seconds between the end of output and the exit

---@class pintle.cli.check.pipe
---@field exit pintle.exit? set when the process has ended
---@field is_over boolean whether the output has ended
---@field pieces { from: "host"|"plugin", kind: string, text: string, problem?: string }[]
local methods = {}

local metatable = { __name = "pintle.cli.check.pipe", __index = methods }

local pipes = {}

---@param from "host"|"plugin"
---@param kind string
---@param text string
---@param problem? string
function methods:note(from, kind, text, problem)
  if #self.pieces >= MAX_PIECES then self.left_out = (self.left_out or 0) + 1 return end
  self.pieces[#self.pieces + 1] = { from = from, kind = kind, text = text, problem = problem }
end

-- {====== Reading ======

local function wake_waiter(self)
  if self.event then self.event:set(true) end
  self.event = nil
end

local function deliver_pieces(self)
  for piece in self.framer.next, self.framer do self.on_piece(piece) end
end

local function stop_reading(self)
  if self.is_over then return end
  self.is_over = true
  loop.unwatch(self.stdout:fileno(), self.reader)
  local left = self.framer:finish()
  if left then self.on_piece(left) end
end

-- Whether there may be more to read immediately.
local function read_plugin_output(self)
  if self.is_over then return false end
  local data = self.stdout:read()
  if data == false then return false end
  self.received = self.received + #(data or "")
  if data and data ~= "" then self.framer:feed(data) deliver_pieces(self) end
  if not data or data == "" or self.received > MAX_OUTPUT then stop_reading(self) end
  wake_waiter(self)
  return not self.is_over
end

local function note_exit(self, exit)
  while read_plugin_output(self) do end
  self.exit = exit
  self:note("plugin", "exit", errors.describe_exit(exit))
  wake_waiter(self)
end

-- }======

-- {====== Waiting ======

local LATE = errors.new("timeout", "late")

---Waits until the condition is true.
---@param condition fun(): any
---@param seconds? number default: the timeout of the probe
---@return any value of the condition; nil after a timeout
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
---@return pintle.exit? exit nil after a timeout
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
    wake_waiter(self)
  end
  assert(loop.watch(descriptor, "w", watcher))
  local ok, answer = pcall(self.await, self, function() return has_room or self.exit end)
  if not has_room then loop.unwatch(descriptor, watcher) end
  if not ok then error(answer, 0) end
  return answer
end

---Writes all of the data. A closed pipe is ignored: the missing answers show it.
---@param data string
---@param kind? string kind of the piece in the report (default: "message")
---@param text? string text of the piece in the report
---@return true?, string? message if the plugin does not read it in time
function methods:write(data, kind, text)
  self:note("host", kind or "message", text or data)
  local at = 1
  while at <= #data and not self.exit and not self.stdin:closed() do
    local written = self.stdin:write(data:sub(at, at + 65535))
    if written == nil then return true end
    at = at + (written or 0)
    if not written and not await_room(self) then
      return nil, ("it has read only %d of %d bytes within %gs"):format(at - 1, #data, self.timeout)
    end
  end
  return true
end

---Closes the plugin's input.
function methods:close_input()
  if self.stdin:closed() then return end
  self:note("host", "closed", "")
  self.stdin:close()
end

-- }======

---Why the output has ended.
---@return string
function methods:describe_end()
  if self.received > MAX_OUTPUT then return ("it has written more than %d MiB"):format(MAX_OUTPUT // 1024 // 1024) end
  local exit = self:await_exit(EXIT_DELAY)
  return exit and "it exited with " .. errors.describe_exit(exit) or "it has closed its stdout"
end

---Closes the input, and kills the process if it does not exit.
function methods:finish()
  self:close_input()
  if not self:await_exit(EXIT_TIMEOUT) then self:note("host", "killed", "") end
  self:close()
end

---Kills the process and its group.
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
---@field via? pintle.way
---@field framing "line"|"header"
---@field timeout number seconds for each wait
---@field on_piece fun(piece: pintle.cli.check.piece)

---@param given pintle.cli.check.pipe.options
---@return pintle.cli.check.pipe?, pintle.error?
function pipes.start(given)
  local self = setmetatable({
    framer = new_framer(given.framing), timeout = given.timeout, on_piece = given.on_piece, pieces = {},
    received = 0, is_over = false,
  }, metatable)
  local child, err = processes.start {
    command = given.command, env = given.env, via = given.via, on_stderr = function() end,
    on_started = function() wake_waiter(self) end,
    on_exit = function(exit) note_exit(self, exit) end,
  }
  if not child then return nil, err end
  self.child, self.stdin, self.stdout = child, child.process.stdin, child.process.stdout
  self.reader = { on_ready = function() read_plugin_output(self) end }
  assert(loop.watch(self.stdout:fileno(), "r", self.reader))
  self:await(function() return child.is_started or self.exit end, math.huge)
  if child.is_started then return self end
  self:close()
  return nil, child:connection_error(given.command[1])
end

return pipes
