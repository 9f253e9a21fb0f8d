-- Standard input, byte by byte, as it comes: nobody else has to wait for it.

local loop = require "pintle.loop"

local STDIN = 0
local MOST_AHEAD = 1 << 16 -- bytes that are typed ahead; more are dropped

---@class pintle.cli.run.input
---@field on_interrupt? fun() told of Ctrl-C while nobody reads
local methods = {}

local metatable = { __name = "pintle.cli.run.input", __index = methods }

local function stop_watching(self)
  if self.is_watched then loop.unwatch(STDIN, self) end
  self.is_watched = false
end

-- Where the system cannot tell, as with files, reading never waits.
local function watch(self)
  if self.is_watched or self.is_plain then return end
  self.is_watched = loop.watch(STDIN, "r", self) ~= nil
  self.is_plain = not self.is_watched
end

local function take(self, byte)
  if byte == nil then
    self.has_ended = true
    stop_watching(self)
  elseif byte == "\3" and self.on_interrupt then
    return self.on_interrupt()
  elseif #self.bytes - self.first < MOST_AHEAD then
    self.bytes[#self.bytes + 1] = byte
  end
  local event = self.event
  self.event = nil
  if event then event:set(true) end
end

---@private called by the loop
function methods:on_ready() take(self, io.stdin:read(1)) end

local function next_byte(self)
  local byte = self.bytes[self.first]
  if not byte then
    self.bytes, self.first = {}, 1
    return nil
  end
  self.first = self.first + 1
  return byte
end

---Waits for the next byte.
---@return string|nil|false byte nil at the end, false if the wait was given up
function methods:next()
  while true do
    local byte = next_byte(self)
    if byte then return byte end
    if self.has_ended then return nil end
    watch(self)
    if self.is_plain then
      take(self, io.stdin:read(1))
    else
      self.event = loop.event()
      if not self.event:wait() then return false end
    end
  end
end

---Takes note of what comes while `fn` runs; Ctrl-C is told to `on_interrupt`.
---@param on_interrupt fun()
---@param fn function
function methods:during(on_interrupt, fn)
  self.on_interrupt = on_interrupt
  if not self.has_ended then watch(self) end
  local results = table.pack(pcall(fn))
  self.on_interrupt = nil
  if not results[1] then error(results[2], 0) end
  return table.unpack(results, 2, results.n)
end

---Nothing is read ahead from now on, until somebody reads.
methods.rest = stop_watching

metatable.__close = stop_watching

---@return pintle.cli.run.input
return function()
  io.stdin:setvbuf "no"
  return setmetatable({ bytes = {}, first = 1, is_watched = false }, metatable)
end
