-- Drops that live elsewhere: tables with the methods get, iterate and call, each of which gives a value, or nil and
-- an error, or raises one. Those of pintle's Liquid dialect are such; a program may have others.

local comparison = require "liquid.comparison"
local errors = require "liquid.errors"
local text = require "liquid.text"
local values = require "liquid.values"

local remote = {}

local null = values.null

---Whether a value is a drop of pintle's dialect.
---@param candidate table
---@return boolean
function remote.comes_as_json(candidate)
  local metatable = values.metatable_of(candidate)
  return metatable ~= nil and rawget(metatable, "__name") == "pintle.liquid.drop"
end

local function failed(failure) return nil, errors.of_object(failure) end

-- Calls a method of a drop. A raised error is returned.
local function call(drop, method, ...)
  local ok, value, message = pcall(drop[method], drop, ...)
  if ok then return value, message end
  if errors.is_interruption(value) then error(value, 0) end
  return failed(value)
end

-- What comes as JSON may be marked, as the data may that came before it.
local function unmarked(value, drop)
  if type(value) ~= "table" or values.protocol(value) or not remote.comes_as_json(drop) then return value end
  return values.plain(require("liquid.drops.markers")({ value })[1])
end

local function ask(drop, property)
  local value, message = call(drop, "get", property)
  if value == nil and message ~= nil then return failed(message) end
  if value == null then return nil end
  return unmarked(value, drop)
end

-- Methods that the engine calls, but that a template cannot read as properties, as in the reference.
local internal_methods = { to_s = true, to_liquid = true, inspect = true }

local function get(drop, key)
  if math.type(key) ~= "integer" then key = text.to_s(key) end
  if internal_methods[key] then return nil end
  return ask(drop, key)
end

-- A drop that stands for nothing in particular is itself.
local function value(drop)
  local held, message = call(drop, "get", "to_liquid_value")
  if held == nil and message ~= nil or held == null or held == nil then return drop end
  return unmarked(held, drop)
end

-- What is no text, as it would have to be, is not asked in its turn: it may be the drop itself.
local function to_s(drop)
  local shown, message = call(drop, "get", "to_s")
  if shown == nil and message ~= nil then return failed(message) end
  if shown == null or type(shown) == "table" then return drop.type or "" end
  return (text.to_s(shown))
end

local function items(drop)
  local list, message = call(drop, "iterate")
  if type(list) ~= "table" then return failed(message or "it has no items") end
  return unmarked(list, drop)
end

local function number(drop)
  local found, err = ask(drop, "to_number")
  if err then return nil, err end
  return type(found) == "number" and found or 0
end

local function contains(drop, wanted)
  local list = items(drop)
  for i = 1, type(list) == "table" and #list or 0 do
    if comparison.equal(list[i], wanted) then return true end
  end
  return false
end

-- The filters size, first and last treat a drop that fails to answer as one without that method.
local function ask_or_default(property, otherwise)
  return function(drop)
    local found, err = ask(drop, property)
    if err or found == nil then return otherwise end
    return found
  end
end

local protocol = {
  kind = "drop", get = get, value = value, to_s = to_s, items = items, number = number, contains = contains,
  equal = rawequal, size = ask_or_default("size", 0), first = ask_or_default("first"), last = ask_or_default("last"),
}

---Makes all tables with a metatable drops: they have the methods get, iterate and call.
---@param metatable table
function remote.adopt(metatable)
  values.register(metatable, protocol)
end

---Whether a value is a drop.
---@param candidate any
---@return boolean
function remote.is(candidate)
  return values.protocol(candidate) == protocol
end

return remote
