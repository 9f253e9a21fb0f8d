-- Bytes that are no text: what JSON has no form for, in the form that dialects can agree on.

local DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
local PIECE = 3 * 1024 -- bytes that are turned into text at a time

-- {====== Base64 ======

local pairs_of = {} -- the two digits of each 12 bits
local value_of = {} -- what a digit stands for, by its byte

for high = 0, 63 do
  value_of[DIGITS:byte(high + 1)] = high
  for low = 0, 63 do pairs_of[high << 6 | low] = DIGITS:sub(high + 1, high + 1) .. DIGITS:sub(low + 1, low + 1) end
end

local function encode_piece(data, first, last)
  local parts, n = {}, 0
  for at = first, last - 2, 3 do
    local a, b, c = data:byte(at, at + 2)
    parts[n + 1], parts[n + 2] = pairs_of[a << 4 | b >> 4], pairs_of[(b & 15) << 8 | c]
    n = n + 2
  end
  return table.concat(parts, "", 1, n)
end

local function encode_rest(data, first)
  local a, b = data:byte(first, -1)
  if not a then return "" end
  if not b then return pairs_of[a << 4] .. "==" end
  return pairs_of[a << 4 | b >> 4] .. pairs_of[(b & 15) << 8]:sub(1, 1) .. "="
end

local function encode(data)
  local whole = #data - #data % 3
  local pieces = {}
  for first = 1, whole, PIECE do pieces[#pieces + 1] = encode_piece(data, first, math.min(first + PIECE - 1, whole)) end
  pieces[#pieces + 1] = encode_rest(data, whole + 1)
  return table.concat(pieces)
end

local function decode_piece(text, first, last)
  local parts, n = {}, 0
  for at = first, last, 4 do
    local a, b, c, d = text:byte(at, at + 3)
    local bits = value_of[a] << 18 | value_of[b] << 12 | value_of[c] << 6 | value_of[d]
    n = n + 1
    parts[n] = string.char(bits >> 16, bits >> 8 & 255, bits & 255)
  end
  return table.concat(parts, "", 1, n)
end

-- The last four characters, where they are padded.
local function decode_rest(digits)
  local a, b, c = digits:byte(1, -1)
  local bits = value_of[a] << 10 | value_of[b] << 4 | (c and value_of[c] >> 2 or 0)
  return string.pack(">I2", bits):sub(1, #digits - 1)
end

-- Bits behind the last byte would be lost, and the text could not be had back.
local function is_exact(digits)
  local last = value_of[digits:byte(-1)]
  if #digits == 2 then return last & 15 == 0 end
  return last & 3 == 0
end

local function is_base64(text)
  local digits, padding = text:match "^([%w+/]*)(=?=?)$"
  if not digits or #text % 4 ~= 0 then return false end
  return padding == "" or is_exact(digits:sub(-(4 - #padding)))
end

local function decode(text)
  local digits = text:match "^[^=]*"
  local whole = #digits - #digits % 4
  local pieces = {}
  for first = 1, whole, PIECE * 4 // 3 do
    pieces[#pieces + 1] = decode_piece(text, first, math.min(first + PIECE * 4 // 3 - 1, whole))
  end
  if #digits > whole then pieces[#pieces + 1] = decode_rest(digits:sub(whole + 1)) end
  return table.concat(pieces)
end

-- }======

---Bytes as a value of their own. `tostring` gives the string, `#` how long it is, and equal bytes are equal. For JSON,
---and so for a schema, it is the object `{"$bytes": "<base64>"}`.
---@class pintle.bytes
local metatable = { __name = "pintle.bytes" }

function metatable:__tostring() return decode(self["$bytes"]) end

function metatable:__len()
  local text = self["$bytes"]
  return #text // 4 * 3 - #text:match "=*$"
end

function metatable.__eq(one, other)
  return getmetatable(one) == getmetatable(other) and one["$bytes"] == other["$bytes"]
end

---@class pintle.bytes.module
local bytes = {}

-- Whether there are any bytes in this program. As long as there are none, no value has to be searched for them.
bytes.were_made = false

local function make(base64)
  bytes.were_made = true
  return setmetatable({ ["$bytes"] = base64 }, metatable)
end

---@param data string
---@return pintle.bytes
function bytes.new(data)
  if type(data) ~= "string" then error("bytes are made of a string, got " .. type(data), 2) end
  return make(encode(data))
end

---@param value any
---@return boolean
function bytes.is(value) return getmetatable(value) == metatable end

---Makes bytes of the object that stands for them, which has to have its one member.
---@param object table
---@return pintle.bytes?, string? message
function bytes.from_object(object)
  local text = object["$bytes"]
  if type(text) ~= "string" then return nil, "$bytes: a string expected, got " .. type(text) end
  if next(object, next(object)) ~= nil then return nil, "$bytes: has to be the only member" end
  if not is_base64(text) then return nil, "$bytes: is not base64" end
  return make(text)
end

return bytes
