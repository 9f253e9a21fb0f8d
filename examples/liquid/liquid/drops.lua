-- Drops: objects that a template asks for their members. There are those of the program, and the standard drops of the
-- conformance cases, which come as markers in JSON data.

local bigint = require "liquid.bigint"
local collections = require "liquid.collections"
local comparison = require "liquid.comparison"
local errors = require "liquid.errors"
local numbers = require "liquid.numbers"
local ruby_hash = require "liquid.ruby_hash"
local text = require "liquid.text"
local values = require "liquid.values"

local drops = {}

local null = values.null

-- {====== Drops of the program ======

---Whether a value is a drop of pintle's dialect.
---@param candidate table
---@return boolean
local function comes_as_json(candidate)
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

-- Replaces the markers in an answer that was decoded from JSON.
local function unmarked(value, drop)
  if type(value) ~= "table" or values.protocol(value) or not comes_as_json(drop) then return value end
  return values.plain(drops.replace_markers({ value })[1])
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

-- The value of a drop: that of its `to_liquid_value`, or the drop itself.
local function drop_value(drop)
  local held, message = call(drop, "get", "to_liquid_value")
  if held == nil and message ~= nil or held == null or held == nil then return drop end
  return unmarked(held, drop)
end

-- A `to_s` that is a table is not converted to text in turn, because it may be the drop itself.
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

local program_drop = {
  kind = "drop", get = get, value = drop_value, to_s = to_s, items = items, number = number, contains = contains,
  equal = rawequal, size = ask_or_default("size", 0), first = ask_or_default("first"), last = ask_or_default("last"),
}

---Makes all tables with a metatable drops. They have methods `get(name)` and `iterate()`, which return a value, or nil
---and an error, or raise an error. The drops of pintle's Liquid dialect are such tables.
---@param metatable table
function drops.adopt(metatable)
  values.register(metatable, program_drop)
end

-- }======

-- {====== Standard drops ======

local function missing() return nil, nil, true end

-- The metatable of a kind of drops.
local function new_kind(name, protocol)
  local metatable = { __name = "liquid." .. name }
  protocol.kind, protocol.shows_all = protocol.kind or "drop", true
  protocol.get = protocol.get or missing
  protocol.equal = protocol.equal or rawequal
  values.register(metatable, protocol)
  return metatable
end

local function held(drop) return drop.value end

local function boxed(name, extra)
  local protocol = extra or {}
  protocol.value, protocol.to_s = held, function(drop) return text.to_s(drop.value) end
  return new_kind(name, protocol)
end

-- StringDrop is the only standard drop with an order.
local function order_texts(a, b)
  local first, second = text.to_s(a), text.to_s(b)
  return first == second and 0 or first < second and -1 or 1
end

local operations = {
  echo = function(n) return n end,
  square = function(n) return numbers.multiply(n, n) end,
  double = function(n) return numbers.multiply(2, n) end,
}

-- echo_7, square_7, double_7
local function method(_, key)
  local name, digits = tostring(key):match("^(%a+)_(%d+)$")
  local operation = operations[name]
  if not operation then return missing() end
  return text.to_s(operation(numbers.literal(digits)))
end

local number_words = { "zero", "one", "two", "three", "four", "five" }

-- A position as a word, from the end if it is negative; a name is returned as it is.
local function index(_, key)
  if type(key) == "string" then return key end
  if math.type(key) ~= "integer" then return "unknown" end
  return number_words[key < 0 and #number_words + key + 1 or key + 1] or "unknown"
end

local sequence = values.array { "first", "second", "third" }
local members = {
  size = 3, count = 3, first = "first", last = "third", min = "first", max = "third", sort = sequence,
}

local function access_failed()
  return nil, errors.new("standard_error", "ErrorDrop: access triggered an error")
end

local nested

local function look_inside(drop, key)
  if key == "nested" then return drop end
  if key ~= "square" then return missing() end
  local value = numbers.to_number(drop.value)
  return setmetatable({ value = numbers.multiply(value, value) }, nested)
end

nested = new_kind("NestedDrop", {
  get = look_inside, to_s = function(drop) return text.to_s(drop.value) end,
})

local metatables = {
  BooleanDrop = boxed("BooleanDrop"),
  NumberDrop = boxed("NumberDrop", { number = held }),
  StringDrop = boxed("StringDrop", { order = order_texts }),
  NestedDrop = nested,
  MethodDrop = new_kind("MethodDrop", { get = method, to_s = function() return "MethodDrop" end }),
  IndexDrop = new_kind("IndexDrop", { get = index, to_s = function() return "IndexDrop" end }),
  SequenceDrop = new_kind("SequenceDrop", {
    get = function(_, key)
      if members[key] ~= nil then return members[key] end
      return missing()
    end,
    items = function() return sequence end,
    size = function() return members.size end,
    first = function() return members.first end,
    last = function() return members.last end,
    to_s = function() return "SequenceDrop" end,
    contains = function(_, value) return value == "first" or value == "second" or value == "third" end,
  }),
  OpaqueDrop = new_kind("OpaqueDrop", { to_s = function() return "opaque" end }),
  ErrorDrop = new_kind("ErrorDrop", { get = access_failed, to_s = function() return "ErrorDrop" end }),
}

-- The default values of drops.
local defaults = { BooleanDrop = false, NumberDrop = 0, StringDrop = "", NestedDrop = 3 }

---Makes a standard drop. NilDrop is nil, because every lookup in the reference converts it.
---@param name string
---@param params? table
---@return table? drop nil if the name is unknown
local function new_standard_drop(name, params)
  if name == "NilDrop" then return values.null end
  local metatable = metatables[name]
  if not metatable then return nil end
  local value = values.is_hash(params) and values.plain(params.value)
  if value == nil or value == false then value = defaults[name] end
  return setmetatable({ value = value }, metatable)
end

-- }======

-- {====== Markers ======

-- Ruby objects: they print the output of Ruby's inspect and have the members of `data`.
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
  local made = collections.range(first, marker.exclude_end == true and numbers.subtract(last, 1) or last)
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
    return ruby_hash(marker.inspect, marker.data)
  end,
}

local replace

local function marked(value)
  local name = rawget(value, "_instantiate")
  if type(name) == "string" then return new_standard_drop(name, value.params) end
  local kind = rawget(value, "_ruby_type")
  if type(kind) ~= "string" then return nil end
  if type(value.data) == "table" then replace(value.data) end
  return (makers[kind] or shown)(value)
end

-- Whether a value is a drop of pintle's dialect. Its metatable is registered here.
local function is_remote(value)
  if not comes_as_json(value) then return false end
  drops.adopt(getmetatable(value))
  return true
end

local function replace_at(container, key, value)
  if type(value) ~= "table" or values.protocol(value) or is_remote(value) then return end
  local made = marked(value)
  if made ~= nil then container[key] = made else replace(value) end
end

-- Replaces the markers in a table, in place.
function replace(container)
  for key, value in next, container do replace_at(container, key, value) end
  return container
end

---Replaces the markers in data decoded from JSON with the values they describe, in place: standard drops, ranges,
---symbols and Ruby hashes.
---@param environment table
---@param places? { container: table, name: any }[] the places of the markers, if they are known
---@return table environment
function drops.replace_markers(environment, places)
  if not places then return replace(environment) end
  for _, place in ipairs(places) do replace_at(place.container, place.name, place.container[place.name]) end
  return environment
end

-- }======

return drops
