-- The prompt of `pintle run`: a line editor with completion, history and search. Other output goes above the line.

local consoles = require "pintle.cli.console"
local core = require "pintle.core"
local lfs = require "lfs"
local terminal = require "pintle.cli.run.terminal"
local texts = require "pintle.cli.text"

local prompts = {}

-- {====== History: kept between runs in a file that only its owner can read, oldest line first. The prompt also works
-- if the file cannot be read or written ======

local MAX_LINES = 1000 -- of the history
local MAX_LINE = 4096 -- bytes; longer lines are not saved
local MAX_FILE = 1 << 20 -- bytes read from the end of the file
local SLACK = 2 -- the file is rewritten when it has more lines than MAX_LINES times this

---@class pintle.cli.run.history
---@field lines string[] oldest first
local history_methods = {}

local history_metatable = { __name = "pintle.cli.run.history", __index = history_methods }

local function directory_of(name, fallback)
  local path = os.getenv(name)
  if path and path:sub(1, 1) == "/" then return path end
  local home = os.getenv "HOME"
  return home and home:sub(1, 1) == "/" and home .. fallback or nil
end

---The path of the file: `PINTLE_HISTORY`, or below the XDG directory for state.
---@return string? path nil if `PINTLE_HISTORY` is empty or there is no home directory
function prompts.history_path()
  local path = os.getenv "PINTLE_HISTORY"
  if path then return path ~= "" and path or nil end
  local folder = directory_of("XDG_STATE_HOME", "/.local/state")
  return folder and folder .. "/pintle/history"
end

-- Permissions are set before anything is written: no other user may read it, not even for a moment.
local PREPARE = [[umask 077 && mkdir -p -- "$(dirname -- "$1")" && : >> "$1" && chmod 600 -- "$1"]]

local function prepare_file(path)
  local process <close> = core.spawn {
    command = { "sh", "-c", PREPARE, "sh", path }, stdin = "null", stdout = "null", stderr = "null",
  }
  return process and process:wait(5) == 0
end

local function is_private(path)
  local attributes = lfs.attributes(path)
  return attributes and attributes.mode == "file" and attributes.permissions == "rw-------"
end

-- An existing path that is not a regular file, such as /dev/null, is left alone.
local function may_prepare(path) return (lfs.attributes(path, "mode") or "file") == "file" end

local function open_private(path, mode)
  if not is_private(path) and not (may_prepare(path) and prepare_file(path)) then return nil end
  return is_private(path) and io.open(path, mode)
end

local function is_line(text) return #text <= MAX_LINE and utf8.len(text) and not text:find "[%c\127]" end

-- The lines, and whether the file has more than was read.
local function read_lines(path)
  local lines = {}
  if lfs.attributes(path, "mode") ~= "file" then return lines, false end
  local file <close> = io.open(path)
  if not file then return lines, false end
  local is_long = file:seek "end" > MAX_FILE
  file:seek(is_long and "end" or "set", is_long and -MAX_FILE or 0)
  if is_long then file:read "l" end -- this line may be incomplete
  for line in file:lines() do
    if is_line(line) then lines[#lines + 1] = line end
  end
  return lines, is_long
end

-- Writes a new file and renames it, so that readers see either the old or the new one.
local function rewrite_file(path, lines)
  local temporary = path .. ".new"
  local file <close> = open_private(temporary, "w")
  if not file then return end
  local ok = file:write(table.concat(lines, "\n"), "\n") and file:flush()
  if ok then os.rename(temporary, path) else os.remove(temporary) end
end

---Appends a line in one write: several prompts may share the file.
---@param line string
function history_methods:keep(line)
  if not self.path or line == self.last or not is_line(line) then return end
  local file <close> = open_private(self.path, "a")
  if not file then return end
  file:write(line, "\n")
  self.last = line
end

local function last_lines(lines, count)
  return table.move(lines, math.max(#lines - count + 1, 1), #lines, 1, {})
end

---@param path? string nil saves nothing
---@return pintle.cli.run.history
function prompts.new_history(path)
  local lines, is_long = {}, false
  if path then lines, is_long = read_lines(path) end
  local kept = last_lines(lines, MAX_LINES)
  if is_long or #lines > MAX_LINES * SLACK then rewrite_file(path, kept) end
  return setmetatable({ path = path, lines = kept, last = kept[#kept] }, history_metatable)
end

---@class pintle.cli.run.search
---@field query string
---@field place integer position of the line that is shown; one after the last if none is
local search_methods = {}

local search_metatable = { __name = "pintle.cli.run.search", __index = search_methods }

-- Searches from a position towards the oldest line.
local function search_back(self, from)
  for place = math.min(from, #self.history), 1, -1 do
    local line = self.history[place]
    if line ~= self.history[self.place] and line:find(self.query, 1, true) then
      self.place = place
      return
    end
  end
end

---Extends the query; the shown line is kept if it still matches.
---@param text string
function search_methods:type(text)
  self.query = self.query .. text
  local shown = self.history[self.place]
  if not (shown and shown:find(self.query, 1, true)) then search_back(self, self.place) end
end

---Deletes the last character of the query, and searches again from the newest line.
function search_methods:erase()
  self.query = self.query:sub(1, (utf8.offset(self.query, -1) or 1) - 1)
  self.place = #self.history + 1
  if self.query ~= "" then search_back(self, #self.history) end
end

---Shows the next older line that matches and differs.
function search_methods:older()
  if self.query ~= "" then search_back(self, self.place - 1) end
end

---@return string? line nil if no line matches
function search_methods:found()
  local line = self.history[self.place]
  return line and line:find(self.query, 1, true) and line or nil
end

---Starts a search: the newest line that contains the query is shown first.
---@param lines string[] oldest first
---@return pintle.cli.run.search
function prompts.new_search(lines)
  return setmetatable({ history = lines, query = "", place = #lines + 1 }, search_metatable)
end

-- }======

-- {====== The line being edited; this part draws nothing ======

---@class pintle.cli.run.editor
---@field left string
---@field right string
---@field history string[] lines entered before, oldest first
---@field place integer? position of the line of the history that is shown
---@field killed string? the text that was deleted last
local editor_methods = {}

local editor_metatable = { __name = "pintle.cli.run.editor", __index = editor_methods }

local function last_character(text) return utf8.offset(text, -1) or 1 end

local function set(self, text) self.left, self.right = text, "" end

-- Words are separated by spaces, as in the commands of the prompt.
local function word_before(text) return text:match "%S*%s*$" end
local function word_after(text) return text:match "^%s*%S*" end

-- Deleted text can be inserted again.
local function kill(self, text)
  if text ~= "" then self.killed = text end
end

local function show_history(self, place)
  if place < 1 or place > #self.history + 1 then return end
  if not self.place then self.draft = self:text() end
  self.place = place
  set(self, self.history[place] or self.draft)
end

local EDITING = {
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
    local word = word_after(self.right)
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
    local word = word_after(self.right)
    kill(self, word)
    self.right = self.right:sub(#word + 1)
  end,
  yank = function(self) self.left = self.left .. (self.killed or "") end,
  up = function(self) show_history(self, (self.place or #self.history + 1) - 1) end,
  down = function(self)
    if self.place then show_history(self, self.place + 1) end
  end,
}

---@param key string name of a key; keys that do not edit the line are ignored
function editor_methods:press(key)
  if EDITING[key] then EDITING[key](self) end
end

---@param text string
function editor_methods:insert(text) self.left = self.left .. text end

---Replaces the line, with the cursor at its end.
---@param text string
function editor_methods:replace(text) set(self, text) end

---@return string
function editor_methods:text() return self.left .. self.right end

---Returns the line, adds it to the history, and begins the next.
---@return string
function editor_methods:enter()
  local text = self:text()
  local history = self.history
  if text:find "%S" and history[#history] ~= text then history[#history + 1] = text end
  if #history > MAX_LINES then table.remove(history, 1) end
  self:drop()
  return text
end

---Clears the line.
function editor_methods:drop()
  set(self, "")
  self.place, self.draft = nil, nil
end

---@param history? string[] lines entered before; entered lines are appended
---@return pintle.cli.run.editor
function prompts.new_editor(history)
  return setmetatable({ left = "", right = "", history = history or {} }, editor_metatable)
end

-- }======

local MARK = "pintle> "
local CLEAR_LINE, CLEAR_SCREEN = "\r\27[K", "\27[H\27[2J"
local GAP = 2

---@class pintle.cli.run.prompt
---@field complete fun(left: string): string[], integer candidates, and the position where the completed word begins
local methods = {}

local metatable = { __name = "pintle.cli.run.prompt", __index = methods }

-- {====== Drawing ======

-- Some terminals report no width.
local function columns()
  local width = core.columns(1)
  return width and width > 0 and width or 80
end

-- The text before the line; during a search it shows the query.
local function mark_of(self)
  return self.search and ("search %s> "):format(texts.last_columns(self.search.query, columns() // 3)) or MARK
end

-- Of a line that is too long, the part around the cursor is shown.
local function draw(self)
  local editor, mark = self.editor, mark_of(self)
  local room = math.max(columns() - texts.width(mark) - 1, 1)
  local left = texts.last_columns(editor.left, math.max(room - texts.width(editor.right), room // 2))
  local right = texts.first_columns(editor.right, room - texts.width(left))
  local back = texts.width(right)
  io.stdout:write(CLEAR_LINE, mark, left, right, back > 0 and ("\27[%dD"):format(back) or "")
  io.stdout:flush()
end

---Removes the line from the screen, so that other output can be printed.
function methods:hide()
  if not self.is_shown then return end
  io.stdout:write(CLEAR_LINE)
  io.stdout:flush()
end

---Draws the line again.
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
  for _, text in ipairs(candidates) do widest = math.max(widest, texts.width(text) + GAP) end
  local in_row = math.max(room // widest, 1)
  local rows, heads = {}, {}
  for i, text in ipairs(candidates) do
    local row = (i - 1) // in_row + 1
    rows[row] = rows[row] or {}
    table.insert(rows[row], text)
  end
  for i = 1, in_row do heads[i] = "" end
  for i, line in ipairs(consoles.table_lines(heads, rows)) do
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
  self.search, self.before_search = prompts.new_search(self.editor.history), self.editor:text()
end

-- Whether the key belongs to the search. Any other key ends the search and keeps the line that was found.
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

-- Keys that do more than edit the line. A result other than nil ends the reading: the line, or false for the end of
-- input.
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

-- Returns the line if the key ends it, false at the end of input, else nil.
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
---@return string? line nil at the end of input
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
---@param history? string[] lines entered before; entered lines are appended
---@return pintle.cli.run.prompt
function prompts.new(input, complete_line, history)
  return setmetatable({
    input = input, complete = complete_line, editor = prompts.new_editor(history), keys = terminal.keys(),
    is_shown = false,
  }, metatable)
end

return prompts
