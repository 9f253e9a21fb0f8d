-- Takes space off the ends of a text, a NUL too, as Ruby does. In time that grows with the text and no faster.

local space = {}

local find, sub, match = string.find, string.sub, string.match

-- As much of a long text as is looked at first: most have little space at their end.
local SHORT, TAIL = 120, 24

---@param text string
---@return string
function space.lstrip(text)
  local first = find(text, "[^%s%z]")
  if first == 1 then return text end
  return first and sub(text, first) or ""
end

---@param text string
---@return string
function space.rstrip(text)
  local length = #text
  if length <= SHORT then return match(text, "^.*[^%s%z]") or "" end
  local from = length - TAIL + 1
  local first = find(text, "[%s%z]*$", from)
  if first > length then return text end
  if first > from then return sub(text, 1, first - 1) end
  return match(text, "^.*[^%s%z]") or ""
end

---@param text string
---@return string
function space.strip(text)
  return space.rstrip(space.lstrip(text))
end

return space
