-- Completion for fish, from 3.0 on. A function tells which command the cursor is in, and behind how many words.

local HEAD = [=[
# Completion of pintle for fish; written by `pintle completion fish`.

# __pintle_at COMMAND [PLACE]: whether the cursor is there; PLACE is + for behind the first word.
function __pintle_at
    set -l command ''
    set -l place 0
    set -l is_value false
    set -l words (commandline -opc)
    for word in $words[2..-1]
        if test $is_value = true
            set is_value false
            continue
        end
        switch "$command:$word"
            case @valued@
                set is_value true
            case '*:-*'
            case ':*'
                set command $word
            case '*'
                set place (math $place + 1)
                contains -- $command @takers@; and break
        end
    end
    test "$command" = "$argv[1]"; or return 1
    test (count $argv) -lt 2; and return 0
    test "$argv[2]" = '+'; and test $place -gt 0; and return 0
    test "$argv[2]" = $place
end

complete -c pintle -f
]=]

local function quote(text) return "'" .. text:gsub("[\\']", "\\%0") .. "'" end

-- A line is a line: what is said first.
local function short(description) return (description:match "^(.-)%.%s" or description:gsub("%.$", "")) end

local OFFERS = {
  words = function(value) return "-x -a " .. quote(table.concat(value.words, " ")) end,
  file = function() return "-r -F" end,
  directory = function() return "-x -a '(__fish_complete_directories (commandline -ct))'" end,
  program = function() return "-x -a '(__fish_complete_command)'" end,
  other = function() return "-x" end,
}

local function add_options(lines, where, options)
  for _, option in ipairs(options) do
    local names = {}
    for i, name in ipairs(option.names) do names[i] = name:gsub("^%-%-", "-l "):gsub("^%-(%w)$", "-s %1") end
    local value = option.value and " " .. OFFERS[option.value.kind](option.value) or ""
    lines[#lines + 1] = ("complete -c pintle -n %s %s%s -d %s"):format(quote(where), table.concat(names, " "), value,
      quote(short(option.description)))
  end
end

local function add_arguments(lines, command)
  for i, argument in ipairs(command.arguments) do
    if command.takes_command and i > 1 then break end
    lines[#lines + 1] = ("complete -c pintle -n %s %s"):format(
      quote(("__pintle_at %s %d"):format(command.name, i - 1)), OFFERS[argument.value.kind](argument.value))
  end
  local last = command.arguments[#command.arguments]
  if command.takes_command or last and last.is_many then
    lines[#lines + 1] = ("complete -c pintle -n %s -F"):format(quote(("__pintle_at %s +"):format(command.name)))
  end
end

local function head(outline)
  local valued, takers = {}, {}
  for _, command in ipairs(outline.commands) do
    for _, option in ipairs(command.options) do
      for _, name in ipairs(option.value and option.names or {}) do
        valued[#valued + 1] = quote(command.name .. ":" .. name)
      end
    end
    if command.takes_command then takers[#takers + 1] = command.name end
  end
  local parts = { valued = valued, takers = takers }
  return (HEAD:gsub("@(%l+)@", function(name) return parts[name] and table.concat(parts[name], " ") end))
end

---@param outline pintle.cli.outline
---@return string
return function(outline)
  local lines = { head(outline) }
  add_options(lines, "__pintle_at ''", outline.options)
  for _, command in ipairs(outline.commands) do
    lines[#lines + 1] = ("complete -c pintle -n \"__pintle_at ''\" -a %s -d %s"):format(command.name,
      quote(short(command.description)))
  end
  for _, command in ipairs(outline.commands) do
    lines[#lines + 1] = ""
    add_options(lines, "__pintle_at " .. command.name .. (command.takes_command and " 0" or ""), command.options)
    add_arguments(lines, command)
  end
  return table.concat(lines, "\n") .. "\n"
end
