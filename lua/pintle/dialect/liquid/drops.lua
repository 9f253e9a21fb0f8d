-- Objects that live at the other side, as the one who renders sees them: what it wants to know of one it asks for.

local json = require("pintle.core").json
local members = require "pintle.members"

local GET = json.order { "drop_id", "property" }
local CALL = json.order { "drop_id", "method", "args" }

---An object at the other side, for as long as the render runs that it was given to. Each method returns a value, which
---is `pintle.null` where there is none and may be or hold another drop; or nil and what is wrong.
---@class pintle.liquid.drop
---@field id string
---@field type string
---@field scope { peer: pintle.peer, known: table<string, pintle.liquid.drop> }
local methods = {}

local metatable = { __name = "pintle.liquid.drop", __index = methods }

local drops = {}

---@param value any
---@return boolean
function drops.is(value) return getmetatable(value) == metatable end

-- The same object is the same drop as long as one renders.
local function drop_of(marker, scope)
  local id = marker._rpc_drop
  local drop = scope.known[id]
  if drop then return drop end
  local kind = members.given(marker.type)
  drop = setmetatable({ id = id, type = type(kind) == "string" and kind or "Drop", scope = scope }, metatable)
  scope.known[id] = drop
  return drop
end

local function unmark(value, scope)
  if type(value._rpc_drop) == "string" then return drop_of(value, scope) end
  for name, member in next, value do
    if type(member) == "table" then value[name] = unmark(member, scope) end
  end
  return value
end

---Puts drops where an environment that was received has their markers.
---@param environment table changed
---@param peer pintle.peer
---@return table environment
function drops.receive(environment, peer)
  local scope = { peer = peer, known = {} }
  for name, member in next, environment do
    if type(member) == "table" then environment[name] = unmark(member, scope) end
  end
  return environment
end

local function text_of(failure)
  if type(failure) == "table" then failure = failure.message end
  return type(failure) == "string" and failure or "the drop failed"
end

local function ask(self, method, params, member, expected)
  local result, err = self.scope.peer:call(method, params)
  if err ~= nil then return nil, err.message end
  if members.kind(result) ~= "object" then
    return nil, ("the answer to %s: object expected, got %s"):format(method, members.kind(result))
  end
  local failure = members.given(result.error)
  if failure ~= nil then return nil, text_of(failure) end
  local value = result[member]
  if expected and members.kind(value) ~= expected then
    return nil, ("the answer to %s: %s: %s expected, got %s"):format(method, member, expected, members.kind(value))
  end
  if value == nil then return json.null end
  return type(value) == "table" and unmark(value, self.scope) or value
end

---@param property string|integer
---@return any value, string? message
function methods:get(property)
  return ask(self, "drop_get", setmetatable({ drop_id = self.id, property = property }, GET), "value")
end

---@return any[]? items, string? message
function methods:iterate() return ask(self, "drop_iterate", { drop_id = self.id }, "items", "array") end

---@param method string
---@param args? any[]
---@return any value, string? message
function methods:call(method, args)
  local list = json.array()
  for i = 1, #(args or {}) do list[i] = args[i] end
  local params = { drop_id = self.id, method = method, args = list }
  return ask(self, "drop_call", setmetatable(params, CALL), "value")
end

return drops
