-- The prompt of `pintle run`: the terminal in raw mode, its keys, and a line editor with completion and search. Other
-- output goes above the line.

local consoles = require "pintle.cli.console"
local core = require "pintle.core"
local errors = require "pintle.error"
local histories = require "pintle.cli.run.history"
local loop = require "pintle.loop"

local prompts = {}

-- {====== Raw mode ======

local STTY_TIMEOUT = 5 -- seconds
-- Every key is delivered at once, Ctrl-C included, and nothing is echoed. `stty` is the portable way to set this.
local RAW_MODE = { "-icanon", "-echo", "-isig", "-ixon", "-iexten", "icrnl", "opost", "min", "1", "time", "0" }

-- stty has to be in the process group of this process: in the background it would be stopped.
local function run_stty(words)
  local process <close>, message, kind = core.spawn {
    command = { "stty", table.unpack(words) }, stdin = "inherit", group = false,
  }
  if not process then return nil, errors.new(kind, message) end
  local code = process:wait(STTY_TIMEOUT)
  if code ~= 0 then return nil, errors.new("spawn", "stty " .. table.concat(words, " ") .. " failed") end
  return process.stdout:read()
end

---Switches the terminal to raw mode; closing the result restores it.
---@return table?, pintle.error?
function prompts.raw_mode()
  local before, err = run_stty { "-g" }
  if not before then return nil, err end
  local ok
  ok, err = run_stty(RAW_MODE)
  if not ok then return nil, err end
  return setmetatable({}, { __close = function() run_stty { before:match "%S+" } end })
end

-- }======

-- {====== Standard input ======

local STDIN = 0
local MAX_AHEAD = 1 << 16 -- bytes kept while nothing reads; more are dropped

---@class pintle.cli.run.input
---@field on_interrupt? fun() called on Ctrl-C while nothing reads
local input_methods = {}

local input_metatable = { __name = "pintle.cli.run.input", __index = input_methods }

local function stop_watching_input(self)
  if self.is_watched then loop.unwatch(STDIN, self) end
  self.is_watched = false
end

-- A regular file cannot be watched, but reading it never blocks.
local function watch_input(self)
  if self.is_watched or self.is_plain then return end
  self.is_watched = loop.watch(STDIN, "r", self) ~= nil
  self.is_plain = not self.is_watched
end

local function take_input_byte(self, byte)
  if byte == nil then
    self.has_ended = true
    stop_watching_input(self)
  elseif byte == "\3" and self.on_interrupt then
    return self.on_interrupt()
  elseif #self.bytes - self.first < MAX_AHEAD then
    self.bytes[#self.bytes + 1] = byte
  end
  local event = self.event
  self.event = nil
  if event then event:set(true) end
end

---@private called by the loop
function input_methods:on_ready() take_input_byte(self, io.stdin:read(1)) end

local function take_buffered_byte(self)
  local byte = self.bytes[self.first]
  if not byte then
    self.bytes, self.first = {}, 1
    return nil
  end
  self.first = self.first + 1
  return byte
end

---Waits for the next byte.
---@return string|nil|false byte nil at the end of input, false if the wait was cancelled
function input_methods:next_byte()
  while true do
    local byte = take_buffered_byte(self)
    if byte then return byte end
    if self.has_ended then return nil end
    watch_input(self)
    if self.is_plain then
      take_input_byte(self, io.stdin:read(1))
    else
      self.event = loop.event()
      if not self.event:wait() then return false end
    end
  end
end

---Collects input while `fn` runs; Ctrl-C calls `on_interrupt`.
---@param on_interrupt fun()
---@param fn function
function input_methods:collect_during(on_interrupt, fn)
  self.on_interrupt = on_interrupt
  if not self.has_ended then watch_input(self) end
  local results = table.pack(pcall(fn))
  self.on_interrupt = nil
  if not results[1] then error(results[2], 0) end
  return table.unpack(results, 2, results.n)
end

---Stops collecting input until the next read.
input_methods.pause = stop_watching_input

input_metatable.__close = stop_watching_input

---@return pintle.cli.run.input
function prompts.new_input()
  io.stdin:setvbuf "no"
  return setmetatable({ bytes = {}, first = 1, is_watched = false }, input_metatable)
end

-- }======

-- {====== Keys ======

local CONTROL_KEYS = {
  ["\1"] = "home", ["\2"] = "left", ["\3"] = "interrupt", ["\4"] = "end-or-delete", ["\5"] = "end", ["\6"] = "right",
  ["\7"] = "give-up", ["\8"] = "backspace", ["\9"] = "tab", ["\10"] = "enter", ["\11"] = "kill", ["\12"] = "clear",
  ["\13"] = "enter", ["\14"] = "down", ["\16"] = "up", ["\18"] = "search", ["\21"] = "kill-back",
  ["\23"] = "kill-word", ["\25"] = "yank", ["\127"] = "backspace",
}

-- Sequences after ESC [ or ESC O.
local ESCAPE_SEQUENCES = {
  A = "up", B = "down", C = "right", D = "left", H = "home", F = "end", ["1~"] = "home", ["3~"] = "delete",
  ["4~"] = "end", ["7~"] = "home", ["8~"] = "end",
  ["1;5C"] = "word-right", ["1;5D"] = "word-left", ["1;3C"] = "word-right", ["1;3D"] = "word-left",
}

-- Bytes after a single ESC, which is how terminals send Alt.
local ALT_KEYS = {
  b = "word-left", f = "word-right", d = "kill-next-word", ["\8"] = "kill-word", ["\127"] = "kill-word",
}

---@class pintle.cli.run.keys
local key_methods = {}

local key_metatable = { __name = "pintle.cli.run.keys", __index = key_methods }

local function feed_escape_byte(self, byte)
  self.pending = self.pending .. byte
  local body = self.pending:match "^\27[%[O](.*)$"
  if not body then
    if #self.pending == 1 then return nil end
    self.pending = ""
    return ALT_KEYS[byte]
  end
  if not body:find "[@-~]$" then return nil end
  self.pending = ""
  return ESCAPE_SEQUENCES[body]
end

local function feed_character_byte(self, byte)
  self.pending = self.pending .. byte
  local first = self.pending:byte()
  local length = first < 0x80 and 1 or first < 0xE0 and 2 or first < 0xF0 and 3 or 4
  if #self.pending < length then return nil end
  local whole = self.pending
  self.pending = ""
  return nil, utf8.len(whole) and whole or nil
end

---@param byte string
---@return string? key, string? character
function key_methods:feed_byte(byte)
  if self.pending:sub(1, 1) == "\27" then return feed_escape_byte(self, byte) end
  if byte == "\27" then
    self.pending = byte
    return nil
  end
  if byte:find "%c" then
    self.pending = ""
    return CONTROL_KEYS[byte]
  end
  return feed_character_byte(self, byte)
end

---@return pintle.cli.run.keys
function prompts.new_keys() return setmetatable({ pending = "" }, key_metatable) end

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

local function last_utf8_character(text) return utf8.offset(text, -1) or 1 end

local function set_edited_line(self, text) self.left, self.right = text, "" end

-- Words are separated by spaces, as in the commands of the prompt.
local function word_before_cursor(text) return text:match "%S*%s*$" end
local function word_after_cursor(text) return text:match "^%s*%S*" end

-- Deleted text can be inserted again.
local function keep_deleted_text(self, text)
  if text ~= "" then self.killed = text end
end

local function show_history_line(self, place)
  if place < 1 or place > #self.history + 1 then return end
  if not self.place then self.draft = self:line_text() end
  self.place = place
  set_edited_line(self, self.history[place] or self.draft)
end

local EDITING_KEYS = {
  left = function(self)
    if self.left == "" then return end
    local at = last_utf8_character(self.left)
    self.left, self.right = self.left:sub(1, at - 1), self.left:sub(at) .. self.right
  end,
  right = function(self)
    if self.right == "" then return end
    local after = utf8.offset(self.right, 2)
    self.left, self.right = self.left .. self.right:sub(1, after - 1), self.right:sub(after)
  end,
  home = function(self) self.left, self.right = "", self.left .. self.right end,
  ["end"] = function(self) set_edited_line(self, self.left .. self.right) end,
  backspace = function(self)
    if self.left ~= "" then self.left = self.left:sub(1, last_utf8_character(self.left) - 1) end
  end,
  delete = function(self)
    if self.right ~= "" then self.right = self.right:sub(utf8.offset(self.right, 2)) end
  end,
  ["word-left"] = function(self)
    local word = word_before_cursor(self.left)
    self.left, self.right = self.left:sub(1, #self.left - #word), word .. self.right
  end,
  ["word-right"] = function(self)
    local word = word_after_cursor(self.right)
    self.left, self.right = self.left .. word, self.right:sub(#word + 1)
  end,
  kill = function(self)
    keep_deleted_text(self, self.right)
    self.right = ""
  end,
  ["kill-back"] = function(self)
    keep_deleted_text(self, self.left)
    self.left = ""
  end,
  ["kill-word"] = function(self)
    local word = word_before_cursor(self.left)
    keep_deleted_text(self, word)
    self.left = self.left:sub(1, #self.left - #word)
  end,
  ["kill-next-word"] = function(self)
    local word = word_after_cursor(self.right)
    keep_deleted_text(self, word)
    self.right = self.right:sub(#word + 1)
  end,
  yank = function(self) self.left = self.left .. (self.killed or "") end,
  up = function(self) show_history_line(self, (self.place or #self.history + 1) - 1) end,
  down = function(self)
    if self.place then show_history_line(self, self.place + 1) end
  end,
}

---@param key string name of a key; keys that do not edit the line are ignored
function editor_methods:press_key(key)
  if EDITING_KEYS[key] then EDITING_KEYS[key](self) end
end

---@param text string
function editor_methods:insert_text(text) self.left = self.left .. text end

---Replaces the line, with the cursor at its end.
---@param text string
function editor_methods:replace_line(text) set_edited_line(self, text) end

---@return string
function editor_methods:line_text() return self.left .. self.right end

---Returns the line, adds it to the history, and begins the next.
---@return string
function editor_methods:enter_line()
  local text = self:line_text()
  local history = self.history
  if text:find "%S" and history[#history] ~= text then history[#history + 1] = text end
  if #history > histories.MAX_LINES then table.remove(history, 1) end
  self:clear_edited_line()
  return text
end

---Clears the line.
function editor_methods:clear_edited_line()
  set_edited_line(self, "")
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
local function prompt_columns()
  local width = core.columns(1)
  return width and width > 0 and width or 80
end

-- The text before the line; during a search it shows the query.
local function prompt_mark(self)
  return self.search and ("search %s> "):format(consoles.last_columns(self.search.query, prompt_columns() // 3)) or MARK
end

-- Of a line that is too long, the part around the cursor is shown.
local function draw_prompt(self)
  local editor, mark = self.editor, prompt_mark(self)
  local room = math.max(prompt_columns() - consoles.text_width(mark) - 1, 1)
  local left = consoles.last_columns(editor.left, math.max(room - consoles.text_width(editor.right), room // 2))
  local right = consoles.first_columns(editor.right, room - consoles.text_width(left))
  local back = consoles.text_width(right)
  io.stdout:write(CLEAR_LINE, mark, left, right, back > 0 and ("\27[%dD"):format(back) or "")
  io.stdout:flush()
end

---Removes the line from the screen, so that other output can be printed.
function methods:hide_prompt()
  if not self.is_shown then return end
  io.stdout:write(CLEAR_LINE)
  io.stdout:flush()
end

---Draws the line again.
function methods:show_prompt()
  if self.is_shown then draw_prompt(self) end
end

-- }======

-- {====== Completing ======

local function common_candidate_start(list)
  local start = list[1]
  for _, text in ipairs(list) do
    while text:sub(1, #start) ~= start do start = start:sub(1, -2) end
  end
  return start
end

local function list_completion_candidates(candidates)
  local room, widest = prompt_columns(), 0
  for _, text in ipairs(candidates) do widest = math.max(widest, consoles.text_width(text) + GAP) end
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

local function complete_edited_word(self)
  local editor = self.editor
  local candidates, start = self.complete(editor.left)
  if #candidates == 0 then return end
  local done = common_candidate_start(candidates)
  local begun = editor.left:sub(start)
  if #candidates == 1 and not done:find "=$" then done = done .. " " end
  if #done > #begun then
    editor:insert_text(done:sub(#begun + 1))
  elseif #candidates > 1 then
    io.stdout:write "\n"
    list_completion_candidates(candidates)
  end
end

-- }======

-- {====== Searching ======

local SEARCH_KEYS = {
  search = function(search) search:find_older() end,
  backspace = function(search) search:shorten_query() end,
}

local function show_found_line(self) self.editor:replace_line(self.search:found_line() or self.before_search) end

local function begin_history_search(self)
  self.search, self.before_search = histories.new_search(self.editor.history), self.editor:line_text()
end

-- Whether the key belongs to the search. Any other key ends the search and keeps the line that was found.
local function history_search_takes(self, key, character)
  local search = self.search
  if not search then return false end
  if character then
    search:extend_query(character)
  elseif SEARCH_KEYS[key] then
    SEARCH_KEYS[key](search)
  else
    self.search = nil
    if key ~= "give-up" then return false end
    self.editor:replace_line(self.before_search)
    return true
  end
  show_found_line(self)
  return true
end

-- }======

local function finish_edited_line(self, line)
  self.is_shown = false
  io.stdout:write "\n"
  io.stdout:flush()
  return line
end

-- Keys that do more than edit the line. A result other than nil ends the reading: the line, or false for the end of
-- input.
local PROMPT_KEYS = {
  enter = function(self)
    self.editor:press_key "end"
    draw_prompt(self)
    return finish_edited_line(self, self.editor:enter_line())
  end,
  ["end-or-delete"] = function(self)
    if self.editor:line_text() == "" then return finish_edited_line(self, false) end
    self.editor:press_key "delete"
  end,
  interrupt = function(self)
    io.stdout:write "^C\n"
    self.editor:clear_edited_line()
  end,
  tab = complete_edited_word,
  search = begin_history_search,
  clear = function() io.stdout:write(CLEAR_SCREEN) end,
}

-- Returns the line if the key ends it, false at the end of input, else nil.
local function handle_prompt_byte(self, byte)
  local key, character = self.keys:feed_byte(byte)
  if not key and not character then return nil end
  local outcome
  if history_search_takes(self, key, character) then
    outcome = nil
  elseif character then
    self.editor:insert_text(character)
  elseif PROMPT_KEYS[key] then
    outcome = PROMPT_KEYS[key](self)
  else
    self.editor:press_key(key)
  end
  if outcome == nil then draw_prompt(self) end
  return outcome
end

---Waits for a line.
---@return string? line nil at the end of input
function methods:read_prompt_line()
  self.is_shown = true
  draw_prompt(self)
  while true do
    local byte = self.input:next_byte()
    if not byte then return finish_edited_line(self, nil) end
    local line = handle_prompt_byte(self, byte)
    if line ~= nil then return line or nil end
  end
end

---@param input pintle.cli.run.input
---@param complete_line fun(left: string): string[], integer
---@param history? string[] lines entered before; entered lines are appended
---@return pintle.cli.run.prompt
function prompts.new(input, complete_line, history)
  return setmetatable({
    input = input, complete = complete_line, editor = prompts.new_editor(history), keys = prompts.new_keys(),
    is_shown = false,
  }, metatable)
end

return prompts
