-- Names that the real programs refuse, found by running them: a flag, shorthand, command or domain that they have
-- themselves, or that a plugin has twice. A problem breaks the plugin in a release; a warning disables a feature.

local definition = require "pintle.dialect.reginald.definition"
local name_set = require("pintle.options").names

local names = {}

-- {====== Names of the programs ======

local JULY_FLAGS = name_set [[
  config version help verbose quiet color directory log debug strict interactive plugin-paths
]]
local JUNE_FLAGS = name_set "config plugin-dir"
local SHORTHANDS = { june = name_set "c C h p q v", july = name_set "c C h p q v i" }
local JUNE_COMMAND, JULY_COMMAND, JULY_DOMAIN = "attend", "version", "core"

-- }======

-- {====== Commands and their flags ======

---@class pintle.reginald.flag
---@field where string the operation and the parameter
---@field name string
---@field shorthand? string
---@field operation string
---@field parameter string

-- The flags of a command, sorted by parameter.
local function command_flags(command)
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

local function check_flag_name(found, flag)
  if JULY_FLAGS[flag.name] then
    found("%s: july has a flag --%s itself and refuses the command (\"flag that already exists\"); name another with "
      .. "dialects.reginald.config.%s.flag", flag.where, flag.name, flag.parameter)
  end
  if JUNE_FLAGS[flag.name] then
    found("%s: june has a flag --%s itself, and the plugin would get the value of that one; name another with "
      .. "dialects.reginald.config.%s.flag", flag.where, flag.name, flag.parameter)
  end
end

local function check_shorthand(found, flag)
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

local function add_flag(taken, flag)
  local name, letter = "--" .. flag.name, flag.shorthand and "-" .. flag.shorthand
  taken[name] = taken[name] or flag
  if letter then taken[letter] = taken[letter] or flag end
end

-- `taken` has the flags and shorthands of the command and of its parents.
local function check_duplicate(found, flag, taken)
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
local function parent_flags(commands, name)
  local taken, group = {}, name:match "^(.*)%.[^.]*$"
  while group do
    for _, flag in ipairs(commands[group] and command_flags(commands[group]) or {}) do add_flag(taken, flag) end
    group = group:match "^(.*)%.[^.]*$"
  end
  return taken
end

local function check_flags(found, command, commands)
  local taken = parent_flags(commands, command.operation.name)
  for _, flag in ipairs(command_flags(command)) do
    check_flag_name(found, flag)
    check_shorthand(found, flag)
    check_duplicate(found, flag, taken)
    add_flag(taken, flag)
  end
end

local function check_command_name(found, name)
  if name == JUNE_COMMAND then found("operation %q: june has a command of that name itself", name) end
  if name:match "[^.]*$" == JULY_COMMAND then
    found("operation %q: july shows its own version instead of running a command of that name", name)
  end
end

-- july adds the settings of a subcommand to these keys, under the name of the subcommand.
local function check_keys(found, where, schema, subcommands)
  for key in pairs(subcommands or {}) do
    if schema.properties and schema.properties[key] ~= nil then
      found("%s: %q is also the name of a command, and july has the settings of that under this key", where, key)
    end
  end
end

-- }======

-- {====== Keys in config files ======

local function is_snake_case(key) return key:find "^%l[%l%d_]*$" ~= nil end

local function check_case(warn, where, schema)
  for key in pairs(schema.properties or {}) do
    if not is_snake_case(key) then
      warn("%s: %q cannot be set in a file of june or july, where keys are in snake_case", where, key)
    end
  end
end

-- }======

local function new_collector()
  local list = {}
  return list, function(format, ...) list[#list + 1] = format:format(...) end
end

local function check_plugin(found, warn, manifest, subcommands)
  local domain, config = definition.plugin(manifest).domain or manifest.name, definition.config(manifest)
  if domain == JULY_DOMAIN then
    found("plugin: july has a domain %q itself and takes no plugin beside it; give another with "
      .. "dialects.reginald.domain", domain)
  end
  check_keys(found, "plugin: config", config, subcommands[""])
  check_case(warn, "plugin: config", config)
end

local function commands_by_name(list)
  local found = {}
  for _, command in ipairs(list) do found[command.operation.name] = command end
  return found
end

---Checks the names that a plugin has declared. Both lists are sorted.
---@param manifest pintle.manifest
---@return string[] problems, string[] warnings
function names.check(manifest)
  local problems, found = new_collector()
  local warnings, warn = new_collector()
  local list, subcommands = definition.all(manifest, "command"), definition.names(manifest).subcommands
  local commands = commands_by_name(list)
  check_plugin(found, warn, manifest, subcommands)
  for _, command in ipairs(list) do
    local name = command.operation.name
    check_command_name(found, name)
    check_flags(found, command, commands)
    check_keys(found, ("operation %q: parameter"):format(name), command.operation.params, subcommands[name])
  end
  for _, name in ipairs(manifest.names) do
    check_case(warn, ("operation %q: parameter"):format(name), manifest.operations[name].params)
  end
  table.sort(problems)
  table.sort(warnings)
  return problems, warnings
end

---Whether the author has declared anything for Reginald.
---@param manifest pintle.manifest
---@return boolean
function names.is_meant_for_reginald(manifest)
  if manifest.dialects.reginald then return true end
  for _, operation in pairs(manifest.operations) do
    if operation.dialects and operation.dialects.reginald then return true end
  end
  return false
end

return names
