-- A line that is being edited: what is before the cursor and what is behind it. It draws nothing.

---@class pintle.cli.run.editor
---@field left string
---@field right string
---@field history string[] what was entered before, the last at the end
---@field place integer? which of them is shown
---@field killed string? what was taken away last
local methods = {}

local metatable = { __name = "pintle.cli.run.editor", __index = methods }

local MOST_HISTORY = 1000

local function last_character(text) return utf8.offset(text, -1) or 1 end

local function set(self, text) self.left, self.right = text, "" end

-- Words are what stands between spaces, as for the rest of the prompt.
local function word_before(text) return text:match "%S*%s*$" end
local function word_behind(text) return text:match "^%s*%S*" end

-- What is taken away can be put back elsewhere.
local function kill(self, text)
  if text ~= "" then self.killed = text end
end

local function show_history(self, place)
  if place < 1 or place > #self.history + 1 then return end
  if not self.place then self.draft = self:text() end
  self.place = place
  set(self, self.history[place] or self.draft)
end

local KEYS = {
  left = function(self)
    if self.left == "" then return end
    local at = last_character(self.left)
    self.left, self.right = self.left:sub(1, at - 1), self.left:sub(at) .. self.right
  end,
  right = function(self)
    if self.right == "" then return end
    local after = utf8.offset(self.right, 2)
    self.left, self.right = self.left .. self.right:sub(1, after - 1), self.right:sub(after)
  end,
  home = function(self) self.left, self.right = "", self.left .. self.right end,
  ["end"] = function(self) set(self, self.left .. self.right) end,
  backspace = function(self)
    if self.left ~= "" then self.left = self.left:sub(1, last_character(self.left) - 1) end
  end,
  delete = function(self)
    if self.right ~= "" then self.right = self.right:sub(utf8.offset(self.right, 2)) end
  end,
  ["word-left"] = function(self)
    local word = word_before(self.left)
    self.left, self.right = self.left:sub(1, #self.left - #word), word .. self.right
  end,
  ["word-right"] = function(self)
    local word = word_behind(self.right)
    self.left, self.right = self.left .. word, self.right:sub(#word + 1)
  end,
  kill = function(self)
    kill(self, self.right)
    self.right = ""
  end,
  ["kill-back"] = function(self)
    kill(self, self.left)
    self.left = ""
  end,
  ["kill-word"] = function(self)
    local word = word_before(self.left)
    kill(self, word)
    self.left = self.left:sub(1, #self.left - #word)
  end,
  ["kill-next-word"] = function(self)
    local word = word_behind(self.right)
    kill(self, word)
    self.right = self.right:sub(#word + 1)
  end,
  yank = function(self) self.left = self.left .. (self.killed or "") end,
  up = function(self) show_history(self, (self.place or #self.history + 1) - 1) end,
  down = function(self)
    if self.place then show_history(self, self.place + 1) end
  end,
}

---@param key string one that keys.lua names; those that are not about the line do nothing
function methods:press(key)
  if KEYS[key] then KEYS[key](self) end
end

---@param text string
function methods:insert(text) self.left = self.left .. text end

---Another line in its place, with the cursor behind it.
---@param text string
function methods:replace(text) set(self, text) end

---@return string
function methods:text() return self.left .. self.right end

---Takes the line as it is, and begins the next.
---@return string
function methods:enter()
  local text = self:text()
  local history = self.history
  if text:find "%S" and history[#history] ~= text then history[#history + 1] = text end
  if #history > MOST_HISTORY then table.remove(history, 1) end
  self:drop()
  return text
end

---Begins anew, and forgets what was there.
function methods:drop()
  set(self, "")
  self.place, self.draft = nil, nil
end

---@param history? string[] what was entered before; it grows
---@return pintle.cli.run.editor
return function(history) return setmetatable({ left = "", right = "", history = history or {} }, metatable) end
