-- Something a plugin said, or the host has to say of it.

local core = require "pintle.core"
local errors = require "pintle.error"

local DATA_LIMIT = 2000 -- bytes of data on a line

---@class pintle.entry `tostring` makes a readable line
---@field level pintle.level
---@field plugin string
---@field source "log"|"stderr"|"stdout"|"host" how it came: a log message, a line of stderr, noise, the host itself
---@field message string
---@field data any
---@field time integer as of os.time
local metatable = { __name = "pintle.entry" }

local entries = {}

---What a plugin says, as a part of a line for a terminal.
---@param text string
---@return string
function entries.harmless(text) return errors.harmless(text, "\t") end
local harmless = entries.harmless

local function data_text(data)
  if data == nil then return "" end
  local ok, text = pcall(core.json.encode, data)
  if not ok then text = tostring(data) end
  if #text > DATA_LIMIT then text = text:sub(1, DATA_LIMIT) .. "…" end
  return " " .. text
end

---Who said it, what was said, and the data, as they are shown.
---@param entry pintle.entry
---@return string who, string message, string data
function entries.parts(entry)
  local mark = entry.source ~= "log" and entry.source ~= "host" and " " .. entry.source .. "|" or ":"
  return harmless(entry.plugin) .. mark, harmless(entry.message), harmless(data_text(entry.data))
end

function metatable.__tostring(entry)
  local who, message, data = entries.parts(entry)
  return ("%-5s %s %s%s"):format(entry.level, who, message, data)
end

---@param entry table all but its time
---@return pintle.entry
function entries.new(entry)
  entry.time = os.time()
  return setmetatable(entry, metatable)
end

return entries
