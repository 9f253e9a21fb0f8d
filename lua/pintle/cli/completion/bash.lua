-- Completion for bash, from 3.2 on. The words before the cursor are gone through once, to see what is wanted there.

local SCRIPT = [=[
# Completion of pintle for bash; written by `pintle completion bash`.

# What may stand here: one of some words (=WORD…), or something of a kind.
_pintle_offer() {
  local IFS=$'\n'
  case $1 in
    =*) COMPREPLY=($(IFS=' '; compgen -W "${1#=}" -- "$2")) ;;
    file) compopt -o filenames 2> /dev/null; COMPREPLY=($(compgen -f -- "$2")) ;;
    directory) compopt -o filenames 2> /dev/null; COMPREPLY=($(compgen -d -- "$2")) ;;
    program) compopt -o filenames 2> /dev/null; COMPREPLY=($(compgen -c -f -- "$2")) ;;
  esac
}

_pintle() {
  local current=${COMP_WORDS[COMP_CWORD]} command='' value='' place=0 is_over='' word
  COMPREPLY=()
  [[ $current != = ]] || current=''
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word != = ]] || continue # bash cuts --name=value at the sign
    if [[ -n $value ]]; then
      value=''
      continue
    fi
    [[ $place == 0 || ' @programs@ ' != *" $command "* ]] || is_over=1
    if [[ -n $is_over ]]; then
      place=$((place + 1))
      continue
    fi
    case $command:$word in
@valued@
      *:--) is_over=1 ;;
      *:-*) ;;
      :*) command=$word ;;
      *) place=$((place + 1)) ;;
    esac
  done
  if [[ -n $value ]]; then
    _pintle_offer "$value" "$current"
  elif [[ $current == -* && -z $is_over && ($place == 0 || ' @programs@ ' != *" $command "*) ]]; then
    case $command in
@options@
    esac
  else
    case $command:$place in
@places@
    esac
  fi
}

complete -F _pintle pintle
]=]

local function offer(value)
  if value.kind == "words" then return "=" .. table.concat(value.words, " ") end
  return value.kind
end

local function valued_lines(outline)
  local lines = {}
  for _, command in ipairs(outline.commands) do
    for _, option in ipairs(command.options) do
      if option.value then
        local cases = {}
        for i, name in ipairs(option.names) do cases[i] = command.name .. ":" .. name end
        lines[#lines + 1] = ("      %s) value='%s' ;;"):format(table.concat(cases, " | "), offer(option.value))
      end
    end
  end
  return lines
end

local function option_line(name, options)
  local names = {}
  for _, option in ipairs(options) do names[#names + 1] = table.concat(option.names, " ") end
  return ("      '%s') _pintle_offer '=%s' \"$current\" ;;"):format(name, table.concat(names, " "))
end

local function option_lines(outline)
  local lines = { option_line("", outline.options) }
  for _, command in ipairs(outline.commands) do lines[#lines + 1] = option_line(command.name, command.options) end
  return lines
end

local function place_line(pattern, value)
  return ("      %s) _pintle_offer '%s' \"$current\" ;;"):format(pattern, offer(value))
end

local function place_lines(outline)
  local names = {}
  for i, command in ipairs(outline.commands) do names[i] = command.name end
  local lines = { place_line(":*", { kind = "words", words = names }) }
  for _, command in ipairs(outline.commands) do
    for i, argument in ipairs(command.arguments) do
      if command.takes_command and i > 1 then break end
      lines[#lines + 1] = place_line(command.name .. ":" .. i - 1, argument.value)
    end
    local last = command.arguments[#command.arguments]
    if command.takes_command or last and last.is_many then
      lines[#lines + 1] = place_line(command.name .. ":*", { kind = "file" })
    end
  end
  return lines
end

local function programs(outline)
  local names = {}
  for _, command in ipairs(outline.commands) do
    if command.takes_command then names[#names + 1] = command.name end
  end
  return { table.concat(names, " ") }
end

---@param outline pintle.cli.outline
---@return string
return function(outline)
  local parts = {
    valued = valued_lines(outline), options = option_lines(outline), places = place_lines(outline),
    programs = programs(outline),
  }
  return (SCRIPT:gsub("@(%l+)@", function(name) return parts[name] and table.concat(parts[name], "\n") end))
end
