-- How Reginald finds its plugins: june by the names of programs, july by a manifest.json without unknown members. An
-- invalid manifest.json ends the real program; here only that plugin is skipped.

local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local wire = require "pintle.dialect.reginald.wire"

local kind, given = json.kind, jsonrpc.given

local discovery = { unique = { "name", "domain", "executable" } }

-- {====== Directory and programs ======

local function environment_variable(name)
  local value = os.getenv(name)
  return value ~= "" and value or nil
end

---@return string?, string? message
function discovery.directory()
  local data, home = environment_variable "XDG_DATA_HOME", environment_variable "HOME"
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

local function kind_checker(expected)
  return function(value, where)
    if kind(value) == expected then return true end
    return nil, ("%s: %s expected, got %s"):format(where, expected, kind(value))
  end
end

local text, boolean, list = kind_checker "string", kind_checker "boolean", kind_checker "array"

local function accept_anything() return true end

local function list_checker(check)
  return function(value, where)
    local ok, message = list(value, where)
    for i, item in ipairs(ok and value or {}) do
      if ok then ok, message = check(item, ("%s[%d]"):format(where, i)) end
    end
    return ok, message
  end
end

local function object_checker(known, ...)
  local required = { ... }
  return function(value, where) return check_members(value, where, known, required) end
end

local function check_entry_type(value, where)
  if wire.releases.july.types[value] then return true end
  return nil, ("%s: unknown type of a config entry: %s"):format(where, json.encode(value))
end

-- A flag has a description. june has a usage instead, which manifests written for june may still have.
local ENTRY = {
  key = text, value = accept_anything, type = check_entry_type, description = text, envOverride = text,
  flagOnly = boolean,
  flag = object_checker { name = text, shorthand = text, description = text, usage = text },
  alternatives = accept_anything, keyType = text, values = accept_anything,
}

-- An entry with alternatives, or a map, has its types in the entries inside.
local function check_entry(value, where)
  local required = { "key", "type" }
  if kind(value) == "object" and given(value.alternatives) ~= nil then
    required = {}
  elseif kind(value) == "object" and given(value.values) ~= nil then
    required = { "key" }
  end
  return check_members(value, where, ENTRY, required)
end

local entries = list_checker(check_entry)

local COMMAND = {
  name = text, usage = text, description = text, help = text, manual = text, args = accept_anything,
  aliases = list_checker(text), config = entries,
}
COMMAND.commands = list_checker(object_checker(COMMAND, "name"))

local TASK = { taskType = text, description = text, provides = accept_anything, config = entries }

local MANIFEST = {
  name = text, executable = text, version = text, domain = text, description = text, help = text,
  runtime = accept_anything, config = entries,
  commands = COMMAND.commands, tasks = list_checker(object_checker(TASK, "taskType")),
}

local function member_path(where, name) return where == "" and name or where .. "." .. name end

local function find_missing(value, where, required)
  for _, name in ipairs(required) do
    if given(value[name]) == nil then return member_path(where, name) .. " is missing" end
  end
end

function check_members(value, where, known, required)
  if kind(value) ~= "object" then return nil, ("%s: object expected, got %s"):format(where, kind(value)) end
  for _, name in ipairs(wire.sorted_names(value)) do
    if not known[name] then return nil, ("there is no %s"):format(member_path(where, name)) end
    local ok, message = true, nil
    if given(value[name]) ~= nil then ok, message = known[name](value[name], member_path(where, name)) end
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
