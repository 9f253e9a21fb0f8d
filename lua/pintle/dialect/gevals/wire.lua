-- What both sides know of the messages.

local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"

local wire = { VERSION = "0.0.1" }

-- {====== Members ======

wire.kind, wire.given = json.kind, jsonrpc.given

---@param name string
---@return pintle.error
function wire.missing(name)
  return errors.new("invalid", ("Invalid Request: %s is missing"):format(name), { code = jsonrpc.INVALID_REQUEST })
end

---@param value any
---@param expected "string"|"object"
---@param name string of the member it is
---@param is_required? "required"
---@return true?, pintle.error?
function wire.check(value, expected, name, is_required)
  if is_required and wire.given(value) == nil then return nil, wire.missing(name) end
  return jsonrpc.check(value, expected, name)
end

-- }======

-- {====== Log ======

local LOG = json.order { "level", "message", "data" }
local LINE = 65000 -- bytes of the params; readers that are in use take lines of 64 KiB
local SHORT = 1024 -- bytes of a text that needs no measuring
local FEW = 8 -- members of such texts and other plain values that need none
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

local function has_few_short_members(data)
  local count = 0
  for name, value in next, data do
    count = count + 1
    local kind = type(value)
    local is_short = kind == "number" or kind == "boolean" or kind == "string" and #value <= SHORT
    if not is_short or count > FEW or type(name) ~= "string" or #name > SHORT then return false end
  end
  return count > 0
end

wire.LOG, wire.SHORT = LOG, SHORT

---The params of a log message: as they are if they fit a line, else cut, with a note that says so.
---@param level pintle.level
---@param message string
---@param data any
---@return table?, pintle.error?
function wire.log(level, message, data)
  -- Whether the params fit a line for sure.
  if #message <= SHORT and (data == nil or type(data) == "table" and has_few_short_members(data)) then
    return setmetatable({ level = level, message = message, data = data }, LOG)
  end
  local params = log_params(level, message, as_object(data))
  local ok, text = pcall(json.encode, params)
  if not ok then return nil, errors.new("invalid", "log: " .. text) end
  if #text <= LINE then return json.raw(text) end
  local kept = data ~= nil and json.encode(params.data)
  return log_params(level, cut(message, KEPT_MESSAGE), kept and {
    truncated = true, bytes = #kept, json = cut(kept, KEPT_DATA),
  } or nil)
end

-- }======

return wire
