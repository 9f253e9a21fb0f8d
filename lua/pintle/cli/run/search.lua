-- Looking for something that was entered before: the last line that contains what is typed, and from there the ones
-- before it.

---@class pintle.cli.run.search
---@field query string
---@field place integer which line is shown; one behind the last if none is
local methods = {}

local metatable = { __name = "pintle.cli.run.search", __index = methods }

-- From this place to the oldest.
local function look(self, from)
  for place = math.min(from, #self.history), 1, -1 do
    local line = self.history[place]
    if line ~= self.history[self.place] and line:find(self.query, 1, true) then
      self.place = place
      return
    end
  end
end

---What is typed makes it longer; what is found already is kept if it still fits.
---@param text string
function methods:type(text)
  self.query = self.query .. text
  local shown = self.history[self.place]
  if not (shown and shown:find(self.query, 1, true)) then look(self, self.place) end
end

---Takes a character back, and looks again from the last line.
function methods:erase()
  self.query = self.query:sub(1, (utf8.offset(self.query, -1) or 1) - 1)
  self.place = #self.history + 1
  if self.query ~= "" then look(self, #self.history) end
end

---One that is older and another.
function methods:older()
  if self.query ~= "" then look(self, self.place - 1) end
end

---@return string? line nil as long as nothing fits
function methods:found()
  local line = self.history[self.place]
  return line and line:find(self.query, 1, true) and line or nil
end

---@param history string[]
---@return pintle.cli.run.search
return function(history) return setmetatable({ history = history, query = "", place = #history + 1 }, metatable) end
