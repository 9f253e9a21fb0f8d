-- Output of the command: results on stdout, everything else on stderr; colours for terminals; text in columns.

local errors = require "pintle.error"
local lazy = require "pintle.lazy"
local texts = require "pintle.cli.text"

local core = lazy "pintle.core"

local STYLES = {
  bold = "\27[1m", dim = "\27[2m", red = "\27[31m", green = "\27[32m", yellow = "\27[33m", cyan = "\27[36m",
}
local PLAIN = "\27[0m"

---@class pintle.cli.console
---@field checkout? string root of the checkout that the command runs from
---@field is_terminal boolean whether stdout is a terminal
---@field failure? string the first error of writing to stdout
local methods = {}

local metatable = { __name = "pintle.cli.console", __index = methods }

local console = {}

-- Text with its control characters replaced, except line ends and tabs.
local function harmless(text) return errors.harmless(text, "\n\t") end

---Makes text safe to print as part of one line on a terminal.
---@param text string
---@return string
function console.harmless_line(text) return errors.harmless(text, "\t") end

-- A reader that closes the pipe early is not a failure.
local EPIPE = 32

local function note_failure(self, ok, message, errno)
  if not ok and errno ~= EPIPE then self.failure = self.failure or message end
end

---@param ... string
function methods:write(...) note_failure(self, self.out:write(...)) end

---@param ... string
function methods:print(...) note_failure(self, self.out:write(..., "\n")) end

---Writes all buffered output.
---@return string? message the first error of writing to stdout, if there was one
function methods:flush()
  note_failure(self, self.out:flush())
  return self.failure
end

---Prints text that comes from a plugin or a recording: unchanged for programs, without control sequences on a terminal.
---@param text string
function methods:print_foreign(text) self:print(self.is_terminal and harmless(text) or text) end

---Prints an error or a remark on stderr.
---@param message string
function methods:warn(message) self.err:write("pintle: ", harmless(message), "\n") end

---Explains on a terminal why nothing happens: the command waits for a host.
---@param input pintle.fd
---@param advice string
function methods:explain_wait(input, advice)
  if not (core.isatty(input) and core.isatty(2)) then return end
  self:warn("waiting for messages on stdin: a host has to start this command" .. advice)
end

---Prints a line of a plugin's stderr: unchanged for programs, without control sequences on a terminal.
---@param line string
function methods:print_stderr(line) self.err:write(core.isatty(2) and harmless(line) or line, "\n") end

---Prints a value as indented JSON.
---@param value any
function methods:json(value)
  self:print_foreign(require("pintle.plugin.command").indent(core.json.encode(value)))
end

---Prints a value as JSON on one line.
---@param value any
function methods:json_line(value) self:print_foreign(core.json.encode(value)) end

---@param style string
---@param text string
---@return string
function methods:paint(style, text)
  return self.has_colour and STYLES[style] .. text .. PLAIN or text
end

---Prints lines, the first in bold.
---@param lines string[]
function methods:print_lines(lines)
  for i, line in ipairs(lines) do self:print(i == 1 and self:paint("bold", line) or line) end
end

---@return integer? columns width of the terminal; nil if stdout is not a terminal
function methods:columns() return self.is_terminal and core.columns(1) or nil end

local function append_to(name, places)
  return (os.getenv(name .. "_5_4") or os.getenv(name) or ";;") .. ";" .. places
end

---Extra environment variables for plugins. In a checkout, plugins find its modules after all others.
---@return table<string, string>?
function methods:plugin_environment()
  local root = self.checkout
  if not root then return nil end
  return {
    LUA_PATH_5_4 = append_to("LUA_PATH", ("%s/lua/?.lua;%s/lua/?/init.lua"):format(root, root)),
    LUA_CPATH_5_4 = append_to("LUA_CPATH", root .. "/build/?.so"),
  }
end

---@param checkout? string
---@return pintle.cli.console
function console.new(checkout)
  local ok, is_terminal = pcall(function() return core.isatty(1) end)
  is_terminal = ok and is_terminal
  return setmetatable({
    out = io.stdout, err = io.stderr, checkout = checkout, is_terminal = is_terminal,
    has_colour = is_terminal and (os.getenv "NO_COLOR" or "") == "" and os.getenv "TERM" ~= "dumb",
  }, metatable)
end

-- {====== Text in columns ======

local GAP = "  "

local function widths_of(rows)
  local widths = {}
  for _, row in ipairs(rows) do
    for i, cell in ipairs(row) do widths[i] = math.max(widths[i] or 0, texts.width(cell)) end
  end
  return widths
end

local function pad(cell, columns, is_right)
  local space = (" "):rep(columns - texts.width(cell))
  return is_right and space .. cell or cell .. space
end

local function format_row(row, widths, right)
  local cells = {}
  for i, cell in ipairs(row) do cells[i] = pad(cell, widths[i], right[i]) end
  return (table.concat(cells, GAP):gsub("%s+$", ""))
end

---@param heads string[]
---@param rows string[][] each with as many cells as there are heads
---@param right? table<integer, true> columns that are aligned to the right
---@return string[] lines the heads first
function console.table_lines(heads, rows, right)
  local all = table.move(rows, 1, #rows, 2, { heads })
  local widths, lines = widths_of(all), {}
  for i, row in ipairs(all) do lines[i] = format_row(row, widths, right or {}) end
  return lines
end

-- }======

return console
