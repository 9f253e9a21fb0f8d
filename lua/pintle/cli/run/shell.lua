-- What the lines at the prompt do: with a host, and the plugins that it has found in a directory.

local arguments = require "pintle.cli.arguments"
local columns = require "pintle.cli.columns"
local description = require "pintle.cli.description"
local environment = require "pintle.cli.environment"
local hosts = require "pintle.host"
local loop = require "pintle.loop"
local outcomes = require "pintle.cli.outcome"
local secrets = require "pintle.cli.run.secrets"
local split = require "pintle.cli.run.words"
local status = require "pintle.cli.status"
local suggestion = require "pintle.cli.suggestion"

local harmless = require("pintle.host.log").harmless

local LADDER = { request = 1, eof = 1, term = 1 } -- somebody sits and waits for it

local HELP = [[
PLUGIN OPERATION key=value…   run an operation; key:=JSON gives the value as JSON
PLUGIN                        what it offers
plugins                       those that run
reload                        stop all, look into the directory again, and start what is there
help                          this
quit                          stop all, and leave; so does Ctrl-D
Ctrl-C cancels what runs; Tab completes; the arrows go through what was entered before, and Ctrl-R searches it.]]

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

-- One that is still shaking hands, after an interrupted start, is not there yet.
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

---Starts what is in the directory. What cannot be started is told, and the others run.
---@return integer? status, pintle.error?
function methods:start()
  local found, problem = self.host:discover(self.directory)
  if not found then return nil, problem end
  for _, spec in ipairs(found) do spec.env = environment(self.console) end
  local started, failed = self.host:start_all(found)
  for _, name in ipairs(names_of(failed)) do
    if failed[name].kind == "cancelled" then return nil, failed[name] end
    self.console:complain(("%s does not run: %s"):format(name, tostring(failed[name])))
  end
  if #found == 0 then self.console:complain("no plugins in " .. self.directory) end
  return #started == #found and #found > 0 and status.DONE or status.BROKEN
end

-- }======

-- {====== Commands ======

local function print_rows(self, heads, rows)
  for i, line in ipairs(columns(heads, rows)) do
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

-- Who is interrupted does not wait for the end of those that are being stopped.
function COMMANDS.reload(self)
  self.host:stop()
  if next(self.host.plugins) then return nil, loop.cancelled() end
  return self:start()
end

local function describe(self, plugin)
  print_rows(self, { "OPERATION", "PARAMETER", "TYPE", "REQUIRED", "DEFAULT", "DESCRIPTION" },
    description.rows(plugin.manifest))
  return status.DONE
end

local function execute(self, plugin, operation, words)
  local declared = plugin.manifest.operations[operation]
  local args, message = arguments.read(words, declared and declared.params)
  if not args then return self:refuse(message) end
  local terminal = self.terminal
  local outcome, err = plugin:execute(operation, args, {
    timeout = self.timeout,
    on_part = function(part) outcomes.show_part(part, self.console) end,
    on_progress = terminal.has_bar and function(fraction, text)
      terminal.progress(plugin.name, operation, fraction, text)
    end or nil,
  })
  terminal.clear()
  if outcome then
    outcomes.show(outcome, operation, self.console)
    return outcome.success and status.DONE or status.FAILED
  end
  if err.kind == "invalid" then err.message = suggestion.message(err, plugin.manifest) end
  return nil, err
end

-- }======

---Says what makes no sense.
---@param message string
---@return integer status
function methods:refuse(message)
  self.console:complain(message)
  return status.USAGE
end

local function perform(self, words)
  local command, plugin = COMMANDS[words[1]], plugin_of(self, words[1])
  if command and #words > 1 then return self:refuse(words[1] .. " takes no words") end
  if command then return command(self) end
  if not plugin then return self:refuse(("no plugin or command %s; `help` tells more"):format(words[1])) end
  if #words == 1 then return describe(self, plugin) end
  return execute(self, plugin, words[2], table.move(words, 3, #words, 1, {}))
end

---Does what a line says.
---@param line string
---@return integer status
function methods:perform(line)
  local words, message = split(line)
  if not words then return self:refuse(message) end
  if #words == 0 then return status.DONE end
  local code, err = perform(self, words)
  if code then return code end
  if err.kind == "cancelled" then
    self.console:complain "interrupted; it was cancelled"
    return status.of_signal "INT"
  end
  self.console:complain(tostring(err) .. (err.kind == "closed" and "; `reload` starts it again" or ""))
  return status.of(err)
end

---Whether a line has something in it that is not to be kept.
---@param line string
---@return boolean
function methods:is_secret(line)
  local words = split(line) or {}
  local plugin = words[1] and plugin_of(self, words[1])
  local operation = plugin and plugin.manifest.operations[words[2]]
  local params = operation and operation.params
  return secrets(line, type(params) == "table" and params.properties or nil)
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

-- What may stand behind these words.
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

-- What cannot be shown as it is cannot be completed either.
local function is_shown(text) return harmless(text) == text end

---@param left string the line up to the cursor
---@return string[] candidates, integer start of what they are for
function methods:complete(left)
  local start = left:find "%S*$"
  local begun, candidates = left:sub(start), {}
  for _, text in ipairs(expected(self, split(left:sub(1, start - 1)) or {})) do
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
return function(args, console, terminal, log)
  local host = hosts { dialect = args.dialect, log = log, verbosity = args.log, extensions = true, ladder = LADDER,
    handshake_timeout = args.patience }
  return setmetatable({ host = host, directory = args.directory, timeout = args.timeout, console = console,
    terminal = terminal, is_over = false }, metatable)
end
