-- Replaces the markers in JSON data with the values they describe: standard drops, ranges, symbols, and Ruby hashes.

local arithmetic = require "liquid.arithmetic"
local bigint = require "liquid.bigint"
local ranges = require "liquid.ranges"
local remote = require "liquid.drops.remote"
local ruby = require "liquid.drops.ruby"
local standard = require "liquid.drops.standard"
local values = require "liquid.values"

local null = values.null

-- Objects that print what Ruby's inspect gave and look like the data that came with it.
local shown_metatable = { __name = "liquid.shown" }

values.register(shown_metatable, {
  kind = "drop", shows_all = true,
  to_s = function(object) return object.inspect end,
  get = function(object, key)
    local value
    if key ~= nil and type(object.data) == "table" then value = object.data[key] end
    if value == null or value == nil then return nil, nil, value == nil end
    return value
  end,
  items = function(object) return type(object.data) == "table" and values.pairs_of(object.data) or values.array() end,
  equal = function(a, b) return getmetatable(b) == shown_metatable and a.inspect == b.inspect end,
})

local function whole(value) return bigint.is(value) and value or math.tointeger(tonumber(value)) end

local function range(marker)
  local first, last = whole(marker.begin or marker.first), whole(marker["end"] or marker.last)
  if not first or not last then return setmetatable({ inspect = marker.inspect or "" }, shown_metatable) end
  local made = ranges.new(first, marker.exclude_end == true and arithmetic.subtract(last, 1) or last)
  if marker.exclude_end == true then made.text = bigint.text(first) .. "..." .. bigint.text(last) end
  return made
end

local function shown(marker)
  return setmetatable({ inspect = tostring(marker.inspect or ""), data = marker.data }, shown_metatable)
end

local makers = {
  Range = range,
  -- Liquid converts a symbol to a string before a template sees it.
  Symbol = function(marker)
    if type(marker.value) == "string" then return marker.value end
    local name = marker.data or marker.inspect
    return type(name) == "string" and name:gsub("^:", "") or ""
  end,
  Hash = function(marker)
    if not values.is_hash(marker.data) then return shown(marker) end
    return ruby.hash(marker.inspect, marker.data)
  end,
}

local replace

local function marked(value)
  local name = rawget(value, "_instantiate")
  if type(name) == "string" then return standard.new(name, value.params) end
  local kind = rawget(value, "_ruby_type")
  if type(kind) ~= "string" then return nil end
  if type(value.data) == "table" then replace(value.data) end
  return (makers[kind] or shown)(value)
end

-- Drops of pintle's dialect have a metatable that is met here first.
local function is_remote(value)
  if not remote.comes_as_json(value) then return false end
  remote.adopt(getmetatable(value))
  return true
end

local function replace_at(container, key, value)
  if type(value) ~= "table" or values.protocol(value) or is_remote(value) then return end
  local made = marked(value)
  if made ~= nil then container[key] = made else replace(value) end
end

-- Replaces what is marked inside a table, where it is.
function replace(container)
  for key, value in next, container do replace_at(container, key, value) end
  return container
end

---Replaces all marked data in an environment, in place.
---@param environment table
---@param places? { container: table, name: any }[] where it is, if that is known
---@return table environment
return function(environment, places)
  if not places then return replace(environment) end
  for _, place in ipairs(places) do replace_at(place.container, place.name, place.container[place.name]) end
  return environment
end
