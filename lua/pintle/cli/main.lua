-- The pintle command: finds the subcommand, has it run, and ends with its status.

local consoles = require "pintle.cli.console"
local errors = require "pintle.error"
local status = require "pintle.cli.status"
local words = require "pintle.cli.words"

---A subcommand: a file pintle.cli.NAME.
---@class pintle.cli.command
---@field name string
---@field summary string a line
---@field takes_command? boolean|"first" whether its words end with the command of a plugin, or with "first" have that
---before something else, behind `--`; it is `args.command` then
---@field define fun(parser: table) options and arguments, as argparse has them
---@field run fun(args: table, console: pintle.cli.console): integer?, pintle.error? status, or why there is none; an
---error that `is_text` is written by pintle and has several lines

local COMMANDS = {
  "inspect", "call", "check", "bench", "run", "new", "trace", "show", "view", "replay", "doctor", "completion",
  "manual",
}

local main = {}

-- {====== The parser ======

local function load(name) return require("pintle.cli." .. name) end

local function fail(parser, message)
  local command = parser._parent and " " .. parser._name or ""
  local text = ("%s\n%s\nMore: pintle help%s"):format(message, parser:get_usage(), command)
  error(errors.new("invalid", text, { is_text = true }), 0)
end

local function show_version()
  print("pintle " .. require "pintle.version")
  os.exit(0)
end

local function add_command(parser, command)
  local sub = parser:command(command.name, command.summary)
  command.define(sub)
  return sub
end

---The whole command line as argparse has it, for parsing, and for whoever describes it in other forms.
---@return table parser, table<string, pintle.cli.command> commands, table<string, table> parsers by name
function main.parser()
  local parser = require "argparse"("pintle", "Looks at plugins, calls them, and records what they say.")
  parser:help_max_width(100):command_target "name"
  parser:flag("--version", "Show the version and end."):action(show_version)
  parser:add_help_command()
  local commands, parsers = {}, {}
  for _, name in ipairs(COMMANDS) do
    commands[name] = load(name)
    parsers[name] = add_command(parser, commands[name])
  end
  parser.error = fail
  for _, sub in ipairs(parser._commands) do sub.error = fail end -- `help` complains by itself
  return parser, commands, parsers
end

-- }======

local function read_words(list, parser, commands, parsers)
  local command = commands[list[1]]
  if not command or not command.takes_command then return parser:parse(list) end
  local own, plugin_command = words.split(parsers[command.name], list, command.takes_command == "first")
  local args = parser:parse(own)
  args.command = plugin_command
  return args
end

local function parse(list)
  local parser, commands, parsers = main.parser()
  local args = read_words(list, parser, commands, parsers)
  if args.command and args.command[1] == "" then fail(parsers[args.name], "the name of the program is empty") end
  return commands[args.name], args
end

local function run(list, console)
  local command, args = parse(list)
  local code, err = command.run(args, console)
  if code then return code end
  error(err, 0)
end

-- What the doctor looks for may be what the command line is read with.
local function run_without_parser(list, console)
  if list[1] == "doctor" then return load "doctor".run({ json = list[2] == "--json" }, console) end
  console:complain "the module argparse is missing, with which the command line is read; `pintle doctor` tells more"
  return status.BROKEN
end

-- What `lua` itself makes of Ctrl-C, where nobody has taken it over.
local function is_interrupt(err) return type(err) == "string" and err:find("interrupted!", 1, true) ~= nil end

local function explain(err, console)
  if is_interrupt(err) then return status.of_signal "INT" end
  if errors.is(err) then
    console:complain(err.is_text and err.message or tostring(err))
    return status.of(err)
  end
  console:complain("this should not have happened: " .. tostring(err))
  console:complain "`pintle doctor` tells whether something is missing"
  return status.BUG
end

local function with_traceback(err)
  if errors.is(err) then return err end
  return debug.traceback(errors.text(err), 2)
end

-- What was to be printed and is not there has not been done.
local function finish(code, console)
  local message = console:flush()
  if not message then return code end
  console:complain("cannot write to stdout: " .. message)
  return code > status.FAILED and code or status.BROKEN
end

---@param given string[] the words of the command line
---@param checkout? string the folder of the checkout that it runs from
---@return integer status
function main.run(given, checkout)
  local console = consoles.new(checkout)
  local list = table.move(given, 1, #given, 1, {})
  if not pcall(require, "argparse") then return run_without_parser(list, console) end
  local ok, code = xpcall(run, with_traceback, list, console)
  if ok then return finish(code, console) end
  return explain(code, console)
end

return main
