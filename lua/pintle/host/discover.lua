-- Finds plugins in a directory: programs, and directories with a manifest.json that names one.

local core = require "pintle.core"
local lfs = require "lfs"

local MANIFEST = "manifest.json"
local MANIFEST_LIMIT = 1 << 20

---@class pintle.skipped
---@field path string
---@field reason string

-- Users who can write to it decide what is run. The sticky bit of a directory such as /tmp does not prevent that.
local function check_discovered_permissions(path, attributes, allow)
  if attributes.permissions:sub(8, 8) == "w" and not allow then
    return nil, path .. " is world-writable; allow_world_writable = true accepts it"
  end
  return true
end

local function check_discovered_program(path, allow)
  local attributes, problem = lfs.attributes(path)
  if not attributes then return nil, problem end
  if attributes.mode ~= "file" then return nil, path .. " is a " .. attributes.mode .. ", not a file" end
  if not attributes.permissions:find("x", 1, true) then return nil, path .. " is not executable" end
  return check_discovered_permissions(path, attributes, allow)
end

local function read_discovered_manifest(path)
  local file <close>, problem = io.open(path, "rb")
  if not file then return nil, problem end
  local text = file:read(MANIFEST_LIMIT + 1)
  if not text then return nil, path .. " is empty" end
  if #text > MANIFEST_LIMIT then return nil, path .. " is longer than 1 MiB" end
  local manifest, message = core.json.decode(text)
  if type(manifest) == "table" then return manifest end
  return nil, ("%s: %s"):format(path, manifest == nil and message or "an object expected")
end

-- Returns what is wrong with a manifest.json.
local function find_discovered_manifest_fault(manifest)
  local program, name = manifest.executable, manifest.name
  if type(program) ~= "string" or program == "" then return "executable: a string expected" end
  if name ~= nil and (type(name) ~= "string" or name == "") then return "name: a string expected" end
  if program:find "^/" or ("/" .. program .. "/"):find("/../", 1, true) then
    return "executable: must be inside the plugin's directory"
  end
end

local function add_discovered_options(spec, more)
  for name, value in pairs(more) do spec[name] = value end
  return spec
end

local function discover_plugin_file(path, name, allow, rules)
  local ok, reason, more = true, nil, {}
  if rules then more, reason = rules.program(name) end
  if more then ok, reason = check_discovered_program(path, allow) end
  if not more or not ok then return nil, reason end
  return add_discovered_options({ name = (name:gsub("%.%w+$", "")), command = { path } }, more)
end

-- Reads and checks a manifest.json. Returns it with the options that the dialect's rules add.
local function check_discovered_manifest(file, rules)
  local manifest, reason = read_discovered_manifest(file)
  if not manifest then return nil, reason end
  local more, fault = {}, find_discovered_manifest_fault(manifest)
  if not fault and rules then more, fault = rules.manifest(manifest) end
  if fault or not more then return nil, ("%s: %s"):format(file, fault) end
  return manifest, more
end

local function discover_plugin_directory(path, name, allow, rules)
  local file = path .. "/" .. MANIFEST
  if not lfs.attributes(file) then return nil, "it has no " .. MANIFEST end
  local ok, reason = check_discovered_permissions(path, lfs.attributes(path), allow)
  if ok then ok, reason = check_discovered_permissions(file, lfs.attributes(file), allow) end
  if not ok then return nil, reason end
  local manifest, more = check_discovered_manifest(file, rules)
  if not manifest then return nil, more end
  local program = path .. "/" .. manifest.executable
  ok, reason = check_discovered_program(program, allow)
  if not ok then return nil, reason end
  local found = { name = manifest.name or name, command = { program }, discovered_manifest = manifest }
  return add_discovered_options(found, more)
end

local function discover_plugin_entry(path, name, allow, rules)
  local attributes, problem = lfs.attributes(path)
  if not attributes then return nil, problem end
  if attributes.mode ~= "directory" then return discover_plugin_file(path, name, allow, rules) end
  if lfs.symlinkattributes(path, "mode") == "link" then return nil, "it is a link to a directory" end
  return discover_plugin_directory(path, name, allow, rules)
end

local function list_discovered_directory(directory)
  local names = {}
  for name in lfs.dir(directory) do
    if name:sub(1, 1) ~= "." then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

-- Registers the name of a plugin, and other values that must be unique. Returns a message if another plugin has one.
local function claim_plugin_names(taken, plugin, rules)
  local claims = { "is called " .. plugin.name }
  for _, member in ipairs(plugin.discovered_manifest and rules and rules.unique or {}) do
    local value = plugin.discovered_manifest[member]
    if type(value) == "string" then claims[#claims + 1] = ("has the %s %q"):format(member, value) end
  end
  for _, text in ipairs(claims) do
    if taken[text] then return ("another plugin %s: %s"):format(text, taken[text]) end
  end
  for _, text in ipairs(claims) do taken[text] = plugin.command[1] end
end

---Returns the plugins in a directory, sorted by name, in the form that `host:start` takes; and what was skipped, with
---the reason. Names that begin with a dot are ignored.
---@param directory string
---@param allow_world_writable? boolean
---@param rules? pintle.discovery the rules of a dialect; default: every program is a plugin
---@return table[]? found, pintle.skipped[]|string skipped_or_message
return function(directory, allow_world_writable, rules)
  local attributes, problem = lfs.attributes(directory)
  if not attributes then return nil, ("%s:%s"):format(directory, problem:match "[^:]*$") end
  if attributes.mode ~= "directory" then return nil, directory .. " is no directory" end
  local ok, reason = check_discovered_permissions(directory, attributes, allow_world_writable)
  if not ok then return nil, reason end
  local is_readable, names = pcall(list_discovered_directory, directory) -- lfs raises if it cannot read the directory
  if not is_readable then return nil, names end
  local found, skipped, taken = {}, {}, {}
  for _, name in ipairs(names) do
    local path = directory .. "/" .. name
    local plugin, why = discover_plugin_entry(path, name, allow_world_writable, rules)
    if plugin then why = claim_plugin_names(taken, plugin, rules) end
    if why then skipped[#skipped + 1] = { path = path, reason = why } else found[#found + 1] = plugin end
  end
  return found, skipped
end
