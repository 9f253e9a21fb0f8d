-- july's manifest.json, written from what a plugin's author has declared.

local definition = require "pintle.dialect.reginald.definition"
local entries = require "pintle.dialect.reginald.entries"
local json = require("pintle.core").json
local names = require "pintle.dialect.reginald.names"
local releases = require "pintle.dialect.reginald.release"

local july = releases.by_name.july

local MANIFEST = json.order { "name", "version", "domain", "description", "executable", "config", "commands", "tasks" }
local COMMAND = json.order { "name", "usage", "description", "aliases", "config", "commands" }
local TASK = json.order { "taskType", "description", "provides", "config" }

local function unless_empty(list)
  if next(list) ~= nil then return list end
end

-- The place of a command among those under which its name puts it; they are made where they are not there.
local function place(list, by_name, name)
  local group, last = name:match "^(.*)%.([^.]*)$"
  local siblings = list
  if group then
    local parent = by_name[group] or place(list, by_name, group)
    parent.commands = parent.commands or json.array()
    siblings = parent.commands
  end
  local command = by_name[name] or setmetatable({ name = last or name, usage = last or name }, COMMAND)
  if not by_name[name] then siblings[#siblings + 1] = command end
  by_name[name] = command
  return command
end

local function commands_of(manifest)
  local list, by_name = json.array(), {}
  for _, item in ipairs(definition.all(manifest, "command")) do
    local command, given = place(list, by_name, item.operation.name), item.given
    command.usage = definition.usage(command.name, item)
    command.description = item.operation.description
    command.aliases = given.aliases and json.array(table.move(given.aliases, 1, #given.aliases, 1, {}))
    command.config = unless_empty(definition.entries(item, july))
  end
  return unless_empty(list)
end

local function tasks_of(manifest)
  local list = json.array()
  for i, item in ipairs(definition.all(manifest, "task")) do
    list[i] = setmetatable({
      taskType = item.operation.name, description = item.operation.description, provides = item.given.provides,
      config = unless_empty(entries.of(item.operation.params, july)),
    }, TASK)
  end
  return unless_empty(list)
end

local function own_file()
  local script = arg and arg[0]
  return script and script:match "[^/]+$" or nil
end

---Raises if something is wrong with what the author has declared.
---@param manifest pintle.manifest
---@return table described, string[] warnings
return function(manifest)
  local given = definition.plugin(manifest)
  local problems, warnings = names.check(manifest)
  if #problems > 0 then error(table.concat(problems, "\n"), 0) end
  return setmetatable({
    name = manifest.name, version = manifest.version, domain = given.domain, description = manifest.description,
    executable = given.executable or own_file() or manifest.name,
    config = entries.of(definition.config(manifest), july), -- even if empty: else july refuses settings of commands
    commands = commands_of(manifest), tasks = tasks_of(manifest),
  }, MANIFEST), warnings
end
