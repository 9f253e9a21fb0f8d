-- The command line, as plain data: taken from the parser, for those who describe it in other forms.

local dialects = require "pintle.dialect"

---What may stand somewhere.
---@class pintle.cli.outline.value
---@field label string what it is called: FILE, TIME
---@field kind "words"|"file"|"directory"|"program"|"other"
---@field words string[] if it is one of these

---@class pintle.cli.outline.option
---@field names string[] short ones first
---@field description string
---@field value pintle.cli.outline.value? of one that has a value

---@class pintle.cli.outline.argument
---@field value pintle.cli.outline.value
---@field description string
---@field is_many boolean

---@class pintle.cli.outline.command
---@field name string
---@field description string
---@field usage string
---@field options pintle.cli.outline.option[]
---@field arguments pintle.cli.outline.argument[]
---@field takes_command boolean whether everything from the first argument on belongs to a program

---@class pintle.cli.outline
---@field description string
---@field options pintle.cli.outline.option[]
---@field commands pintle.cli.outline.command[]

-- By what the authors of options call their values.
local KINDS = { FILE = "file", DIR = "directory", ["CMD…"] = "program" }

local function value_of(element, target)
  local label = element._argname or element._name
  local words = element._choices
  if target == "dialect" then words = dialects.names() end
  return { label = label, words = words or {}, kind = words and "words" or KINDS[label] or "other" }
end

local function by_length(a, b) return #a < #b end

local function options_of(parser)
  local list = {}
  for _, option in ipairs(parser._options) do
    local names = table.move(option._aliases, 1, #option._aliases, 1, {})
    table.sort(names, by_length)
    list[#list + 1] = {
      names = names, description = option:_get_description(),
      value = option._maxargs > 0 and value_of(option, option._target or names[#names]:match "%w+") or nil,
    }
  end
  return list
end

local function arguments_of(parser)
  local list = {}
  for i, argument in ipairs(parser._arguments) do
    list[i] = {
      value = value_of(argument), description = argument:_get_description(), is_many = argument._maxargs > 1,
    }
  end
  return list
end

local function names_of(commands)
  local names = {}
  for i, command in ipairs(commands) do names[i] = command.name end
  return names
end

---@return pintle.cli.outline
return function()
  local parser, modules = require("pintle.cli.main").parser()
  local outline = { description = parser._description, options = options_of(parser), commands = {} }
  for i, command in ipairs(parser._commands) do
    local module = modules[command._name]
    outline.commands[i] = {
      name = command._name, description = command:_get_description(),
      usage = command:get_usage():gsub("^Usage: ", ""):gsub("%s+", " "),
      options = options_of(command), arguments = arguments_of(command),
      takes_command = module ~= nil and module.takes_command ~= nil,
    }
    if command._is_help_command then
      outline.commands[i].arguments[1].value = { label = "COMMAND", kind = "words", words = {} }
    end
  end
  for _, command in ipairs(outline.commands) do
    if command.name == "help" then command.arguments[1].value.words = names_of(outline.commands) end
  end
  return outline
end
