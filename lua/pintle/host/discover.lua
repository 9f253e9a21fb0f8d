-- Plugins in a directory: programs, and directories with a manifest.json that names one.

local core = require "pintle.core"
local lfs = require "lfs"

local MANIFEST = "manifest.json"
local MANIFEST_LIMIT = 1 << 20

---@class pintle.skipped
---@field path string
---@field reason string

-- Whoever may write to it decides what is run; a sticky directory such as /tmp is no protection here.
local function check_writers(path, attributes, allow)
  if attributes.permissions:sub(8, 8) == "w" and not allow then
    return nil, path .. " can be written by everybody; allow_world_writable = true takes it all the same"
  end
  return true
end

local function check_program(path, allow)
  local attributes, problem = lfs.attributes(path)
  if not attributes then return nil, problem end
  if attributes.mode ~= "file" then return nil, path .. " is a " .. attributes.mode .. ", not a file" end
  if not attributes.permissions:find("x", 1, true) then return nil, path .. " is not executable" end
  return check_writers(path, attributes, allow)
end

local function read_manifest(path)
  local file <close>, problem = io.open(path, "rb")
  if not file then return nil, problem end
  local text = file:read(MANIFEST_LIMIT + 1)
  if not text then return nil, path .. " is empty" end
  if #text > MANIFEST_LIMIT then return nil, path .. " is longer than 1 MiB" end
  local manifest, message = core.json.decode(text)
  if manifest == nil then return nil, path .. ": " .. message end
  if type(manifest) ~= "table" then return nil, path .. ": an object expected" end
  return manifest
end

local function with(spec, more)
  for name, value in pairs(more) do spec[name] = value end
  return spec
end

local function from_file(path, name, allow, rules)
  local more, reason = {}, nil
  if rules then more, reason = rules.program(name) end
  if not more then return nil, reason end
  local ok
  ok, reason = check_program(path, allow)
  if not ok then return nil, reason end
  return with({ name = (name:gsub("%.%w+$", "")), command = { path } }, more)
end

local function check_members(manifest, path)
  if type(manifest.executable) ~= "string" or manifest.executable == "" then
    return nil, path .. ": executable: a string expected"
  end
  if manifest.name ~= nil and (type(manifest.name) ~= "string" or manifest.name == "") then
    return nil, path .. ": name: a string expected"
  end
  if manifest.executable:find "^/" or ("/" .. manifest.executable .. "/"):find("/../", 1, true) then
    return nil, path .. ": executable: must be inside of the plugin's directory"
  end
  return true
end

local function check_manifest(manifest, path, rules)
  local ok, reason = check_members(manifest, path)
  if not ok then return nil, reason end
  if not rules then return {} end
  local more
  more, reason = rules.manifest(manifest)
  if not more then return nil, ("%s: %s"):format(path, reason) end
  return more
end

local function from_directory(path, name, allow, rules)
  local file = path .. "/" .. MANIFEST
  if not lfs.attributes(file) then return nil, "no " .. MANIFEST .. " in it" end
  local ok, reason = check_writers(path, lfs.attributes(path), allow)
  if ok then ok, reason = check_writers(file, lfs.attributes(file), allow) end
  if not ok then return nil, reason end
  local manifest, more
  manifest, reason = read_manifest(file)
  if manifest then more, reason = check_manifest(manifest, file, rules) end
  if not more then return nil, reason end
  local program = path .. "/" .. manifest.executable
  ok, reason = check_program(program, allow)
  if not ok then return nil, reason end
  return with({ name = manifest.name or name, command = { program }, described = manifest }, more)
end

local function look_at(directory, name, allow, rules)
  local path = directory .. "/" .. name
  local attributes, problem = lfs.attributes(path)
  if not attributes then return nil, problem end
  if attributes.mode == "directory" then
    if lfs.symlinkattributes(path, "mode") == "link" then return nil, "a link to a directory" end
    return from_directory(path, name, allow, rules)
  end
  return from_file(path, name, allow, rules)
end

local function list(directory)
  local names = {}
  for name in lfs.dir(directory) do
    if name:sub(1, 1) ~= "." then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

-- What no two plugins may have in common: a list of keys, and what each means.
local function unique_of(plugin, rules)
  local keys, meanings = { plugin.name }, { "is called " .. plugin.name }
  for _, member in ipairs(plugin.described and rules and rules.unique or {}) do
    local value = plugin.described[member]
    if type(value) == "string" then
      keys[#keys + 1], meanings[#meanings + 1] = member .. " " .. value, ("has the %s %q"):format(member, value)
    end
  end
  return keys, meanings
end

-- Notes what a plugin has to itself; or returns what another one has already.
local function claim(taken, plugin, rules)
  local keys, meanings = unique_of(plugin, rules)
  for i, key in ipairs(keys) do
    if taken[key] then return ("another plugin %s: %s"):format(meanings[i], taken[key]) end
  end
  for _, key in ipairs(keys) do taken[key] = plugin.command[1] end
end

local function look_at_all(directory, names, allow, rules)
  local found, skipped, taken = {}, {}, {}
  for _, name in ipairs(names) do
    local plugin, reason = look_at(directory, name, allow, rules)
    if plugin then reason = claim(taken, plugin, rules) end
    if reason then
      skipped[#skipped + 1] = { path = directory .. "/" .. name, reason = reason }
    else
      found[#found + 1] = plugin
    end
  end
  return found, skipped
end

---What is in `directory`, in order of names, each as `host:start` takes it; and what was passed over and why.
---Names that begin with a dot are not looked at.
---@param directory string
---@param allow_world_writable? boolean
---@param rules? pintle.discovery those of a dialect; every program goes unless told
---@return table[]? found, pintle.skipped[]|string skipped_or_message
return function(directory, allow_world_writable, rules)
  local attributes, problem = lfs.attributes(directory)
  if not attributes then return nil, problem end
  if attributes.mode ~= "directory" then return nil, directory .. " is no directory" end
  local ok, reason = check_writers(directory, attributes, allow_world_writable)
  if not ok then return nil, reason end
  local is_readable, names = pcall(list, directory) -- lfs raises for a directory that it may not read
  if not is_readable then return nil, names end
  return look_at_all(directory, names, allow_world_writable, rules)
end
