-- The params of a request, read member by member. The first thing that is wrong with them is kept, to be told.

local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"

local DATA = json.order { "param", "message" }

---@class pintle.liquid.params
---@field method string
---@field given table
---@field problem pintle.error? the first
local methods = {}

local metatable = { __name = "pintle.liquid.params", __index = methods }

local params = {}

---An error of the code for invalid params that says which it is.
---@param message string
---@param param string its path
---@param reason string
---@return pintle.error
function params.error(message, param, reason)
  return errors.new("invalid", message, {
    code = jsonrpc.INVALID_PARAMS, data = setmetatable({ param = param, message = reason }, DATA),
  })
end

---@param method string
---@param given any
---@return pintle.liquid.params
function params.read(method, given)
  local self = setmetatable({ method = method, given = jsonrpc.given(given) or {} }, metatable)
  local kind = json.kind(self.given)
  if kind ~= "object" then
    self:refuse("params", "object", kind)
    self.given = {}
  end
  return self
end

---@param path string
---@param expected string
---@param got string
function methods:refuse(path, expected, got)
  local reason = ("xpected %s, got %s"):format(expected, got)
  local message = ("Invalid %s: e%s"):format(path:gsub("^options%.", ""), reason)
  self.problem = self.problem or params.error(message, path, "E" .. reason)
end

-- Where something on the way is no object, that is told when it is read itself.
local function look_up(value, path)
  for name in path:gmatch "[^.]+" do
    if type(value) ~= "table" then return nil end
    value = value[name]
  end
  return jsonrpc.given(value)
end

---A member that may be left out, or be null.
---@param path string
---@param expected "boolean"|"string"|"object"
---@return any
function methods:optional(path, expected)
  local value = look_up(self.given, path)
  if value == nil then return nil end
  local kind = json.kind(value)
  if kind == expected then return value end
  self:refuse(path, expected, kind)
end

---@param path string
---@param expected "boolean"|"string"|"object"
---@return any
function methods:required(path, expected)
  local value = self:optional(path, expected)
  if value == nil then
    local message = ("Missing required parameter '%s' in %s request"):format(path, self.method)
    self.problem = self.problem or params.error(message, path, ("Expected %s, got nothing"):format(expected))
  end
  return value
end

return params
