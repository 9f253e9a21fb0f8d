-- Which values JSON Schema holds for equal: 1 and 1.0 are, 1 and true are not, the order of names does not matter.

local values = require "pintle.schema.values"

---@class pintle.schema.equality
local equality = {}

local function equal_tables(a, b)
  if values.is_array(a) ~= values.is_array(b) then return false end
  for key, value in next, a do
    if not equality.equal(value, b[key]) then return false end
  end
  for key in next, b do
    if a[key] == nil then return false end
  end
  return true
end

---@param a any
---@param b any
---@return boolean
function equality.equal(a, b)
  if a == b then return true end
  return type(a) == "table" and type(b) == "table" and equal_tables(a, b)
end

local write

local function write_array(array, out, pay)
  out[#out + 1] = "["
  for i = 1, #array do write(array[i], out, pay) end
  out[#out + 1] = "]"
end

local function write_object(object, out, pay)
  out[#out + 1] = "{"
  for _, name in ipairs(values.sorted_names(object)) do
    write(name, out, pay)
    write(object[name], out, pay)
  end
  out[#out + 1] = "}"
end

-- Strings carry their length, so no text can look like the end of its container.
function write(value, out, pay)
  pay()
  if type(value) == "table" then return (values.is_array(value) and write_array or write_object)(value, out, pay) end
  if type(value) == "string" then
    out[#out + 1] = "s" .. #value .. ":" .. value
  elseif type(value) == "number" then
    local integer = math.tointeger(value)
    out[#out + 1] = integer and ("i%d;"):format(integer) or ("f%a;"):format(value)
  else
    out[#out + 1] = tostring(value) .. ";"
  end
end

---Text that two tables share if they are equal, and only then.
---@param value table
---@param pay fun() called for every value in it
---@return string
function equality.canonical(value, pay)
  local out = {}
  write(value, out, pay)
  return table.concat(out)
end

---The first two items that are equal, in time that grows with the items alone.
---@param array any[]
---@param pay fun() called for every value in the items that are tables
---@return integer? first, integer? second from 1
function equality.duplicates(array, pay)
  local scalars, tables = {}, {}
  for i = 1, #array do
    local item, seen = array[i], scalars
    if type(item) == "table" then item, seen = equality.canonical(item, pay), tables end
    if seen[item] then return seen[item], i end
    if item == item then seen[item] = i end
  end
end

return equality
