-- The command line of a plugin.

local core = require "pintle.core"
local dialects = require "pintle.dialect"

---@class pintle.arguments
---@field action "serve"|"help"|"version"|"manifest"
---@field config? table
---@field dialect? pintle.dialect
---@field is_forced boolean serve, even on a terminal
---@field others string[] all that is not for pintle, as it came

local arguments = {}

local function find_dialect(name, where)
  local dialect, message = dialects.get(name)
  if not dialect then return nil, ("%s: %s"):format(where, message) end
  return dialect
end

local function set_dialect(parsed, value, where)
  local message
  parsed.dialect, message = find_dialect(value, where)
  return parsed.dialect ~= nil, message
end

local function set_config(parsed, value)
  local config, message = core.json.decode(value)
  if config == nil then return false, "--config: " .. message end
  if type(config) ~= "table" or getmetatable(config) == core.json.array_mt then
    return false, "--config: a JSON object expected"
  end
  parsed.config = config
  return true
end

local function set_manifest(parsed, value)
  parsed.action = "manifest"
  if value then return set_dialect(parsed, value, "--manifest") end
  return true
end

local function act(action)
  return function(parsed)
    parsed.action = action
    return true
  end
end

local function force(parsed)
  parsed.is_forced = true
  return true
end

local OPTIONS = {
  ["--help"] = { set = act "help" },
  ["-h"] = { set = act "help" },
  ["--version"] = { set = act "version" },
  ["--serve"] = { set = force },
  ["--manifest"] = { set = set_manifest, value = "optional" },
  ["--config"] = { set = set_config, value = "required" },
  ["--dialect"] = { set = set_dialect, value = "required" },
}

-- The value of an option: behind its "=", or the next word, if that is not an option itself.
local function value_of(option, inline, following)
  if not option.value or inline then return inline, false end
  local is_taken = following ~= nil and (option.value == "required" or following:sub(1, 1) ~= "-")
  return is_taken and following or nil, is_taken
end

-- Takes the option at `at`; returns the place behind it.
local function take(parsed, given, at)
  local name, inline = given[at]:match "^(%-%-%w+)=(.*)$"
  name = name or given[at]
  local option = OPTIONS[name]
  if not option or inline and not option.value then
    parsed.others[#parsed.others + 1] = given[at]
    return at + 1
  end
  local value, is_next = value_of(option, inline, given[at + 1])
  if option.value == "required" and not value then return nil, name .. ": a value is missing" end
  local ok, message = option.set(parsed, value, name)
  if not ok then return nil, message end
  return is_next and at + 2 or at + 1
end

---What is not known is passed over, for a host may have arguments of its own; so is all behind "--".
---@param given string[]
---@return pintle.arguments?, string? message
function arguments.parse(given)
  local parsed = { action = "serve", others = {}, is_forced = false }
  local at, message = 1
  while given[at] do
    if given[at] == "--" then
      table.move(given, at + 1, #given, #parsed.others + 1, parsed.others)
      break
    end
    at, message = take(parsed, given, at)
    if not at then return nil, message end
  end
  local wanted = os.getenv "PINTLE_DIALECT"
  if not parsed.dialect and wanted and wanted ~= "" then
    local ok
    ok, message = set_dialect(parsed, wanted, "PINTLE_DIALECT")
    if not ok then return nil, message end
  end
  return parsed
end

return arguments
