-- The commands, tasks and config entries of a plugin, from what its author has declared.

local json = require("pintle.core").json
local types = require "pintle.dialect.reginald.types"
local wire = require "pintle.dialect.reginald.wire"

---What an author declares for an operation: `dialects = { reginald = {…} }`.
---@class pintle.reginald.operation
---@field as? "command"|"task"|"both" default: both
---@field usage? string of the command; default: its name, and "[options]" if it has any
---@field aliases? string[] of the command
---@field provides? any of the task
---@field positional? string the parameter that takes the positional arguments of the command line
---@field config? table<string, pintle.reginald.parameter>

---What an author declares for a plugin.
---@class pintle.reginald.plugin
---@field domain? string
---@field executable? string default: the name of the script
---@field config? table a schema of the type "object" for the config of the plugin

local definition = {}

-- {====== Declarations ======

local OPERATION = {
  as = "string", usage = "string", aliases = "table", provides = true, positional = "string", config = "table",
}
local PARAMETER = { flag = true, shorthand = "string", usage = "string", envOverride = "string", flagOnly = "boolean" }
local PLUGIN = { domain = "string", executable = "string", config = "table" }
local ROLES = { command = true, task = true, both = true }

local function check_members(where, given, known)
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
    check_members(at, parameter, PARAMETER)
  end
end

---The declaration for an operation. Raises if it is invalid.
---@param operation pintle.operation
---@return pintle.reginald.operation
function definition.options(operation)
  local given = operation.dialects and operation.dialects.reginald or {}
  local where, properties = ("operation %q: dialects.reginald"):format(operation.name), operation.params.properties
  check_members(where, given, OPERATION)
  if given.as and not ROLES[given.as] then error(where .. ': as: "command", "task" or "both" expected', 0) end
  if given.positional and not (properties and properties[given.positional] ~= nil) then
    error(("%s: positional: there is no parameter %q"):format(where, given.positional), 0)
  end
  check_parameters(where, given.config or {}, properties)
  return given
end

---The declaration for the plugin. Raises if it is invalid.
---@param manifest pintle.manifest
---@return pintle.reginald.plugin
function definition.plugin(manifest)
  local given = manifest.dialects.reginald or {}
  check_members("plugin: dialects.reginald", given, PLUGIN)
  return given
end

---The schema of the config of the plugin. Default: any object.
---@param manifest pintle.manifest
---@return table
function definition.config(manifest) return definition.plugin(manifest).config or { type = "object" } end

-- }======

-- {====== Commands and tasks ======

---The operations that are commands, or tasks, in their order, with their declarations.
---@param manifest pintle.manifest
---@param role "command"|"task"
---@return { operation: pintle.operation, given: pintle.reginald.operation }[]
function definition.all(manifest, role)
  local list = {}
  for _, name in ipairs(manifest.names) do
    local operation = manifest.operations[name]
    local given = definition.options(operation)
    local as = given.as or "both"
    if as == role or as == "both" then list[#list + 1] = { operation = operation, given = given } end
  end
  return list
end

local function add_subcommand(subcommands, name)
  local group, last = name:match "^(.*)%.([^.]*)$"
  if group then add_subcommand(subcommands, group) end
  group, last = group or "", last or name
  subcommands[group] = subcommands[group] or {}
  subcommands[group][last] = true
end

---The names that a host may call.
---@class pintle.reginald.names
---@field commands table<string, string> operations by the names and aliases of commands
---@field tasks table<string, string> operations by the types of tasks
---@field subcommands table<string, table<string, true>> the last parts of the names of subcommands, by the name of the
---parent, which need not be a command; those without a parent are under ""

---@param manifest pintle.manifest
---@return pintle.reginald.names
function definition.names(manifest)
  local names = { commands = {}, tasks = {}, subcommands = {} }
  for _, task in ipairs(definition.all(manifest, "task")) do names.tasks[task.operation.name] = task.operation.name end
  local commands = definition.all(manifest, "command")
  for _, command in ipairs(commands) do
    local name = command.operation.name
    local group = name:match "^(.*)%.[^.]*$"
    for _, alias in ipairs(command.given.aliases or {}) do
      names.commands[group and group .. "." .. alias or alias] = name
    end
    add_subcommand(names.subcommands, name)
  end
  for _, command in ipairs(commands) do names.commands[command.operation.name] = command.operation.name end
  return names
end

---@param name string the last part of the name of the command
---@param command { operation: pintle.operation, given: pintle.reginald.operation }
---@return string
function definition.usage(name, command)
  local properties = command.operation.params.properties
  return command.given.usage or properties and next(properties) ~= nil and name .. " [options]" or name
end

-- }======

-- {====== Config entries ======

---What an author declares for one parameter.
---@class pintle.reginald.parameter
---@field flag? string|false name of the flag; default: the name of the parameter; false: no flag
---@field shorthand? string
---@field usage? string of the flag; default: the description of the parameter
---@field envOverride? string
---@field flagOnly? boolean

-- Required parameters first, in their order; then the others, sorted.
local function sort_parameters(schema)
  local names, is_required, others = {}, {}, {}
  for _, name in ipairs(schema.required or {}) do
    if schema.properties[name] ~= nil and not is_required[name] then
      names[#names + 1], is_required[name] = name, true
    end
  end
  for name in pairs(schema.properties) do
    if not is_required[name] then others[#others + 1] = name end
  end
  table.sort(others)
  return table.move(others, 1, #others, #names + 1, names), is_required
end

local function has_default(schema)
  return type(schema) == "table" and schema.default ~= nil and schema.default ~= json.null
end

-- Hosts require a value, even if there is no default.
local function entry_value(schema, form)
  if not has_default(schema) then return types.zero(form.type) end
  if form.is_json then return json.encode(schema.default) end
  if type(schema.default) ~= "table" then return schema.default end
  return json.array(table.move(schema.default, 1, #schema.default, 1, {}))
end

local function flag_usage(schema, form, given, is_required)
  local words = { given.usage or type(schema) == "table" and schema.description or nil }
  if is_required and not has_default(schema) then words[#words + 1] = types.REQUIRED_MARK end
  if form.is_json then words[#words + 1] = types.JSON_MARK end
  return table.concat(words, " ")
end

local function entry_flag(name, schema, form, release, given, is_required)
  if given.flag == false then return nil end
  local usage = flag_usage(schema, form, given, is_required)
  local flag = { name = given.flag or name, shorthand = given.shorthand or "", [release.usage_member] = usage }
  return setmetatable(flag, release.flag_order)
end

local function new_entry(name, schema, release, given, is_required)
  local form = types.form(schema, release)
  return setmetatable({
    key = name, value = entry_value(schema, form), type = form.type,
    flag = given and entry_flag(name, schema, form, release, given, is_required),
    envOverride = given and given.envOverride, flagOnly = given and given.flagOnly or nil,
  }, release.entry_order)
end

---@param schema table of the type "object"
---@param release pintle.reginald.release
---@param given? table<string, pintle.reginald.parameter> nil: entries without flags
---@return table[] entries
function definition.entries(schema, release, given)
  local list = json.array()
  if not schema.properties then return list end
  local names, is_required = sort_parameters(schema)
  for i, name in ipairs(names) do
    local own = given and (given[name] or {})
    list[i] = new_entry(name, schema.properties[name], release, own, is_required[name])
  end
  return list
end

local function command_entries(command, release)
  return definition.entries(command.operation.params, release, command.given.config or {})
end

-- }======

-- {====== june: the answer to handshake ======

local JUNE_COMMAND = json.order { "name", "usage", "configs" }

---The declarations in the answer to handshake.
---@param manifest pintle.manifest
---@param release pintle.reginald.release
---@return table[] commands, table[] tasks, table[] configs
function definition.june(manifest, release)
  local commands, tasks = json.array(), json.array()
  for i, command in ipairs(definition.all(manifest, "command")) do
    local name = command.operation.name
    commands[i] = setmetatable({
      name = name, usage = definition.usage(name, command), configs = command_entries(command, release),
    }, JUNE_COMMAND)
  end
  for i, task in ipairs(definition.all(manifest, "task")) do tasks[i] = { type = task.operation.name } end
  return commands, tasks, definition.entries(definition.config(manifest), release)
end

-- }======

-- {====== july: manifest.json ======

local july = wire.releases.july

local MANIFEST = json.order { "name", "version", "domain", "description", "executable", "config", "commands", "tasks" }
local JULY_COMMAND = json.order { "name", "usage", "description", "aliases", "config", "commands" }
local JULY_TASK = json.order { "taskType", "description", "provides", "config" }

local function nonempty_or_nil(list)
  if next(list) ~= nil then return list end
end

-- Finds or adds a command below its parents, which are added if they are not declared.
local function place_command(list, by_name, name)
  local group, last = name:match "^(.*)%.([^.]*)$"
  local siblings = list
  if group then
    local parent = by_name[group] or place_command(list, by_name, group)
    parent.commands = parent.commands or json.array()
    siblings = parent.commands
  end
  local command = by_name[name] or setmetatable({ name = last or name, usage = last or name }, JULY_COMMAND)
  if not by_name[name] then siblings[#siblings + 1] = command end
  by_name[name] = command
  return command
end

local function july_commands(manifest)
  local list, by_name = json.array(), {}
  for _, item in ipairs(definition.all(manifest, "command")) do
    local command, given = place_command(list, by_name, item.operation.name), item.given
    command.usage = definition.usage(command.name, item)
    command.description = item.operation.description
    command.aliases = given.aliases and json.array(table.move(given.aliases, 1, #given.aliases, 1, {}))
    command.config = nonempty_or_nil(command_entries(item, july))
  end
  return nonempty_or_nil(list)
end

local function july_tasks(manifest)
  local list = json.array()
  for i, item in ipairs(definition.all(manifest, "task")) do
    list[i] = setmetatable({
      taskType = item.operation.name, description = item.operation.description, provides = item.given.provides,
      config = nonempty_or_nil(definition.entries(item.operation.params, july)),
    }, JULY_TASK)
  end
  return nonempty_or_nil(list)
end

local function script_name()
  local script = arg and arg[0]
  return script and script:match "[^/]+$" or nil
end

---The manifest.json for july. Raises if a declaration is invalid.
---@param manifest pintle.manifest
---@return table
function definition.july(manifest)
  local given = definition.plugin(manifest)
  return setmetatable({
    name = manifest.name, version = manifest.version, domain = given.domain, description = manifest.description,
    executable = given.executable or script_name() or manifest.name,
    -- Sent even if empty: otherwise july refuses the settings of commands.
    config = definition.entries(definition.config(manifest), july),
    commands = july_commands(manifest), tasks = july_tasks(manifest),
  }, MANIFEST)
end

-- }======

return definition
