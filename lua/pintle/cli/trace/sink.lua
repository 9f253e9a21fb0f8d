-- Where bytes are passed on to. Nothing here waits: what finds no room stays with whoever brought it.

local core = require "pintle.core"

-- So much fits into whatever says that it can be written to, also where a write would wait for room for the rest.
local SAFE = 4096

---@class pintle.cli.sink
---@field descriptor integer
---@field write fun(data: string, at: integer): integer|false|nil where the rest begins; false if there is no room, nil
---if nobody reads it any more
---@field close fun()

local sinks = {}

---The end of a pipe that does not wait.
---@param fd pintle.fd
---@return pintle.cli.sink
function sinks.pipe(fd)
  return {
    descriptor = fd:fileno(),
    write = function(data, at)
      local written = fd:write(at == 1 and data or data:sub(at))
      return written and at + written or written
    end,
    close = function() fd:close() end,
  }
end

-- Whether there is room, without waiting for it.
local function watch_room(descriptor)
  local poller = assert(core.poller())
  assert(poller:set(descriptor, "w", true))
  return function() return poller:wait(0) == 1 and poller:next() ~= nil end, poller
end

local function careful(descriptor, write, close)
  local has_room, poller = watch_room(descriptor)
  return {
    descriptor = descriptor,
    write = function(data, at)
      local began = at
      while at <= #data do
        if not has_room() then return at > began and at end
        local written = write(data:sub(at, at + SAFE - 1))
        if written == nil then return nil end
        if not written then return at > began and at end
        at = at + written
      end
      return at
    end,
    close = function()
      poller:close()
      close()
    end,
  }
end

---This program's own stdout, which others may have made one that waits.
---@param fd pintle.fd
---@return pintle.cli.sink
function sinks.own_output(fd)
  return careful(fd:fileno(), function(piece) return fd:write(piece) end, function() fd:close() end)
end

---This program's own stderr, which is not ours to close.
---@return pintle.cli.sink
function sinks.own_stderr()
  return careful(2, function(piece) return io.stderr:write(piece) and #piece or nil end, function() end)
end

return sinks
