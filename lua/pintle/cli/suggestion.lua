-- What the user may have meant: suggestions for mistakes in a command line and in the arguments of an operation.

local lazy = require "pintle.lazy"

local core = lazy "pintle.core"
local lfs = lazy "lfs"
local manifests = lazy "pintle.manifest"

local suggestion = {}

---@param words string[]
---@return string line quoted for a shell, where that is necessary
function suggestion.line(words)
  local quoted = {}
  for i, word in ipairs(words) do
    local is_plain = word:find "^[%w%._/@:=,+%%-]+$"
    quoted[i] = is_plain and word or "'" .. word:gsub("'", "'\\''") .. "'"
  end
  return table.concat(quoted, " ")
end

local function with(words, list, first)
  return table.move(list, first or 1, #list, #words + 1, table.move(words, 1, #words, 1, {}))
end

-- {====== Programs ======

-- The items of a JSON list, such as the `command` of a configuration file.
local function list_in(word)
  if word:sub(1, 1) ~= "[" then return nil end
  local list = core.json.decode(word)
  if type(list) ~= "table" or not list[1] then return nil end
  for _, item in ipairs(list) do
    if type(item) ~= "string" then return nil end
  end
  return list
end

local function split(text)
  local words = {}
  for word in text:gmatch "%S+" do words[#words + 1] = word end
  return words
end

---What is wrong with the command of a program before it is started.
---@param command string[]
---@param name string the subcommand
---@return string? message
function suggestion.for_command(command, name)
  local program = command[1]
  if not program then return nil end
  if not program:find "%S" then
    return "the name of the program is empty; is it a variable of the shell that is not set?"
  end
  local list = list_in(program)
  if list then
    return ("the program is given as a list; write its items as words: pintle %s %s"):format(name,
      suggestion.line(with(list, command, 2)))
  end
  if program:find "%s" and not lfs.attributes(program) then
    return ("there is no program %q; write its arguments as words: pintle %s %s"):format(program, name,
      suggestion.line(with(split(program), command, 2)))
  end
end

local INTERPRETERS = { lua = "lua5.4", py = "python3", js = "node", mjs = "node", cjs = "node", rb = "ruby", sh = "sh" }

---A better command than one that could not be run.
---@param command string[]
---@return string? message
function suggestion.for_spawn(command)
  local program = command[1]
  local attributes = lfs.attributes(program)
  if not attributes then return nil end
  if attributes.mode == "directory" then
    return ("%s is a directory; to start the plugins in it: pintle run %s"):format(program, suggestion.line { program })
  end
  local is_executable = attributes.permissions:find("x", 1, true)
  local interpreter = INTERPRETERS[program:match "%.(%w+)$"]
  local better = is_executable and { "./" .. program } or interpreter and { interpreter, program }
  if not better or is_executable and program:find "/" then return nil end
  return "did you mean " .. suggestion.line(with(better, command, 2)) .. "?"
end

---Where `--` is missing, if the command of a plugin ends with an operation and its arguments.
---@param command string[]
---@param name string the subcommand
---@return string
function suggestion.for_missing_dashes(command, name)
  for i = 3, #command do
    if command[i]:find "^[%w_-]+:?=" and not command[i]:find "^%-" then
      local program = table.move(command, 1, i - 2, 1, {})
      local rest = table.move(command, i - 1, #command, 1, {})
      return ("put -- before the operation: pintle %s %s -- %s"):format(name, suggestion.line(program),
        suggestion.line(rest))
    end
  end
  return ("name it behind the program and --: pintle %s %s -- OPERATION"):format(name, suggestion.line(command))
end

-- }======

-- {====== Operations ======

local function names_of(map)
  local names = {}
  for name in pairs(type(map) == "table" and map or {}) do names[#names + 1] = name end
  table.sort(names)
  return names
end

-- The parameter that an argument with an unknown name may be meant for.
local function nearest_parameter(operation, args)
  local params = operation and operation.params
  local properties = type(params) == "table" and params.properties
  if type(properties) ~= "table" then return nil end
  local known = names_of(properties)
  for _, name in ipairs(names_of(args)) do
    local near = properties[name] == nil and type(name) == "string" and manifests.nearest({ names = known }, name)
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
function suggestion.for_operation(err, manifest, operation, args)
  if err.kind ~= "invalid" then return err.message end
  local name = type(err.data) == "table" and err.data.suggestion
  if name then return ("%s; did you mean %s?"):format(err.message, name) end
  if err.code == -32601 and #manifest.names > 0 then
    return ("%s; available: %s"):format(err.message, table.concat(manifest.names, ", "))
  end
  local wrong, near = nearest_parameter(manifest.operations[operation], args)
  return wrong and ("%s; did you mean %s instead of %s?"):format(err.message, near, wrong) or err.message
end

-- }======

return suggestion
