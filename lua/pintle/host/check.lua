-- Checks of options. Each is a function: a value becomes what is used, or nil and what is wrong with it.

local lazy = require "pintle.lazy"
local duration = lazy "pintle.duration"

local LONGEST = 9e9 -- seconds; a protocol has to be able to write it down

---@alias pintle.check fun(value: any): any, string?

local check = {}

function check.anything(value) return value end

---@param expected string as `type` tells it
---@return pintle.check
local function of_type(expected)
  return function(value)
    if type(value) == expected then return value end
    return nil, ("%s expected, got %s"):format(expected, type(value))
  end
end

check.boolean, check.text, check.table, check.callback =
  of_type "boolean", of_type "string", of_type "table", of_type "function"

---@param other pintle.check
---@return pintle.check
function check.boolean_or(other)
  return function(value)
    if type(value) == "boolean" then return value end
    return other(value)
  end
end

---@param other pintle.check
---@return pintle.check
function check.false_or(other)
  return function(value)
    if value == false then return false end
    return other(value)
  end
end

---A span of time, in seconds or as a duration; it becomes seconds.
function check.span(value)
  local seconds, message = duration.seconds(value)
  if seconds and seconds > LONGEST then return nil, ("a span of %g seconds is too long"):format(seconds) end
  return seconds, message
end

---@param least integer
---@return pintle.check
function check.integer_from(least)
  return function(value)
    if math.type(value) == "integer" and value >= least then return value end
    return nil, ("an integer of %d or more expected, got %s"):format(least, tostring(value))
  end
end

---@param least number
---@param most number
---@return pintle.check
function check.number_between(least, most)
  return function(value)
    if type(value) == "number" and value >= least and value <= most then return value end
    return nil, ("a number from %g to %g expected, got %s"):format(least, most, tostring(value))
  end
end

---Something to call it by, which has to be seen.
function check.name(value)
  if type(value) == "string" and value:find "%S" then return value end
  return nil, "a name expected, got " .. tostring(value)
end

local function each(items, item_check)
  local copy = {}
  for key, item in pairs(items) do
    local checked, message = item_check(item)
    if message then return nil, ("%s: %s"):format(tostring(key), message) end
    copy[key] = checked
  end
  return copy
end

---@param item_check pintle.check
---@return pintle.check
function check.list_of(item_check)
  return function(value)
    if type(value) ~= "table" then return nil, "a list expected, got " .. type(value) end
    local n = 0
    for _ in pairs(value) do n = n + 1 end
    if n ~= #value then return nil, "a list expected, without holes and names" end
    return each(value, item_check)
  end
end

---@param item_check pintle.check
---@return pintle.check
function check.map_of(item_check)
  return function(value)
    if type(value) ~= "table" then return nil, "table expected, got " .. type(value) end
    for key in pairs(value) do
      if type(key) ~= "string" then return nil, "names expected, got " .. tostring(key) end
    end
    return each(value, item_check)
  end
end

---Options by name, each with its check. A name that is not there is a mistake.
---@param checks table<string, pintle.check>
---@return pintle.check
function check.options(checks)
  return function(value)
    if type(value) ~= "table" then return nil, "table expected, got " .. type(value) end
    local settled = {}
    for name, option in pairs(value) do
      if not checks[name] then return nil, ("no option %q"):format(tostring(name)) end
      local checked, message = checks[name](option)
      if message then return nil, ("%s: %s"):format(name, message) end
      settled[name] = checked
    end
    return settled
  end
end

return check
