-- Lines from a person at a terminal: edited, completed by Tab, and never disturbed by what is printed meanwhile.

local columns_of = require "pintle.cli.columns"
local core = require "pintle.core"
local editors = require "pintle.cli.run.editor"
local keys = require "pintle.cli.run.keys"

local MARK = "pintle> "
local CLEAR_LINE, CLEAR_SCREEN = "\r\27[K", "\27[H\27[2J"
local GAP = 2

---@class pintle.cli.run.prompt
---@field complete fun(left: string): string[], integer candidates for what ends there, and where that begins
local methods = {}

local metatable = { __name = "pintle.cli.run.prompt", __index = methods }

-- {====== Drawing ======

local function width(text) return utf8.len(text) or #text end

-- A terminal may not know how wide it is.
local function columns()
  local told = core.columns(1)
  return told and told > 0 and told or 80
end

local function last(text, count)
  local at = count > 0 and utf8.offset(text, -count)
  if count <= 0 then return "" end
  return at and text:sub(at) or text
end

local function first(text, count)
  local at = utf8.offset(text, count + 1)
  return at and text:sub(1, at - 1) or text
end

-- Of a line that is too long the part around the cursor.
local function draw(self)
  local editor, room = self.editor, math.max(columns() - #MARK - 1, 1)
  local left = last(editor.left, math.max(room - width(editor.right), room // 2))
  local right = first(editor.right, room - width(left))
  local back = width(right)
  io.stdout:write(CLEAR_LINE, MARK, left, right, back > 0 and ("\27[%dD"):format(back) or "")
  io.stdout:flush()
end

---Takes the line away, so that something else can be printed.
function methods:hide()
  if not self.is_shown then return end
  io.stdout:write(CLEAR_LINE)
  io.stdout:flush()
end

---Puts it back.
function methods:show()
  if self.is_shown then draw(self) end
end

-- }======

-- {====== Completing ======

local function common_start(list)
  local start = list[1]
  for _, text in ipairs(list) do
    while text:sub(1, #start) ~= start do start = start:sub(1, -2) end
  end
  return start
end

local function list_candidates(candidates)
  local room, widest = columns(), 0
  for _, text in ipairs(candidates) do widest = math.max(widest, width(text) + GAP) end
  local in_row = math.max(room // widest, 1)
  local rows, heads = {}, {}
  for i, text in ipairs(candidates) do
    local row = (i - 1) // in_row + 1
    rows[row] = rows[row] or {}
    table.insert(rows[row], text)
  end
  for i = 1, in_row do heads[i] = "" end
  for i, line in ipairs(columns_of(heads, rows)) do
    if i > 1 then io.stdout:write(line, "\n") end
  end
end

local function complete(self)
  local editor = self.editor
  local candidates, start = self.complete(editor.left)
  if #candidates == 0 then return end
  local done = common_start(candidates)
  local begun = editor.left:sub(start)
  if #candidates == 1 and not done:find "=$" then done = done .. " " end
  if #done > #begun then
    editor:insert(done:sub(#begun + 1))
  elseif #candidates > 1 then
    io.stdout:write "\n"
    list_candidates(candidates)
  end
end

-- }======

local function finish(self, line)
  self.is_shown = false
  io.stdout:write "\n"
  io.stdout:flush()
  return line
end

-- What keys do that are about more than the line. What they return is the outcome of the whole.
local ACTIONS = {
  enter = function(self)
    self.editor:press "end"
    draw(self)
    return finish(self, self.editor:enter())
  end,
  ["end-or-delete"] = function(self)
    if self.editor:text() == "" then return finish(self, false) end
    self.editor:press "delete"
  end,
  interrupt = function(self)
    io.stdout:write "^C\n"
    self.editor:drop()
  end,
  tab = complete,
  clear = function() io.stdout:write(CLEAR_SCREEN) end,
}

-- Returns the outcome, if that is it.
local function handle(self, byte)
  local key, character = self.keys:feed(byte)
  if not key and not character then return nil end
  if character then self.editor:insert(character) end
  local outcome
  if ACTIONS[key] then outcome = ACTIONS[key](self) elseif key then self.editor:press(key) end
  if outcome == nil then draw(self) end
  return outcome
end

---Waits for a line.
---@return string? line nil at the end
function methods:read()
  self.is_shown = true
  draw(self)
  while true do
    local byte = self.input:next()
    if not byte then return finish(self, nil) end
    local line = handle(self, byte)
    if line ~= nil then return line or nil end
  end
end

---@param input pintle.cli.run.input
---@param complete_line fun(left: string): string[], integer
---@return pintle.cli.run.prompt
return function(input, complete_line)
  return setmetatable({ input = input, complete = complete_line, editor = editors(), keys = keys(), is_shown = false },
    metatable)
end
