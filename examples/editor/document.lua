-- A text that is edited by line and character, both counted from 0. Characters are code points. The position after the
-- last character of a line is valid.

---@class document
---@field lines string[]
---@field cursor position
local methods = {}

local metatable = { __index = methods }

local document = {}

---@alias position { line: integer, character: integer }

local function split(text)
  local lines = {}
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
  return lines
end

-- The byte of a position, or nil and a message.
local function locate(self, position)
  local line = self.lines[position.line + 1]
  if not line then
    return nil, ("line %d is outside of the text, whose last line is %d"):format(position.line, #self.lines - 1)
  end
  local byte = utf8.offset(line, position.character + 1)
  if byte then return byte end
  return nil, ("character %d is outside of line %d, which has %d"):format(position.character, position.line,
    utf8.len(line))
end

local function is_before(one, other)
  if one.line ~= other.line then return one.line < other.line end
  return one.character < other.character
end

-- Replaces the lines from `first` to `last`.
local function splice(lines, first, last, new)
  local rest = table.move(lines, last + 1, #lines, 1, {})
  for i = #lines, first, -1 do lines[i] = nil end
  table.move(new, 1, #new, first, lines)
  table.move(rest, 1, #rest, first + #new, lines)
end

---@param position position
---@return true?, string? message
function methods:move(position)
  local byte, message = locate(self, position)
  if not byte then return nil, message end
  self.cursor = { line = position.line, character = position.character }
  return true
end

---Replaces the text between two positions, and moves the cursor to the end of the new text.
---@param from position
---@param to position
---@param text string
---@return true?, string? message
function methods:replace(from, to, text)
  local first, last, message
  first, message = locate(self, from)
  if not first then return nil, message end
  last, message = locate(self, to)
  if not last then return nil, message end
  if is_before(to, from) then return nil, "the range ends before it begins" end
  local tail = self.lines[to.line + 1]:sub(last)
  local new = split(self.lines[from.line + 1]:sub(1, first - 1) .. text)
  self.cursor = { line = from.line + #new - 1, character = utf8.len(new[#new]) }
  new[#new] = new[#new] .. tail
  splice(self.lines, from.line + 1, to.line + 1, new)
  return true
end

---@return string
function methods:text() return table.concat(self.lines, "\n") end

---@param text string
---@return document
function document.new(text)
  return setmetatable({ lines = split(text), cursor = { line = 0, character = 0 } }, metatable)
end

return document
