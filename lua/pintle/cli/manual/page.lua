-- The manual page in roff, of the macros that every `man` has.

local roff = require "pintle.cli.manual.roff"
local status = require "pintle.cli.status"
local version = require "pintle.version"

local STATUSES = {
  { status.DONE, "Done." },
  { status.FAILED, "Done, and the answer is no: the operation failed, the other side of a replay deviates, something"
    .. " needed is missing." },
  { status.BROKEN, "It could not be done: no such program, no dialect fits, the plugin died or answered with an"
    .. " error." },
  { status.LATE, "Not in time." },
  { status.USAGE, "It makes no sense, and nothing was done." },
  { status.BUG, "pintle itself has failed." },
}

local ENVIRONMENT = {
  { "NO_COLOR", "If it is set, nothing is coloured." },
  { "PINTLE_DIALECT", "The dialect that plugins speak which are not told otherwise." },
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
return function(outline)
  local page = roff.page("PINTLE", 1, "pintle " .. version)
  page:section "NAME"
  page:line(("pintle \\- %s"):format(roff.escape(outline.description:gsub("%.$", ""):gsub("^%u", string.lower))))
  page:section "SYNOPSIS"
  page:line(roff.bold "pintle" .. " " .. roff.italic "COMMAND" .. " " .. roff.escape "[OPTIONS] [ARGUMENTS]")
  page:section "DESCRIPTION"
  page:paragraph("CMD… is a program and its arguments. It begins at the first word that is no option of pintle's;"
    .. " everything behind belongs to the program. Results are on stdout, all else is on stderr.")
  add_options(page, outline.options)
  page:section "COMMANDS"
  for _, command in ipairs(outline.commands) do add_command(page, command) end
  add_items(page, "EXIT STATUS", STATUSES, roff.bold)
  page:paragraph "Interrupted, terminated and hung up it is 130, 143 and 129. trace ends as the program does."
  add_items(page, "ENVIRONMENT", ENVIRONMENT, roff.bold)
  return page:text()
end
