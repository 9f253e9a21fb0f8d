-- Characters: Liquid counts and cuts text by them, not by bytes. In a text that is not UTF-8 every byte is one.

local unicode = {}

local sub, gsub, match, byte = string.sub, string.gsub, string.match, string.byte
local count_characters = utf8.len
local CHARACTER = "[%z\1-\x7F\xC2-\xF4][\x80-\xBF]*"

---How many characters a text has.
---@param text string
---@return integer
function unicode.length(text)
  return count_characters(text) or #text
end

---@param text string
---@return string the first character, "" of an empty text
function unicode.first(text)
  if (byte(text) or 0) < 0x80 or not count_characters(text) then return sub(text, 1, 1) end
  return match(text, "^" .. CHARACTER)
end

---@param text string
---@return string the last character, "" of an empty text
function unicode.last(text)
  if (byte(text, -1) or 0) < 0x80 or not count_characters(text) then return sub(text, -1) end
  return match(text, CHARACTER .. "$")
end

---@param text string
---@return string[]
function unicode.characters(text)
  local list, count = {}, 0
  local length = count_characters(text)
  if length and length < #text then
    for character in text:gmatch(CHARACTER) do
      count = count + 1
      list[count] = character
    end
  else
    for i = 1, #text do list[i] = sub(text, i, i) end
  end
  return list
end

---A part of a text.
---@param text string
---@param start integer characters before it
---@param length integer of characters
---@return string
function unicode.slice(text, start, length)
  if length <= 0 then return "" end
  local all = count_characters(text)
  if not all or all == #text then return sub(text, start + 1, start + length) end
  local first = utf8.offset(text, start + 1)
  if not first then return "" end
  local after = utf8.offset(text, length + 1, first)
  return sub(text, first, after and after - 1 or -1)
end

-- Whether there is nothing in a text that needs the letters beyond ASCII.
local function is_simple(text)
  local count = count_characters(text)
  return not count or count == #text
end

local function mapped(text, simple, name)
  if is_simple(text) then return simple(text) end
  return (gsub(simple(text), "[\xC2-\xF4][\x80-\xBF]+", require("liquid.case_pairs")[name]))
end

---@param text string
---@return string
function unicode.upcase(text)
  return mapped(text, string.upper, "upper")
end

---@param text string
---@return string
function unicode.downcase(text)
  return mapped(text, string.lower, "lower")
end

---The first character large, all others small.
---@param text string
---@return string
function unicode.capitalize(text)
  if is_simple(text) then return sub(text, 1, 1):upper() .. sub(text, 2):lower() end
  local first = unicode.first(text)
  local large = require("liquid.case_pairs").title[first] or unicode.upcase(first)
  return large .. unicode.downcase(sub(text, #first + 1))
end

return unicode
