-- How compiling ends early: raised where something is wrong, caught where compiling began.

local lazy = require "pintle.lazy"

local words = lazy "pintle.schema.words"

local refusal_mt = { __name = "pintle.schema.refusal" }

---@class pintle.schema.refusal
local refusal = {}

---@param path string JSON pointer to the place in the schema
---@param reason string
function refusal.raise(path, reason)
  local place = path == "" and "the root" or words.shorten(path, 200)
  error(setmetatable({ message = ("schema at %s: %s"):format(place, reason) }, refusal_mt), 0)
end

---@generic T
---@param build fun(...): T
---@return T?, string? message
function refusal.catch(build, ...)
  local ok, result = pcall(build, ...)
  if ok then return result end
  if getmetatable(result) == refusal_mt then return nil, result.message end
  error(result, 0)
end

return refusal
