-- Drops: objects of the host, as the template engine sees them. Each access is a request to the host.

local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local wire = require "pintle.dialect.liquid.wire"

local GET = json.order { "drop_id", "property" }
local CALL = json.order { "drop_id", "method", "args" }

---An object of the host, valid during the render that it was passed to. Each method returns a value, which may be or
---contain other drops, and is `pintle.null` if there is none; or nil and an error message.
---@class pintle.liquid.drop
---@field id string
---@field type string
---@field scope { peer: pintle.peer, known: table<string, pintle.liquid.drop> }
local methods = {}

local metatable = { __name = "pintle.liquid.drop", __index = methods }

local drops = {}

-- In large messages the decoder notes which tables have a marker in them.
local trail = json.watch { "_rpc_drop", "_instantiate", "_ruby_type" }

---@param value any
---@return boolean
function drops.is(value) return getmetatable(value) == metatable end

-- During one render, an object is always the same drop.
local function drop_of_marker(marker, scope)
  local id = marker._rpc_drop
  local drop = scope.known[id]
  if drop then return drop end
  local kind = jsonrpc.given(marker.type)
  drop = setmetatable({ id = id, type = type(kind) == "string" and kind or "Drop", scope = scope }, metatable)
  scope.known[id] = drop
  return drop
end

local replace_markers

local function replace_marker(value, scope)
  if type(value._rpc_drop) == "string" then return drop_of_marker(value, scope) end
  return replace_markers(value, scope)
end

function replace_markers(container, scope)
  for name, member in next, container do
    if type(member) == "table" then container[name] = replace_marker(member, scope) end
  end
  return container
end

---The place of a marker, or of the drop that has replaced it: `container[name]`.
---@class pintle.liquid.place
---@field container table
---@field name any

local function is_other_marker(value) return value._instantiate ~= nil or value._ruby_type ~= nil end

-- Like unmark, but visits only tables with markers, and collects their places. Markers inside of a marker are not
-- collected.
local function replace_markers_on_trail(container, scope, places)
  for name, member in next, container do
    if trail[member] then
      local is_drop = type(member._rpc_drop) == "string"
      local is_place = is_drop or is_other_marker(member)
      if is_place and places then places[#places + 1] = { container = container, name = name } end
      if is_drop then
        container[name] = drop_of_marker(member, scope)
      else
        replace_markers_on_trail(member, scope, not is_place and places or nil)
      end
    end
  end
end

---Replaces the markers in a received environment by drops.
---@param environment table changed
---@param peer pintle.peer
---@param received? table the params that contain the environment
---@return table environment
---@return pintle.liquid.place[]? places of all markers; nil if they are not known
function drops.receive(environment, peer, received)
  local scope = { peer = peer, known = {} }
  if trail[received] == nil then return replace_markers(environment, scope) end
  local places = {}
  if trail[environment] then replace_markers_on_trail(environment, scope, places) end
  return environment, places
end

local function request_drop(self, method, params, member, expected)
  local result, err = self.scope.peer:call(method, params)
  if err ~= nil then return nil, err.message end
  if not jsonrpc.is_object(result) then
    return nil, ("the answer to %s: object expected, got %s"):format(method, json.kind(result))
  end
  local failure = jsonrpc.given(result.error)
  if failure ~= nil then return nil, wire.error_text(failure, "the drop failed") end
  local value = result[member]
  if expected and json.kind(value) ~= expected then
    return nil, ("the answer to %s: %s: %s expected, got %s"):format(method, member, expected, json.kind(value))
  end
  if value == nil then return json.null end
  return type(value) == "table" and replace_marker(value, self.scope) or value
end

---@param property string|integer
---@return any value, string? message
function methods:get(property)
  return request_drop(self, "drop_get", setmetatable({ drop_id = self.id, property = property }, GET), "value")
end

---@return any[]? items, string? message
function methods:iterate() return request_drop(self, "drop_iterate", { drop_id = self.id }, "items", "array") end

---@param method string
---@param args? any[]
---@return any value, string? message
function methods:call(method, args)
  local list = json.array()
  for i = 1, #(args or {}) do list[i] = args[i] end
  local params = { drop_id = self.id, method = method, args = list }
  return request_drop(self, "drop_call", setmetatable(params, CALL), "value")
end

return drops
