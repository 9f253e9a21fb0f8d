-- Text on a terminal: the columns that it takes, and its wrapping.

local text = {}

-- {====== Width ======

-- Columns of characters: two for wide East Asian characters and emoji, none for combining marks. The ranges are whole
-- blocks of Unicode, which is as exact as terminals agree.
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

---@param line string
---@return integer columns
function text.width(line)
  if not utf8.len(line) then return #line end
  local columns = 0
  for _, code in utf8.codes(line) do columns = columns + of_code(code) end
  return columns
end

---The longest beginning of a line that fits; the line is valid UTF-8.
---@param line string
---@param columns integer
---@return string
function text.first_columns(line, columns)
  for at, code in utf8.codes(line) do
    columns = columns - of_code(code)
    if columns < 0 then return line:sub(1, at - 1) end
  end
  return line
end

---The longest end of a line that fits; the line is valid UTF-8.
---@param line string
---@param columns integer
---@return string
function text.last_columns(line, columns)
  local over = text.width(line) - columns
  if over <= 0 then return line end
  for at, code in utf8.codes(line) do
    if over <= 0 and of_code(code) > 0 then return line:sub(at) end
    over = over - of_code(code)
  end
  return ""
end

-- }======

-- {====== Wrapping ======

-- Splits a word that is wider than a line. Words of ASCII alone, such as an address, stay whole.
local function add_pieces(words, word, columns)
  while word:find "[\x80-\xFF]" and utf8.len(word) and text.width(word) > columns do
    local piece = text.first_columns(word, columns)
    if piece == "" then break end
    words[#words + 1] = piece
    word = word:sub(#piece + 1)
  end
  words[#words + 1] = word
end

local function wrap_line(lines, line, columns)
  local indent = line:match "^ *":sub(1, columns // 2)
  local hanging = indent .. (" "):rep(#(line:match "^ *([-*+] +)" or line:match "^ *(%d+[.)] +)" or ""))
  local room, words = columns - #hanging, {}
  for word in line:gmatch "%S+" do add_pieces(words, word, room) end
  local current = words[1] and indent .. table.remove(words, 1) or ""
  local width = text.width(current)
  for _, word in ipairs(words) do
    local more = text.width(word)
    if width + 1 + more > columns then
      lines[#lines + 1] = current
      current, width = hanging .. word, #hanging + more
    else
      current, width = current .. " " .. word, width + 1 + more
    end
  end
  lines[#lines + 1] = current
end

---Wraps text at spaces. Line ends and indentation stay; the text of a list item stays right of its mark.
---@param given string
---@param columns integer
---@return string[] lines
function text.wrap(given, columns)
  local lines = {}
  for line in (given:gsub("%s+$", "") .. "\n"):gmatch "([^\n]*)\n" do
    wrap_line(lines, line:gsub("[\t\r]", " "), math.max(columns, 1))
  end
  return lines
end

-- }======

return text
