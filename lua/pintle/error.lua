-- The one error object, for every failure of the outside world.

---@alias pintle.error.kind
---| "spawn"       the program could not be started
---| "timeout"     the deadline has passed
---| "cancelled"   the caller or the other side has cancelled it
---| "closed"      the conversation has ended
---| "protocol"    the other side has violated the protocol
---| "remote"      the other side answered with an error; `code` and `data` are from that answer
---| "invalid"     a value cannot be sent, or does not fit the schema
---| "requirement" a requirement, such as a program, is not met
---| "full"        a limit was reached

---How a process ended: one of the two.
---@class pintle.exit
---@field code? integer
---@field signal? string its name without SIG

---@class pintle.error
---@field kind pintle.error.kind
---@field message string
---@field code? integer of a JSON-RPC error
---@field data? any of a JSON-RPC error
---@field exit? pintle.exit how the other side ended
---@field stderr? string[] its last lines
---@field noise? string the malformed input that it sent
---@field elapsed? number seconds that were spent
---@field errno? integer the error number of the system, if there is one

local metatable = { __name = "pintle.error" }

---@class pintle.error.module
local errors = {}

-- Control characters of Unicode: C1, and those that change the direction in which a text is shown.
local CONTROLS = { "\xC2[\x80-\x9F]", "\xD8\x9C", "\xE2\x80[\x8E\x8F\xAA-\xAE]", "\xE2\x81[\xA6-\xA9]" }

---A received text without control characters, which could steer a terminal or disguise the text.
---@param text string
---@param kept? string control characters of ASCII that may stay
---@param mark? string that stands for each of the others; default: "?"
---@return string
function errors.harmless(text, kept, mark)
  mark = mark or "?"
  text = text:gsub("%c", function(sign) return not (kept and kept:find(sign, 1, true)) and mark or nil end)
  for _, pattern in ipairs(CONTROLS) do text = text:gsub(pattern, mark) end
  return text
end

---One line to print, whatever the other side has sent.
function metatable.__tostring(err)
  local line = errors.harmless(tostring(err.message), nil, " "):gsub("%s+", " ")
  if err.kind == "remote" and err.code then line = ("%s (code %s)"):format(line, err.code) end
  return line
end

---@param kind pintle.error.kind
---@param message string
---@param fields? table further fields
---@return pintle.error
function errors.new(kind, message, fields)
  if not fields then return setmetatable({ kind = kind, message = message }, metatable) end
  local err = {}
  for name, value in pairs(fields) do err[name] = value end
  err.kind, err.message = kind, message
  return setmetatable(err, metatable)
end

---@param value any
---@return boolean
function errors.is(value) return getmetatable(value) == metatable end

---The text of a value that was raised or returned as an error. It never raises.
---@param value any
---@return string
function errors.text(value)
  local is_plain = type(value) == "table" and not getmetatable(value)
  if is_plain and type(value.message) == "string" then return value.message end
  local ok, text = pcall(tostring, value)
  return ok and text or "an error that cannot be shown"
end

---"status 3", "signal KILL"
---@param exit pintle.exit
---@return string
function errors.describe_exit(exit)
  if exit.signal then return "signal " .. exit.signal end
  return "status " .. exit.code
end

return errors
