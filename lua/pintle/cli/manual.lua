-- pintle manual: prints the manual page, generated from the definition of the command line.

local status = require "pintle.cli.status"
local version = require "pintle.version"

local manual = { name = "manual", summary = "Print the manual page, for `man -l -`." }

function manual.define() end

-- {====== roff ======

local methods = {}

local metatable = { __name = "pintle.cli.manual", __index = methods }

local SIGNS = { ["\\"] = "\\e", ["-"] = "\\-", ["'"] = "\\(aq", ["`"] = "\\(ga", ["^"] = "\\(ha", ["~"] = "\\(ti" }

---@param text string
---@return string
local function escape_roff(text)
  local escaped = text:gsub("[\\'`^~-]", SIGNS)
  return (escaped:gsub("[\xC2-\xF4][\x80-\xBF]*", function(sign) return ("\\[u%04X]"):format(utf8.codepoint(sign)) end))
end

---@param text string
---@return string
local function bold_roff(text) return "\\fB" .. escape_roff(text) .. "\\fR" end

---@param text string
---@return string
local function italic_roff(text) return "\\fI" .. escape_roff(text) .. "\\fR" end

---Adds a line of text. A leading dot is escaped, so it is not taken for a request.
---@param line string
function methods:roff_line(line) self.lines[#self.lines + 1] = line:gsub("^%.", "\\&.") end

local function add_roff_request(self, line) self.lines[#self.lines + 1] = line end

---@param heading string
function methods:roff_section(heading) add_roff_request(self, ".SH " .. heading) end

---@param heading string
function methods:roff_subsection(heading)
  add_roff_request(self, '.SS "' .. escape_roff(heading):gsub('"', '""') .. '"')
end

---@param text string
function methods:roff_paragraph(text)
  add_roff_request(self, ".PP")
  self:roff_line(escape_roff(text))
end

---@param head string in roff
---@param text string
function methods:roff_item(head, text)
  add_roff_request(self, ".TP")
  self:roff_line(head)
  self:roff_line(escape_roff(text .. (text:find "[.)]$" and "" or ".")))
end

---@return string
function methods:roff_text() return table.concat(self.lines, "\n") .. "\n" end

---@param name string
---@param section integer
---@param source string
local function new_roff_page(name, section, source)
  return setmetatable({ lines = { ('.TH %s %d "" "%s" "User Commands"'):format(name, section, source) } }, metatable)
end

-- }======

-- {====== The page ======

local STATUSES = {
  { status.DONE, "Done." },
  { status.FAILED, "Done, with a negative result: the operation failed, the other side of a replay deviates, something"
    .. " required is missing." },
  { status.BROKEN, "Not done: there is no such program, no dialect fits, the plugin died or answered with an error." },
  { status.LATE, "Timeout." },
  { status.USAGE, "Usage error; nothing was done." },
  { status.BUG, "A bug in pintle." },
}

local ENVIRONMENT = {
  { "NO_COLOR", "If set, output has no colours." },
  { "PINTLE_DIALECT", "The dialect of plugins that do not set one." },
}

local function add_option_items(page, options)
  for _, option in ipairs(options) do
    local names = {}
    for i, name in ipairs(option.names) do
      names[i] = bold_roff(name) .. (option.value and " " .. italic_roff(option.value.label) or "")
    end
    page:roff_item(table.concat(names, ", "), option.description)
  end
end

local function add_command_section(page, command)
  page:roff_subsection(command.usage)
  page:roff_paragraph(command.description)
  for _, argument in ipairs(command.arguments) do
    page:roff_item(italic_roff(argument.value.label), argument.description)
  end
  add_option_items(page, command.options)
end

local function add_section_of_items(page, heading, items, format)
  page:roff_section(heading)
  for _, item in ipairs(items) do page:roff_item(format(tostring(item[1])), item[2]) end
end

---@param outline pintle.cli.outline
---@return string
local function manual_page_text(outline)
  local page = new_roff_page("PINTLE", 1, "pintle " .. version)
  page:roff_section "NAME"
  page:roff_line(("pintle \\- %s"):format(escape_roff(outline.description:gsub("%.$", ""):gsub("^%u", string.lower))))
  page:roff_section "SYNOPSIS"
  page:roff_line(bold_roff "pintle" .. " " .. italic_roff "COMMAND" .. " " .. escape_roff "[OPTIONS] [ARGUMENTS]")
  page:roff_section "DESCRIPTION"
  page:roff_paragraph("CMD… is a program and its arguments. It begins at the first word that is not an option of"
    .. " pintle; everything after it belongs to the program. Results go to stdout, everything else to stderr.")
  add_option_items(page, outline.options)
  page:roff_section "COMMANDS"
  for _, command in ipairs(outline.commands) do add_command_section(page, command) end
  add_section_of_items(page, "EXIT STATUS", STATUSES, bold_roff)
  page:roff_paragraph "130, 143 and 129: interrupted, terminated, hung up. trace exits like the program that it runs."
  add_section_of_items(page, "ENVIRONMENT", ENVIRONMENT, bold_roff)
  return page:roff_text()
end

-- }======

---@param console pintle.cli.console
---@return integer
function manual.run(_, console)
  console:write(manual_page_text(require("pintle.cli.main").outline()))
  return status.DONE
end

return manual
