-- Options that several subcommands have, and how their values are read.

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
---@return string? path absolute
---@return string? message
function options.directory(text)
  local mode, message = lfs.attributes(text, "mode")
  if not mode then return nil, message end
  if mode ~= "directory" then return nil, text .. " is no directory" end
  return absolute(text)
end

---What a plugin is started with, by whoever uses `pintle.cli.starting`.
---@param parser table
---@param verbosity string the lowest level that is shown, unless told
function options.define_starting(parser, verbosity)
  parser:option("-d --dialect", "The protocol it speaks; without it all that pintle knows are tried."):argname "NAME"
  parser:option("--config", "What it is configured with, as JSON."):argname "JSON":convert(options.json)
  parser:option("--patience", "How long it may take to start, such as 30s.", "10s"):argname "TIME"
    :convert(options.seconds)
  parser:option("--log", "The lowest level of what it says that is shown on stderr.", verbosity):argname "LEVEL"
    :choices { "debug", "info", "warn", "error", "silent" }
end

return options
