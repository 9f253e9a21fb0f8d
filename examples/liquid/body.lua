-- What stands between tags, in the order in which it is put out.
--
-- The parts of a body come in fours: a text or false; a function or false; where that stands in the source; and what it
-- is: false for the expression of an output, else a tag. So there is one table for all of them, and a text shares its
-- four with what follows it.

local rstrip = require "liquid.space".rstrip

local body = {}

---What a function in a body is, if it is no output: a tag, or a tag that shows nothing, not even its errors.
body.TAG, body.BLANK_TAG = 1, 2

---@class liquid.body
---@field template liquid.template
---@field parts any[]
---@field last integer where the last four begin; -3 if there are none
---@field count integer of texts, outputs and tags
---@field length integer the bytes of its texts
---@field blank boolean whether it can put out nothing but space
---@field interrupts boolean whether a break or continue may come out of it

---@param template liquid.template
---@return liquid.body
function body.new(template)
  return {
    template = template, last = -3, count = 0, length = 0, blank = true, interrupts = false,
    -- Room for two fours, which is what most bodies need.
    parts = { nil, nil, nil, nil, nil, nil, nil, nil },
  }
end

---Adds a text, a function, or both.
---@param self liquid.body
---@param text string|false
---@param call function|false
---@param position? integer
---@param kind? integer|false
function body.add(self, text, call, position, kind)
  local parts, last = self.parts, self.last + 4
  self.last = last
  -- One after the other: Lua would fill them from behind, and tables do not grow well that way.
  parts[last] = text
  parts[last + 1] = call
  parts[last + 2] = position or false
  parts[last + 3] = kind or false
  if text then
    self.length = self.length + #text
    if call then self.count = self.count + 2 return end
  end
  self.count = self.count + 1
end

---Takes the space off the end of what was added last, if that is a text.
---@param self liquid.body
function body.trim(self)
  local parts, last = self.parts, self.last
  local text = last > 0 and not parts[last + 1] and parts[last]
  if not text then return end
  parts[last] = rstrip(text)
  self.length = self.length - #text + #parts[last]
end

-- In a block that puts out nothing the space between its tags is not put out either.
local function drop_texts(self)
  local parts, count = self.parts, 0
  for i = 1, self.last, 4 do
    parts[i] = false
    if parts[i + 1] then count = count + 1 end
  end
  self.count, self.length = count, 0
end

---The body is complete.
---@param self liquid.body
---@param blank? boolean whether the block it belongs to puts out nothing
function body.seal(self, blank)
  if blank then drop_texts(self) end
end

return body
