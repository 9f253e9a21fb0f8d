-- Suggestions for mistakes on the command line: the name that was probably meant, and a command line that would work.

local lazy = require "pintle.lazy"

local core = lazy "pintle.core"
local json_values = lazy "pintle.cli.json_values"
local lfs = lazy "lfs"
local manifests = lazy "pintle.manifest"
local options = lazy "pintle.cli.options"

local suggestion = {}

-- {====== Names ======

local SHORTEST_BEGINNING = 3 -- letters of a name that is completed

-- The only name that begins like this one.
local function name_with_beginning(text, names)
  local found
  for _, name in ipairs(#text >= SHORTEST_BEGINNING and names or {}) do
    if name:sub(1, #text) == text then
      if found then return nil end
      found = name
    end
  end
  return found
end

---The name that was probably meant.
---@param name string
---@param names string[]
---@return string?
function suggestion.nearest_name(name, names)
  return manifests.nearest({ names = names }, name) or name_with_beginning(name, names)
end

---Appends the name that was probably meant to a message, if there is one.
---@param message string
---@param name string
---@param names string[]
---@return string message
---@return boolean has_suggestion
function suggestion.append_nearest_name(message, name, names)
  local near = suggestion.nearest_name(name, names)
  if not near then return message, false end
  return ("%s; did you mean %s?"):format(message, near), true
end

---The message about a name that is none of those allowed.
---@param what string such as "dialect"
---@param name string
---@param names string[]
---@return string
function suggestion.unknown_name_message(what, name, names)
  local message, has_suggestion = suggestion.append_nearest_name(("no %s %q"):format(what, name), name, names)
  return has_suggestion and message or ("%s; there are %s"):format(message, table.concat(names, ", "))
end

local METHOD_NOT_FOUND = -32601

-- The parameter that an argument with an unknown name may be meant for.
local function nearest_parameter(operation, args)
  local params = operation and operation.params
  local properties = type(params) == "table" and params.properties
  if type(properties) ~= "table" then return nil end
  local known = json_values.sorted_names(properties)
  for _, name in ipairs(json_values.sorted_names(args)) do
    local near = properties[name] == nil and suggestion.nearest_name(name, known)
    if near and args[near] == nil then return name, near end
  end
end

---The message of an error about an operation that could not be run, with a suggestion if its name or the name of an
---argument is misspelt.
---@param err pintle.error
---@param manifest pintle.manifest
---@param operation string
---@param args table
---@return string message
function suggestion.operation_error_message(err, manifest, operation, args)
  if err.kind ~= "invalid" then return err.message end
  local name = type(err.data) == "table" and err.data.suggestion
  if name then return ("%s; did you mean %s?"):format(err.message, name) end
  if err.code == METHOD_NOT_FOUND and #manifest.names > 0 then
    return ("%s; available: %s"):format(err.message, table.concat(manifest.names, ", "))
  end
  local wrong, near = nearest_parameter(manifest.operations[operation], args)
  return wrong and ("%s; did you mean %s instead of %s?"):format(err.message, near, wrong) or err.message
end

---The message of an error about a method that the plugin does not have.
---@param err pintle.error
---@param method string
---@param methods string[] those it is likely to have
---@param recognised? string the dialect, if the user did not choose it
---@return string message
function suggestion.method_error_message(err, method, methods, recognised)
  if err.code ~= METHOD_NOT_FOUND then return err.message end
  local message, has_suggestion = suggestion.append_nearest_name(err.message, method, methods)
  if has_suggestion or not recognised then return message end
  return ("%s; pintle has recognised %s, --dialect NAME chooses another dialect"):format(message, recognised)
end

-- }======

-- {====== The command of a program ======

-- The items of a JSON list, such as the `command` of a configuration file.
local function decode_command_list(word)
  if word:sub(1, 1) ~= "[" then return nil end
  local list = core.json.decode(word)
  if type(list) ~= "table" or not list[1] then return nil end
  for _, item in ipairs(list) do
    if type(item) ~= "string" then return nil end
  end
  return list
end

---What is wrong with the command of a program before it is started.
---@param command string[]
---@param name string the subcommand
---@return string? message
function suggestion.fault_of_command(command, name)
  local program = command[1]
  if not program:find "%S" then
    return "the name of the program is empty; is it a variable of the shell that is not set?"
  end
  local list = decode_command_list(program)
  if list then
    return ("the program is given as a list; write its items as words: pintle %s %s"):format(name,
      options.shell_line(options.append_words(list, command, 2)))
  end
  if program:find "%s" and not lfs.attributes(program) then
    return ("there is no program %q; write its arguments as words: pintle %s %s"):format(program, name,
      options.shell_line(options.append_words(options.split_at_spaces(program), command, 2)))
  end
end

---Where `--` is missing, if the command of a program ends with an operation and its arguments.
---@param command string[]
---@param name string the subcommand
---@return string
function suggestion.advice_for_missing_dashes(command, name)
  for i = 3, #command do
    if command[i]:find "^[%w_-]+:?=" and not command[i]:find "^%-" then
      local program = table.move(command, 1, i - 2, 1, {})
      local rest = table.move(command, i - 1, #command, 1, {})
      return ("put -- before the operation: pintle %s %s -- %s"):format(name, options.shell_line(program),
        options.shell_line(rest))
    end
  end
  return ("name it behind the program and --: pintle %s %s -- OPERATION"):format(name, options.shell_line(command))
end

---The program of a directory that is a plugin: one with a manifest.json.
---@param path string
---@return string?
function suggestion.program_in_directory(path)
  local file <close> = io.open(path .. "/manifest.json", "rb")
  local manifest = file and core.json.decode(file:read "a")
  local program = type(manifest) == "table" and manifest.executable
  return type(program) == "string" and ("%s/%s"):format(path:gsub("/+$", ""), program) or nil
end

local INTERPRETERS = { lua = "lua5.4", py = "python3", js = "node", mjs = "node", cjs = "node", rb = "ruby", sh = "sh" }

local function did_you_mean_command(program, command)
  return ("did you mean %s?"):format(options.shell_line(options.append_words(program, command, 2)))
end

-- A better command than one that could not be run, as advice.
local function advice_for_command(command)
  local program = command[1]
  local attributes = lfs.attributes(program)
  if not attributes then return nil end
  local better = attributes.mode == "directory" and suggestion.program_in_directory(program)
  if better then return did_you_mean_command({ better }, command) end
  if attributes.mode == "directory" then
    local word = options.shell_line { program }
    return ("%s is a directory; to start the plugins in it: pintle run %s"):format(program, word)
  end
  local is_executable = attributes.permissions:find("x", 1, true)
  local interpreter = INTERPRETERS[program:match "%.(%w+)$"]
  local words = is_executable and { "./" .. program } or interpreter and { interpreter, program }
  if not words or is_executable and program:find "/" then return nil end
  return did_you_mean_command(words, command)
end

---Adds a better command to the error of a program that could not be run.
---@param err pintle.error
---@param command string[]
---@return pintle.error
function suggestion.explain_start_error(err, command)
  local advice = err.kind == "spawn" and advice_for_command(command)
  if advice then err.message = ("%s; %s"):format(err.message, advice) end
  return err
end

-- }======

-- {====== What the parser refuses ======

local function option_names(parser)
  local names = {}
  for _, option in ipairs(parser._options) do
    for _, name in ipairs(option._aliases) do names[#names + 1] = #name > 2 and name or nil end
  end
  return names
end

-- What a missing argument is, from its description.
local function missing_argument_message(parser, name)
  for _, argument in ipairs(parser._arguments) do
    if argument._name == name then
      local what = argument._description:gsub("%.$", ""):gsub("^%u", string.lower)
      return ("%s is missing: %s"):format(argument._argname or name, what)
    end
  end
end

---Rewrites a message of argparse, with a suggestion if a name is misspelt.
---@param parser table
---@param message string
---@param commands string[] names of the subcommands
---@return string message
---@return boolean is_complete whether it needs no usage beside it
function suggestion.explain_parser_message(parser, message, commands)
  local missing = message:match "^missing argument '(.*)'$"
  if missing then return missing_argument_message(parser, missing) or message, false end
  local command = message:match "^unknown command '([^\n]*)'"
  if command then return suggestion.unknown_name_message("subcommand", command, commands), true end
  local option = message:match "^unknown option '([^\n]*)'"
  if option then return suggestion.append_nearest_name("unknown option " .. option, option, option_names(parser)) end
  return message, false
end

-- }======

return suggestion
