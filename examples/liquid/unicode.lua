-- Characters: Liquid counts and cuts text by them, not by bytes.

local case_pairs = require "liquid.case_pairs"

local unicode = {}

local sub, gsub, match = string.sub, string.gsub, string.match
local count_characters = utf8.len
local CHARACTER = "[%z\1-\x7F\xC2-\xF4][\x80-\xBF]*"

---How many characters a text has.
---@param text string
---@return integer
function unicode.length(text)
  return count_characters(text) or select(2, gsub(text, "[^\x80-\xBF]", ""))
end

---@param text string
---@return string the first character, "" of an empty text
function unicode.first(text)
  return match(text, "^" .. CHARACTER) or sub(text, 1, 1)
end

---@param text string
---@return string the last character, "" of an empty text
function unicode.last(text)
  return match(text, "[%z\1-\x7F\xC2-\xF4][\x80-\xBF]*$") or sub(text, -1)
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

local function mapped(text, simple, map)
  if count_characters(text) == #text then return simple(text) end
  return (gsub(simple(text), "[\xC2-\xF4][\x80-\xBF]+", map))
end

---@param text string
---@return string
function unicode.upcase(text)
  return mapped(text, string.upper, case_pairs.upper)
end

---@param text string
---@return string
function unicode.downcase(text)
  return mapped(text, string.lower, case_pairs.lower)
end

---The first character large, all others small.
---@param text string
---@return string
function unicode.capitalize(text)
  local first = unicode.first(text)
  local large = case_pairs.title[first] or unicode.upcase(first)
  return large .. unicode.downcase(sub(text, #first + 1))
end

return unicode
