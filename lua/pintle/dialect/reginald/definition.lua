-- What a plugin's author has declared, as Reginald sees it: commands and tasks.

local entries = require "pintle.dialect.reginald.entries"
local json = require("pintle.core").json

---What an author says of an operation: `dialects = { reginald = {…} }`.
---@class pintle.reginald.operation
---@field as? "command"|"task"|"both" both unless told
---@field usage? string of the command: its name, and "[options]" where it has some
---@field aliases? string[] of the command
---@field provides? any of the task
---@field positional? string the parameter that takes what is on the command line besides flags
---@field config? table<string, pintle.reginald.parameter>

---What an author says of a plugin.
---@class pintle.reginald.plugin
---@field domain? string
---@field executable? string the script's own name unless told
---@field config? table a schema of the type "object": what the plugin as a whole is configured with

local definition = {}

-- {====== What the author says ======

local OPERATION = {
  as = "string", usage = "string", aliases = "table", provides = true, positional = "string", config = "table",
}
local PARAMETER = { flag = true, shorthand = "string", usage = "string", envOverride = "string", flagOnly = "boolean" }
local PLUGIN = { domain = "string", executable = "string", config = "table" }
local WAYS = { command = true, task = true, both = true }

local function check(where, given, known)
  for name, value in pairs(given) do
    local expected = known[name]
    if not expected then error(("%s: there is no %q"):format(where, tostring(name)), 0) end
    if expected ~= true and type(value) ~= expected then
      error(("%s: %s: a %s expected, got %s"):format(where, name, expected, type(value)), 0)
    end
  end
end

local function check_parameters(where, given, properties)
  for name, parameter in pairs(given) do
    local at = ("%s: config.%s"):format(where, tostring(name))
    if not properties or properties[name] == nil then error(at .. ": there is no such parameter", 0) end
    if type(parameter) ~= "table" then error(at .. ": a table expected, got " .. type(parameter), 0) end
    check(at, parameter, PARAMETER)
  end
end

---What is said of an operation. Raises if that is not right.
---@param operation pintle.operation
---@return pintle.reginald.operation
function definition.options(operation)
  local given = operation.dialects and operation.dialects.reginald or {}
  local where, properties = ("operation %q: dialects.reginald"):format(operation.name), operation.params.properties
  check(where, given, OPERATION)
  if given.as and not WAYS[given.as] then error(where .. ': as: "command", "task" or "both" expected', 0) end
  if given.positional and not (properties and properties[given.positional] ~= nil) then
    error(("%s: positional: there is no parameter %q"):format(where, given.positional), 0)
  end
  check_parameters(where, given.config or {}, properties)
  return given
end

---What is said of the plugin. Raises if that is not right.
---@param manifest pintle.manifest
---@return pintle.reginald.plugin
function definition.plugin(manifest)
  local given = manifest.dialects.reginald or {}
  check("plugin: dialects.reginald", given, PLUGIN)
  return given
end

---The schema of what the plugin as a whole is configured with. Without one everything goes.
---@param manifest pintle.manifest
---@return table
function definition.config(manifest) return definition.plugin(manifest).config or { type = "object" } end

-- }======

-- {====== What there is ======

---The operations that are commands, or tasks: each with what its author says of it, in their order.
---@param manifest pintle.manifest
---@param way "command"|"task"
---@return { operation: pintle.operation, given: pintle.reginald.operation }[]
function definition.all(manifest, way)
  local list = {}
  for _, name in ipairs(manifest.names) do
    local operation = manifest.operations[name]
    local given = definition.options(operation)
    local as = given.as or "both"
    if as == way or as == "both" then list[#list + 1] = { operation = operation, given = given } end
  end
  return list
end

local function add_under(under, name)
  local group, last = name:match "^(.*)%.([^.]*)$"
  if group then add_under(under, group) end
  group, last = group or "", last or name
  under[group] = under[group] or {}
  under[group][last] = true
end

---What a host may call: operations by the names of commands, by aliases, and by the types of tasks; and the commands
---under a name, which may be no command itself, by the last part of theirs. Those under no other are under "".
---@param manifest pintle.manifest
---@return { commands: table<string, string>, tasks: table<string, string>, under: table<string, table<string, true>> }
function definition.names(manifest)
  local names = { commands = {}, tasks = {}, under = {} }
  for _, task in ipairs(definition.all(manifest, "task")) do names.tasks[task.operation.name] = task.operation.name end
  local commands = definition.all(manifest, "command")
  for _, command in ipairs(commands) do
    local name = command.operation.name
    local group = name:match "^(.*)%.[^.]*$"
    for _, alias in ipairs(command.given.aliases or {}) do
      names.commands[group and group .. "." .. alias or alias] = name
    end
    add_under(names.under, name)
  end
  for _, command in ipairs(commands) do names.commands[command.operation.name] = command.operation.name end
  return names
end

---@param name string the last part of the command's
---@param command { operation: pintle.operation, given: pintle.reginald.operation }
---@return string
function definition.usage(name, command)
  local properties = command.operation.params.properties
  return command.given.usage or properties and next(properties) ~= nil and name .. " [options]" or name
end

---The config entries of a command, with flags.
---@param command { operation: pintle.operation, given: pintle.reginald.operation }
---@param release pintle.reginald.release
---@return table[]
function definition.entries(command, release)
  return entries.of(command.operation.params, release, command.given.config or {})
end

-- }======

-- {====== june: it is told in the handshake ======

local COMMAND = json.order { "name", "usage", "configs" }

---@param manifest pintle.manifest
---@param release pintle.reginald.release
---@return table[] commands, table[] tasks, table[] configs
function definition.told(manifest, release)
  local commands, tasks = json.array(), json.array()
  for i, command in ipairs(definition.all(manifest, "command")) do
    local name = command.operation.name
    commands[i] = setmetatable({
      name = name, usage = definition.usage(name, command), configs = definition.entries(command, release),
    }, COMMAND)
  end
  for i, task in ipairs(definition.all(manifest, "task")) do tasks[i] = { type = task.operation.name } end
  return commands, tasks, entries.of(definition.config(manifest), release)
end

-- }======

return definition
