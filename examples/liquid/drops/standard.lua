-- The ten standard drops: objects whose behaviour every implementation has to have, so that tests can use them.

local arithmetic = require "liquid.arithmetic"
local errors = require "liquid.errors"
local numbers = require "liquid.numbers"
local text = require "liquid.text"
local values = require "liquid.values"

local standard = {}

local function missing() return nil, nil, true end

-- A metatable for drops of one kind.
local function kind(name, protocol)
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
  return kind(name, protocol)
end

-- StringDrop is the only standard drop with an order.
local function order_texts(a, b)
  local first, second = text.to_s(a), text.to_s(b)
  return first == second and 0 or first < second and -1 or 1
end

local operations = {
  echo = function(n) return n end,
  square = function(n) return arithmetic.multiply(n, n) end,
  double = function(n) return arithmetic.multiply(2, n) end,
}

-- echo_7, square_7, double_7
local function method(_, key)
  local name, digits = tostring(key):match("^(%a+)_(%d+)$")
  local operation = operations[name]
  if not operation then return missing() end
  return text.to_s(operation(numbers.literal(digits)))
end

local number_words = { "zero", "one", "two", "three", "four", "five" }

-- A position is spelled, from the end if it is negative; a name is itself.
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
  return setmetatable({ value = arithmetic.multiply(value, value) }, nested)
end

nested = kind("NestedDrop", {
  get = look_inside, to_s = function(drop) return text.to_s(drop.value) end,
})

local metatables = {
  BooleanDrop = boxed("BooleanDrop"),
  NumberDrop = boxed("NumberDrop", { number = held }),
  StringDrop = boxed("StringDrop", { order = order_texts }),
  NestedDrop = nested,
  MethodDrop = kind("MethodDrop", { get = method, to_s = function() return "MethodDrop" end }),
  IndexDrop = kind("IndexDrop", { get = index, to_s = function() return "IndexDrop" end }),
  SequenceDrop = kind("SequenceDrop", {
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
  OpaqueDrop = kind("OpaqueDrop", { to_s = function() return "opaque" end }),
  ErrorDrop = kind("ErrorDrop", { get = access_failed, to_s = function() return "ErrorDrop" end }),
}

-- Values of drops whose params have none.
local defaults = { BooleanDrop = false, NumberDrop = 0, StringDrop = "", NestedDrop = 3 }

---Makes a standard drop. NilDrop is nil, because every lookup in the reference converts it.
---@param name string
---@param params? table
---@return table? drop nil if there is none of that name
function standard.new(name, params)
  if name == "NilDrop" then return values.null end
  local metatable = metatables[name]
  if not metatable then return nil end
  local value = values.is_hash(params) and values.plain(params.value)
  if value == nil or value == false then value = defaults[name] end
  return setmetatable({ value = value }, metatable)
end

return standard
