-- What both sides know of the messages: log levels, file URIs, merged capabilities.

local json = require("pintle.core").json

local wire = {
  ---The error code of a command that ran and failed, in contrast to one that could not be run.
  REQUEST_FAILED = -32803,
}

-- {====== Log ======

-- The protocol has numbers for levels, and no place for data.
local TYPES = { error = 1, warn = 2, info = 3, debug = 4 }
local LEVELS = { "error", "warn", "info", "debug", "debug" }
local MESSAGE = json.order { "type", "message" }

---The params of window/logMessage.
---@param level pintle.level
---@param message string
---@param data any appended to the message as JSON
---@return table? params, string? message nil and why the data cannot be sent
function wire.log_params(level, message, data)
  if data ~= nil then
    local ok, text = pcall(json.encode, data)
    if not ok then return nil, text end
    message = message .. " " .. text
  end
  return setmetatable({ type = TYPES[level], message = message }, MESSAGE)
end

---@param number any
---@return pintle.level
function wire.level(number) return LEVELS[number] or "info" end

-- }======

-- {====== File URIs ======

local function percent_encode_uri(char) return ("%%%02X"):format(char:byte()) end

local function percent_decode_uri(digits) return string.char(tonumber(digits, 16)) end

---@param path string absolute
---@return string
function wire.uri(path) return "file://" .. path:gsub("[^%w%-._~/]", percent_encode_uri) end

---@param text any
---@return string? path nil if it is not the URI of a local file
function wire.path(text)
  if type(text) ~= "string" then return nil end
  local path = text:match "^file:(/[^/].*)$" or text:match "^file:/?/?(/.*)$" or text:match "^file://localhost(/.*)$"
  return path and (path:gsub("%%(%x%x)", percent_decode_uri))
end

-- }======

---Merges capabilities: those above replace those below; objects are merged. Neither table is changed.
---@param below table
---@param above table
---@return table
function wire.merge(below, above)
  local all = {}
  for name, value in pairs(below) do all[name] = value end
  for name, value in pairs(above) do
    local is_merged = json.kind(value) == "object" and json.kind(all[name]) == "object"
    all[name] = is_merged and wire.merge(all[name], value) or value
  end
  return all
end

return wire
