-- Lines from a person at a terminal: edited, completed by Tab, and never disturbed by what is printed meanwhile.

local columns_of = require "pintle.cli.columns"
local core = require "pintle.core"
local editors = require "pintle.cli.run.editor"
local keys = require "pintle.cli.run.keys"
local searches = require "pintle.cli.run.search"
local width = require "pintle.cli.run.width"

local MARK = "pintle> "
local CLEAR_LINE, CLEAR_SCREEN = "\r\27[K", "\27[H\27[2J"
local GAP = 2

---@class pintle.cli.run.prompt
---@field complete fun(left: string): string[], integer candidates for what ends there, and where that begins
local methods = {}

local metatable = { __name = "pintle.cli.run.prompt", __index = methods }

-- {====== Drawing ======

-- A terminal may not know how wide it is.
local function columns()
  local told = core.columns(1)
  return told and told > 0 and told or 80
end

-- What stands before the line; whoever searches sees what for.
local function mark_of(self)
  return self.search and ("search %s> "):format(width.last(self.search.query, columns() // 3)) or MARK
end

-- Of a line that is too long the part around the cursor.
local function draw(self)
  local editor, mark = self.editor, mark_of(self)
  local room = math.max(columns() - width.of(mark) - 1, 1)
  local left = width.last(editor.left, math.max(room - width.of(editor.right), room // 2))
  local right = width.first(editor.right, room - width.of(left))
  local back = width.of(right)
  io.stdout:write(CLEAR_LINE, mark, left, right, back > 0 and ("\27[%dD"):format(back) or "")
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
  for _, text in ipairs(candidates) do widest = math.max(widest, width.of(text) + GAP) end
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

-- {====== Searching ======

local SEARCHING = {
  search = function(search) search:older() end,
  backspace = function(search) search:erase() end,
}

local function show_found(self) self.editor:replace(self.search:found() or self.before_search) end

local function begin_search(self)
  self.search, self.before_search = searches(self.editor.history), self.editor:text()
end

-- Whether the key belongs to the search. Any other ends it, with the line that was found.
local function search_takes(self, key, character)
  local search = self.search
  if not search then return false end
  if character then
    search:type(character)
  elseif SEARCHING[key] then
    SEARCHING[key](search)
  else
    self.search = nil
    if key ~= "give-up" then return false end
    self.editor:replace(self.before_search)
    return true
  end
  show_found(self)
  return true
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
  search = begin_search,
  clear = function() io.stdout:write(CLEAR_SCREEN) end,
}

-- Returns the outcome, if that is it.
local function handle(self, byte)
  local key, character = self.keys:feed(byte)
  if not key and not character then return nil end
  local outcome
  if search_takes(self, key, character) then
    outcome = nil
  elseif character then
    self.editor:insert(character)
  elseif ACTIONS[key] then
    outcome = ACTIONS[key](self)
  else
    self.editor:press(key)
  end
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
---@param history? string[] what was entered before; it grows
---@return pintle.cli.run.prompt
return function(input, complete_line, history)
  return setmetatable({
    input = input, complete = complete_line, editor = editors(history), keys = keys(), is_shown = false,
  }, metatable)
end
