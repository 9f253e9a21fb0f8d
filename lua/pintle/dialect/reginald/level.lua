-- Levels of the log, as Reginald writes them: a name, and how far above or below it, such as "WARN" or "info+2".

local NUMBERS = { TRACE = -8, DEBUG = -4, INFO = 0, WARN = 4, ERROR = 8 }

local level = {}

---@param text any
---@return integer? number the higher, the worse; nil if it is no level
function level.number(text)
  if type(text) ~= "string" then return nil end
  local name, offset = text:match "^(%a+)([+-]%d+)$"
  local number, more = NUMBERS[(name or text):upper()], math.tointeger(tonumber(offset or 0))
  return number and more and number + more
end

---@param number integer
---@return pintle.level
function level.name(number)
  if number < NUMBERS.INFO then return "debug" end
  if number < NUMBERS.WARN then return "info" end
  return number < NUMBERS.ERROR and "warn" or "error"
end

return level
