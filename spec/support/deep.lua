-- Compares values exactly: integers differ from floats, -0.0 from 0.0, arrays from objects.
local json = require("pintle.core").json

local function bits(number)
  return math.type(number) == "integer" and "i" .. number or "f" .. string.pack(">d", number)
end

local function equal(a, b)
  if type(a) ~= type(b) then return false end
  if type(a) == "number" then return bits(a) == bits(b) end
  if type(a) ~= "table" then return a == b end
  if (getmetatable(a) == json.array_mt) ~= (getmetatable(b) == json.array_mt) then return false end
  for key, value in pairs(a) do
    if not equal(value, b[key]) then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end

return { equal = equal, bits = bits }
