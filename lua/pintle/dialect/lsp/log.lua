-- Messages for people, both ways: the protocol knows them by numbers, and has no place for data.

local json = require("pintle.core").json

local log = {}

local TYPES = { error = 1, warn = 2, info = 3, debug = 4 }
local LEVELS = { "error", "warn", "info", "debug", "debug" }
local MESSAGE = json.order { "type", "message" }

---@param level pintle.level
---@param message string
---@param data any put behind the message
---@return table? params, string? problem
function log.params(level, message, data)
  if data ~= nil then
    local ok, text = pcall(json.encode, data)
    if not ok then return nil, text end
    message = message .. " " .. text
  end
  return setmetatable({ type = TYPES[level], message = message }, MESSAGE)
end

---@param number any
---@return pintle.level
function log.level(number) return LEVELS[number] or "info" end

return log
