-- A host like july. After one mistake of a plugin it stops reading, and hangs. It uses a manifest.json as the real
-- program does: it refuses the same mistakes, and sends the settings of all commands with each run.
local fake_host = require "spec.support.reginald.fake_host"
local json = require("pintle.core").json
local lfs = require "lfs"
local strict = require "spec.support.reginald.strict"

-- An object in an attribute may have unknown members.
local function plain(value, where)
  local kind = strict.kind(value)
  if kind == "object" or kind == "array" then error({ mistake = where .. ": unexpected " .. kind }, 0) end
end

local july = {
  log_rule = {
    time = strict.matching "^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d%.?%d*Z$",
    ["source?"] = { ["function"] = "string", file = "string", line = "integer" },
    msg = "string", attrs = { { key = "string", value = plain } }, level = strict.matching "^%u+[+-]?%d*$",
  },
  results = {
    handshake = { name = "string", protocol = strict.one_of "reginald", protocolVersion = strict.one_of(0) },
    runCommand = strict.empty, runTask = strict.empty, shutdown = strict.one_of(true),
  },
  nested_type = "configs", -- the word that comes with the settings of a command
}

function july.on_mistake(self, mistake) self.hung = mistake end

-- {====== The manifest.json ======

local entry = strict.entry(strict.JULY_TYPES, {
  ["flag?"] = { ["name?"] = "string", ["shorthand?"] = "string", ["description?"] = "string" },
  ["description?"] = "string", ["envOverride?"] = "string", ["flagOnly?"] = "boolean",
})

local COMMAND = {
  name = "string", ["usage?"] = "string", ["description?"] = "string", ["aliases?"] = { "string" },
  ["config?"] = { entry },
}
COMMAND["commands?"] = { COMMAND }

local MANIFEST = {
  name = "string", executable = "string", ["version?"] = "string", ["domain?"] = "string", ["description?"] = "string",
  ["config?"] = { entry }, ["commands?"] = { COMMAND },
  ["tasks?"] = { { taskType = "string", ["description?"] = "string", ["provides?"] = "any", ["config?"] = { entry } } },
}

local function host_flags()
  local flags = {}
  for name in ("config version help verbose quiet color directory log debug strict interactive plugin-paths "
    .. "-c -C -h -p -q -v -i"):gmatch "%S+" do
    flags[name] = true
  end
  return flags
end

local function add_flag(flags, name, failure)
  if flags[name] then error(failure .. ": " .. name, 0) end
  flags[name] = true
end

-- Finds a command below its parents; it has the flags of all of them.
local function check_flags(command, above)
  local flags = setmetatable({}, { __index = above })
  for _, item in ipairs(command.config or {}) do
    local flag = item.flag
    if flag then add_flag(flags, flag.name, "trying to add a flag that already exists") end
    if flag and flag.shorthand and flag.shorthand ~= "" then
      if #flag.shorthand > 1 then error("panic: shorthand is more than one ASCII character", 0) end
      add_flag(flags, "-" .. flag.shorthand, "panic: unable to redefine shorthand")
    end
  end
  for _, nested in ipairs(command.commands or {}) do check_flags(nested, flags) end
end

-- Reads a manifest.json, and `file`, the plugin's table in the file of the host. Raises where the program would end.
function july.load(self, manifest, file)
  local ok, mistake = strict.check(manifest, MANIFEST, "manifest")
  if not ok then error(mistake, 0) end
  if (manifest.domain or manifest.name) == "core" then error("duplicate plugin domain core", 0) end
  if file and not manifest.config then error("invalid config key " .. (manifest.domain or manifest.name), 0) end
  check_flags(manifest, host_flags())
  self.manifest, self.file, self.directory = manifest, file or {}, lfs.currentdir()
end

-- }======

-- {====== Settings ======

local function absolute(self, path)
  if path:sub(1, 1) == "/" then return path end
  return path == "" and self.directory or self.directory .. "/" .. path
end

local function setting(self, item, value)
  if value == nil then value = item.value end
  if item.type == "path" then value = absolute(self, value) end
  return { value = value, type = item.type, key = item.key }
end

-- The settings of the subcommands come first, each under its name; then its own.
local function settings(self, command, file)
  local list = json.array()
  for _, nested in ipairs(command.commands or {}) do
    list[#list + 1] = {
      value = settings(self, nested, file[nested.name] or {}), type = self.nested_type, key = nested.name,
    }
  end
  for _, item in ipairs(command.config or {}) do list[#list + 1] = setting(self, item, file[item.key]) end
  return list
end

local function find(list, name)
  for _, item in ipairs(list) do
    if item.name == name then return item end
  end
  error("unknown command: " .. name, 0)
end

-- The command of a name, and its part of the file.
local function descend(self, name)
  local command, file = self.manifest, self.file
  for part in name:gmatch "[^.]+" do
    command = find(command.commands or {}, part)
    file[part] = file[part] or {}
    file = file[part]
  end
  return command, file
end

-- Runs a command of the manifest.json, with flags by the keys of their entries.
function july.run(self, name, flags)
  local command, file = descend(self, name)
  for key, value in pairs(flags or {}) do file[key] = value end
  local own = settings(self, command, file)
  return self:call("runCommand", json.encode {
    cmd = name, config = #own > 0 and own or nil, pluginConfig = settings(self, self.manifest, self.file),
  })
end

-- }======

-- Starts a plugin.
return function(command) return fake_host.start(july, command) end
