-- The commands, tasks and config entries of a plugin, from what its author has declared, and the check of their names.

local json = require("pintle.core").json
local name_set = require("pintle.options").names
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

local declarations = {}

-- {====== Declarations ======

local OPERATION = {
  as = "string", usage = "string", aliases = "table", provides = true, positional = "string", config = "table",
}
local PARAMETER = { flag = true, shorthand = "string", usage = "string", envOverride = "string", flagOnly = "boolean" }
local PLUGIN = { domain = "string", executable = "string", config = "table" }
local ROLES = { command = true, task = true, both = true }

local function check_declared_members(where, given, known)
  for name, value in pairs(given) do
    local expected = known[name]
    if not expected then error(("%s: there is no %q"):format(where, tostring(name)), 0) end
    if expected ~= true and type(value) ~= expected then
      error(("%s: %s: a %s expected, got %s"):format(where, name, expected, type(value)), 0)
    end
  end
end

local function check_declared_parameters(where, given, properties)
  for name, parameter in pairs(given) do
    local at = ("%s: config.%s"):format(where, tostring(name))
    if not properties or properties[name] == nil then error(at .. ": there is no such parameter", 0) end
    if type(parameter) ~= "table" then error(at .. ": a table expected, got " .. type(parameter), 0) end
    check_declared_members(at, parameter, PARAMETER)
  end
end

---The declaration for an operation. Raises if it is invalid.
---@param operation pintle.operation
---@return pintle.reginald.operation
function declarations.options(operation)
  local given = operation.dialects and operation.dialects.reginald or {}
  local where, properties = ("operation %q: dialects.reginald"):format(operation.name), operation.params.properties
  check_declared_members(where, given, OPERATION)
  if given.as and not ROLES[given.as] then error(where .. ': as: "command", "task" or "both" expected', 0) end
  if given.positional and not (properties and properties[given.positional] ~= nil) then
    error(("%s: positional: there is no parameter %q"):format(where, given.positional), 0)
  end
  check_declared_parameters(where, given.config or {}, properties)
  return given
end

---The declaration for the plugin. Raises if it is invalid.
---@param manifest pintle.manifest
---@return pintle.reginald.plugin
function declarations.plugin(manifest)
  local given = manifest.dialects.reginald or {}
  check_declared_members("plugin: dialects.reginald", given, PLUGIN)
  return given
end

---The schema of the config of the plugin. Default: any object.
---@param manifest pintle.manifest
---@return table
function declarations.config(manifest) return declarations.plugin(manifest).config or { type = "object" } end

-- }======

-- {====== Commands and tasks ======

---The operations that are commands, or tasks, in their order, with their declarations.
---@param manifest pintle.manifest
---@param role "command"|"task"
---@return { operation: pintle.operation, given: pintle.reginald.operation }[]
function declarations.all(manifest, role)
  local list = {}
  for _, name in ipairs(manifest.names) do
    local operation = manifest.operations[name]
    local given = declarations.options(operation)
    local as = given.as or "both"
    if as == role or as == "both" then list[#list + 1] = { operation = operation, given = given } end
  end
  return list
end

local function add_declared_subcommand(subcommands, name)
  local group, last = name:match "^(.*)%.([^.]*)$"
  if group then add_declared_subcommand(subcommands, group) end
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
function declarations.names(manifest)
  local names = { commands = {}, tasks = {}, subcommands = {} }
  for _, task in ipairs(declarations.all(manifest, "task")) do
    names.tasks[task.operation.name] = task.operation.name
  end
  local commands = declarations.all(manifest, "command")
  for _, command in ipairs(commands) do
    local name = command.operation.name
    local group = name:match "^(.*)%.[^.]*$"
    for _, alias in ipairs(command.given.aliases or {}) do
      names.commands[group and group .. "." .. alias or alias] = name
    end
    add_declared_subcommand(names.subcommands, name)
  end
  for _, command in ipairs(commands) do names.commands[command.operation.name] = command.operation.name end
  return names
end

---@param name string the last part of the name of the command
---@param command { operation: pintle.operation, given: pintle.reginald.operation }
---@return string
function declarations.usage(name, command)
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
local function sort_declared_parameters(schema)
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

local function declared_schema_has_default(schema)
  return type(schema) == "table" and schema.default ~= nil and schema.default ~= json.null
end

-- Hosts require a value, even if there is no default.
local function declared_default_value(schema, form)
  if not declared_schema_has_default(schema) then return wire.zero_value(form.type) end
  if form.is_json then return json.encode(schema.default) end
  if type(schema.default) ~= "table" then return schema.default end
  return json.array(table.move(schema.default, 1, #schema.default, 1, {}))
end

local function declared_flag_usage(schema, form, given, is_required)
  local words = { given.usage or type(schema) == "table" and schema.description or nil }
  if is_required and not declared_schema_has_default(schema) then words[#words + 1] = wire.REQUIRED_MARK end
  if form.is_json then words[#words + 1] = wire.JSON_MARK end
  return table.concat(words, " ")
end

local function declared_entry_flag(name, schema, form, release, given, is_required)
  if given.flag == false then return nil end
  local usage = declared_flag_usage(schema, form, given, is_required)
  local flag = { name = given.flag or name, shorthand = given.shorthand or "", [release.usage_member] = usage }
  return setmetatable(flag, release.flag_order)
end

local function declared_config_entry(name, schema, release, given, is_required)
  local form = wire.type_form(schema, release)
  return setmetatable({
    key = name, value = declared_default_value(schema, form), type = form.type,
    flag = given and declared_entry_flag(name, schema, form, release, given, is_required),
    envOverride = given and given.envOverride, flagOnly = given and given.flagOnly or nil,
  }, release.entry_order)
end

---@param schema table of the type "object"
---@param release pintle.reginald.release
---@param given? table<string, pintle.reginald.parameter> nil: entries without flags
---@return table[] entries
function declarations.entries(schema, release, given)
  local list = json.array()
  if not schema.properties then return list end
  local names, is_required = sort_declared_parameters(schema)
  for i, name in ipairs(names) do
    local own = given and (given[name] or {})
    list[i] = declared_config_entry(name, schema.properties[name], release, own, is_required[name])
  end
  return list
end

local function declared_command_entries(command, release)
  return declarations.entries(command.operation.params, release, command.given.config or {})
end

-- }======

-- {====== june: the answer to handshake ======

local JUNE_COMMAND = json.order { "name", "usage", "configs" }

---The declarations in the answer to handshake.
---@param manifest pintle.manifest
---@param release pintle.reginald.release
---@return table[] commands, table[] tasks, table[] configs
function declarations.june(manifest, release)
  local commands, tasks = json.array(), json.array()
  for i, command in ipairs(declarations.all(manifest, "command")) do
    local name = command.operation.name
    commands[i] = setmetatable({
      name = name, usage = declarations.usage(name, command), configs = declared_command_entries(command, release),
    }, JUNE_COMMAND)
  end
  for i, task in ipairs(declarations.all(manifest, "task")) do tasks[i] = { type = task.operation.name } end
  return commands, tasks, declarations.entries(declarations.config(manifest), release)
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
local function place_declared_command(list, by_name, name)
  local group, last = name:match "^(.*)%.([^.]*)$"
  local siblings = list
  if group then
    local parent = by_name[group] or place_declared_command(list, by_name, group)
    parent.commands = parent.commands or json.array()
    siblings = parent.commands
  end
  local command = by_name[name] or setmetatable({ name = last or name, usage = last or name }, JULY_COMMAND)
  if not by_name[name] then siblings[#siblings + 1] = command end
  by_name[name] = command
  return command
end

local function declared_july_commands(manifest)
  local list, by_name = json.array(), {}
  for _, item in ipairs(declarations.all(manifest, "command")) do
    local command, given = place_declared_command(list, by_name, item.operation.name), item.given
    command.usage = declarations.usage(command.name, item)
    command.description = item.operation.description
    command.aliases = given.aliases and json.array(table.move(given.aliases, 1, #given.aliases, 1, {}))
    command.config = nonempty_or_nil(declared_command_entries(item, july))
  end
  return nonempty_or_nil(list)
end

local function declared_july_tasks(manifest)
  local list = json.array()
  for i, item in ipairs(declarations.all(manifest, "task")) do
    list[i] = setmetatable({
      taskType = item.operation.name, description = item.operation.description, provides = item.given.provides,
      config = nonempty_or_nil(declarations.entries(item.operation.params, july)),
    }, JULY_TASK)
  end
  return nonempty_or_nil(list)
end

local function declared_script_name()
  local script = arg and arg[0]
  return script and script:match "[^/]+$" or nil
end

---The manifest.json for july. Raises if a declaration is invalid.
---@param manifest pintle.manifest
---@return table
function declarations.july(manifest)
  local given = declarations.plugin(manifest)
  return setmetatable({
    name = manifest.name, version = manifest.version, domain = given.domain, description = manifest.description,
    executable = given.executable or declared_script_name() or manifest.name,
    -- Sent even if empty: otherwise july refuses the settings of commands.
    config = declarations.entries(declarations.config(manifest), july),
    commands = declared_july_commands(manifest), tasks = declared_july_tasks(manifest),
  }, MANIFEST)
end

-- }======

-- {====== Names that the real programs refuse ======

-- Found by running them: a flag, shorthand, command or domain that they have themselves, or that a plugin has twice. A
-- problem breaks the plugin in a release; a warning disables a feature.

local JULY_FLAGS = name_set [[
  config version help verbose quiet color directory log debug strict interactive plugin-paths
]]
local JUNE_FLAGS = name_set "config plugin-dir"
local SHORTHANDS = { june = name_set "c C h p q v", july = name_set "c C h p q v i" }
local JUNE_OWN_COMMAND, JULY_OWN_COMMAND, JULY_OWN_DOMAIN = "attend", "version", "core"

-- }======

-- {====== Commands and their flags ======

---@class pintle.reginald.flag
---@field where string the operation and the parameter
---@field name string
---@field shorthand? string
---@field operation string
---@field parameter string

-- The flags of a command, sorted by parameter.
local function declared_command_flags(command)
  local flags, given = {}, command.given.config or {}
  for parameter in pairs(command.operation.params.properties or {}) do
    local own = given[parameter] or {}
    if own.flag ~= false then
      flags[#flags + 1] = {
        where = ("operation %q: parameter %q"):format(command.operation.name, parameter),
        operation = command.operation.name, parameter = parameter, name = own.flag or parameter,
        shorthand = own.shorthand ~= "" and own.shorthand or nil,
      }
    end
  end
  table.sort(flags, function(a, b) return a.parameter < b.parameter end)
  return flags
end

local function check_declared_flag_name(found, flag)
  if JULY_FLAGS[flag.name] then
    found("%s: july has a flag --%s itself and refuses the command (\"flag that already exists\"); name another with "
      .. "dialects.reginald.config.%s.flag", flag.where, flag.name, flag.parameter)
  end
  if JUNE_FLAGS[flag.name] then
    found("%s: june has a flag --%s itself, and the plugin would get the value of that one; name another with "
      .. "dialects.reginald.config.%s.flag", flag.where, flag.name, flag.parameter)
  end
end

local function check_declared_shorthand(found, flag)
  local letter = flag.shorthand
  if not letter then return end
  if #letter ~= 1 or letter:byte() >= 0x80 then
    return found("%s: june and july panic: the shorthand %q is not one ASCII letter", flag.where, letter)
  end
  if SHORTHANDS.june[letter] then
    found("%s: june and july panic: they have the shorthand -%s themselves", flag.where, letter)
  elseif SHORTHANDS.july[letter] then
    found("%s: july panics: it has the shorthand -%s itself", flag.where, letter)
  end
end

local function add_declared_flag(taken, flag)
  local name, letter = "--" .. flag.name, flag.shorthand and "-" .. flag.shorthand
  taken[name] = taken[name] or flag
  if letter then taken[letter] = taken[letter] or flag end
end

-- `taken` has the flags and shorthands of the command and of its parents.
local function check_duplicate_declared_flag(found, flag, taken)
  local other = taken["--" .. flag.name]
  if other then
    found("%s: the flag --%s is also that of %s: july refuses the command (\"flag that already exists\")", flag.where,
      flag.name, other.where)
  end
  other = flag.shorthand and taken["-" .. flag.shorthand]
  if other then
    local effect = other.operation == flag.operation and "june and july panic" or "july panics"
    found("%s: %s: the shorthand -%s is also that of %s", flag.where, effect, flag.shorthand, other.where)
  end
end

-- In july a command also has the flags of its parents.
local function declared_parent_flags(commands, name)
  local taken, group = {}, name:match "^(.*)%.[^.]*$"
  while group do
    local flags = commands[group] and declared_command_flags(commands[group])
    for _, flag in ipairs(flags or {}) do add_declared_flag(taken, flag) end
    group = group:match "^(.*)%.[^.]*$"
  end
  return taken
end

local function check_declared_flags(found, command, commands)
  local taken = declared_parent_flags(commands, command.operation.name)
  for _, flag in ipairs(declared_command_flags(command)) do
    check_declared_flag_name(found, flag)
    check_declared_shorthand(found, flag)
    check_duplicate_declared_flag(found, flag, taken)
    add_declared_flag(taken, flag)
  end
end

local function check_declared_command_name(found, name)
  if name == JUNE_OWN_COMMAND then found("operation %q: june has a command of that name itself", name) end
  if name:match "[^.]*$" == JULY_OWN_COMMAND then
    found("operation %q: july shows its own version instead of running a command of that name", name)
  end
end

-- july adds the settings of a subcommand to these keys, under the name of the subcommand.
local function check_declared_subcommand_keys(found, where, schema, subcommands)
  for key in pairs(subcommands or {}) do
    if schema.properties and schema.properties[key] ~= nil then
      found("%s: %q is also the name of a command, and july has the settings of that under this key", where, key)
    end
  end
end

-- }======

-- {====== Keys in config files ======

local function is_snake_case(key) return key:find "^%l[%l%d_]*$" ~= nil end

local function check_declared_key_case(warn, where, schema)
  for key in pairs(schema.properties or {}) do
    if not is_snake_case(key) then
      warn("%s: %q cannot be set in a file of june or july, where keys are in snake_case", where, key)
    end
  end
end

-- }======

local function declaration_problem_collector()
  local list = {}
  return list, function(format, ...) list[#list + 1] = format:format(...) end
end

local function check_declared_plugin_names(found, warn, manifest, subcommands)
  local domain, config = declarations.plugin(manifest).domain or manifest.name, declarations.config(manifest)
  if domain == JULY_OWN_DOMAIN then
    found("plugin: july has a domain %q itself and takes no plugin beside it; give another with "
      .. "dialects.reginald.domain", domain)
  end
  check_declared_subcommand_keys(found, "plugin: config", config, subcommands[""])
  check_declared_key_case(warn, "plugin: config", config)
end

local function declared_commands_by_name(list)
  local found = {}
  for _, command in ipairs(list) do found[command.operation.name] = command end
  return found
end

---Checks the names that a plugin has declared. Both lists are sorted.
---@param manifest pintle.manifest
---@return string[] problems, string[] warnings
function declarations.check_names(manifest)
  local problems, found = declaration_problem_collector()
  local warnings, warn = declaration_problem_collector()
  local list, subcommands = declarations.all(manifest, "command"), declarations.names(manifest).subcommands
  local commands = declared_commands_by_name(list)
  check_declared_plugin_names(found, warn, manifest, subcommands)
  for _, command in ipairs(list) do
    local name = command.operation.name
    check_declared_command_name(found, name)
    check_declared_flags(found, command, commands)
    local where = ("operation %q: parameter"):format(name)
    check_declared_subcommand_keys(found, where, command.operation.params, subcommands[name])
  end
  for _, name in ipairs(manifest.names) do
    check_declared_key_case(warn, ("operation %q: parameter"):format(name), manifest.operations[name].params)
  end
  table.sort(problems)
  table.sort(warnings)
  return problems, warnings
end

---Whether the author has declared anything for Reginald.
---@param manifest pintle.manifest
---@return boolean
function declarations.is_meant_for_reginald(manifest)
  if manifest.dialects.reginald then return true end
  for _, operation in pairs(manifest.operations) do
    if operation.dialects and operation.dialects.reginald then return true end
  end
  return false
end

return declarations
