-- How many columns of a terminal a text takes: two for the wide characters of East Asia and for pictures, none for
-- marks that go on top of others. Ranges are whole blocks of Unicode, which is as exact as terminals agree.

local NONE = {
  { 0x0300, 0x036F }, { 0x0483, 0x0489 }, { 0x0591, 0x05BD }, { 0x0610, 0x061A }, { 0x064B, 0x065F },
  { 0x1AB0, 0x1AFF }, { 0x1DC0, 0x1DFF }, { 0x200B, 0x200F }, { 0x20D0, 0x20FF }, { 0xFE00, 0xFE0F },
  { 0xFE20, 0xFE2F }, { 0xE0100, 0xE01EF },
}
local TWO = {
  { 0x1100, 0x115F }, { 0x2E80, 0x303E }, { 0x3041, 0x4DBF }, { 0x4E00, 0xA4CF }, { 0xA960, 0xA97F },
  { 0xAC00, 0xD7A3 }, { 0xF900, 0xFAFF }, { 0xFE30, 0xFE6F }, { 0xFF01, 0xFF60 }, { 0xFFE0, 0xFFE6 },
  { 0x1F300, 0x1F64F }, { 0x1F680, 0x1F6FF }, { 0x1F900, 0x1F9FF }, { 0x1FA70, 0x1FAFF }, { 0x20000, 0x3FFFD },
}

local function is_in(ranges, code)
  for _, range in ipairs(ranges) do
    if code < range[1] then return false end
    if code <= range[2] then return true end
  end
  return false
end

local function of_code(code)
  if code < 0x0300 then return 1 end
  return is_in(TWO, code) and 2 or is_in(NONE, code) and 0 or 1
end

local width = {}

---@param text string
---@return integer columns
function width.of(text)
  if not utf8.len(text) then return #text end
  local columns = 0
  for _, code in utf8.codes(text) do columns = columns + of_code(code) end
  return columns
end

---As much of its beginning as fits.
---@param text string
---@param columns integer
---@return string
function width.first(text, columns)
  for at, code in utf8.codes(text) do
    columns = columns - of_code(code)
    if columns < 0 then return text:sub(1, at - 1) end
  end
  return text
end

---As much of its end as fits.
---@param text string
---@param columns integer
---@return string
function width.last(text, columns)
  local over = width.of(text) - columns
  if over <= 0 then return text end
  for at, code in utf8.codes(text) do
    if over <= 0 and of_code(code) > 0 then return text:sub(at) end
    over = over - of_code(code)
  end
  return ""
end

return width
