-- Reads JSON and keeps the order of names, which Liquid shows: a hash is walked and printed as it was written.

local bigint = require "liquid.bigint"
local values = require "liquid.values"

local find, sub, match, byte = string.find, string.sub, string.match, string.byte

local MAX_DEPTH = 500

local escapes = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", ['"'] = '"', ["\\"] = "\\", ["/"] = "/" }

local function fail(at, message) error({ at = at, message = message }, 0) end

local function skip(text, at) return find(text, "[^ \t\r\n]", at) or #text + 1 end

-- A character written as \uXXXX, or as two of them.
local function unicode_escape(text, at)
  local code = tonumber(match(text, "^%x%x%x%x", at) or fail(at, "four hexadecimal digits expected"), 16)
  if code < 0xD800 or code > 0xDFFF then return utf8.char(code), at + 4 end
  local low = tonumber(match(text, "^\\u(%x%x%x%x)", at + 4) or "0", 16)
  if code > 0xDBFF or low < 0xDC00 or low > 0xDFFF then fail(at, "a lone surrogate") end
  return utf8.char(0x10000 + (code - 0xD800 << 10) + low - 0xDC00), at + 10
end

local function read_string(text, at)
  local stop = find(text, '["\\]', at + 1)
  if stop and byte(text, stop) == 34 then return sub(text, at + 1, stop - 1), stop + 1 end
  local pieces, from = {}, at + 1
  while true do
    if not stop then fail(at, "a string without an end") end
    pieces[#pieces + 1] = sub(text, from, stop - 1)
    if byte(text, stop) == 34 then return table.concat(pieces), stop + 1 end
    local letter = sub(text, stop + 1, stop + 1)
    if letter == "u" then
      pieces[#pieces + 1], from = unicode_escape(text, stop + 2)
    else
      pieces[#pieces + 1], from = escapes[letter] or fail(stop, "an unknown escape"), stop + 2
    end
    stop = find(text, '["\\]', from)
  end
end

local function read_number(text, at)
  local shown, after = match(text, "^(%-?%d+%.?%d*[eE]?[+-]?%d*)()", at)
  local value = shown and tonumber(shown)
  if not value then fail(at, "a value expected") end
  if find(shown, "[.eE]") then return value + 0.0, after end
  return math.type(value) == "integer" and value or bigint.parse(shown), after
end

local read_value

local function read_array(text, at, depth)
  local list, count = values.array(), 0
  at = skip(text, at + 1)
  if byte(text, at) == 93 then return list, at + 1 end
  while true do
    count = count + 1
    list[count], at = read_value(text, at, depth)
    at = skip(text, at)
    local code = byte(text, at)
    if code == 93 then return list, at + 1 end
    if code ~= 44 then fail(at, "a comma or ] expected") end
    at = skip(text, at + 1)
  end
end

local function read_object(text, at, depth)
  local hash, names = {}, {}
  at = skip(text, at + 1)
  if byte(text, at) == 125 then return hash, at + 1 end
  while true do
    if byte(text, at) ~= 34 then fail(at, "a name expected") end
    local name
    name, at = read_string(text, at)
    at = skip(text, at)
    if byte(text, at) ~= 58 then fail(at, "a colon expected") end
    local value
    value, at = read_value(text, skip(text, at + 1), depth)
    if hash[name] == nil then names[#names + 1] = name end
    hash[name] = value
    at = skip(text, at)
    local code = byte(text, at)
    if code == 125 then return values.ordered(hash, names), at + 1 end
    if code ~= 44 then fail(at, "a comma or } expected") end
    at = skip(text, at + 1)
  end
end

local words = { t = { "true", true }, f = { "false", false }, n = { "null", values.null } }

function read_value(text, at, depth)
  if depth > MAX_DEPTH then fail(at, "nested too deep") end
  local letter = sub(text, at, at)
  if letter == '"' then return read_string(text, at) end
  if letter == "{" then return read_object(text, at, depth + 1) end
  if letter == "[" then return read_array(text, at, depth + 1) end
  local word = words[letter]
  if word then
    if sub(text, at, at + #word[1] - 1) ~= word[1] then fail(at, "a value expected") end
    return word[2], at + #word[1]
  end
  return read_number(text, at)
end

---@param text string
---@return any value, string? message nil and what is wrong
return function(text)
  local ok, value, after = pcall(read_value, text, skip(text, 1), 0)
  if not ok then
    if type(value) ~= "table" then error(value, 0) end
    return nil, "byte " .. value.at .. ": " .. value.message
  end
  local rest = skip(text, after)
  if rest <= #text then return nil, "byte " .. rest .. ": the end expected" end
  return value
end
