-- What both sides know of the messages.

local errors = require "pintle.error"
local json = require("pintle.core").json

local INVALID_REQUEST, INVALID_PARAMS = -32600, -32602

local wire = { VERSION = "0.0.1" }

-- {====== Members ======

---What JSON calls it.
---@param value any
---@return string
function wire.kind(value)
  local kind = type(value)
  if kind == "table" then
    local is_list = value[1] ~= nil or getmetatable(value) == json.array_mt
    return is_list and "array" or "object"
  end
  return value == json.null and "null" or kind
end

---A member, or nil where it is null, which is what some write for nothing.
---@param value any
---@return any
function wire.given(value)
  if value ~= json.null then return value end
end

---@param name string
---@return pintle.error
function wire.missing(name)
  return errors.new("invalid", ("Invalid request: %s is missing"):format(name), { code = INVALID_REQUEST })
end

---@param value any
---@param expected "string"|"object"
---@param name string of the member it is
---@param is_required? "required"
---@return true?, pintle.error?
function wire.check(value, expected, name, is_required)
  if value == nil or value == json.null then
    if is_required then return nil, wire.missing(name) end
    return true
  end
  local kind = wire.kind(value)
  if kind == expected then return true end
  local message = ("Invalid params: %s: %s expected, got %s"):format(name, expected, kind)
  return nil, errors.new("invalid", message, { code = INVALID_PARAMS })
end

-- }======

-- {====== Log ======

local LOG = json.order { "level", "message", "data" }
local LINE = 65000 -- bytes of the params; readers that are in use take lines of 64 KiB
local SHORT = 1024 -- bytes of a message without data that needs no measuring
local KEPT_MESSAGE, KEPT_DATA = 4096, 16384 -- bytes; quoting makes them six times and twice as long at the most

local function cut(text, most)
  if #text <= most then return text end
  while text:byte(most + 1) & 0xC0 == 0x80 do most = most - 1 end
  return text:sub(1, most) .. "…"
end

local function log_params(level, message, data)
  return setmetatable({ level = level, message = message, data = data }, LOG)
end

-- Data is an object in this protocol.
local function as_object(data)
  if data == nil or wire.kind(data) == "object" then return data end
  return { value = data }
end

---The params of a log message: as they are if they fit a line, else with what was cut of them told.
---@param level pintle.level
---@param message string
---@param data any
---@return table?, pintle.error?
function wire.log(level, message, data)
  local params = log_params(level, message, as_object(data))
  if data == nil and #message <= SHORT then return params end
  local ok, text = pcall(json.encode, params)
  if not ok then return nil, errors.new("invalid", "log: " .. text) end
  if #text <= LINE then return params end
  local kept = data ~= nil and json.encode(params.data)
  return log_params(level, cut(message, KEPT_MESSAGE), kept and {
    truncated = true, bytes = #kept, json = cut(kept, KEPT_DATA),
  } or nil)
end

-- }======

return wire
