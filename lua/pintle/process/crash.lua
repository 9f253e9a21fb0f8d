-- The one line of a program's stderr that says why it has crashed. Runtimes put it before a stack, behind one, or in
-- the middle of a longer report, so lines are looked at as they come: a report may be longer than what is kept of it.

local LONGEST = 500 -- bytes of a line
local MESSAGE = 20 -- lines that a message may have before its stack
local REMARKS = 6 -- lines that may follow an exception of Python, whose message may have several

---How a runtime reports a crash.
---@class pintle.crash.format
---@field begins string[] patterns of its first line
---@field goes_on string[] patterns of the lines that follow
---@field message_lines integer how many others may follow the one that is wanted
---@field needs_stack? boolean whether those others belong to the report only if a stack follows
---@field finds? fun(line: string): string? the wanted line where that is not the first
---@field is_split? fun(line: string): boolean whether the line behind the first belongs to it

---@class pintle.crash.report
---@field format pintle.crash.format
---@field line string? the one that says what happened
---@field message_lines integer how many may still follow
---@field is_split boolean
---@field is_doubtful boolean whether what followed may be something else

---@class pintle.crash
---@field report pintle.crash.report? the one that the last lines belong to
---@field last string the last line that says anything
---@field headline string? the last line that begins like a message with a stack
---@field headline_age integer lines that are not indented since then
---@field flush string? the last line that is not indented
local methods = {}

local metatable = { __name = "pintle.crash", __index = methods }

local crash = {}

local function matches(line, patterns)
  for _, pattern in ipairs(patterns) do
    if line:find(pattern) then return true end
  end
  return false
end

-- {====== Formats ======

local GO = {
  begins = { "^panic: ", "^fatal error: " },
  goes_on = {
    "^$", "^%[signal ", "^goroutine %d", "^\t", "%)$", "^created by ", "^exit status %d+$", "^%l%w*%s+0x%x+$",
    "^runtime stack:$", "^%.%.%.additional frames",
  },
  message_lines = MESSAGE, needs_stack = true,
}

-- Since Rust 1.73 the message is on the line behind the place.
local RUST = {
  begins = { "^thread .- panicked at " },
  goes_on = { "^$", "^note: ", "^stack backtrace:$", "^%s+%d+: ", "^%s+at " },
  message_lines = MESSAGE, needs_stack = true,
  is_split = function(line) return line:find ":$" ~= nil end,
}

local SANITIZER = {
  begins = { "^SUMMARY: %a+Sanitizer: " },
  goes_on = { "^$", "^Shadow byte", "^%s", "^=" },
  message_lines = 0,
}

local PYTHON = {
  begins = { "^Traceback %(most recent call last%):" },
  goes_on = {},
  message_lines = REMARKS,
  finds = function(line) return line:match "^%S.*" end,
}

local PYTHON_GROUP = {
  begins = { "^%s*%+ Exception Group Traceback %(most recent call last%):" },
  goes_on = { "^%s*[|+]" },
  message_lines = 0,
  finds = function(line) return line:match "^%s*| (%S.*)" end,
}

-- Node, Lua, Ruby, Java, .NET: a message, and a stack that is indented.
local STACK = {
  begins = { "^stack traceback:$", "^%s+at %S", "^%s+from %S" },
  goes_on = { "^$", "^%s", "^}", "^Node%.js v%d" },
  message_lines = 0,
}

local FORMATS = { GO, RUST, SANITIZER, PYTHON, PYTHON_GROUP }

-- }======

-- {====== One report ======

local function new_report(format, line)
  return {
    format = format, line = line, message_lines = format.message_lines, is_doubtful = false,
    is_split = format.is_split ~= nil and format.is_split(line),
  }
end

local function begin_report(line)
  for _, format in ipairs(FORMATS) do
    if matches(line, format.begins) then return new_report(format, not format.finds and line or nil) end
  end
end

-- Whether a line belongs to a report.
local function continue(report, line)
  local format = report.format
  if not report.line then
    report.line = format.finds(line)
  elseif report.is_split then
    report.line, report.is_split = report.line .. " " .. line, false
  elseif matches(line, format.goes_on) then
    if line ~= "" then report.message_lines, report.is_doubtful = 0, false end
  elseif report.message_lines > 0 then
    report.message_lines, report.is_doubtful = report.message_lines - 1, format.needs_stack or false
  else
    return false
  end
  return true
end

-- }======

-- {====== Lines that may be wanted ======

local function is_headline(line)
  local program = line:match "^([^%s:]+): "
  return program and program:find("lua", 1, true) ~= nil or line:find "^%u[%w_.$]*Error[^:]*: " ~= nil
end

-- Lines that say nothing of what happened.
local EMPTY_WORDS = {
  "^%s*$", "^exit status %d+$", "^Node%.js v%d", "^%(Use `node %-%-trace", "^note: run with `RUST_BACKTRACE",
}

local function note(self, line)
  if not matches(line, EMPTY_WORDS) or self.last == "" then self.last = line end
  if line:find "^%s" or line == "" then return end
  self.flush, self.headline_age = line, self.headline_age + 1
  if is_headline(line) then self.headline, self.headline_age = line, 0 end
end

local function headline_of(self) return self.headline_age <= MESSAGE and self.headline or self.flush end

-- }======

-- The report that a line belongs to.
local function report_of(self, line)
  local begun = begin_report(line)
  if begun then return begun end
  if self.report and continue(self.report, line) then return self.report end
  local headline = headline_of(self)
  return headline and matches(line, STACK.begins) and new_report(STACK, headline) or nil
end

---@param line string
function methods:take(line)
  line = line:sub(1, LONGEST + 1) -- one more, so that it shows that it is longer
  self.report = report_of(self, line)
  note(self, line)
end

-- One line, whatever control characters are in it, and no half character at its end.
local function tidy(line)
  line = line:gsub("%c+", " "):gsub("^%s+", ""):gsub("%s+$", "")
  if #line <= LONGEST then return line end
  local most = LONGEST
  while most > 0 and line:byte(most + 1) & 0xC0 == 0x80 do most = most - 1 end
  return line:sub(1, most) .. "…"
end

---The line that says what happened, or the last one; "" if there was none.
---@return string
function methods:summary()
  local report = self.report
  if report and report.line and not report.is_doubtful then return tidy(report.line) end
  return tidy(self.last)
end

---@return pintle.crash
function crash.new() return setmetatable({ last = "", headline_age = 0 }, metatable) end

return crash
