-- Filters that write texts in other alphabets: URLs and base64.

local errors = require "liquid.errors"
local text = require "liquid.text"

local to_s = text.to_s
local gsub, byte, char, format, sub = string.gsub, string.byte, string.char, string.format, string.sub

local function percent(character) return format("%%%02X", byte(character)) end

local function url_encode(shown)
  return (gsub(gsub(shown, "[^%w%-._~ ]", percent), " ", "+"))
end

local function from_hex(digits) return char(tonumber(digits, 16)) end

local function url_decode(shown)
  local decoded = gsub(gsub(shown, "+", " "), "%%(%x%x)", from_hex)
  if not utf8.len(decoded) then return errors.argument("invalid byte sequence in UTF-8") end
  return decoded
end

local ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

local function alphabet(last_two)
  local letters, codes = {}, {}
  local all = ALPHABET .. last_two
  for i = 1, 64 do
    local letter = sub(all, i, i)
    letters[i - 1], codes[letter] = letter, i - 1
  end
  return { letters = letters, codes = codes }
end

local plain, url_safe = alphabet("+/"), alphabet("-_")

local function encoder(letters)
  return function(shown)
    local pieces = {}
    for i = 1, #shown, 3 do
      local a, b, c = byte(shown, i, i + 2)
      local bits = a << 16 | (b or 0) << 8 | (c or 0)
      pieces[#pieces + 1] = letters[bits >> 18] .. letters[bits >> 12 & 63]
        .. (b and letters[bits >> 6 & 63] or "=") .. (c and letters[bits & 63] or "=")
    end
    return table.concat(pieces)
  end
end

-- The bytes of four letters; nil if they have bits that are in no byte.
local function four(codes, group)
  local bits, count = 0, 0
  for letter in group:gmatch("[^=]") do
    bits, count = bits << 6 | codes[letter], count + 1
  end
  bits = bits << 6 * (4 - count)
  if count < 4 and bits & (1 << 8 * (4 - count)) - 1 ~= 0 then return nil end
  return sub(char(bits >> 16, bits >> 8 & 255, bits & 255), 1, count - 1)
end

local function invalid_base64(name)
  return errors.argument("invalid base64 provided to " .. name)
end

local function decode(shown, name)
  if #shown % 4 ~= 0 or not shown:find("^[%w+/]*=?=?$") then return invalid_base64(name) end
  local pieces = {}
  for i = 1, #shown, 4 do
    local group = sub(shown, i, i + 3)
    local bytes = not group:find("^.?=") and four(plain.codes, group)
    if not bytes then return invalid_base64(name) end
    pieces[#pieces + 1] = bytes
  end
  return table.concat(pieces)
end

local function base64_decode(shown) return decode(shown, "base64_decode") end

-- The alphabet of URLs, or the plain one; the padding may be missing, but not half of it.
local function base64_url_safe_decode(shown)
  if sub(shown, -1) ~= "=" then shown = shown .. ("="):rep(-#shown % 4) end
  return decode((gsub(shown, "[-_]", { ["-"] = "+", ["_"] = "/" })), "base64_url_safe_decode")
end

local function on_text(change, nothing)
  return function(ctx, input)
    if input == nil and nothing then return nil end
    local shown, err = to_s(input, ctx)
    if err then return nil, err end
    return change(shown)
  end
end

return function(define)
  define("url_encode", 0, 0, on_text(url_encode, true))
  define("url_decode", 0, 0, on_text(url_decode, true))
  define("base64_encode", 0, 0, on_text(encoder(plain.letters)))
  define("base64_url_safe_encode", 0, 0, on_text(encoder(url_safe.letters)))
  define("base64_decode", 0, 0, on_text(base64_decode))
  define("base64_url_safe_decode", 0, 0, on_text(base64_url_safe_decode))
end
