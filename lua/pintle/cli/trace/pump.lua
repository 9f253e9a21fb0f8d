-- Forwarding of one direction: bytes are written to the sink as they arrive, and then reported. While the sink has no
-- room, nothing more is read, so the writer is blocked as if the tracer were not there.

local core = require "pintle.core"
local errors = require "pintle.error"
local loop = require "pintle.loop"

---@class pintle.cli.pump
---@field source pintle.fd
---@field sink pintle.cli.sink
---@field on_bytes fun(data: string) called after the bytes were forwarded, as far as there was room
---@field on_end fun(by: "source"|"sink"|nil) called once: the side that ended the direction, or nil after `stop`
---@field is_over boolean
local methods = {}

local metatable = { __name = "pintle.cli.pump", __index = methods }

local pumps = {}

-- {====== Watching ======

local function watch_source(self) assert(loop.watch(self.source:fileno(), "r", self.reader)) end

local function unwatch_source(self) loop.unwatch(self.source:fileno(), self.reader) end

local function watch_sink(self) assert(loop.watch(self.sink.descriptor, "w", self.writer)) end

local function unwatch_sink(self) loop.unwatch(self.sink.descriptor, self.writer) end

-- }======

local function finish(self, by)
  if self.is_over then return end
  self.is_over = true
  unwatch_source(self)
  unwatch_sink(self)
  self.source:close()
  self.sink.close()
  self.on_end(by)
end

-- {====== Forwarding ======

-- Whether everything was written; nil if the sink is closed.
local function push(self)
  local at = self.sink.write(self.rest, self.at)
  if at == nil then return nil end
  self.at = at or self.at
  if self.at <= #self.rest then return false end
  self.rest, self.at = "", 1
  return true
end

-- Whether there may be more to read immediately.
local function pull(self)
  local data = self.source:read()
  if data == false then
    if self.is_last then finish(self, "source") end
    return false
  end
  if not data or data == "" then
    finish(self, "source")
    return false
  end
  self.rest, self.at = data, 1
  local is_out = push(self)
  self.on_bytes(data)
  if is_out then return true end
  if is_out == nil then
    finish(self, "sink")
    return false
  end
  unwatch_source(self)
  watch_sink(self)
  return false
end

local function drain(self)
  while pull(self) do end
end

local function continue(self)
  local is_out = push(self)
  if is_out == nil then return finish(self, "sink") end
  if not is_out then return end
  unwatch_sink(self)
  watch_source(self)
  if self.is_last then drain(self) end
end

-- }======

---Forwards what is still in the pipe, and ends. Called when the writer has exited.
function methods:finish()
  self.is_last = true
  if not self.is_over and self.rest == "" then drain(self) end
end

---Ends it now, without forwarding the rest.
function methods:stop() finish(self, nil) end

---@param given { source: pintle.fd, sink: pintle.cli.sink, on_bytes: fun(data: string), on_end: fun(by: string) }
---@return pintle.cli.pump
function pumps.start(given)
  local self = setmetatable({
    source = given.source, sink = given.sink, on_bytes = given.on_bytes, on_end = given.on_end,
    rest = "", at = 1, is_over = false, is_last = false,
  }, metatable)
  self.reader = { on_ready = function() pull(self) end }
  self.writer = { on_ready = function() continue(self) end }
  watch_source(self)
  return self
end

-- {====== Sinks: they never block; the caller keeps the bytes that found no room ======

-- A descriptor that is ready for writing takes at least this much without blocking.
local SAFE = 4096

---@class pintle.cli.sink
---@field descriptor integer
---@field write fun(data: string, at: integer): integer|false|nil position of the rest; false if there is no room, nil
---if the reader is gone
---@field close fun()

---A sink for the end of a pipe that does not block.
---@param fd pintle.fd
---@return pintle.cli.sink
function pumps.pipe(fd)
  return {
    descriptor = fd:fileno(),
    write = function(data, at)
      local written = fd:write(at == 1 and data or data:sub(at))
      return written and at + written or written
    end,
    close = function() fd:close() end,
  }
end

-- A sink for a descriptor that may block: it is only written to while there is room.
local function polled(descriptor, write, close)
  return {
    descriptor = descriptor,
    write = function(data, at)
      local began = at
      while at <= #data do
        if not core.poll(0, descriptor, "w") then return at > began and at end
        local written = write(data:sub(at, at + SAFE - 1))
        if written == nil then return nil end
        if not written then return at > began and at end
        at = at + written
      end
      return at
    end,
    close = close,
  }
end

-- {====== A terminal ======

-- The part at the end of a text that may be an incomplete character or half of a line end.
local function unfinished(text) return text:match "[\r\xC2\xD8\xE2]$" or text:match "\xE2[\x80\x81]$" or "" end

-- Returns a function that makes pieces of output safe for a terminal; nil is the end.
local function terminal_text()
  local rest = ""
  return function(piece)
    local text = rest .. (piece or "")
    rest = piece and unfinished(text) or ""
    return errors.harmless(text:sub(1, #text - #rest):gsub("\r\n", "\n"), "\n\t")
  end
end

-- A sink for a terminal. It accepts a whole piece; the part that finds no room is written with the next one.
local function terminal(descriptor, write, close)
  local text_of, late = terminal_text(), ""
  local function put(piece)
    local text = late .. text_of(piece)
    local written = write(text)
    late = text:sub((written or 0) + 1)
    return written ~= nil and piece and #piece or nil
  end
  return polled(descriptor, put, function()
    put(nil)
    close()
  end)
end

-- }======

-- Output is forwarded unchanged to programs, and without control sequences to a terminal.
local function own(descriptor, write, close)
  return (core.isatty(descriptor) and terminal or polled)(descriptor, write, close)
end

---A sink for this program's stdout, which another process may have made blocking.
---@param fd pintle.fd
---@return pintle.cli.sink
function pumps.own_output(fd)
  return own(fd:fileno(), function(piece) return fd:write(piece) end, function() fd:close() end)
end

---A sink for this program's stderr, which is never closed.
---@return pintle.cli.sink
function pumps.own_stderr()
  return own(2, function(piece) return io.stderr:write(piece) and #piece or nil end, function() end)
end

-- }======

return pumps
