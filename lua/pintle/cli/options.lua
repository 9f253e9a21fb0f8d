-- Options that several subcommands share, and conversion of option values.

local lazy = require "pintle.lazy"

local core = lazy "pintle.core"
local duration = lazy "pintle.duration"
local lfs = lazy "lfs"

local options = {}

---@param text string seconds, or a duration such as 1m30s
---@return number?, string? message
function options.seconds(text)
  local seconds, message = duration.seconds(tonumber(text) or text)
  if not seconds then return nil, message end
  return seconds
end

---@param text string
---@return any, string? message
function options.json(text)
  local value, message = core.json.decode(text)
  if message then return nil, "not JSON: " .. message end
  return value
end

local function absolute(path)
  if path:sub(1, 1) ~= "/" then path = lfs.currentdir() .. "/" .. path end
  local names = {}
  for name in path:gmatch "[^/]+" do
    if name == ".." then names[#names] = nil elseif name ~= "." then names[#names + 1] = name end
  end
  return "/" .. table.concat(names, "/")
end

---@param text string
---@return string? path made absolute
---@return string? message
function options.directory(text)
  local mode, message = lfs.attributes(text, "mode")
  if not mode then return nil, message end
  if mode ~= "directory" then return nil, text .. " is not a directory" end
  return absolute(text)
end

---Compiles a pattern with wildcards: `*` matches any text, `?` any character.
---@param pattern string
---@return fun(name: string): boolean
function options.glob(pattern)
  local escaped = pattern:gsub("[%^%$%(%)%%%.%[%]%+%-]", "%%%0"):gsub("%*", ".*"):gsub("%?", ".")
  local whole = "^" .. escaped .. "$"
  return function(name) return name:find(whole) ~= nil end
end

---A predicate that is true for names matching at least one of the patterns.
---@param patterns string[]
---@return fun(name: string): boolean
function options.any_glob(patterns)
  local matchers = {}
  for i, pattern in ipairs(patterns) do matchers[i] = options.glob(pattern) end
  return function(name)
    for _, matches in ipairs(matchers) do
      if matches(name) then return true end
    end
    return false
  end
end

local LEVELS = { "debug", "info", "warn", "error", "silent" }

---@param parser table
---@param default string
function options.define_log(parser, default)
  parser:option("--log", "Minimum log level shown on stderr.", default):argname "LEVEL":choices(LEVELS)
end

---@param parser table
function options.define_start_timeout(parser)
  parser:option("--start-timeout", "How long the plugin may take to start.", "10s"):argname "TIME"
    :convert(options.seconds)
end

---Defines the options that `pintle.cli.starting` uses.
---@param parser table
---@param log_level string default of `--log`
function options.define_starting(parser, log_level)
  parser:option("-d --dialect", "The protocol of the plugin (default: pintle tries all it knows)."):argname "NAME"
  parser:option("--config", "The plugin's configuration, as JSON."):argname "JSON":convert(options.json)
  options.define_start_timeout(parser)
  options.define_log(parser, log_level)
end

return options
