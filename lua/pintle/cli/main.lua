-- The pintle command: parses the command line, runs the subcommand and returns its exit status. The subcommands `help`
-- and `version` are here, too.

local consoles = require "pintle.cli.console"
local errors = require "pintle.error"
local lazy = require "pintle.lazy"
local status = require "pintle.cli.status"

local dialects = lazy "pintle.dialect"
local suggestions = lazy "pintle.cli.suggestion"

---A subcommand, in the module pintle.cli.NAME.
---@class pintle.cli.command
---@field name string
---@field summary string one line
---@field takes_command? boolean|"first"|"after_dashes" whether the arguments end with the command of a plugin, which is
---`args.command` then; "first": it is followed by `--` and further arguments; "after_dashes": it follows `--`
---@field define fun(parser: table) defines options and arguments of the argparse parser
---@field run fun(args: table, console: pintle.cli.console): integer?, pintle.error? returns the exit status or an
---error; the message of an error with `is_text` has several lines and is printed unchanged

local main = {}

---The subcommands, in the groups and the order of the overview.
main.GROUPS = {
  { "Use a plugin", "inspect", "call", "run", "lead" },
  { "Write and test a plugin", "new", "check", "bench" },
  { "Record a conversation", "trace", "show", "view", "replay" },
  { "Look after pintle", "doctor", "completion", "manual", "help", "version" },
}

-- {====== The parser ======

-- Subcommands of this file; each of the others has a file of its own.
local HERE = {} ---@type table<string, pintle.cli.command>

local function load_subcommand(name) return HERE[name] or require("pintle.cli." .. name) end

local function subcommand_names()
  local names = {}
  for _, group in ipairs(main.GROUPS) do table.move(group, 2, #group, #names + 1, names) end
  return names
end

local function raise_usage_error(message) error(errors.new("invalid", message, { is_text = true }), 0) end

local function refuse_parser_input(parser, message)
  local text, is_complete = suggestions.explain_parser_message(parser, message, subcommand_names())
  if is_complete then return raise_usage_error(text) end
  local command = parser._parent and " " .. parser._name or ""
  raise_usage_error(("%s\n%s\nMore: pintle help%s"):format(text, parser:get_usage(), command))
end

-- argparse appends defaults after the period of a description; they belong inside the sentence.
local function fix_argparse_default(option)
  if not option._default then return end
  option:description(("%s (default: %s)."):format(option._description:gsub("%.$", ""), option._default))
  option:show_default(false)
end

-- argparse prints each name of an option on a line of its own, and an argument by its name in the code.
local function fix_argparse_label(element)
  local argname = element._argname
  local names = element._aliases and table.concat(element._aliases, ", ") .. " " or ""
  if argname then element._get_label_lines = function() return { names .. argname } end end
end

-- argparse counts bytes, so the ellipsis puts a description too far to the left.
local function fix_argparse_columns(parser)
  local get_help = parser.get_help
  function parser:get_help() return (get_help(self):gsub("\n   CMD…", "%0  ")) end
end

local function word_reader(words)
  local is_allowed = {}
  for _, word in ipairs(words) do is_allowed[word] = true end
  return function(text)
    if is_allowed[text] then return text end
    local message = ("%q is none of %s"):format(text, table.concat(words, ", "))
    return nil, (suggestions.append_nearest_name(message, text, words))
  end
end

-- argparse reports a wrong value without the name of its option, and suggests nothing.
local function fix_argparse_values(element)
  local convert, label = element._convert, element._aliases and element._aliases[#element._aliases] or element._argname
  if element._choices then
    element.words, element._choices = element._choices, nil -- `words` is for the outline
    convert = word_reader(element.words)
  end
  if not convert then return end
  element:convert(function(text)
    local value, message = convert(text)
    if message then raise_usage_error(("%s: %s"):format(label, message)) end
    return value
  end)
end

local function is_subcommand(word)
  for _, name in ipairs(subcommand_names()) do
    if name == word then return true end
  end
  return false
end

local function add_subcommand(parser, command)
  local sub = parser:command(command.name, command.summary)
  command.define(sub)
  fix_argparse_columns(sub)
  for _, option in ipairs(sub._options) do fix_argparse_default(option) end
  for _, elements in ipairs { sub._options, sub._arguments } do
    for _, element in ipairs(elements) do
      fix_argparse_label(element)
      fix_argparse_values(element)
    end
  end
  return sub
end

---The parser of the whole command line, or of one subcommand: a program that runs one needs no other. Also used to
---generate completions and the manual page.
---@param only? string name of the subcommand (default: all)
---@return table parser, table<string, pintle.cli.command> commands, table<string, table> parsers by name
function main.parser(only)
  local parser = require "argparse"("pintle", "Inspects, calls, tests and traces plugins.")
  parser:usage "Usage: pintle COMMAND [OPTIONS] [ARGUMENTS]"
  parser:help_max_width(80):command_target "name"
  parser:flag("--version", "Print the version and exit.") -- both are replaced by the subcommand (`subcommand_words`)
  parser.error = refuse_parser_input
  local commands, parsers = {}, {}
  for _, name in ipairs(only and { only } or subcommand_names()) do
    commands[name] = load_subcommand(name)
    parsers[name] = add_subcommand(parser, commands[name])
    parsers[name].error = refuse_parser_input
  end
  return parser, commands, parsers
end

-- }======

-- {====== The command of a plugin ======

-- Stands for the whole command of the plugin when pintle's own words are parsed.
local PLACEHOLDER = "CMD"

-- Number of arguments of each option, by its names.
local function parser_option_arguments(parser)
  local by_name = {}
  for _, option in ipairs(parser._options) do
    for _, alias in ipairs(option._aliases) do by_name[alias] = option._maxargs end
  end
  return by_name
end

local function is_option_word(word) return word:sub(1, 1) == "-" and #word > 1 end

-- In a cluster of short options only the last can have an argument.
local function count_word_arguments(by_name, word)
  if word:sub(1, 2) == "--" then return by_name[word] or 0 end
  return by_name["-" .. word:sub(-1)] or 0
end

-- Position of the first word that is neither an option nor the argument of one.
local function skip_option_words(parser, list, first)
  local by_name = parser_option_arguments(parser)
  local at = first
  while list[at] and is_option_word(list[at]) and list[at] ~= "--" do
    at = at + 1 + count_word_arguments(by_name, list[at])
  end
  return math.min(at, #list + 1)
end

local function last_double_dash(list, first)
  for i = #list, first, -1 do
    if list[i] == "--" then return i end
  end
  return #list + 1
end

---Splits the command of a plugin off the words of a subcommand. It begins at the first word that is not an option of
---pintle, and ends at the last `--` if `has_more`, else at the end. The first word is the name of the subcommand.
---@param parser table parser of the subcommand
---@param list string[]
---@param has_more boolean whether arguments of the subcommand follow, after `--`
---@return string[] own with a placeholder for the command, string[] command
local function split_off_plugin_command(parser, list, has_more)
  local stop = skip_option_words(parser, list, 2)
  local own = table.move(list, 1, stop - 1, 1, {})
  local first = list[stop] == "--" and stop + 1 or stop
  local last = has_more and last_double_dash(list, first) - 1 or #list
  local command = table.move(list, first, last, 1, {})
  if #command > 0 then own[#own + 1] = PLACEHOLDER end
  table.move(list, last + 2, #list, #own + 1, own)
  return own, command
end

-- }======

-- {====== Running ======

-- The words before `--`, which are parsed, and the command after it.
local function parse_command_after_dashes(list, parser, sub)
  local stop = skip_option_words(sub, list, 2)
  if list[stop] ~= "--" then return parser:parse(list) end
  local args = parser:parse(table.move(list, 1, stop - 1, 1, {}))
  args.command = table.move(list, stop + 1, #list, 1, {})
  if #args.command == 0 then refuse_parser_input(sub, "a program expected after --") end
  return args
end

-- Options that stand alone on the command line, and the subcommand that they mean.
local ALONE = { ["--version"] = { "version" }, ["--help"] = { "help" }, ["-h"] = { "help" } }

local function subcommand_words(list) return list[1] == nil and { "help" } or not list[2] and ALONE[list[1]] or list end

local function parse_subcommand(list, parser, command, sub)
  if not command or not command.takes_command then return parser:parse(list) end
  if command.takes_command == "after_dashes" then return parse_command_after_dashes(list, parser, sub) end
  local own, plugin_command = split_off_plugin_command(sub, list, command.takes_command == "first")
  local args = parser:parse(own)
  args.command = plugin_command
  if #plugin_command == 0 and not args.list then refuse_parser_input(sub, "missing argument 'command'") end
  return args
end

local function parse_command_line(given)
  local list = subcommand_words(given)
  local name = list[1]
  local parser, commands, parsers = main.parser(is_subcommand(name) and name or nil)
  local args = parse_subcommand(list, parser, commands[name], parsers[name])
  local is_plain = not args.command or not args.command[1] or args.command[1]:find "^[^%s%[]%S*$"
  local fault = not is_plain and suggestions.fault_of_command(args.command, args.name)
  if fault then raise_usage_error(fault) end
  return commands[args.name], args, parsers[args.name]
end

-- A plugin that did not start may have got options that were meant for pintle.
local NOT_STARTED = { closed = true, protocol = true, timeout = true }

local function warn_of_misplaced_options(command, parser, err, console)
  local by_name = NOT_STARTED[err.kind] and parser_option_arguments(parser) or {}
  for i = 2, #command do
    local name = command[i]:match "^%-%-[%w-]+"
    if name and by_name[name] then
      return console:warn(("%s was passed to the program; options of pintle come before it"):format(name))
    end
  end
end

local function run_subcommand(list, console)
  local command, args, parser = parse_command_line(list)
  local code, err = command.run(args, console)
  if code then return code end
  warn_of_misplaced_options(args.command or {}, parser, err, console)
  error(err, 0)
end

-- The doctor also has to work when argparse is the missing module.
local function run_without_parser(list, console)
  if list[1] == "doctor" then return load_subcommand "doctor".run({ json = list[2] == "--json" }, console) end
  console:warn "the module argparse is missing; run `pintle doctor` for details"
  return status.BROKEN
end

-- The error that `lua` raises on Ctrl-C when nothing handles the signal.
local function is_interrupt(err) return type(err) == "string" and err:find("interrupted!", 1, true) ~= nil end

local function report_command_error(err, console)
  if is_interrupt(err) then return status.of_signal "INT" end
  if errors.is(err) then
    console:warn(err.is_text and err.message or tostring(err))
    return status.of_error(err)
  end
  console:warn("internal error: " .. tostring(err))
  console:warn "run `pintle doctor` to see whether something is missing"
  return status.BUG
end

local function with_command_traceback(err)
  if errors.is(err) then return err end
  return debug.traceback(errors.text(err), 2)
end

-- Output that could not be written makes the command fail.
local function flush_output(code, console)
  local message = console:flush()
  if not message then return code end
  console:warn("cannot write to stdout: " .. message)
  return code > status.FAILED and code or status.BROKEN
end

---@param given string[] arguments of the command line
---@param checkout? string root of the checkout that the command runs from
---@return integer status
function main.run(given, checkout)
  local console = consoles.new(checkout)
  local list = table.move(given, 1, #given, 1, {})
  if not pcall(require, "argparse") then return run_without_parser(list, console) end
  local ok, code = xpcall(run_subcommand, with_command_traceback, list, console)
  if ok then return flush_output(code, console) end
  return report_command_error(code, console)
end

-- }======

-- {====== The subcommands help and version ======

HERE.version = { name = "version", summary = "Print the version.", define = function() end }

function HERE.version.run(_, console)
  console:print("pintle " .. require "pintle.version")
  return status.DONE
end

HERE.help = { name = "help", summary = "Print this overview, or the help of a subcommand." }

function HERE.help.define(parser)
  parser:argument("topic", "The subcommand."):argname "COMMAND":args "?"
end

local ABOUT = [[
pintle %s: for plugins, MCP servers, language servers, and their hosts.

Usage: pintle COMMAND [OPTIONS] [ARGUMENTS]
]]

local EXAMPLES = [[
  pintle inspect clangd                         what a language server can do
  pintle run -- npx -y @modelcontextprotocol/server-everything
                                                a prompt for an MCP server
  pintle new greeter && cd greeter              a plugin of your own
  pintle call ./plugin.lua -- greet name=Ada    run one of its operations
  pintle call pintle trace -o talk.jsonl ./plugin.lua -- greet name=Ada
                                                record what host and plugin say
  pintle view talk.jsonl                        look at that in a browser

A program and its arguments come after the options of pintle. What comes after
-- is for its operation. More: pintle help COMMAND]]

local function add_overview_group(lines, group, commands, console)
  lines[#lines + 1] = ""
  lines[#lines + 1] = console:paint("bold", group[1])
  for i = 2, #group do lines[#lines + 1] = ("  %-10s  %s"):format(group[i], commands[group[i]].summary) end
end

local function print_overview(console)
  local lines = { (ABOUT:format(require "pintle.version"):gsub("\n$", "")) }
  local _, commands = main.parser()
  for _, group in ipairs(main.GROUPS) do add_overview_group(lines, group, commands, console) end
  lines[#lines + 1] = "\n" .. console:paint("bold", "Examples") .. "\n" .. EXAMPLES
  console:print(table.concat(lines, "\n"))
end

function HERE.help.run(args, console)
  local topic = args.topic
  if not topic then
    print_overview(console)
    return status.DONE
  end
  if is_subcommand(topic) then
    local _, _, parsers = main.parser(topic)
    console:print((parsers[topic]:get_help():gsub("\n$", "")))
    return status.DONE
  end
  return nil, errors.new("invalid", suggestions.unknown_name_message("subcommand", topic, subcommand_names()))
end

-- }======

-- {====== The command line as data ======

---The value of an option or an argument.
---@class pintle.cli.outline.value
---@field label string its name in the usage: FILE, TIME
---@field kind "words"|"file"|"directory"|"program"|"other"
---@field words string[] the allowed values, if kind is "words"

---@class pintle.cli.outline.option
---@field names string[] the short names first
---@field description string
---@field value pintle.cli.outline.value? nil for a flag

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
---@field takes_command boolean whether everything from the first argument on is the command of a plugin
---@field takes_dashes boolean whether a command may follow `--`
---@field takes_operation boolean whether an operation may follow the command and `--`

---@class pintle.cli.outline
---@field description string
---@field options pintle.cli.outline.option[]
---@field commands pintle.cli.outline.command[]

-- Kinds of values, by their names in the usage.
local KINDS = { FILE = "file", DIR = "directory", ["CMD…"] = "program" }

local function outline_parser_value(element, target)
  local label = element._argname or element._name
  local words = element.words
  if target == "dialect" then words = dialects.names() end
  return { label = label, words = words or {}, kind = words and "words" or KINDS[label] or "other" }
end

local function is_shorter(a, b) return #a < #b end

local function outline_parser_options(parser)
  local list = {}
  for _, option in ipairs(parser._options) do
    local names = table.move(option._aliases, 1, #option._aliases, 1, {})
    table.sort(names, is_shorter)
    list[#list + 1] = {
      names = names, description = option:_get_description(),
      value = option._maxargs > 0 and outline_parser_value(option, option._target or names[#names]:match "%w+") or nil,
    }
  end
  return list
end

local function outline_parser_arguments(parser)
  local list = {}
  for i, argument in ipairs(parser._arguments) do
    list[i] = {
      value = outline_parser_value(argument), description = argument:_get_description(),
      is_many = argument._maxargs > 1,
    }
  end
  return list
end

---The command line as plain data, for generating completions and the manual page.
---@return pintle.cli.outline
function main.outline()
  local parser, modules = main.parser()
  local outline = { description = parser._description, options = outline_parser_options(parser), commands = {} }
  for i, command in ipairs(parser._commands) do
    local module = modules[command._name]
    outline.commands[i] = {
      name = command._name, description = command:_get_description(),
      usage = command:get_usage():gsub("^Usage: ", ""):gsub("\n.*", ""):gsub("%s+", " "),
      options = outline_parser_options(command), arguments = outline_parser_arguments(command),
      takes_command = module.takes_command == true or module.takes_command == "first",
      takes_dashes = module.takes_command == "after_dashes", takes_operation = module.takes_command == "first",
    }
  end
  for _, command in ipairs(outline.commands) do
    if command.name == "help" then
      command.arguments[1].value = { label = "COMMAND", kind = "words", words = subcommand_names() }
    end
  end
  return outline
end

-- }======

return main
