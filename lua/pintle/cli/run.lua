-- pintle run: a host for the plugins in a directory, with a prompt; without a terminal it reads commands from stdin.

local consoles = require "pintle.cli.console"
local dialects = require "pintle.dialect"
local lazy = require "pintle.lazy"
local options = require "pintle.cli.options"
local status = require "pintle.cli.status"

local core = lazy "pintle.core"
local display = lazy "pintle.cli.display"
local errors = lazy "pintle.error"
local log = lazy "pintle.host.log"
local loop = lazy "pintle.loop"
local pages = lazy "pintle.cli.page"
local prompts = lazy "pintle.cli.run.prompt"
local recognition = lazy "pintle.cli.recognition"
local suggestions = lazy "pintle.cli.suggestion"
local tasks = lazy "pintle.task"
local terminals = lazy "pintle.cli.run.terminal"

local run = { name = "run", summary = "Start a plugin, or all in a directory, with a prompt." }

function run.define(parser)
  parser:usage "Usage: pintle run [-d NAME] [OPTIONS] DIR"
  parser:argument("directory", "The directory of the plugins: programs, and directories with a manifest.json.")
    :argname "DIR"
  parser:option("-d --dialect", "The protocol of the plugins.", dialects.DEFAULT):argname "NAME"
  parser:option("-t --timeout", "How long an operation may take, such as 1m30s (default: 60s)."):argname "TIME"
    :convert(options.seconds)
  options.define_sandbox(parser)
  options.define_start_timeout(parser)
  options.define_log(parser, "info")
  parser:flag("--no-history", "Do not save entered lines.")
end

-- {====== Words of a line, as in a shell: quotes and backslashes keep spaces together ======

-- Parts of a word, by the way they are quoted: pattern, conversion, index of the capture with the end.
local PARTS = {
  { "^'([^']*)'()", function(text) return text end },
  { '^"([^"\\]*)"()', function(text) return text end },
  { '^"((.-[^\\]))"()', function(text) return (text:gsub('\\(["\\])', "%1")) end, 3 },
  { "^\\(.)()", function(text) return text end },
  { "^([^%s'\"\\]+)()", function(text) return text end },
}

local function read_part(line, at)
  for _, part in ipairs(PARTS) do
    local found = table.pack(line:match(part[1], at))
    if found[1] then return part[2](found[1]), found[part[3] or 2] end
  end
end

---@param line string
---@return string[]? words, string? message
function run.split_words(line)
  local words, at = {}, line:find "%S"
  while at do
    local word = ""
    while at <= #line and not line:find("^%s", at) do
      local text, after = read_part(line, at)
      if not text then return nil, ("unterminated %s"):format(line:sub(at, at)) end
      word, at = word .. text, after
    end
    words[#words + 1] = word
    at = line:find("%S", at)
  end
  return words
end

-- }======

-- {====== Secrets ======

-- A line is a secret by the names of its arguments, or by the plugin's schema. A leading space marks a secret, too, as
-- in other shells.
local NAMES = {
  "passw", "passphrase", "secret", "token", "credential", "api[_-]?key", "access[_-]?key", "private[_-]?key",
  "authorization", "cookie",
}

local function sounds_secret(name)
  name = name:lower()
  for _, pattern in ipairs(NAMES) do
    if name:find(pattern) then return true end
  end
  return name == "pin" or name == "auth" or name == "pwd"
end

local function is_declared(properties, name)
  local schema = type(properties) == "table" and properties[name]
  return type(schema) == "table" and (schema.writeOnly == true or schema.format == "password")
end

---@param line string
---@param properties? table schemas of the operation's parameters, by name
---@return boolean
function run.is_secret(line, properties)
  if line:find "^%s" then return true end
  local words = run.split_words(line)
  if not words then return line:find "[=:]" ~= nil and sounds_secret(line) end
  for i = 3, #words do
    local name, value = words[i]:match "^(.-):?=(.*)$"
    if not name then name, value = words[i], "" end
    if sounds_secret(name) or is_declared(properties, name) then return true end
    if value:find "^[%[{]" and sounds_secret(value) then return true end
  end
  return false
end

-- }======

local HELP = [[
PLUGIN OPERATION key=value…   run an operation; key:=JSON gives the value as JSON
PLUGIN                        show its operations
plugins                       list the running plugins
reload                        stop all plugins, search the directory again, and start what is found
help                          show this text
quit                          stop all plugins and exit; so does Ctrl-D
Ctrl-C cancels the operation, Tab completes, the arrow keys walk through the history, Ctrl-R searches it.]]

---@class pintle.cli.run.shell
---@field host pintle.host
---@field is_over boolean
local methods = {}

local metatable = { __name = "pintle.cli.run.shell", __index = methods }

local function names_of(map)
  local names = {}
  for name in pairs(map) do names[#names + 1] = name end
  table.sort(names)
  return names
end

-- A plugin whose handshake is not done, after an interrupted start, is not available.
local function plugin_of(self, name)
  local plugin = self.host.plugins[name]
  return plugin and plugin.manifest and plugin
end

local function plugin_names(self)
  local names = {}
  for _, name in ipairs(names_of(self.host.plugins)) do
    if plugin_of(self, name) then names[#names + 1] = name end
  end
  return names
end

-- {====== Starting ======

---Starts the plugins in the directory. Failures are reported, and the other plugins run.
---@return integer? status, pintle.error?
function methods:start()
  local found, problem = self.host:discover(self.directory)
  if not found then return nil, problem end
  for _, spec in ipairs(found) do spec.env = self.console:plugin_environment() end
  local started, failed = self.host:start_all(found)
  for _, name in ipairs(names_of(failed)) do
    if failed[name].kind == "cancelled" then return nil, failed[name] end
    self.console:warn(("%s failed to start: %s"):format(name, tostring(failed[name])))
  end
  if #found == 0 then self.console:warn("no plugins in " .. self.directory) end
  return #started == #found and #found > 0 and status.DONE or status.BROKEN
end

-- }======

-- {====== Commands ======

local COMMANDS = {}

function COMMANDS.help(self)
  self.console:print(HELP)
  return status.DONE
end

function COMMANDS.plugins(self)
  local rows = {}
  for _, name in ipairs(plugin_names(self)) do
    local manifest = self.host.plugins[name].manifest
    local row = { name, manifest.version or "", table.concat(manifest.names, " ") }
    for i, cell in ipairs(row) do row[i] = consoles.harmless_line(cell) end
    rows[#rows + 1] = row
  end
  self.console:print_lines(consoles.table_lines({ "PLUGIN", "VERSION", "OPERATIONS" }, rows))
  return status.DONE
end

function COMMANDS.quit(self)
  self.is_over = true
  return status.DONE
end

-- An interrupted reload does not wait for plugins that are being stopped.
function COMMANDS.reload(self)
  self.host:stop()
  if next(self.host.plugins) then return nil, loop.cancelled() end
  return self:start()
end

local function describe(self, plugin)
  local sheet = pages.new(self.console)
  sheet:head(plugin.manifest, plugin.raw_manifest, self.dialect, false)
  sheet:operations(plugin.manifest)
  sheet:print()
  return status.DONE
end

local function execute(self, plugin, operation, words)
  local declared = plugin.manifest.operations[operation]
  local args, message = options.read_arguments(words, declared and declared.params)
  if not args then return self:refuse(message) end
  local terminal = self.terminal
  local outcome, err = plugin:execute(operation, args, {
    timeout = self.timeout,
    on_part = function(part) display.show_part(part, self.console) end,
    on_progress = terminal.has_bar and function(fraction, text)
      terminal.progress(plugin.name, operation, fraction, text)
    end or nil,
  })
  terminal.clear()
  if outcome then
    display.show_outcome(outcome, operation, self.console)
    return outcome.success and status.DONE or status.FAILED
  end
  err.message = suggestions.for_operation(err, plugin.manifest, operation, args)
  return nil, err
end

-- }======

---Reports a usage error.
---@param message string
---@return integer status
function methods:refuse(message)
  self.console:warn(message)
  return status.USAGE
end

local function perform_words(self, words)
  local command, plugin = COMMANDS[words[1]], plugin_of(self, words[1])
  if command and #words > 1 then return self:refuse(words[1] .. " takes no arguments") end
  if command then return command(self) end
  if not plugin then return self:refuse(("no plugin or command %s; try `help`"):format(words[1])) end
  if #words == 1 then return describe(self, plugin) end
  return execute(self, plugin, words[2], table.move(words, 3, #words, 1, {}))
end

---Runs a line.
---@param line string
---@return integer status
function methods:perform(line)
  local words, message = run.split_words(line)
  if not words then return self:refuse(message) end
  if #words == 0 then return status.DONE end
  local code, err = perform_words(self, words)
  if code then return code end
  if err.kind == "cancelled" then
    self.console:warn "interrupted: the operation was cancelled"
    return status.of_signal "INT"
  end
  self.console:warn(tostring(err) .. (err.kind == "closed" and "; `reload` restarts it" or ""))
  return status.of(err)
end

---Whether a line must not be saved.
---@param line string
---@return boolean
function methods:is_secret(line)
  local words = run.split_words(line) or {}
  local plugin = words[1] and plugin_of(self, words[1])
  local operation = plugin and plugin.manifest.operations[words[2]]
  local params = operation and operation.params
  return run.is_secret(line, type(params) == "table" and params.properties or nil)
end

-- {====== Completing ======

local function values_of(schema)
  if type(schema) ~= "table" then return {} end
  if schema.type == "boolean" then return { "true", "false" } end
  local values = {}
  for i, value in ipairs(type(schema.enum) == "table" and schema.enum or {}) do values[i] = tostring(value) end
  return values
end

local function arguments_of(operation, words)
  local params = type(operation.params) == "table" and operation.params.properties
  local list = {}
  for _, name in ipairs(names_of(type(params) == "table" and params or {})) do
    local is_given = false
    for i = 3, #words do is_given = is_given or words[i]:match "^(.-):?=" == name end
    local values = values_of(params[name])
    for _, value in ipairs(is_given and {} or values) do list[#list + 1] = name .. "=" .. value end
    if not is_given and #values == 0 then list[#list + 1] = name .. "=" end
  end
  return list
end

-- Candidates for the word after these.
local function expected(self, words)
  if #words == 0 then
    local names = plugin_names(self)
    for name in pairs(COMMANDS) do names[#names + 1] = name end
    table.sort(names)
    return names
  end
  local plugin = plugin_of(self, words[1])
  if not plugin then return {} end
  if #words == 1 then return plugin.manifest.names end
  local operation = plugin.manifest.operations[words[2]]
  return operation and arguments_of(operation, words) or {}
end

-- Text with control characters is not offered.
local function is_shown(text) return consoles.harmless_line(text) == text end

---@param left string the line up to the cursor
---@return string[] candidates, integer start position where the completed word begins
function methods:complete(left)
  local start = left:find "%S*$"
  local begun, candidates = left:sub(start), {}
  for _, text in ipairs(expected(self, run.split_words(left:sub(1, start - 1)) or {})) do
    if text:sub(1, #begun) == begun and is_shown(text) then candidates[#candidates + 1] = text end
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
  local host = require "pintle.host" { dialect = args.dialect, log = on_entry, verbosity = args.log, extensions = true,
    stop_timeouts = recognition.STOP_TIMEOUTS, handshake_timeout = args.start_timeout, sandbox = args.sandbox }
  return setmetatable({ host = host, dialect = args.dialect, directory = args.directory, timeout = args.timeout,
    console = console, terminal = terminal, is_over = false }, metatable)
end

-- {====== Commands from stdin ======

local function read_line(input)
  local bytes = {}
  while true do
    local byte = input:next()
    if byte == false then return nil end
    if byte == "\n" or byte == nil and #bytes > 0 then return table.concat(bytes) end
    if byte == nil then return nil end
    bytes[#bytes + 1] = byte
  end
end

-- Continues after failures; the status is that of the first failure.
local function run_script(shell, start_status)
  local input <close> = terminals.input()
  local outcome = start_status
  while not shell.is_over do
    local line = read_line(input)
    if not line then break end
    input:pause()
    local code = line:find "^%s*#" and status.DONE or shell:perform(line)
    shell.console:flush()
    if outcome == status.DONE then outcome = code end
  end
  return outcome
end

-- }======

-- {====== The prompt ======

local function perform_interruptibly(shell, input, line)
  local task = tasks.start(shell.perform, shell, line)
  input:during(function() task:cancel "interrupted" end, function() task:await() end)
  shell.console:flush()
end

local function run_prompt(shell, screen, args)
  local raw <close>, err = terminals.raw_mode()
  if not raw then return nil, err end
  local input <close> = terminals.input()
  local history = prompts.new_history(not args.no_history and prompts.history_path() or nil)
  screen.prompt = prompts.new(input, function(left) return shell:complete(left) end, history.lines)
  while not shell.is_over do
    local line = screen.prompt:read()
    if not line then break end
    if line:find "%S" and not shell:is_secret(line) then history:keep(line) end
    perform_interruptibly(shell, input, line)
  end
  return status.DONE
end

-- }======

-- Log entries are printed above the line that is being edited.
local function log_to(terminal, screen)
  return function(entry)
    if screen.prompt then screen.prompt:hide() end
    terminal.entry(entry)
    if screen.prompt then screen.prompt:show() end
  end
end

---@param args table
---@param console pintle.cli.console
---@return integer?, pintle.error?
function run.run(args, console)
  local known, message = dialects.get(args.dialect)
  if not known then return nil, errors.new("invalid", message) end
  local terminal, screen = log.terminal(), {}
  local shell = new_shell(args, console, terminal, log_to(terminal, screen))
  local host <close> = shell.host -- luacheck: ignore 211
  local signal, code, err = status.run_interruptible(function()
    local start_status, problem = shell:start()
    if not start_status then return nil, problem end
    if core.isatty(0) and core.isatty(1) then return run_prompt(shell, screen, args) end
    return run_script(shell, start_status)
  end)
  screen.prompt = nil
  if signal then return status.of_signal(signal) end
  return code, err
end

return run
