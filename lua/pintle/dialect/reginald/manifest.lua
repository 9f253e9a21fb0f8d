-- What a plugin has declared, as its host reads it: in july's manifest.json, or in june's answer to handshake.

local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local wire = require "pintle.dialect.reginald.wire"

local kind, given = json.kind, jsonrpc.given

local manifest = {}

-- {====== Discovery ======

-- june finds its plugins by the names of programs, july by a manifest.json without unknown members. An invalid
-- manifest.json ends the real program; here only that plugin is skipped.

local discovery = { unique = { "name", "domain", "executable" } }

manifest.discovery = discovery

local function reginald_data_directory(name)
  local value = os.getenv(name)
  return value ~= "" and value or nil
end

---@return string?, string? message
function discovery.directory()
  local data, home = reginald_data_directory "XDG_DATA_HOME", reginald_data_directory "HOME"
  if data then return data .. "/reginald/plugins" end
  if home then return home .. "/.local/share/reginald/plugins" end
  return nil, "the directory of Reginald's plugins is not known: neither XDG_DATA_HOME nor HOME is set"
end

---@param name string of a file
---@return table?, string? reason
function discovery.program(name)
  if name:find "^reginald%-." then return { dialect = "reginald", options = { release = "june" } } end
  return nil, "its name does not start with reginald-"
end

-- }======

-- {====== manifest.json ======

local check_manifest_members

local function kind_checker(expected)
  return function(value, where)
    if kind(value) == expected then return true end
    return nil, ("%s: %s expected, got %s"):format(where, expected, kind(value))
  end
end

local check_text, check_boolean, check_list = kind_checker "string", kind_checker "boolean", kind_checker "array"

local function accept_any_member() return true end

local function list_checker(check)
  return function(value, where)
    local ok, message = check_list(value, where)
    for i, item in ipairs(ok and value or {}) do
      if ok then ok, message = check(item, ("%s[%d]"):format(where, i)) end
    end
    return ok, message
  end
end

local function object_checker(known, ...)
  local required = { ... }
  return function(value, where) return check_manifest_members(value, where, known, required) end
end

local function check_manifest_entry_type(value, where)
  if wire.releases.july.types[value] then return true end
  return nil, ("%s: unknown type of a config entry: %s"):format(where, json.encode(value))
end

-- A flag has a description. june has a usage instead, which manifests written for june may still have.
local ENTRY = {
  key = check_text, value = accept_any_member, type = check_manifest_entry_type, description = check_text,
  envOverride = check_text, flagOnly = check_boolean,
  flag = object_checker { name = check_text, shorthand = check_text, description = check_text, usage = check_text },
  alternatives = accept_any_member, keyType = check_text, values = accept_any_member,
}

-- An entry with alternatives, or a map, has its types in the entries inside.
local function check_manifest_entry(value, where)
  local required = { "key", "type" }
  if kind(value) == "object" and given(value.alternatives) ~= nil then
    required = {}
  elseif kind(value) == "object" and given(value.values) ~= nil then
    required = { "key" }
  end
  return check_manifest_members(value, where, ENTRY, required)
end

local check_entries = list_checker(check_manifest_entry)

local COMMAND = {
  name = check_text, usage = check_text, description = check_text, help = check_text, manual = check_text,
  args = accept_any_member, aliases = list_checker(check_text), config = check_entries,
}
COMMAND.commands = list_checker(object_checker(COMMAND, "name"))

local TASK = { taskType = check_text, description = check_text, provides = accept_any_member, config = check_entries }

local MANIFEST = {
  name = check_text, executable = check_text, version = check_text, domain = check_text, description = check_text,
  help = check_text, runtime = accept_any_member, config = check_entries,
  commands = COMMAND.commands, tasks = list_checker(object_checker(TASK, "taskType")),
}

local function manifest_member_path(where, name) return where == "" and name or where .. "." .. name end

local function find_missing_manifest_member(value, where, required)
  for _, name in ipairs(required) do
    if given(value[name]) == nil then return manifest_member_path(where, name) .. " is missing" end
  end
end

function check_manifest_members(value, where, known, required)
  if kind(value) ~= "object" then return nil, ("%s: object expected, got %s"):format(where, kind(value)) end
  for _, name in ipairs(wire.sorted_names(value)) do
    if not known[name] then return nil, ("there is no %s"):format(manifest_member_path(where, name)) end
    local ok, message = true, nil
    if given(value[name]) ~= nil then ok, message = known[name](value[name], manifest_member_path(where, name)) end
    if not ok then return nil, message end
  end
  local missing = find_missing_manifest_member(value, where, required)
  if missing then return nil, missing end
  return true
end

---@param content table
---@return table?, string? reason
function discovery.manifest(content)
  local ok, message = check_manifest_members(content, "", MANIFEST, { "name", "executable" })
  if not ok then return nil, message end
  return { dialect = "reginald", options = { release = "july" } }
end

-- }======

-- {====== Config entries as a schema ======

-- From here on, what is declared is not trusted, and used as far as it is valid.

local SCHEMAS = {
  bool = { type = "boolean" }, int = { type = "integer" }, string = { type = "string" },
  path = { type = "string", format = "path" },
}

-- june has a usage in the flag, july a description in the flag or in the entry.
local function manifest_entry_usage(entry)
  local flag = kind(given(entry.flag)) == "object" and entry.flag or {}
  return jsonrpc.text(flag.usage) or jsonrpc.text(flag.description) or jsonrpc.text(entry.description)
end

local function is_entry_marked(entry, mark)
  local usage = manifest_entry_usage(entry)
  return usage ~= nil and usage:find(mark, 1, true) ~= nil
end

-- Our own plugins mark a string that has JSON text because the value has no type.
local function is_json_entry(entry) return entry.type == "string" and is_entry_marked(entry, wire.JSON_MARK) end

local function copy_manifest_schema(schema)
  local new = {}
  for name, value in pairs(schema or {}) do new[name] = value end
  return new
end

local function manifest_entry_default(entry)
  local value = given(entry.value)
  if value == nil or is_entry_marked(entry, wire.REQUIRED_MARK) then return nil end
  local ok, read = wire.read_typed(entry.type, value)
  if not ok or read == "" and is_json_entry(entry) then return nil end
  if is_json_entry(entry) then read = json.decode(read) end
  return given(read)
end

-- An entry without a flag, such as those of tasks, cannot be marked. Its value may show that its text is JSON.
local function may_be_json_entry(entry)
  if entry.type ~= "string" or manifest_entry_usage(entry) or kind(given(entry.flag)) == "object" then return false end
  return entry.value == "" or type(entry.value) == "string" and type(json.decode(entry.value)) == "table"
end

local function manifest_entry_property(entry)
  if entry.choices then return { description = manifest_entry_usage(entry) } end
  local item = entry.type:match "^(%l+)List$"
  local property = item and { type = "array", items = SCHEMAS[item] } or copy_manifest_schema(SCHEMAS[entry.type])
  if is_json_entry(entry) then property.type = nil end
  if may_be_json_entry(entry) then property.type = { "string", "array", "object" } end
  property.default, property.description = manifest_entry_default(entry), manifest_entry_usage(entry)
  return property
end

-- The alternatives of an entry without a type; none for a map, whose type is not known.
local function manifest_entry_choices(entry)
  if kind(entry.alternatives) == "array" then return entry.alternatives end
  if entry.keyType ~= nil or entry.values ~= nil then return {} end
end

local function manifest_entry_key(entry, choices)
  for _, choice in ipairs { entry, table.unpack(choices) } do
    if kind(choice) == "object" and type(choice.key) == "string" then return choice.key end
  end
end

local function usable_manifest_entry(entry)
  if kind(entry) ~= "object" then return nil end
  if type(entry.type) == "string" then return type(entry.key) == "string" and entry or nil end
  local choices = manifest_entry_choices(entry)
  local key = choices and manifest_entry_key(entry, choices)
  return key and { key = key, description = entry.description, choices = choices } or nil
end

---The valid entries of a list; of several with the same key, the first. An entry with `choices` instead of a type may
---have the type of any of them, or another one.
---@param list any
---@return table[]
function manifest.entries(list)
  local usable, taken = {}, {}
  for _, item in ipairs(kind(list) == "array" and list or {}) do
    local entry = usable_manifest_entry(item)
    if entry and not taken[entry.key] then usable[#usable + 1], taken[entry.key] = entry, true end
  end
  return usable
end

---The schema of arguments from config entries.
---@param list any
---@return table|boolean schema true if there are no entries: the plugin checks the arguments
function manifest.schema(list)
  local usable = manifest.entries(list)
  if #usable == 0 then return true end
  local schema = { type = "object", properties = {}, required = json.array(), additionalProperties = false }
  for _, entry in ipairs(usable) do
    schema.properties[entry.key] = manifest_entry_property(entry)
    if is_entry_marked(entry, wire.REQUIRED_MARK) then table.insert(schema.required, entry.key) end
  end
  return schema
end

-- }======

-- {====== Values as config entries ======

local function new_written_manifest_entry(release, key, name, value)
  return setmetatable({ key = key, value = value, type = name }, release.entry_order)
end

local function write_undeclared_entries(values, release)
  local list = json.array()
  for i, key in ipairs(wire.sorted_names(values)) do
    list[i] = new_written_manifest_entry(release, tostring(key), wire.guess_type(values[key]))
  end
  return list
end

local function write_entry_as(entry, value)
  if not wire.is_known_type(entry.type) then return wire.guess_type(value) end
  local is_text = is_json_entry(entry) or entry.type == "string" and type(value) == "table"
  if is_text then return "string", json.encode(value) end
  if type(value) == "table" then return entry.type, json.array(table.move(value, 1, #value, 1, {})) end
  return entry.type, value
end

local function write_entry_value(entry, value)
  if not entry.choices then return write_entry_as(entry, value) end
  for _, choice in ipairs(entry.choices) do
    local name = kind(choice) == "object" and choice.type
    if type(name) == "string" and wire.read_typed(name, value) then return write_entry_as(choice, value) end
  end
  return wire.guess_type(value)
end

local function write_entries(values, list, release)
  local usable = manifest.entries(list)
  if #usable == 0 then return write_undeclared_entries(values, release) end
  local written = json.array()
  for _, entry in ipairs(usable) do
    local value = values[entry.key]
    if value ~= nil then
      written[#written + 1] = new_written_manifest_entry(release, entry.key, write_entry_value(entry, value))
    end
  end
  return written
end

---Writes values as config entries of the declared types.
---@param values table
---@param list any the declared entries; without any, the types follow from the values
---@param release pintle.reginald.release
---@return table[]?, pintle.error?
function manifest.write(values, list, release)
  local ok, written = pcall(write_entries, values, list, release)
  if ok then return written end
  return nil, errors.new("invalid", "config: " .. tostring(written))
end

-- }======

-- {====== Operations ======

---@class pintle.reginald.target
---@field role "command"|"task"
---@field name string
---@field config any the declared entries

local TASK_PREFIX = "task:"

---The target of an operation that is not declared.
---@param operation string
---@return pintle.reginald.target
function manifest.guess(operation)
  local task = operation:match("^" .. TASK_PREFIX .. "(.*)$")
  if task then return { role = "task", name = task } end
  return { role = "command", name = operation }
end

local function add_declared_operation(found, operation, role, name, config, description)
  found.targets[operation] = { role = role, name = name, config = config }
  found.operations[operation] = {
    params = manifest.schema(config), description = type(description) == "string" and description or nil,
  }
end

local function each_named_manifest_object(list, name)
  local usable = {}
  for _, item in ipairs(kind(list) == "array" and list or {}) do
    if kind(item) == "object" and type(item[name]) == "string" then usable[#usable + 1] = item end
  end
  return ipairs(usable)
end

local function add_declared_commands(found, list, prefix)
  for _, command in each_named_manifest_object(list, "name") do
    local name = prefix .. command.name
    local config = given(command.config) or command.configs
    add_declared_operation(found, name, "command", name, config, given(command.description) or command.usage)
    add_declared_commands(found, command.commands, name .. ".")
  end
end

-- A task with the name of a command gets a prefix.
local function add_declared_tasks(found, list, member)
  for _, task in each_named_manifest_object(list, member) do
    local name = task[member]
    local operation = found.targets[name] and TASK_PREFIX .. name or name
    add_declared_operation(found, operation, "task", name, task.config, task.description)
  end
end

---@param from table with the lists of commands and tasks
---@param member "type"|"taskType" the member with the name of a task
---@return { targets: table<string, pintle.reginald.target>, operations: table }
function manifest.operations(from, member)
  local found = { targets = {}, operations = {} }
  add_declared_commands(found, from.commands, "")
  add_declared_tasks(found, from.tasks, member)
  return found
end

-- }======

return manifest
