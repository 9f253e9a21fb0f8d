-- The other side of a replay: whole messages in and out over two descriptors.

local core = require "pintle.core"
local errors = require "pintle.error"
local loop = require "pintle.loop"

---@class pintle.cli.wire
local methods = {}

local metatable = { __name = "pintle.cli.wire", __index = methods }

local wires = {}

-- {====== Waiting ======

-- Until there is something to read, or room to write if that is wanted.
local function wait(self, wants_room, seconds)
  local is_ready = loop.event()
  local watcher = { on_ready = function() is_ready:set(true) end }
  local input, output = not self.is_ended and self.input:fileno(), wants_room and self.output:fileno()
  if input then assert(loop.watch(input, "r", watcher)) end
  if output then assert(loop.watch(output, "w", watcher)) end
  local ok, err = is_ready:wait(seconds, errors.new("timeout", "nothing was said in time"))
  if input then loop.unwatch(input, watcher) end
  if output then loop.unwatch(output, watcher) end
  return ok, err
end

local function take_in(self)
  if self.is_ended then return end
  local data = self.input:read()
  if data == false then return end
  if not data or data == "" then
    self.is_ended = true
    self.frames:finish()
  else
    self.frames:feed(data)
  end
end

-- }======

---The next message; "end" where nothing will follow.
---@param seconds number
---@return "message"|"noise"|"end"|nil kind, string|pintle.error|nil text
function methods:receive(seconds)
  local deadline = loop.now() + seconds
  while true do
    local kind, text = self.frames:next()
    if kind then return kind == "message" and kind or "noise", text end
    if self.is_ended then return "end" end
    local ok, err = wait(self, false, math.max(deadline - loop.now(), 0))
    if not ok then return nil, err end
    take_in(self)
  end
end

local function write_all(self, data)
  local at = 1
  while at <= #data do
    local written = self.output:write(data:sub(at))
    if written == nil then return nil, errors.new("closed", "nobody reads what is said") end
    at = at + (written or 0)
    if not written then
      local ok, err = wait(self, true)
      if not ok then return nil, err end
      take_in(self)
    end
  end
  return true
end

---@param text string a message
---@return true?, pintle.error?
function methods:send(text)
  if self.framing == "line" then return write_all(self, text .. "\n") end
  return write_all(self, ("%s%d\r\n\r\n%s"):format(self.header, #text, text))
end

---@param data string bytes that are no message
---@return true?, pintle.error?
function methods:blurt(data) return write_all(self, data .. "\n") end

---The other side sees the end of its input.
function methods:close_output()
  if not self.output:closed() then self.output:close() end
end

function methods:close()
  self:close_output()
  self.input:close()
end

---@param given { input: pintle.fd, output: pintle.fd, framing: "line"|"header", header: string }
---@return pintle.cli.wire
function wires.new(given)
  return setmetatable({
    input = given.input, output = given.output, framing = given.framing, header = given.header,
    frames = core.frames(given.framing), is_ended = false,
  }, metatable)
end

return wires
