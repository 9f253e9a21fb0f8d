-- How to speak of values, and of schemas, to people.

local values = require "pintle.schema.values"

---@class pintle.schema.words
local words = {}

---@param value any
---@return string kind a JSON type, or Lua's word for what JSON does not have
function words.kind(value)
  if value == nil then return "nothing" end
  if value == values.null then return "null" end
  if values.is_array(value) then return "array" end
  if type(value) == "table" then return "object" end
  if values.is_integer(value) then return "integer" end
  return type(value)
end

---@param text string
---@param most integer bytes
---@return string text that ends in ... where some of it is left out, never in the middle of a character
function words.shorten(text, most)
  if #text <= most then return text end
  local last = most - 3
  while last > 0 and text:byte(last + 1) & 0xC0 == 0x80 do last = last - 1 end
  return text:sub(1, last) .. "..."
end

local function escaped(byte) return ("\\x%02x"):format(byte:byte()) end

---@param text string
---@return string quoted printable, on one line, and never long
function words.quote(text)
  text = words.shorten(text, 60)
  if not utf8.len(text) then text = text:gsub("[\x80-\xff]", escaped) end
  return '"' .. text:gsub('[%c"\\]', escaped) .. '"'
end

---@param value any
---@return string text short, much like JSON
function words.brief(value)
  if type(value) == "string" then return words.quote(value) end
  if value == values.null then return "null" end
  if type(value) == "table" then return values.is_array(value) and "[...]" or next(value) and "{...}" or "{}" end
  return tostring(value)
end

---@param value any
---@return string text its kind, and what it is where that is short: `string "x"`
function words.describe(value)
  local kind = words.kind(value)
  if kind == "integer" and math.type(value) == "float" then kind = "number" end
  local plain = type(value) == "string" or type(value) == "number" or type(value) == "boolean"
  return plain and kind .. " " .. words.brief(value) or kind
end

---@param list string[]
---@param word string "or", "and"
---@return string text `a, b or c`
function words.enumerate(list, word)
  if #list < 2 then return list[1] or "" end
  return table.concat(list, ", ", 1, #list - 1) .. " " .. word .. " " .. list[#list]
end

return words
