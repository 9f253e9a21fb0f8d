-- What was entered at the prompt, kept from one run to the next: a file that only its owner can read, with the last
-- lines, oldest first. That it cannot be read or written is no reason not to have a prompt.

local core = require "pintle.core"
local lfs = require "lfs"

local MOST_LINES = 1000
local MOST_BYTES = 4096 -- of a line; longer ones are not kept
local MOST_FILE = 1 << 20 -- bytes that are read of its end
local SLACK = 2 -- times as many lines are there before the file is written anew

---@class pintle.cli.run.history
---@field lines string[] the last at the end
local methods = {}

local metatable = { __name = "pintle.cli.run.history", __index = methods }

local history = {}

-- {====== The file ======

local function directory(name, fallback)
  local told = os.getenv(name)
  if told and told:sub(1, 1) == "/" then return told end
  local home = os.getenv "HOME"
  return home and home:sub(1, 1) == "/" and home .. fallback or nil
end

---Where it is unless told: by the rules of XDG, below the folder of states.
---@return string? path nil if nobody wants one, or there is no place for it
function history.path()
  local told = os.getenv "PINTLE_HISTORY"
  if told then return told ~= "" and told or nil end
  local folder = directory("XDG_STATE_HOME", "/.local/state")
  return folder and folder .. "/pintle/history"
end

-- Made or narrowed before anything is written: nobody else may read it, not even for a moment.
local PREPARE = [[umask 077 && mkdir -p -- "$(dirname -- "$1")" && : >> "$1" && chmod 600 -- "$1"]]

local function prepare(path)
  local process <close> = core.spawn {
    command = { "sh", "-c", PREPARE, "sh", path }, stdin = "null", stdout = "null", stderr = "null",
  }
  return process and process:wait(5) == 0
end

local function is_ours(path)
  local attributes = lfs.attributes(path)
  return attributes and attributes.mode == "file" and attributes.permissions == "rw-------"
end

-- What is there and no file, such as /dev/null, is left alone.
local function may_prepare(path) return (lfs.attributes(path, "mode") or "file") == "file" end

local function open(path, mode)
  if not is_ours(path) and not (may_prepare(path) and prepare(path)) then return nil end
  return is_ours(path) and io.open(path, mode)
end

local function is_line(text) return #text <= MOST_BYTES and utf8.len(text) and not text:find "[%c\127]" end

-- Its lines, and whether there is more in it than is read.
local function read(path)
  local lines = {}
  if lfs.attributes(path, "mode") ~= "file" then return lines, false end
  local file <close> = io.open(path)
  if not file then return lines, false end
  local is_long = file:seek "end" > MOST_FILE
  file:seek(is_long and "end" or "set", is_long and -MOST_FILE or 0)
  if is_long then file:read "l" end -- it may have begun before
  for line in file:lines() do
    if is_line(line) then lines[#lines + 1] = line end
  end
  return lines, is_long
end

-- Beside it and then in its place, so that whoever reads it sees all or nothing.
local function write_anew(path, lines)
  local beside = path .. ".new"
  local file <close> = open(beside, "w")
  if not file then return end
  local ok = file:write(table.concat(lines, "\n"), "\n") and file:flush()
  if ok then os.rename(beside, path) else os.remove(beside) end
end

-- }======

---Writes a line behind the others, in one go: several prompts may share the file.
---@param line string
function methods:keep(line)
  if not self.path or line == self.last or not is_line(line) then return end
  local file <close> = open(self.path, "a")
  if not file then return end
  file:write(line, "\n")
  self.last = line
end

local function last_of(lines, count)
  return table.move(lines, math.max(#lines - count + 1, 1), #lines, 1, {})
end

---@param path? string nil keeps nothing
---@return pintle.cli.run.history
function history.new(path)
  local lines, is_long = {}, false
  if path then lines, is_long = read(path) end
  local kept = last_of(lines, MOST_LINES)
  if is_long or #lines > MOST_LINES * SLACK then write_anew(path, kept) end
  return setmetatable({ path = path, lines = kept, last = kept[#kept] }, metatable)
end

return history
