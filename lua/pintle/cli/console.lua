-- Output of the command: results on stdout, everything else on stderr; colours for terminals; the width of text, its
-- wrapping, and text in columns.

local errors = require "pintle.error"
local lazy = require "pintle.lazy"

local core = lazy "pintle.core"
local options = lazy "pintle.cli.options"

local STYLES = {
  bold = "\27[1m", dim = "\27[2m", red = "\27[31m", green = "\27[32m", yellow = "\27[33m", cyan = "\27[36m",
}
local PLAIN = "\27[0m"

---@class pintle.cli.console
---@field checkout? string root of the checkout that the command runs from
---@field is_terminal boolean whether stdout is a terminal
---@field failure? string the first error of writing to stdout
---@field has_wait? boolean whether stderr shows what the user waits for
local methods = {}

local metatable = { __name = "pintle.cli.console", __index = methods }

local console = {}

---@param number integer
---@param noun string
---@return string text such as "1 message", "2 messages"
function console.count(number, noun) return ("%d %s%s"):format(number, noun, number == 1 and "" or "s") end

---Makes text safe to print on a terminal: replaces its control characters, except line ends and tabs.
---@param text string
---@return string
function console.harmless(text) return errors.harmless(text, "\n\t") end

---Makes text safe to print as part of one line on a terminal.
---@param text string
---@return string
function console.harmless_line(text) return errors.harmless(text, "\t") end

-- A reader that closes the pipe early is not a failure.
local EPIPE = 32

local function note_write_failure(self, ok, message, errno)
  if not ok and errno ~= EPIPE then self.failure = self.failure or message end
end

---@param ... string
function methods:write(...) note_write_failure(self, self.out:write(...)) end

---@param ... string
function methods:print(...) note_write_failure(self, self.out:write(..., "\n")) end

---Writes all buffered output.
---@return string? message the first error of writing to stdout, if there was one
function methods:flush()
  note_write_failure(self, self.out:flush())
  return self.failure
end

---Prints text that comes from a plugin or a recording: unchanged for programs, without control sequences on a terminal.
---@param text string
function methods:print_foreign(text) self:print(self.is_terminal and console.harmless(text) or text) end

---Prints an error or a remark on stderr.
---@param message string
function methods:warn(message) self.err:write("pintle: ", console.harmless(message), "\n") end

---Explains on a terminal why nothing happens: the command waits for a host.
---@param input pintle.fd
---@param advice string
function methods:explain_wait(input, advice)
  if not (core.isatty(input) and core.isatty(2)) then return end
  self:warn("waiting for messages on stdin: a host has to start this command" .. advice)
end

---Shows on a terminal what a user waits for, until it is cleared.
---@param what string
function methods:show_wait(what)
  local room = (core.columns(2) or math.huge) - 1
  self.err:write("\r\27[K", console.first_columns(console.harmless_line(what), room))
  self.has_wait = true
end

---Removes what `show_wait` has shown.
function methods:clear_wait()
  if self.has_wait then self.err:write "\r\27[K" end
  self.has_wait = false
end

---Prints a line of a plugin's stderr: unchanged for programs, without control sequences on a terminal.
---@param line string
function methods:print_stderr(line) self.err:write(core.isatty(2) and console.harmless(line) or line, "\n") end

---Prints a value as indented JSON.
---@param value any
function methods:print_json(value)
  self:print_foreign(require("pintle.plugin.command").indent(core.json.encode(value)))
end

---Prints a value as JSON on one line.
---@param value any
function methods:print_json_line(value) self:print_foreign(core.json.encode(value)) end

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
function methods:terminal_columns() return self.is_terminal and core.columns(1) or nil end

local function append_to_lua_path(name, places)
  return (os.getenv(name .. "_5_4") or os.getenv(name) or ";;") .. ";" .. places
end

---Extra environment variables for plugins. In a checkout, plugins of this machine find its modules after all others.
---@param way? pintle.way where the plugin runs, if not on this machine
---@return table<string, string>?
function methods:plugin_environment(way)
  local root = self.checkout
  if not root or way then return nil end
  return {
    LUA_PATH_5_4 = append_to_lua_path("LUA_PATH", ("%s/lua/?.lua;%s/lua/?/init.lua"):format(root, root)),
    LUA_CPATH_5_4 = append_to_lua_path("LUA_CPATH", root .. "/build/?.so"),
  }
end

---The interpreter for plugins, in a shell: lua5.4, or that of the checkout if lua5.4 does not find pintle.
---@return string
function methods:interpreter()
  local root = self.checkout
  local own = root and ("%s/lua/?.lua;%s/lua/?/init.lua;"):format(root, root) or ""
  local others = package.path:sub(1, #own) == own and package.path:sub(#own + 1) or package.path
  if not root or package.searchpath("pintle", others) then return "lua5.4" end
  return options.shell_line { options.absolute(root .. "/script/lua") }
end

---The word that starts this command in a shell.
---@return string
function methods:program_name()
  if not self.checkout or core.which "pintle" then return "pintle" end
  return options.shell_line { options.absolute(self.checkout .. "/bin/pintle") }
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

-- {====== The width of text ======

-- Columns of characters: two for wide East Asian characters and emoji, none for combining marks. The ranges are whole
-- blocks of Unicode, which is as exact as terminals agree.
local ZERO_COLUMNS = {
  { 0x0300, 0x036F }, { 0x0483, 0x0489 }, { 0x0591, 0x05BD }, { 0x0610, 0x061A }, { 0x064B, 0x065F },
  { 0x1AB0, 0x1AFF }, { 0x1DC0, 0x1DFF }, { 0x200B, 0x200F }, { 0x20D0, 0x20FF }, { 0xFE00, 0xFE0F },
  { 0xFE20, 0xFE2F }, { 0xE0100, 0xE01EF },
}
local TWO_COLUMNS = {
  { 0x1100, 0x115F }, { 0x2E80, 0x303E }, { 0x3041, 0x4DBF }, { 0x4E00, 0xA4CF }, { 0xA960, 0xA97F },
  { 0xAC00, 0xD7A3 }, { 0xF900, 0xFAFF }, { 0xFE30, 0xFE6F }, { 0xFF01, 0xFF60 }, { 0xFFE0, 0xFFE6 },
  { 0x1F300, 0x1F64F }, { 0x1F680, 0x1F6FF }, { 0x1F900, 0x1F9FF }, { 0x1FA70, 0x1FAFF }, { 0x20000, 0x3FFFD },
}

local function is_in_ranges(ranges, code)
  for _, range in ipairs(ranges) do
    if code < range[1] then return false end
    if code <= range[2] then return true end
  end
  return false
end

local function columns_of_code(code)
  if code < 0x0300 then return 1 end
  return is_in_ranges(TWO_COLUMNS, code) and 2 or is_in_ranges(ZERO_COLUMNS, code) and 0 or 1
end

---@param line string
---@return integer columns
function console.text_width(line)
  if not utf8.len(line) then return #line end
  local columns = 0
  for _, code in utf8.codes(line) do columns = columns + columns_of_code(code) end
  return columns
end

---The longest beginning of a line that fits; the line is valid UTF-8.
---@param line string
---@param columns integer
---@return string
function console.first_columns(line, columns)
  for at, code in utf8.codes(line) do
    columns = columns - columns_of_code(code)
    if columns < 0 then return line:sub(1, at - 1) end
  end
  return line
end

---The longest end of a line that fits; the line is valid UTF-8.
---@param line string
---@param columns integer
---@return string
function console.last_columns(line, columns)
  local over = console.text_width(line) - columns
  if over <= 0 then return line end
  for at, code in utf8.codes(line) do
    if over <= 0 and columns_of_code(code) > 0 then return line:sub(at) end
    over = over - columns_of_code(code)
  end
  return ""
end

-- }======

-- {====== Wrapping ======

-- Splits a word that is wider than a line. Words of ASCII alone, such as an address, stay whole.
local function add_wrapped_word(words, word, columns)
  while word:find "[\x80-\xFF]" and utf8.len(word) and console.text_width(word) > columns do
    local piece = console.first_columns(word, columns)
    if piece == "" then break end
    words[#words + 1] = piece
    word = word:sub(#piece + 1)
  end
  words[#words + 1] = word
end

local function wrap_line(lines, line, columns)
  local indent = line:match "^ *":sub(1, columns // 2)
  local hanging = indent .. (" "):rep(#(line:match "^ *([-*+] +)" or line:match "^ *(%d+[.)] +)" or ""))
  local room, words = columns - #hanging, {}
  for word in line:gmatch "%S+" do add_wrapped_word(words, word, room) end
  local current = words[1] and indent .. table.remove(words, 1) or ""
  local width = console.text_width(current)
  for _, word in ipairs(words) do
    local more = console.text_width(word)
    if width + 1 + more > columns then
      lines[#lines + 1] = current
      current, width = hanging .. word, #hanging + more
    else
      current, width = current .. " " .. word, width + 1 + more
    end
  end
  lines[#lines + 1] = current
end

---Wraps text at spaces. Line ends and indentation stay; the text of a list item stays right of its mark.
---@param given string
---@param columns integer
---@return string[] lines
function console.wrap_text(given, columns)
  local lines = {}
  for line in (given:gsub("%s+$", "") .. "\n"):gmatch "([^\n]*)\n" do
    wrap_line(lines, line:gsub("[\t\r]", " "), math.max(columns, 1))
  end
  return lines
end

-- }======

-- {====== Text in columns ======

local GAP = "  "

local function column_widths(rows)
  local widths = {}
  for _, row in ipairs(rows) do
    for i, cell in ipairs(row) do widths[i] = math.max(widths[i] or 0, console.text_width(cell)) end
  end
  return widths
end

local function pad_cell(cell, columns, is_right)
  local space = (" "):rep(columns - console.text_width(cell))
  return is_right and space .. cell or cell .. space
end

local function format_row(row, widths, right)
  local cells = {}
  for i, cell in ipairs(row) do cells[i] = pad_cell(cell, widths[i], right[i]) end
  return (table.concat(cells, GAP):gsub("%s+$", ""))
end

---@param heads string[]
---@param rows string[][] each with as many cells as there are heads
---@param right? table<integer, true> columns that are aligned to the right
---@return string[] lines the heads first
function console.table_lines(heads, rows, right)
  local all = table.move(rows, 1, #rows, 2, { heads })
  local widths, lines = column_widths(all), {}
  for i, row in ipairs(all) do lines[i] = format_row(row, widths, right or {}) end
  return lines
end

-- }======

return console
