-- The log of a host: entries of its plugins and its own, filtered by level, are given to one function. By default they
-- are printed to stderr; on a terminal in colour, and with a progress bar.

local core = require "pintle.core"
local errors = require "pintle.error"

local pcall, setmetatable, time = pcall, setmetatable, os.time

local RANK = { debug = 1, info = 2, warn = 3, error = 4, silent = 5 }
local DATA_LIMIT = 2000 -- bytes of data on a line

local log = {}

-- {====== Entries ======

---@class pintle.entry `tostring` returns it as one line
---@field level pintle.level
---@field plugin string
---@field source "log"|"stderr"|"stdout"|"host" a log message, a line of stderr, output that is no message, or the host
---@field message string
---@field data any
---@field time integer as of os.time
local entry_metatable = { __name = "pintle.entry" }

---A text of a plugin without control characters other than tabs, to print on a terminal.
---@param text string
---@return string
function log.harmless(text) return errors.harmless(text, "\t") end
local harmless = log.harmless

local function log_data_text(data)
  if data == nil then return "" end
  local ok, text = pcall(core.json.encode, data)
  if not ok then text = tostring(data) end
  if #text > DATA_LIMIT then text = text:sub(1, DATA_LIMIT) .. "…" end
  return " " .. text
end

local function format_log_parts(entry)
  local mark = (entry.source == "stderr" or entry.source == "stdout") and " " .. entry.source .. "|" or ":"
  return harmless(entry.plugin) .. mark, harmless(entry.message), harmless(log_data_text(entry.data))
end

function entry_metatable.__tostring(entry)
  local plugin, message, data = format_log_parts(entry)
  return ("%-5s %s %s%s"):format(entry.level, plugin, message, data)
end

-- }======

-- {====== The terminal ======

local COLOUR = { debug = "\27[2m", info = "\27[32m", warn = "\27[33m", error = "\27[31m" }
local DIM, PLAIN, CLEAR_LINE = "\27[2m", "\27[0m", "\r\27[K"
local BAR = 24 -- columns

-- Cuts a line, but not inside a character. Each character counts as one column, also a wide one.
local function cut_log_line(line, columns)
  if not utf8.len(line) then return line:sub(1, columns) end
  local stop = utf8.offset(line, columns + 1)
  return stop and line:sub(1, stop - 1) or line
end

-- In a narrow terminal the names are cut, so that the bar is whole.
local function log_progress_bar(plugin, operation, fraction, message)
  local full = math.floor(fraction * BAR + 0.5)
  local bar = (" [%s%s] %3d%%"):format(("#"):rep(full), ("."):rep(BAR - full), math.floor(fraction * 100 + 0.5))
  local columns = core.columns(2)
  local room = columns and columns > 1 and columns - 1 or math.maxinteger
  local names = cut_log_line(harmless(plugin .. " " .. operation), math.max(room - #bar, 0))
  return cut_log_line(names .. bar .. (message and " " .. harmless(message) or ""), room)
end

---@class pintle.terminal
---@field has_bar boolean whether progress can be shown
---@field entry fun(entry: pintle.entry)
---@field progress fun(plugin: string, operation: string, fraction: number, message: string?)
---@field clear fun() removes an unfinished bar

---The log on stderr.
---@return pintle.terminal
function log.new_terminal()
  local has_bar = core.isatty(2) and os.getenv "TERM" ~= "dumb"
  local has_colour = has_bar and (os.getenv "NO_COLOR" or "") == ""
  local terminal, is_drawn = { has_bar = has_bar }, false

  function terminal.clear()
    if is_drawn then io.stderr:write(CLEAR_LINE) end
    is_drawn = false
  end

  function terminal.entry(entry)
    terminal.clear()
    if not has_colour then return io.stderr:write(tostring(entry), "\n") end
    local plugin, message, data = format_log_parts(entry)
    local level = ("%s%-5s%s"):format(COLOUR[entry.level], entry.level, PLAIN)
    io.stderr:write(level, " ", plugin, " ", message, DIM, data, PLAIN, "\n")
  end

  function terminal.progress(plugin, operation, fraction, message)
    fraction = math.max(0, math.min(1, fraction))
    io.stderr:write(CLEAR_LINE, log_progress_bar(plugin, operation, fraction, message))
    is_drawn = true
  end

  return terminal
end

-- }======

---@class pintle.logger
---@field terminal? pintle.terminal if entries are printed to stderr
---@field has_bar boolean whether progress is shown
---@field verbosity pintle.level|"silent" minimum level of entries
---@field shown table<any, boolean> whether entries of a level are shown; an unknown level counts as "info"
local methods = {}

local metatable = { __name = "pintle.logger", __index = methods }

---Logs an entry, if its level is shown. The parameters are the fields of `pintle.entry`.
---@param plugin string
---@param source string
---@param level any
---@param message string
---@param data any
function methods:add(plugin, source, level, message, data)
  if not self.shown[level] then return end
  local ok, err = pcall(self.output, setmetatable({
    level = RANK[level] and level or "info", plugin = plugin, source = source, message = message, data = data,
    time = time(),
  }, entry_metatable))
  if not ok then io.stderr:write("pintle: the host's log function failed: ", tostring(err), "\n") end
end

---@param output nil|false|fun(entry: pintle.entry) default: prints to stderr; false for no log
---@param verbosity pintle.level|"silent" minimum level of entries
---@return pintle.logger
function log.new(output, verbosity)
  local threshold, shown = RANK[verbosity], {}
  for level, rank in pairs(RANK) do shown[level] = output ~= false and rank >= threshold end
  setmetatable(shown, { __index = function() return shown.info end })
  local terminal = output == nil and log.new_terminal() or nil
  return setmetatable({
    verbosity = verbosity, shown = shown, terminal = terminal, output = terminal and terminal.entry or output,
    has_bar = terminal ~= nil and terminal.has_bar and verbosity ~= "silent",
  }, metatable)
end

---@param level any
---@return boolean
function log.is_level(level) return RANK[level] ~= nil end

return log
