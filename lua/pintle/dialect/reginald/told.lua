-- What a plugin has told of its commands and tasks, as the operations of a host: july's in its manifest.json, june's in
-- the handshake. It is trusted with nothing, and used as far as it goes.

local entries = require "pintle.dialect.reginald.entries"
local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local types = require "pintle.dialect.reginald.types"

local kind, given = json.kind, jsonrpc.given

local told = {}

-- {====== Config entries as a schema ======

local SCHEMAS = {
  bool = { type = "boolean" }, int = { type = "integer" }, string = { type = "string" },
  path = { type = "string", format = "path" },
}

local function text_of(value) return type(value) == "string" and value ~= "" and value or nil end

-- june has it as the usage of the flag, july as its description, and where that has none, as the entry's own.
local function usage_of(entry)
  local flag = kind(given(entry.flag)) == "object" and entry.flag or {}
  return text_of(flag.usage) or text_of(flag.description) or text_of(entry.description)
end

local function is_marked(entry, mark)
  local usage = usage_of(entry)
  return usage ~= nil and usage:find(mark, 1, true) ~= nil
end

-- Our own plugins say so where a string holds what has no type of its own.
local function is_json(entry) return entry.type == "string" and is_marked(entry, entries.JSON) end

local function copy(schema)
  local new = {}
  for name, value in pairs(schema or {}) do new[name] = value end
  return new
end

local function default_of(entry)
  local value = given(entry.value)
  if value == nil or is_marked(entry, entries.REQUIRED) then return nil end
  local ok, read = types.read(entry.type, value)
  if not ok or read == "" and is_json(entry) then return nil end
  if is_json(entry) then read = json.decode(read) end
  return given(read)
end

-- An entry without a flag, such as those of tasks, has no place to say that its text is JSON. Its value may show it.
local function may_be_json(entry)
  if entry.type ~= "string" or usage_of(entry) or kind(given(entry.flag)) == "object" then return false end
  return entry.value == "" or type(entry.value) == "string" and type(json.decode(entry.value)) == "table"
end

local function property_of(entry)
  if entry.choices then return { description = usage_of(entry) } end
  local item = entry.type:match "^(%l+)List$"
  local property = item and { type = "array", items = SCHEMAS[item] } or copy(SCHEMAS[entry.type])
  if is_json(entry) then property.type = nil end
  if may_be_json(entry) then property.type = { "string", "array", "object" } end
  property.default, property.description = default_of(entry), usage_of(entry)
  return property
end

-- What an entry can hold that has no type of its own: one with alternatives, or a map, of which no type is known.
local function choices_of(entry)
  if kind(entry.alternatives) == "array" then return entry.alternatives end
  if entry.keyType ~= nil or entry.values ~= nil then return {} end
end

local function key_of(entry, choices)
  for _, choice in ipairs { entry, table.unpack(choices) } do
    if kind(choice) == "object" and type(choice.key) == "string" then return choice.key end
  end
end

local function usable_entry(entry)
  if kind(entry) ~= "object" then return nil end
  if type(entry.type) == "string" then return type(entry.key) == "string" and entry or nil end
  local choices = choices_of(entry)
  local key = choices and key_of(entry, choices)
  return key and { key = key, description = entry.description, choices = choices } or nil
end

---The entries of a list that can be used; of those with one key the first. One with `choices` instead of a type may be
---any of them, or something else.
---@param list any
---@return table[]
function told.entries(list)
  local usable, taken = {}, {}
  for _, item in ipairs(kind(list) == "array" and list or {}) do
    local entry = usable_entry(item)
    if entry and not taken[entry.key] then usable[#usable + 1], taken[entry.key] = entry, true end
  end
  return usable
end

---What config entries say about arguments. Where there are none nothing is known, and the plugin will judge.
---@param list any
---@return table|boolean
function told.schema(list)
  local usable = told.entries(list)
  if #usable == 0 then return true end
  local schema = { type = "object", properties = {}, required = json.array(), additionalProperties = false }
  for _, entry in ipairs(usable) do
    schema.properties[entry.key] = property_of(entry)
    if is_marked(entry, entries.REQUIRED) then table.insert(schema.required, entry.key) end
  end
  return schema
end

-- }======

-- {====== Values as config entries ======

local function sorted_keys(values)
  local keys = {}
  for key in pairs(values) do keys[#keys + 1] = tostring(key) end
  table.sort(keys)
  return keys
end

local function new_entry(release, key, name, value)
  return setmetatable({ key = key, value = value, type = name }, release.entry)
end

local function write_untold(values, release)
  local list = json.array()
  for i, key in ipairs(sorted_keys(values)) do list[i] = new_entry(release, key, types.guess(values[key])) end
  return list
end

local function write_as(entry, value)
  if not types.is_known(entry.type) then return types.guess(value) end
  if is_json(entry) or entry.type == "string" and type(value) == "table" then return "string", json.encode(value) end
  if type(value) == "table" then return entry.type, json.array(table.move(value, 1, #value, 1, {})) end
  return entry.type, value
end

local function write_value(entry, value)
  if not entry.choices then return write_as(entry, value) end
  for _, choice in ipairs(entry.choices) do
    local name = kind(choice) == "object" and choice.type
    if type(name) == "string" and types.read(name, value) then return write_as(choice, value) end
  end
  return types.guess(value)
end

local function write(values, list, release)
  local usable = told.entries(list)
  if #usable == 0 then return write_untold(values, release) end
  local written = json.array()
  for _, entry in ipairs(usable) do
    local value = values[entry.key]
    if value ~= nil then written[#written + 1] = new_entry(release, entry.key, write_value(entry, value)) end
  end
  return written
end

---Values as config entries, of the types that were told.
---@param values table
---@param list any what the plugin told; where it told nothing, values go by what they are
---@param release pintle.reginald.release
---@return table[]?, pintle.error?
function told.write(values, list, release)
  local ok, written = pcall(write, values, list, release)
  if ok then return written end
  return nil, errors.new("invalid", "config: " .. tostring(written))
end

-- }======

-- {====== Operations ======

---@class pintle.reginald.told
---@field way "command"|"task"
---@field name string
---@field config any the entries it told

local TASK = "task:"

---What an operation that was not told of must be.
---@param operation string
---@return pintle.reginald.told
function told.guess(operation)
  if operation:sub(1, #TASK) == TASK then return { way = "task", name = operation:sub(#TASK + 1) } end
  return { way = "command", name = operation }
end

local function add(found, operation, way, name, config, description)
  found.ways[operation] = { way = way, name = name, config = config }
  found.operations[operation] = {
    params = told.schema(config), description = type(description) == "string" and description or nil,
  }
end

local function each_object(list, name)
  local usable = {}
  for _, item in ipairs(kind(list) == "array" and list or {}) do
    if kind(item) == "object" and type(item[name]) == "string" then usable[#usable + 1] = item end
  end
  return ipairs(usable)
end

local function add_commands(found, list, prefix)
  for _, command in each_object(list, "name") do
    local name = prefix .. command.name
    local config = given(command.config) or command.configs
    add(found, name, "command", name, config, given(command.description) or command.usage)
    add_commands(found, command.commands, name .. ".")
  end
end

-- A task that is called like a command is found behind a prefix.
local function add_tasks(found, list, member)
  for _, task in each_object(list, member) do
    local name = task[member]
    add(found, found.ways[name] and TASK .. name or name, "task", name, task.config, task.description)
  end
end

---@param from table where commands and tasks are listed
---@param member "type"|"taskType" what a task has as its name
---@return { ways: table<string, pintle.reginald.told>, operations: table }
function told.operations(from, member)
  local found = { ways = {}, operations = {} }
  add_commands(found, from.commands, "")
  add_tasks(found, from.tasks, member)
  return found
end

-- }======

return told
