-- pintle run: starts a program, or the plugins in a directory, with a prompt; without a terminal it reads commands from
-- stdin.

local consoles = require "pintle.cli.console"
local dialects = require "pintle.dialect"
local lazy = require "pintle.lazy"
local options = require "pintle.cli.options"
local status = require "pintle.cli.status"

local commands = lazy "pintle.cli.run.commands"
local core = lazy "pintle.core"
local histories = lazy "pintle.cli.run.history"
local json_values = lazy "pintle.cli.json_values"
local lfs = lazy "lfs"
local log = lazy "pintle.host.log"
local loop = lazy "pintle.loop"
local pages = lazy "pintle.cli.plugin_page"
local prompts = lazy "pintle.cli.run.prompt"
local recognition = lazy "pintle.cli.recognition"
local suggestions = lazy "pintle.cli.suggestion"
local tasks = lazy "pintle.task"

local run = { name = "run", summary = "Start a plugin, or all in a directory, with a prompt.",
  takes_command = "after_dashes" }

function run.define(parser)
  parser:usage [[
Usage: pintle run [-d NAME] [OPTIONS] -- CMD…
       pintle run [-d NAME] [OPTIONS] DIR]]
  parser:argument("directory", "The directory of the plugins: programs, and directories with a manifest.json.")
    :argname "DIR":args "*"
  parser:option("-t --timeout", "How long an operation may take, such as 1m30s (default: 60s)."):argname "TIME"
    :convert(options.seconds)
  options.define_starting(parser, "info", "for a directory gevals; for a program all are tried")
  parser:flag("--no-history", "Do not save entered lines.")
end

-- {====== What to start ======

-- A program that was given without `--`.
local function is_program_name(name) return lfs.attributes(name, "mode") == "file" or core.which(name) ~= nil end

local function check_what_to_start(args)
  local given = args.directory
  if args.command then return true end
  if #given == 0 then
    return options.usage_error "a directory or a program expected: pintle run DIR, or pintle run -- CMD…"
  end
  local is_directory = lfs.attributes(given[1], "mode") == "directory"
  if not is_directory and is_program_name(given[1]) then
    return options.usage_error("%s is no directory; to start a program: pintle run -- %s", given[1],
      options.shell_line(given))
  end
  if #given > 1 then return options.usage_error("one directory expected, got %d", #given) end
  local program = is_directory and suggestions.program_in_directory(given[1])
  if program then
    return options.usage_error("%s is a plugin, not a directory of plugins; to start it: pintle run -- %s", given[1],
      options.shell_line { program })
  end
  if args.config ~= nil then
    return options.usage_error "--config is for a program: pintle run --config JSON -- CMD…"
  end
  if args.via then return options.usage_error "--via is for a program: pintle run --via WAY -- CMD…" end
  return true
end

-- }======

---@class pintle.cli.run.shell
---@field console pintle.cli.console
---@field terminal pintle.terminal
---@field timeout? number of an operation
---@field is_over boolean
---@field args table of the command line
---@field on_entry fun(entry: pintle.entry)
---@field report fun(message: string) prints a remark
---@field host? pintle.host of a directory
---@field only? pintle.cli.run.subject the one program
---@field subjects table<string, pintle.cli.run.subject> the plugins of a directory, by name
local methods = {}

local metatable = { __name = "pintle.cli.run.shell", __index = methods }

-- {====== Starting and stopping ======

local function start_program(self)
  self.args.ordered = true
  local started, err = recognition.start_plugin(self.args, self.console, self.on_entry)
  if not started then return nil, err end
  self.only = { plugin = started.plugin, dialect = started.dialect, name = started.label, name_in = started.name_in }
  return status.DONE
end

local function add_running_plugins(self)
  self.subjects = {}
  for name, plugin in pairs(self.host.plugins) do
    self.subjects[name] = plugin.manifest and { plugin = plugin, dialect = self.dialect, name = name } or nil
  end
end

-- Failures are reported, and the other plugins run.
local function start_directory(self)
  local found, problem = self.host:discover(self.directory)
  if not found then return nil, problem end
  for _, spec in ipairs(found) do spec.env, spec.ordered = self.console:plugin_environment(), true end
  local started, failed = self.host:start_all(found)
  for _, name in ipairs(json_values.sorted_names(failed)) do
    if failed[name].kind == "cancelled" then return nil, failed[name] end
    self.console:warn(("%s failed to start: %s"):format(name, tostring(failed[name])))
  end
  if #found == 0 then self.console:warn("no plugins in " .. self.directory) end
  add_running_plugins(self)
  return #started == #found and #found > 0 and status.DONE or status.BROKEN
end

---Starts the program, or the plugins in the directory.
---@return integer? status, pintle.error?
function methods:start_plugins()
  if self.host then return start_directory(self) end
  return start_program(self)
end

---Stops what was started.
function methods:stop_plugins()
  if self.host then self.host:stop() end
  if self.only then self.only.plugin:stop() end
  self.only, self.subjects = nil, {}
end

metatable.__close = methods.stop_plugins

-- }======

-- {====== Commands of the prompt itself ======

---@class pintle.cli.run.own_command
---@field usage string
---@field summary string
---@field run fun(self: pintle.cli.run.shell, word: string?): integer?, pintle.error?

---@type table<string, pintle.cli.run.own_command>
local COMMANDS = {}

COMMANDS.plugins = { usage = "plugins", summary = "list the running plugins" }

function COMMANDS.plugins.run(self)
  local rows = {}
  for _, name in ipairs(json_values.sorted_names(self.subjects)) do
    local manifest = self.subjects[name].plugin.manifest
    local row = { name, manifest.version or "", table.concat(manifest.names, " ") }
    for i, cell in ipairs(row) do row[i] = consoles.harmless_line(cell) end
    rows[#rows + 1] = row
  end
  self.console:print_lines(consoles.table_lines({ "PLUGIN", "VERSION", "OPERATIONS" }, rows))
  return status.DONE
end

COMMANDS.quit = { usage = "quit", summary = "stop everything and exit; so does Ctrl-D" }

function COMMANDS.quit.run(self)
  self.is_over = true
  return status.DONE
end

COMMANDS.reload = { usage = "reload", summary = "stop everything, and start it again" }

-- An interrupted reload does not wait for plugins that are being stopped.
function COMMANDS.reload.run(self)
  local host = self.host
  self:stop_plugins()
  if host and next(host.plugins) then return nil, loop.cancelled() end
  return self:start_plugins()
end

COMMANDS.help = { usage = "help", summary = "show this list; help OPERATION shows an operation" }

local KEYS = "Tab completes, the arrow keys walk through the history, Ctrl-R searches it, Ctrl-C cancels the operation."

-- Whether a word is a command of the prompt. `plugins` is for directories.
local function has_shell_command(self, word)
  return COMMANDS[word] ~= nil and (word ~= "plugins" or self.host ~= nil)
end

-- The commands of one program, or what all plugins of the directory have.
local function shell_help_rows(self)
  local rows, prefix = {}, self.host and "PLUGIN " or ""
  rows[1] = { prefix .. "OPERATION key=value…", "run an operation; key:=JSON or {…} gives JSON" }
  if self.host then rows[2] = { "PLUGIN", "show what the plugin can do" } end
  for _, command in ipairs(self.only and commands.available_commands(self.only) or commands.LIST) do
    if self.only or not command.capability or self.dialect == "mcp" then
      rows[#rows + 1] = { prefix .. command.usage, command.summary }
    end
  end
  for _, name in ipairs { "plugins", "reload", "help", "quit" } do
    if has_shell_command(self, name) then rows[#rows + 1] = { COMMANDS[name].usage, COMMANDS[name].summary } end
  end
  return rows
end

function COMMANDS.help.run(self, word)
  if word and self.only then return commands.show_operation(self, self.only, word) end
  if word then return options.usage_error "help takes no arguments here; try PLUGIN inspect OPERATION" end
  local rows, width, sheet = shell_help_rows(self), 0, pages.new(self.console)
  for _, row in ipairs(rows) do width = math.max(width, consoles.text_width(row[1])) end
  for _, row in ipairs(rows) do sheet:add_item(0, row[1], width, row[2]) end
  sheet:add_text(0, KEYS)
  sheet:print_page()
  return status.DONE
end

local function shell_command_names(self)
  local names = {}
  for _, name in ipairs(json_values.sorted_names(COMMANDS)) do
    names[#names + 1] = has_shell_command(self, name) and name or nil
  end
  return names
end

-- }======

-- {====== Lines ======

-- The plugin that a line is for, and its first word for the plugin; nil if it is for the prompt itself.
local function find_subject(self, list)
  local is_command = has_shell_command(self, list[1])
  if not self.only then return not is_command and self.subjects[list[1]] or nil, 2 end
  local is_operation = self.only.plugin.manifest.operations[list[1]] ~= nil
  return (is_operation or not is_command) and self.only or nil, 1
end

-- The words that a line may begin with.
local function first_words(self)
  local names = self.only and commands.first_words(self.only) or json_values.sorted_names(self.subjects)
  return table.move(shell_command_names(self), 1, #shell_command_names(self), #names + 1, names)
end

-- What a word needs before it: the plugin of an operation, or `call` for a method.
local function missing_word_before(self, word)
  for _, name in ipairs(json_values.sorted_names(self.subjects)) do
    if self.subjects[name].plugin.manifest.operations[word] then return name end
  end
  local subject = self.only
  for _, method in ipairs(subject and commands.likely_methods(subject.dialect, subject.plugin.raw_manifest) or {}) do
    if method == word then return "call" end
  end
end

local function unknown_word_message(self, word)
  if self.only and self.only.dialect ~= "mcp" and commands.command_needs_mcp(word) then
    return ("no %s in %s; to start an MCP server: pintle run -d mcp -- CMD…"):format(word, self.only.dialect)
  end
  local what = self.host and "plugin or command" or "operation or command"
  local before = missing_word_before(self, word)
  if before then return ("no %s %s; did you mean %s %s?"):format(what, word, before, word) end
  local message = ("no %s %s"):format(what, word)
  local has_suggestion
  message, has_suggestion = suggestions.append_nearest_name(message, word, first_words(self))
  return has_suggestion and message or message .. "; try `help`"
end

local function run_shell_command(self, list)
  local most = list[1] == "help" and 2 or 1
  if #list > most then return options.usage_error(list[1] .. " takes no arguments") end
  return COMMANDS[list[1]].run(self, list[2])
end

local function run_words(self, line, list, starts)
  if has_shell_command(self, list[1]) and not find_subject(self, list) then return run_shell_command(self, list) end
  local subject, first = find_subject(self, list)
  if not self.only and not self.host then return options.usage_error "the program does not run; try `reload`" end
  if not subject then return options.usage_error(unknown_word_message(self, list[1])) end
  local request = { words = list, starts = starts, first = first, line = line }
  if not list[first] then request = { words = { "inspect" }, starts = { 1 }, first = 1, line = "inspect" } end
  local is_known = subject.plugin.manifest.is_open
    or commands.is_command_or_operation(subject, request.words[request.first])
  if self.only and not is_known then return options.usage_error(unknown_word_message(self, list[1])) end
  local code, err = commands.perform_request(self, subject, request)
  if err and subject.name_in then subject.name_in(err) end
  return code, err
end

---Runs a line.
---@param line string
---@return integer status
function methods:run_line(line)
  local list, starts = commands.split_line(line)
  local code, err
  if list and #list == 0 then return status.DONE end
  if list then code, err = run_words(self, line, list, starts) else code, err = options.usage_error(starts) end
  if code then return code end
  if err.kind == "cancelled" then
    self.console:warn "interrupted: the operation was cancelled"
    return status.of_signal "INT"
  end
  self.console:warn(tostring(err) .. (err.kind == "closed" and "; `reload` restarts it" or ""))
  return status.of_error(err)
end

---Whether a line must not be saved.
---@param line string
---@return boolean
function methods:is_secret_line(line)
  local list = commands.split_line(line) or {}
  local subject, first = nil, 2
  if list[1] and (self.only or self.host) then subject, first = find_subject(self, list) end
  local operation = subject and list[first] and subject.plugin.manifest.operations[list[first]]
  local params = operation and operation.params
  return histories.is_secret(line, type(params) == "table" and params.properties or nil, first + 1)
end

-- }======

-- {====== Completing ======

-- Candidates for the word after these.
local function shell_word_candidates(self, list)
  if #list == 0 then
    local names = first_words(self)
    table.sort(names)
    return names
  end
  local function report() end
  local subject, first = find_subject(self, list)
  if subject then return commands.complete_words(subject, table.move(list, first, #list, 1, {}), report) end
  if list[1] == "help" and #list == 1 and self.only then return self.only.plugin.manifest.names end
  return {}
end

-- Text with control characters is not offered.
local function is_printable(text) return consoles.harmless_line(text) == text end

---@param left string the line up to the cursor
---@return string[] candidates, integer start position where the completed word begins
function methods:complete_line(left)
  local start = left:find "%S*$"
  local begun, candidates = left:sub(start), {}
  if not self.only and not self.host then return shell_command_names(self), start end
  for _, text in ipairs(shell_word_candidates(self, commands.split_line(left:sub(1, start - 1)) or {})) do
    if text:sub(1, #begun) == begun and is_printable(text) then candidates[#candidates + 1] = text end
  end
  return candidates, start
end

-- }======

---@param args table of the command line
---@param console pintle.cli.console
---@param terminal pintle.terminal
---@param on_entry fun(entry: pintle.entry)
---@return pintle.cli.run.shell
local function new_shell(args, console, terminal, on_entry)
  local shell = { args = args, timeout = args.timeout, console = console, terminal = terminal, on_entry = on_entry,
    subjects = {}, is_over = false, report = function(message) console:warn(message) end }
  if not args.command then
    shell.directory, shell.dialect = args.directory[1], args.dialect or dialects.DEFAULT
    shell.host = require "pintle.host" { dialect = shell.dialect, log = on_entry, verbosity = args.log,
      extensions = true, stop_timeouts = recognition.STOP_TIMEOUTS, handshake_timeout = args.start_timeout,
      sandbox = args.sandbox }
  end
  return setmetatable(shell, metatable)
end

-- {====== Commands from stdin ======

local function read_script_line(input)
  local bytes = {}
  while true do
    local byte = input:next_byte()
    if byte == false then return nil end
    if byte == "\n" or byte == nil and #bytes > 0 then return table.concat(bytes) end
    if byte == nil then return nil end
    bytes[#bytes + 1] = byte
  end
end

-- Continues after failures; the status is that of the first failure.
local function run_script(shell, start_status)
  local input <close> = prompts.new_input()
  local outcome = start_status
  while not shell.is_over do
    local line = read_script_line(input)
    if not line then break end
    input:pause()
    local code = line:find "^%s*#" and status.DONE or shell:run_line(line)
    shell.console:flush()
    if outcome == status.DONE then outcome = code end
  end
  return outcome
end

-- }======

-- {====== The prompt ======

-- One or two lines for a new user.
local function print_banner(shell)
  local text
  if shell.only then
    local manifest = shell.only.plugin.manifest
    local version = manifest.version and " " .. manifest.version or ""
    text = ("%s%s speaks %s, and has %s."):format(manifest.name, version, shell.only.dialect,
      consoles.count(#manifest.names, "operation"))
  else
    text = ("%s in %s."):format(consoles.count(#json_values.sorted_names(shell.subjects), "plugin"), shell.directory)
  end
  local sheet = pages.new(shell.console)
  sheet:add_text(0, consoles.harmless_line(text) .. " Tab completes, `help` lists the commands, `quit` exits.")
  sheet:print_page()
end

local function perform_interruptibly(shell, input, line)
  local task = tasks.start(shell.run_line, shell, line)
  input:collect_during(function() task:cancel "interrupted" end, function() task:await() end)
  shell.console:flush()
end

local function run_prompt(shell, screen, args)
  local raw <close>, err = prompts.raw_mode()
  if not raw then return nil, err end
  local input <close> = prompts.new_input()
  local history = histories.new(not args.no_history and histories.default_path() or nil)
  print_banner(shell)
  screen.prompt = prompts.new(input, function(left) return shell:complete_line(left) end, history.lines)
  while not shell.is_over do
    local line = screen.prompt:read_prompt_line()
    if not line then break end
    if line:find "%S" and not shell:is_secret_line(line) then history:keep_line(line) end
    perform_interruptibly(shell, input, line)
  end
  return status.DONE
end

-- }======

-- Log entries are printed above the line that is being edited.
local function log_above_prompt(terminal, screen)
  return function(entry)
    if screen.prompt then screen.prompt:hide_prompt() end
    terminal.entry(entry)
    if screen.prompt then screen.prompt:show_prompt() end
  end
end

---@param args table
---@param console pintle.cli.console
---@return integer?, pintle.error?
function run.run(args, console)
  local ok, err = check_what_to_start(args)
  if not ok then return nil, err end
  local known
  known, err = options.find_dialect(args.dialect or dialects.DEFAULT)
  if not known then return nil, err end
  local terminal, screen = log.new_terminal(), {}
  local shell <close> = new_shell(args, console, terminal, log_above_prompt(terminal, screen))
  local signal, code
  signal, code, err = status.run_interruptible(function()
    local start_status, problem = shell:start_plugins()
    if not start_status then return nil, problem end
    if core.isatty(0) and core.isatty(1) then return run_prompt(shell, screen, args) end
    return run_script(shell, start_status)
  end)
  screen.prompt = nil
  if signal then return status.of_signal(signal) end
  return code, err
end

return run
