-- The log on stderr, for people: in colour and with a bar for what tells of its progress, where that is a terminal.

local core = require "pintle.core"
local entries = require "pintle.host.entry"

local COLOUR = { debug = "\27[2m", info = "\27[32m", warn = "\27[33m", error = "\27[31m" }
local DIM, PLAIN, CLEAR_LINE = "\27[2m", "\27[0m", "\r\27[K"
local BAR = 24 -- columns

local function wants_colour()
  return core.isatty(2) and (os.getenv "NO_COLOR" or "") == "" and os.getenv "TERM" ~= "dumb"
end

-- Up to so many columns, and no half character at the end. Wide characters are not counted as such.
local function cut(line, columns)
  if not utf8.len(line) then return line:sub(1, columns) end
  local stop = utf8.offset(line, columns + 1)
  return stop and line:sub(1, stop - 1) or line
end

local function bar(plugin, operation, fraction, message)
  local full = math.floor(fraction * BAR + 0.5)
  local line = ("%s %s [%s%s] %3d%%"):format(plugin, operation, ("#"):rep(full), ("."):rep(BAR - full),
    math.floor(fraction * 100 + 0.5))
  if message then line = line .. " " .. message end
  local columns = core.columns(2)
  return cut(entries.harmless(line), columns and columns > 1 and columns - 1 or math.maxinteger)
end

---@class pintle.terminal
---@field has_bar boolean whether progress can be shown
---@field entry fun(entry: pintle.entry)
---@field progress fun(plugin: string, operation: string, fraction: number, message: string?)
---@field clear fun() takes a bar away that is not full

---@return pintle.terminal
return function()
  local terminal = { has_bar = core.isatty(2) and os.getenv "TERM" ~= "dumb" }
  local is_drawn, colour = false, wants_colour()

  function terminal.clear()
    if is_drawn then io.stderr:write(CLEAR_LINE) end
    is_drawn = false
  end

  function terminal.entry(entry)
    terminal.clear()
    if not colour then return io.stderr:write(tostring(entry), "\n") end
    local who, message, data = entries.parts(entry)
    local level = ("%s%-5s%s"):format(COLOUR[entry.level], entry.level, PLAIN)
    io.stderr:write(level, " ", who, " ", message, DIM, data, PLAIN, "\n")
  end

  function terminal.progress(plugin, operation, fraction, message)
    fraction = math.max(0, math.min(1, fraction))
    io.stderr:write(CLEAR_LINE, bar(plugin, operation, fraction, message))
    is_drawn = fraction < 1
    if not is_drawn then io.stderr:write "\n" end
  end

  return terminal
end
