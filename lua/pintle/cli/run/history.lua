-- The history of the prompt: kept between runs in a file that only its owner can read, oldest line first; lines with
-- secrets are not kept. The prompt also works if the file cannot be read or written.

local commands = require "pintle.cli.run.commands"
local core = require "pintle.core"
local lfs = require "lfs"

local histories = {}

---Most lines that are kept.
histories.MAX_LINES = 1000

-- {====== The file ======

local MAX_LINE = 4096 -- bytes; longer lines are not saved
local MAX_FILE = 1 << 20 -- bytes read from the end of the file
local SLACK = 2 -- the file is rewritten when it has more lines than histories.MAX_LINES times this

---@class pintle.cli.run.history
---@field lines string[] oldest first
local history_methods = {}

local history_metatable = { __name = "pintle.cli.run.history", __index = history_methods }

local function state_directory(name, fallback)
  local path = os.getenv(name)
  if path and path:sub(1, 1) == "/" then return path end
  local home = os.getenv "HOME"
  return home and home:sub(1, 1) == "/" and home .. fallback or nil
end

---The path of the file: `PINTLE_HISTORY`, or below the XDG directory for state.
---@return string? path nil if `PINTLE_HISTORY` is empty or there is no home directory
function histories.default_path()
  local path = os.getenv "PINTLE_HISTORY"
  if path then return path ~= "" and path or nil end
  local folder = state_directory("XDG_STATE_HOME", "/.local/state")
  return folder and folder .. "/pintle/history"
end

-- Permissions are set before anything is written: no other user may read it, not even for a moment.
local PREPARE = [[umask 077 && mkdir -p -- "$(dirname -- "$1")" && : >> "$1" && chmod 600 -- "$1"]]

local function prepare_history_file(path)
  local process <close> = core.spawn {
    command = { "sh", "-c", PREPARE, "sh", path }, stdin = "null", stdout = "null", stderr = "null",
  }
  return process and process:wait(5) == 0
end

local function is_private_history(path)
  local attributes = lfs.attributes(path)
  return attributes and attributes.mode == "file" and attributes.permissions == "rw-------"
end

-- An existing path that is not a regular file, such as /dev/null, is left alone.
local function may_prepare_history(path) return (lfs.attributes(path, "mode") or "file") == "file" end

local function open_private_history(path, mode)
  if not is_private_history(path) and not (may_prepare_history(path) and prepare_history_file(path)) then return nil end
  return is_private_history(path) and io.open(path, mode)
end

local function is_kept_line(text) return #text <= MAX_LINE and utf8.len(text) and not text:find "[%c\127]" end

-- The lines, and whether the file has more than was read.
local function read_history(path)
  local lines = {}
  if lfs.attributes(path, "mode") ~= "file" then return lines, false end
  local file <close> = io.open(path)
  if not file then return lines, false end
  local is_long = file:seek "end" > MAX_FILE
  file:seek(is_long and "end" or "set", is_long and -MAX_FILE or 0)
  if is_long then file:read "l" end -- this line may be incomplete
  for line in file:lines() do
    if is_kept_line(line) then lines[#lines + 1] = line end
  end
  return lines, is_long
end

-- Writes a new file and renames it, so that readers see either the old or the new one.
local function rewrite_history(path, lines)
  local temporary = path .. ".new"
  local file <close> = open_private_history(temporary, "w")
  if not file then return end
  local ok = file:write(table.concat(lines, "\n"), "\n") and file:flush()
  if ok then os.rename(temporary, path) else os.remove(temporary) end
end

---Appends a line in one write: several prompts may share the file.
---@param line string
function history_methods:keep_line(line)
  if not self.path or line == self.last or not is_kept_line(line) then return end
  local file <close> = open_private_history(self.path, "a")
  if not file then return end
  file:write(line, "\n")
  self.last = line
end

local function last_history_lines(lines, count)
  return table.move(lines, math.max(#lines - count + 1, 1), #lines, 1, {})
end

---@param path? string nil saves nothing
---@return pintle.cli.run.history
function histories.new(path)
  local lines, is_long = {}, false
  if path then lines, is_long = read_history(path) end
  local kept = last_history_lines(lines, histories.MAX_LINES)
  if is_long or #lines > histories.MAX_LINES * SLACK then rewrite_history(path, kept) end
  return setmetatable({ path = path, lines = kept, last = kept[#kept] }, history_metatable)
end

-- }======

-- {====== Searching ======

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
function search_methods:extend_query(text)
  self.query = self.query .. text
  local shown = self.history[self.place]
  if not (shown and shown:find(self.query, 1, true)) then search_back(self, self.place) end
end

---Deletes the last character of the query, and searches again from the newest line.
function search_methods:shorten_query()
  self.query = self.query:sub(1, (utf8.offset(self.query, -1) or 1) - 1)
  self.place = #self.history + 1
  if self.query ~= "" then search_back(self, #self.history) end
end

---Shows the next older line that matches and differs.
function search_methods:find_older()
  if self.query ~= "" then search_back(self, self.place - 1) end
end

---@return string? line nil if no line matches
function search_methods:found_line()
  local line = self.history[self.place]
  return line and line:find(self.query, 1, true) and line or nil
end

---Starts a search: the newest line that contains the query is shown first.
---@param lines string[] oldest first
---@return pintle.cli.run.search
function histories.new_search(lines)
  return setmetatable({ history = lines, query = "", place = #lines + 1 }, search_metatable)
end

-- }======

-- {====== Secrets: lines that are not kept ======

-- A line is a secret by the names of its arguments, or by the plugin's schema. A leading space marks a secret, too, as
-- in other shells.
local SECRET_NAMES = {
  "passw", "passphrase", "secret", "token", "credential", "api[_-]?key", "access[_-]?key", "private[_-]?key",
  "authorization", "cookie",
}

local function sounds_secret(name)
  name = name:lower()
  for _, pattern in ipairs(SECRET_NAMES) do
    if name:find(pattern) then return true end
  end
  return name == "pin" or name == "auth" or name == "pwd"
end

local function is_declared_secret(properties, name)
  local schema = type(properties) == "table" and properties[name]
  return type(schema) == "table" and (schema.writeOnly == true or schema.format == "password")
end

---@param line string
---@param properties? table schemas of the operation's parameters, by name
---@param first integer the first word that may be an argument
---@return boolean
function histories.is_secret(line, properties, first)
  if line:find "^%s" then return true end
  local list = commands.split_line(line)
  if not list then return line:find "[=:]" ~= nil and sounds_secret(line) end
  for i = first, #list do
    local name, value = list[i]:match "^(.-):?=(.*)$"
    if not name then name, value = list[i], "" end
    if sounds_secret(name) or is_declared_secret(properties, name) then return true end
    if value:find "^[%[{]" and sounds_secret(value) then return true end
  end
  return false
end

-- }======

return histories
