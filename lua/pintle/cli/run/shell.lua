-- The commands of the prompt of `pintle run`, for a host and the plugins it found in a directory.

local consoles = require "pintle.cli.console"
local display = require "pintle.cli.display"
local loop = require "pintle.loop"
local options = require "pintle.cli.options"
local starting = require "pintle.cli.starting"
local status = require "pintle.cli.status"

local harmless = consoles.harmless_line

local shells = {}

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
function shells.split(line)
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
function shells.is_secret(line, properties)
  if line:find "^%s" then return true end
  local words = shells.split(line)
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
  for _, spec in ipairs(found) do spec.env = starting.environment(self.console) end
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

local function print_rows(self, heads, rows)
  for i, line in ipairs(consoles.table_lines(heads, rows)) do
    self.console:print(i == 1 and self.console:paint("bold", line) or line)
  end
end

local COMMANDS = {}

function COMMANDS.help(self)
  self.console:print(HELP)
  return status.DONE
end

function COMMANDS.plugins(self)
  local rows = {}
  for _, name in ipairs(plugin_names(self)) do
    local manifest = self.host.plugins[name].manifest
    local operations = table.concat(manifest.names, " ")
    rows[#rows + 1] = { harmless(name), harmless(manifest.version or ""), harmless(operations) }
  end
  print_rows(self, { "PLUGIN", "VERSION", "OPERATIONS" }, rows)
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
  print_rows(self, { "OPERATION", "PARAMETER", "TYPE", "REQUIRED", "DEFAULT", "DESCRIPTION" },
    display.manifest_rows(plugin.manifest))
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
  if err.kind == "invalid" then err.message = display.error_message(err, plugin.manifest) end
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

local function perform(self, words)
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
  local words, message = shells.split(line)
  if not words then return self:refuse(message) end
  if #words == 0 then return status.DONE end
  local code, err = perform(self, words)
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
  local words = shells.split(line) or {}
  local plugin = words[1] and plugin_of(self, words[1])
  local operation = plugin and plugin.manifest.operations[words[2]]
  local params = operation and operation.params
  return shells.is_secret(line, type(params) == "table" and params.properties or nil)
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
local function is_shown(text) return harmless(text) == text end

---@param left string the line up to the cursor
---@return string[] candidates, integer start position where the completed word begins
function methods:complete(left)
  local start = left:find "%S*$"
  local begun, candidates = left:sub(start), {}
  for _, text in ipairs(expected(self, shells.split(left:sub(1, start - 1)) or {})) do
    if text:sub(1, #begun) == begun and is_shown(text) then candidates[#candidates + 1] = text end
  end
  return candidates, start
end

-- }======

---@param args table of the command line
---@param console pintle.cli.console
---@param terminal pintle.terminal
---@param log fun(entry: pintle.entry)
---@return pintle.cli.run.shell
function shells.new(args, console, terminal, log)
  local host = require "pintle.host" { dialect = args.dialect, log = log, verbosity = args.log, extensions = true,
    stop_timeouts = starting.STOP_TIMEOUTS, handshake_timeout = args.start_timeout }
  return setmetatable({ host = host, directory = args.directory, timeout = args.timeout, console = console,
    terminal = terminal, is_over = false }, metatable)
end

return shells
