-- Finds the line of a program's stderr that says why it crashed. Runtimes print it before, after or inside a stack
-- trace, and a trace may be longer than the lines that are kept. So each line is examined when it arrives.

local LINE_LIMIT = 500 -- bytes
local MESSAGE_LINES = 20 -- maximum lines of a message before its stack trace

---How a runtime reports a crash.
---@class pintle.crash.format
---@field first string[] patterns of the first line
---@field next string[] patterns of the lines that follow
---@field extra_lines integer how many lines without such a pattern may follow
---@field needs_stack? boolean whether those lines belong to the report only if a stack trace follows
---@field message? string pattern that captures the message, if it is not the first line
---@field split? string pattern of a first line whose message continues on the second line

---@type pintle.crash.format[]
local FORMATS = {
  { -- Go
    first = { "^panic: ", "^fatal error: " },
    next = {
      "^$", "^%[signal ", "^goroutine %d", "^\t", "%)$", "^created by ", "^exit status %d+$", "^%l%w*%s+0x%x+$",
      "^runtime stack:$", "^%.%.%.additional frames",
    },
    extra_lines = MESSAGE_LINES, needs_stack = true,
  },
  { -- Rust; since 1.73 the message is on the line after the location
    first = { "^thread .- panicked at " },
    next = { "^$", "^note: ", "^stack backtrace:$", "^%s+%d+: ", "^%s+at " },
    extra_lines = MESSAGE_LINES, needs_stack = true, split = ":$",
  },
  { -- sanitizers of GCC and Clang
    first = { "^SUMMARY: %a+Sanitizer: " },
    next = { "^$", "^Shadow byte", "^%s", "^=" },
    extra_lines = 0,
  },
  { -- Python, whose messages may have several lines
    first = { "^Traceback %(most recent call last%):" },
    next = {},
    extra_lines = 6, message = "^%S.*",
  },
  { -- Python, exception groups
    first = { "^%s*%+ Exception Group Traceback %(most recent call last%):" },
    next = { "^%s*[|+]" },
    extra_lines = 0, message = "^%s*| (%S.*)",
  },
}

-- Node, Lua, Ruby, Java, .NET: the message comes before an indented stack trace.
---@type pintle.crash.format
local STACK = {
  first = { "^stack traceback:$", "^%s+at %S", "^%s+from %S" },
  next = { "^$", "^%s", "^}", "^Node%.js v%d" },
  extra_lines = 0,
}

-- Lines that say nothing about the cause.
local MEANINGLESS = {
  "^%s*$", "^exit status %d+$", "^Node%.js v%d", "^%(Use `node %-%-trace", "^note: run with `RUST_BACKTRACE",
}

---@class pintle.crash
---@field report { format: pintle.crash.format, message: string?, extra_lines: integer, is_split: boolean,
---is_doubtful: boolean? }? the report that the last lines belong to; a doubtful one has extra lines, and no stack trace
---has followed yet
---@field last string the last meaningful line
---@field headline string? the last line that looks like the message of a STACK report
---@field headline_age integer how many lines without indentation came after it
---@field unindented string? the last line without indentation
local methods = {}

local metatable = { __name = "pintle.crash", __index = methods }

local crash = {}

local function matches_any(line, patterns)
  for _, pattern in ipairs(patterns) do
    if line:find(pattern) then return true end
  end
  return false
end

local function new_crash_report(format, message)
  local is_split = message and format.split and message:find(format.split) ~= nil
  return { format = format, message = message, extra_lines = format.extra_lines, is_split = is_split }
end

-- Adds a line to a report; returns false if the line does not belong to it.
local function add_to_crash_report(report, line)
  local format = report.format
  if not report.message then
    report.message = line:match(format.message)
  elseif report.is_split then
    report.message, report.is_split = report.message .. " " .. line, false
  elseif matches_any(line, format.next) then
    if line ~= "" then report.extra_lines, report.is_doubtful = 0, false end
  elseif report.extra_lines > 0 then
    report.extra_lines, report.is_doubtful = report.extra_lines - 1, format.needs_stack
  else
    return false
  end
  return true
end

local function find_crash_report(self, line)
  for _, format in ipairs(FORMATS) do
    if matches_any(line, format.first) then return new_crash_report(format, not format.message and line or nil) end
  end
  if self.report and add_to_crash_report(self.report, line) then return self.report end
  local headline = self.headline_age <= MESSAGE_LINES and self.headline or self.unindented
  return headline and matches_any(line, STACK.first) and new_crash_report(STACK, headline) or nil
end

local function is_headline(line)
  local program = line:match "^([^%s:]+): "
  return program and program:find("lua", 1, true) ~= nil or line:find "^%u[%w_.$]*Error[^:]*: " ~= nil
end

---@param line string
function methods:add_line(line)
  line = line:sub(1, LINE_LIMIT + 1) -- one byte more, which shows that the line was longer
  self.report = find_crash_report(self, line)
  if self.last == "" or not matches_any(line, MEANINGLESS) then self.last = line end
  if line == "" or line:find "^%s" then return end
  self.unindented, self.headline_age = line, self.headline_age + 1
  if is_headline(line) then self.headline, self.headline_age = line, 0 end
end

---The line that says why the program crashed, or else the last meaningful line; "" if there was no line. Control
---characters are replaced, and a long line is not cut inside a character.
---@return string
function methods:summary()
  local report = self.report
  local line = report and not report.is_doubtful and report.message or self.last
  line = line:gsub("%c+", " "):gsub("^%s+", ""):gsub("%s+$", "")
  if #line <= LINE_LIMIT then return line end
  local stop = LINE_LIMIT
  while stop > 0 and line:byte(stop + 1) & 0xC0 == 0x80 do stop = stop - 1 end
  return line:sub(1, stop) .. "…"
end

---@return pintle.crash
function crash.new() return setmetatable({ last = "", headline_age = 0 }, metatable) end

return crash
