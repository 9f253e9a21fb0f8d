-- How Reginald finds its plugins: june by the names of programs, july by a manifest.json without unknown members. An
-- invalid manifest.json ends the real program; here only that plugin is skipped.

local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local wire = require "pintle.dialect.reginald.wire"

local kind, given = json.kind, jsonrpc.given

local discovery = { unique = { "name", "domain", "executable" } }

-- {====== Directory and programs ======

local function variable(name)
  local value = os.getenv(name)
  return value ~= "" and value or nil
end

---@return string?, string? message
function discovery.directory()
  local data, home = variable "XDG_DATA_HOME", variable "HOME"
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

local check_members

local function of_kind(expected)
  return function(value, where)
    if kind(value) == expected then return true end
    return nil, ("%s: %s expected, got %s"):format(where, expected, kind(value))
  end
end

local text, boolean, list = of_kind "string", of_kind "boolean", of_kind "array"

local function anything() return true end

local function list_of(check)
  return function(value, where)
    local ok, message = list(value, where)
    for i, item in ipairs(ok and value or {}) do
      if ok then ok, message = check(item, ("%s[%d]"):format(where, i)) end
    end
    return ok, message
  end
end

local function object(known, ...)
  local required = { ... }
  return function(value, where) return check_members(value, where, known, required) end
end

local function entry_type(value, where)
  if wire.releases.july.types[value] then return true end
  return nil, ("%s: unknown type of a config entry: %s"):format(where, json.encode(value))
end

-- A flag has a description. june has a usage instead, which manifests written for june may still have.
local ENTRY = {
  key = text, value = anything, type = entry_type, description = text, envOverride = text, flagOnly = boolean,
  flag = object { name = text, shorthand = text, description = text, usage = text },
  alternatives = anything, keyType = text, values = anything,
}

-- An entry with alternatives, or a map, has its types in the entries inside.
local function entry(value, where)
  local required = { "key", "type" }
  if kind(value) == "object" and given(value.alternatives) ~= nil then
    required = {}
  elseif kind(value) == "object" and given(value.values) ~= nil then
    required = { "key" }
  end
  return check_members(value, where, ENTRY, required)
end

local entries = list_of(entry)

local COMMAND = {
  name = text, usage = text, description = text, help = text, manual = text, args = anything, aliases = list_of(text),
  config = entries,
}
COMMAND.commands = list_of(object(COMMAND, "name"))

local TASK = { taskType = text, description = text, provides = anything, config = entries }

local MANIFEST = {
  name = text, executable = text, version = text, domain = text, description = text, help = text, runtime = anything,
  config = entries,
  commands = COMMAND.commands, tasks = list_of(object(TASK, "taskType")),
}

local function at(where, name) return where == "" and name or where .. "." .. name end

local function find_missing(value, where, required)
  for _, name in ipairs(required) do
    if given(value[name]) == nil then return at(where, name) .. " is missing" end
  end
end

local function sorted_names(value)
  local names = {}
  for name in pairs(value) do names[#names + 1] = name end
  table.sort(names)
  return names
end

function check_members(value, where, known, required)
  if kind(value) ~= "object" then return nil, ("%s: object expected, got %s"):format(where, kind(value)) end
  for _, name in ipairs(sorted_names(value)) do
    if not known[name] then return nil, ("there is no %s"):format(at(where, name)) end
    local ok, message = true, nil
    if given(value[name]) ~= nil then ok, message = known[name](value[name], at(where, name)) end
    if not ok then return nil, message end
  end
  local missing = find_missing(value, where, required)
  if missing then return nil, missing end
  return true
end

---@param manifest table
---@return table?, string? reason
function discovery.manifest(manifest)
  local ok, message = check_members(manifest, "", MANIFEST, { "name", "executable" })
  if not ok then return nil, message end
  return { dialect = "reginald", options = { release = "july" } }
end

-- }======

return discovery
