-- One direction: bytes are passed on as they come, and whoever wants to know is told afterwards. While there is no room
-- for them nothing more is read, so that whoever writes them is held up as if nobody stood in between.

local loop = require "pintle.loop"

---@class pintle.cli.pump
---@field source pintle.fd
---@field sink pintle.cli.sink
---@field on_bytes fun(data: string) told after they were passed on, as far as there was room
---@field on_end fun(by: "source"|"sink"|nil) told once: nothing more comes, nobody takes it, or it was stopped
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

-- {====== Passing on ======

-- Whether all of it is out; nil if nobody takes it.
local function push(self)
  local at = self.sink.write(self.rest, self.at)
  if at == nil then return nil end
  self.at = at or self.at
  if self.at <= #self.rest then return false end
  self.rest, self.at = "", 1
  return true
end

-- Whether there may be more to read at once.
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

local function go_on(self)
  local is_out = push(self)
  if is_out == nil then return finish(self, "sink") end
  if not is_out then return end
  unwatch_sink(self)
  watch_source(self)
  if self.is_last then drain(self) end
end

-- }======

---Whoever writes is gone: what is there is passed on, and then it is over.
function methods:finish_up()
  self.is_last = true
  if not self.is_over and self.rest == "" then drain(self) end
end

---Ends it now.
function methods:stop() finish(self, nil) end

---@param given { source: pintle.fd, sink: pintle.cli.sink, on_bytes: fun(data: string), on_end: fun(by: string) }
---@return pintle.cli.pump
function pumps.start(given)
  local self = setmetatable({
    source = given.source, sink = given.sink, on_bytes = given.on_bytes, on_end = given.on_end,
    rest = "", at = 1, is_over = false, is_last = false,
  }, metatable)
  self.reader = { on_ready = function() pull(self) end }
  self.writer = { on_ready = function() go_on(self) end }
  watch_source(self)
  return self
end

return pumps
