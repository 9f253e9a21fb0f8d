-- Completion for zsh, as its `_arguments` takes it. It works as a file in fpath and when it is sourced.

local HEAD = [=[
#compdef pintle
# Completion of pintle for zsh; written by `pintle completion zsh`.

_pintle_commands() {
  local -a commands=(
@commands@
  )
  _describe command commands
}

_pintle() {
  local curcontext=$curcontext state line
  typeset -A opt_args
  _arguments -C -S \
@options@
    '1:command:_pintle_commands' \
    '*::argument:->arguments' && return
  [[ $state == arguments ]] || return 1
  case $words[1] in
@cases@
  esac
}

if [[ $funcstack[1] == _pintle ]]; then _pintle "$@"; else compdef _pintle pintle; fi
]=]

local function quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- What is said first, without what _arguments would take for signs of its own.
local function short(description)
  local text = description:match "^(.-)%.%s" or description:gsub("%.$", "")
  return (text:gsub("[%[%]:\\]", "\\%0"))
end

local ACTIONS = {
  words = function(value) return "(" .. table.concat(value.words, " ") .. ")" end,
  file = function() return "_files" end,
  directory = function() return "_directories" end,
  program = function() return "_command_names -e" end,
  other = function() return " " end,
}

local function message(value) return value.label:gsub("…", ""):gsub("[:=]", "") .. ":" .. ACTIONS[value.kind](value) end

local function add_options(lines, options, indent)
  for _, option in ipairs(options) do
    local others = "(" .. table.concat(option.names, " ") .. ")"
    for _, name in ipairs(option.names) do
      local sign = option.value and (#name == 2 and "+" or "=") or ""
      local value = option.value and ":" .. message(option.value) or ""
      lines[#lines + 1] = indent .. quote(("%s%s%s[%s]%s"):format(others, name, sign, short(option.description), value))
        .. " \\"
    end
  end
end

local function add_arguments(lines, command, indent)
  for i, argument in ipairs(command.arguments) do
    if command.takes_command and i > 1 then break end
    local place = argument.is_many and "*" or command.takes_command and "(-)" .. i or tostring(i)
    lines[#lines + 1] = indent .. quote(place .. ":" .. message(argument.value)) .. " \\"
  end
  if command.takes_command then lines[#lines + 1] = indent .. "'*:argument:_files' \\" end
end

local function cases(outline)
  local lines = {}
  for _, command in ipairs(outline.commands) do
    lines[#lines + 1] = ("    %s)"):format(command.name)
    lines[#lines + 1] = "      _arguments -s -S \\"
    add_options(lines, command.options, "        ")
    add_arguments(lines, command, "        ")
    lines[#lines] = lines[#lines]:sub(1, -3)
    lines[#lines + 1] = "      ;;"
  end
  return lines
end

---@param outline pintle.cli.outline
---@return string
return function(outline)
  local commands, options = {}, {}
  for i, command in ipairs(outline.commands) do
    commands[i] = "    " .. quote(command.name .. ":" .. short(command.description))
  end
  add_options(options, outline.options, "    ")
  local parts = { commands = commands, options = options, cases = cases(outline) }
  return (HEAD:gsub("@(%l+)@", function(name) return parts[name] and table.concat(parts[name], "\n") end))
end
