-- Where bytes are passed on to. Nothing here waits: what finds no room stays with whoever brought it.

local core = require "pintle.core"
local errors = require "pintle.error"

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

-- Writes only where there is room.
local function careful(descriptor, write, close)
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

-- The end of a text whose last character may be cut in two, or that may be half of a line's end.
local function unfinished(text) return text:match "[\r\xC2\xD8\xE2]$" or text:match "\xE2[\x80\x81]$" or "" end

-- What comes in pieces, as a terminal may show it; nil is the end.
local function terminal_text()
  local rest = ""
  return function(piece)
    local text = rest .. (piece or "")
    rest = piece and unfinished(text) or ""
    return errors.harmless(text:sub(1, #text - #rest):gsub("\r\n", "\n"), "\n\t")
  end
end

-- Takes all of a piece; what finds no room goes with the next one.
local function terminal(descriptor, write, close)
  local text_of, late = terminal_text(), ""
  local function put(piece)
    local text = late .. text_of(piece)
    local written = write(text)
    late = text:sub((written or 0) + 1)
    return written ~= nil and piece and #piece or nil
  end
  return careful(descriptor, put, function()
    put(nil)
    close()
  end)
end

-- }======

-- For programs it is passed on as it is; on a terminal it shows nothing that steers that.
local function own(descriptor, write, close)
  return (core.isatty(descriptor) and terminal or careful)(descriptor, write, close)
end

---This program's own stdout, which others may have made one that waits.
---@param fd pintle.fd
---@return pintle.cli.sink
function sinks.own_output(fd)
  return own(fd:fileno(), function(piece) return fd:write(piece) end, function() fd:close() end)
end

---This program's own stderr, which is not ours to close.
---@return pintle.cli.sink
function sinks.own_stderr()
  return own(2, function(piece) return io.stderr:write(piece) and #piece or nil end, function() end)
end

return sinks
