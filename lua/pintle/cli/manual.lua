-- pintle manual: prints the manual page, generated from the definition of the command line.

local status = require "pintle.cli.status"
local version = require "pintle.version"

local manual = { name = "manual", summary = "Print the manual page, for `man -l -`." }

function manual.define() end

-- {====== roff ======

local methods = {}

local metatable = { __name = "pintle.cli.manual", __index = methods }

local roff = {}

local SIGNS = { ["\\"] = "\\e", ["-"] = "\\-", ["'"] = "\\(aq", ["`"] = "\\(ga", ["^"] = "\\(ha", ["~"] = "\\(ti" }

---@param text string
---@return string
function roff.escape(text)
  local escaped = text:gsub("[\\'`^~-]", SIGNS)
  return (escaped:gsub("[\xC2-\xF4][\x80-\xBF]*", function(sign) return ("\\[u%04X]"):format(utf8.codepoint(sign)) end))
end

---@param text string
---@return string
function roff.bold(text) return "\\fB" .. roff.escape(text) .. "\\fR" end

---@param text string
---@return string
function roff.italic(text) return "\\fI" .. roff.escape(text) .. "\\fR" end

---Adds a line of text. A leading dot is escaped, so it is not taken for a request.
---@param line string
function methods:line(line) self.lines[#self.lines + 1] = line:gsub("^%.", "\\&.") end

local function request(self, line) self.lines[#self.lines + 1] = line end

---@param heading string
function methods:section(heading) request(self, ".SH " .. heading) end

---@param heading string
function methods:subsection(heading) request(self, '.SS "' .. roff.escape(heading):gsub('"', '""') .. '"') end

---@param text string
function methods:paragraph(text)
  request(self, ".PP")
  self:line(roff.escape(text))
end

---@param head string in roff
---@param text string
---@param words? string[] the allowed values
function methods:item(head, text, words)
  request(self, ".TP")
  self:line(head)
  local choices = words and #words > 0 and (" One of %s."):format(table.concat(words, ", ")) or ""
  self:line(roff.escape(text .. (text:find "[.)]$" and "" or ".") .. choices))
end

---@return string
function methods:text() return table.concat(self.lines, "\n") .. "\n" end

---@param name string
---@param section integer
---@param source string
function roff.page(name, section, source)
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

local function add_options(page, options)
  for _, option in ipairs(options) do
    local names = {}
    for i, name in ipairs(option.names) do
      names[i] = roff.bold(name) .. (option.value and " " .. roff.italic(option.value.label) or "")
    end
    page:item(table.concat(names, ", "), option.description, option.value and option.value.words)
  end
end

local function add_command(page, command)
  page:subsection(command.usage)
  page:paragraph(command.description)
  for _, argument in ipairs(command.arguments) do
    page:item(roff.italic(argument.value.label), argument.description, argument.value.words)
  end
  add_options(page, command.options)
end

local function add_items(page, heading, items, format)
  page:section(heading)
  for _, item in ipairs(items) do page:item(format(tostring(item[1])), item[2]) end
end

---@param outline pintle.cli.outline
---@return string
local function page_of(outline)
  local page = roff.page("PINTLE", 1, "pintle " .. version)
  page:section "NAME"
  page:line(("pintle \\- %s"):format(roff.escape(outline.description:gsub("%.$", ""):gsub("^%u", string.lower))))
  page:section "SYNOPSIS"
  page:line(roff.bold "pintle" .. " " .. roff.italic "COMMAND" .. " " .. roff.escape "[OPTIONS] [ARGUMENTS]")
  page:section "DESCRIPTION"
  page:paragraph("CMD… is a program and its arguments. It begins at the first word that is not an option of pintle;"
    .. " everything after it belongs to the program. Results go to stdout, everything else to stderr.")
  add_options(page, outline.options)
  page:section "COMMANDS"
  for _, command in ipairs(outline.commands) do add_command(page, command) end
  add_items(page, "EXIT STATUS", STATUSES, roff.bold)
  page:paragraph "130, 143 and 129: interrupted, terminated, hung up. trace exits like the program that it runs."
  add_items(page, "ENVIRONMENT", ENVIRONMENT, roff.bold)
  return page:text()
end

-- }======

---@param console pintle.cli.console
---@return integer
function manual.run(_, console)
  console:write(page_of(require("pintle.cli.main").outline()))
  return status.DONE
end

return manual
