-- Binary data, for which JSON has no form, as a value of its own.

local DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
local PIECE = 3 * 1024 -- bytes that are converted at a time

-- {====== Base64 ======

local pairs_of = {} -- the two digits of each 12 bits
local value_of = { [("="):byte()] = 0 } -- of a digit, by its byte; padding is as good as 0

for high = 0, 63 do
  value_of[DIGITS:byte(high + 1)] = high
  for low = 0, 63 do pairs_of[high << 6 | low] = DIGITS:sub(high + 1, high + 1) .. DIGITS:sub(low + 1, low + 1) end
end

-- Text and bytes are made piece by piece, so that no table gets large.
local function convert_base64_in_pieces(convert, text, size)
  local pieces = {}
  for first = 1, #text, size do pieces[#pieces + 1] = convert(text, first, math.min(first + size - 1, #text)) end
  return table.concat(pieces)
end

local function encode_base64_piece(data, first, last)
  local parts, n = {}, 0
  for at = first, last, 3 do
    local a, b, c = data:byte(at, at + 2)
    parts[n + 1], parts[n + 2] = pairs_of[a << 4 | b >> 4], pairs_of[(b & 15) << 8 | c]
    n = n + 2
  end
  return table.concat(parts, "", 1, n)
end

local function encode_base64(data)
  local padding = -#data % 3
  local text = convert_base64_in_pieces(encode_base64_piece, data .. ("\0"):rep(padding), PIECE)
  return text:sub(1, #text - padding) .. ("="):rep(padding)
end

local function decode_base64_piece(text, first, last)
  local parts, n = {}, 0
  for at = first, last, 4 do
    local a, b, c, d = text:byte(at, at + 3)
    local bits = value_of[a] << 18 | value_of[b] << 12 | value_of[c] << 6 | value_of[d]
    n = n + 1
    parts[n] = string.char(bits >> 16, bits >> 8 & 255, bits & 255)
  end
  return table.concat(parts, "", 1, n)
end

local function decode_base64(text)
  local padding = #text:match "=*$"
  local data = convert_base64_in_pieces(decode_base64_piece, text, PIECE * 4 // 3)
  return data:sub(1, #data - padding)
end

-- Any bits after the last byte must be 0. Otherwise encoding the bytes again would give another text.
local function is_base64(text)
  local digits, padding = text:match "^([%w+/]*)(=?=?)$"
  if not digits or #text % 4 ~= 0 then return false end
  return padding == "" or value_of[digits:byte(-1)] & (padding == "=" and 3 or 15) == 0
end

-- }======

---Bytes as a value of their own. `tostring` returns the string, `#` its length, and `==` compares the bytes. In JSON,
---and so for a schema, it is the object `{"$bytes": "<base64>"}`.
---@class pintle.bytes
local metatable = { __name = "pintle.bytes" }

function metatable:__tostring() return decode_base64(self["$bytes"]) end

function metatable:__len()
  local text = self["$bytes"]
  return #text // 4 * 3 - #text:match "=*$"
end

function metatable.__eq(one, other)
  return getmetatable(one) == getmetatable(other) and one["$bytes"] == other["$bytes"]
end

---@class pintle.bytes.module
local bytes = {}

-- Whether this program has made any bytes. If not, no value has to be searched for them.
bytes.were_made = false

local function new_from_base64(base64)
  bytes.were_made = true
  return setmetatable({ ["$bytes"] = base64 }, metatable)
end

-- The MIME types that were given. They are not part of the value, which has one member.
local given_types = setmetatable({}, { __mode = "k" })

local function check_mime_type(mime_type)
  if mime_type == nil then return end
  if type(mime_type) ~= "string" then error("bytes: a MIME type expected, got " .. type(mime_type), 3) end
  if not mime_type:find "^[^%s/]+/[^%s/]+" then error(("bytes: %q is no MIME type"):format(mime_type), 3) end
end

---@param data string
---@param mime_type? string such as "image/png"; default: recognised by the first bytes where it is needed
---@return pintle.bytes
function bytes.new(data, mime_type)
  if type(data) ~= "string" then error("bytes are made of a string, got " .. type(data), 2) end
  check_mime_type(mime_type)
  local value = new_from_base64(encode_base64(data))
  given_types[value] = mime_type
  return value
end

---Makes bytes from base64 text.
---@param text string
---@param mime_type? string
---@return pintle.bytes?, string? message
function bytes.from_base64(text, mime_type)
  if not is_base64(text) then return nil, "is not base64" end
  local value = new_from_base64(text)
  given_types[value] = mime_type
  return value
end

---@param value pintle.bytes
---@return string
function bytes.base64(value) return value["$bytes"] end

---@param value any
---@return boolean
function bytes.is(value) return getmetatable(value) == metatable end

---Makes bytes from the object that represents them, whose only member must be `$bytes`.
---@param object table
---@return pintle.bytes?, string? message
function bytes.from_object(object)
  local text = object["$bytes"]
  if type(text) ~= "string" then return nil, "$bytes: a string expected, got " .. type(text) end
  if next(object, next(object)) ~= nil then return nil, "$bytes: has to be the only member" end
  if not is_base64(text) then return nil, "$bytes: is not base64" end
  return new_from_base64(text)
end

-- {====== MIME types ======

local UNKNOWN_TYPE = "application/octet-stream"
local LONGEST_MARK = 12 -- bytes that identify the type

local MARKS = {
  { "^\x89PNG\r\n\x1A\n", "image/png" }, { "^\xFF\xD8\xFF", "image/jpeg" }, { "^GIF8[79]a", "image/gif" },
  { "^RIFF....WEBP", "image/webp" }, { "^RIFF....WAVE", "audio/wav" }, { "^ID3", "audio/mpeg" },
  { "^\xFF[\xE2\xE3\xF2\xF3\xFA\xFB]", "audio/mpeg" }, { "^OggS", "audio/ogg" }, { "^fLaC", "audio/flac" },
  { "^%%PDF%-", "application/pdf" },
}

---The MIME type: the given one, or the one recognised by the first bytes, or application/octet-stream.
---@param value pintle.bytes
---@return string
function bytes.mime_type(value)
  if given_types[value] then return given_types[value] end
  local text = value["$bytes"]
  local first = decode_base64(text:sub(1, LONGEST_MARK * 4 // 3))
  for _, mark in ipairs(MARKS) do
    if first:find(mark[1]) then return mark[2] end
  end
  return UNKNOWN_TYPE
end

-- }======

return bytes
