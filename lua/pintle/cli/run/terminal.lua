-- The terminal of the prompt: raw mode, standard input and keys.

local core = require "pintle.core"
local errors = require "pintle.error"
local loop = require "pintle.loop"

local terminal = {}

-- {====== Raw mode ======

local STTY_TIMEOUT = 5 -- seconds
-- Every key is delivered at once, Ctrl-C included, and nothing is echoed. `stty` is the portable way to set this.
local RAW = { "-icanon", "-echo", "-isig", "-ixon", "-iexten", "icrnl", "opost", "min", "1", "time", "0" }

-- stty has to be in the process group of this process: in the background it would be stopped.
local function stty(words)
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
function terminal.raw_mode()
  local before, err = stty { "-g" }
  if not before then return nil, err end
  local ok
  ok, err = stty(RAW)
  if not ok then return nil, err end
  return setmetatable({}, { __close = function() stty { before:match "%S+" } end })
end

-- }======

-- {====== Standard input ======

local STDIN = 0
local MAX_AHEAD = 1 << 16 -- bytes kept while nothing reads; more are dropped

---@class pintle.cli.run.input
---@field on_interrupt? fun() called on Ctrl-C while nothing reads
local input_methods = {}

local input_metatable = { __name = "pintle.cli.run.input", __index = input_methods }

local function stop_watching(self)
  if self.is_watched then loop.unwatch(STDIN, self) end
  self.is_watched = false
end

-- A regular file cannot be watched, but reading it never blocks.
local function watch(self)
  if self.is_watched or self.is_plain then return end
  self.is_watched = loop.watch(STDIN, "r", self) ~= nil
  self.is_plain = not self.is_watched
end

local function take(self, byte)
  if byte == nil then
    self.has_ended = true
    stop_watching(self)
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
function input_methods:on_ready() take(self, io.stdin:read(1)) end

local function next_byte(self)
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
function input_methods:next()
  while true do
    local byte = next_byte(self)
    if byte then return byte end
    if self.has_ended then return nil end
    watch(self)
    if self.is_plain then
      take(self, io.stdin:read(1))
    else
      self.event = loop.event()
      if not self.event:wait() then return false end
    end
  end
end

---Collects input while `fn` runs; Ctrl-C calls `on_interrupt`.
---@param on_interrupt fun()
---@param fn function
function input_methods:during(on_interrupt, fn)
  self.on_interrupt = on_interrupt
  if not self.has_ended then watch(self) end
  local results = table.pack(pcall(fn))
  self.on_interrupt = nil
  if not results[1] then error(results[2], 0) end
  return table.unpack(results, 2, results.n)
end

---Stops collecting input until the next read.
input_methods.pause = stop_watching

input_metatable.__close = stop_watching

---@return pintle.cli.run.input
function terminal.input()
  io.stdin:setvbuf "no"
  return setmetatable({ bytes = {}, first = 1, is_watched = false }, input_metatable)
end

-- }======

-- {====== Keys ======

local CONTROLS = {
  ["\1"] = "home", ["\2"] = "left", ["\3"] = "interrupt", ["\4"] = "end-or-delete", ["\5"] = "end", ["\6"] = "right",
  ["\7"] = "give-up", ["\8"] = "backspace", ["\9"] = "tab", ["\10"] = "enter", ["\11"] = "kill", ["\12"] = "clear",
  ["\13"] = "enter", ["\14"] = "down", ["\16"] = "up", ["\18"] = "search", ["\21"] = "kill-back",
  ["\23"] = "kill-word", ["\25"] = "yank", ["\127"] = "backspace",
}

-- Sequences after ESC [ or ESC O.
local SEQUENCES = {
  A = "up", B = "down", C = "right", D = "left", H = "home", F = "end", ["1~"] = "home", ["3~"] = "delete",
  ["4~"] = "end", ["7~"] = "home", ["8~"] = "end",
  ["1;5C"] = "word-right", ["1;5D"] = "word-left", ["1;3C"] = "word-right", ["1;3D"] = "word-left",
}

-- Bytes after a single ESC, which is how terminals send Alt.
local ALT = { b = "word-left", f = "word-right", d = "kill-next-word", ["\8"] = "kill-word", ["\127"] = "kill-word" }

---@class pintle.cli.run.keys
local key_methods = {}

local key_metatable = { __name = "pintle.cli.run.keys", __index = key_methods }

local function escape(self, byte)
  self.pending = self.pending .. byte
  local body = self.pending:match "^\27[%[O](.*)$"
  if not body then
    if #self.pending == 1 then return nil end
    self.pending = ""
    return ALT[byte]
  end
  if not body:find "[@-~]$" then return nil end
  self.pending = ""
  return SEQUENCES[body]
end

local function character(self, byte)
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
function key_methods:feed(byte)
  if self.pending:sub(1, 1) == "\27" then return escape(self, byte) end
  if byte == "\27" then
    self.pending = byte
    return nil
  end
  if byte:find "%c" then
    self.pending = ""
    return CONTROLS[byte]
  end
  return character(self, byte)
end

---@return pintle.cli.run.keys
function terminal.keys() return setmetatable({ pending = "" }, key_metatable) end

-- }======

return terminal
