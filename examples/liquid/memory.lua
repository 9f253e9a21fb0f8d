-- Remembers what markup means, so that what has been read before, in this template or another, is not read again.
--
-- It forgets what was not asked for lately: what is new goes into one table, and when that is full it takes the place
-- of the one before.

local memory = {}

-- Enough for the templates of a page. What is kept long only to be forgotten is what a collector is slowest with.
local MOST, LONGEST = 500, 200

local methods = {}
local metatable = { __name = "liquid.memory", __index = methods }

---@class liquid.memory
---@field new table<string, any>
---@field old table<string, any>
---@field count integer

---@return liquid.memory
function memory.new()
  return setmetatable({ new = {}, old = {}, count = 0 }, metatable)
end

---@param markup string
---@param meaning any
---@return any meaning
function methods:keep(markup, meaning)
  if #markup > LONGEST then return meaning end
  if self.count >= MOST then self.old, self.new, self.count = self.new, {}, 0 end
  self.new[markup], self.count = meaning, self.count + 1
  return meaning
end

---Keeps what was asked for again from being forgotten. Who asks often looks into `new` and `old` himself:
---`known.new[markup] or known.old[markup] and known:renew(markup)`.
---@param markup string one that is in `old`
---@return any meaning
function methods:renew(markup)
  return self:keep(markup, self.old[markup])
end

---One for each way of parsing.
---@return table<string, liquid.memory>
function memory.by_mode()
  return { strict2 = memory.new(), strict = memory.new(), lax = memory.new() }
end

return memory
