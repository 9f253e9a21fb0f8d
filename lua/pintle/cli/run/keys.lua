-- Keys out of the bytes that a terminal sends: names for those that do something, characters as they are.

local CONTROLS = {
  ["\1"] = "home", ["\2"] = "left", ["\3"] = "interrupt", ["\4"] = "end-or-delete", ["\5"] = "end", ["\6"] = "right",
  ["\7"] = "give-up", ["\8"] = "backspace", ["\9"] = "tab", ["\10"] = "enter", ["\11"] = "kill", ["\12"] = "clear",
  ["\13"] = "enter", ["\14"] = "down", ["\16"] = "up", ["\18"] = "search", ["\21"] = "kill-back",
  ["\23"] = "kill-word", ["\25"] = "yank", ["\127"] = "backspace",
}

-- What follows ESC [ or ESC O.
local SEQUENCES = {
  A = "up", B = "down", C = "right", D = "left", H = "home", F = "end", ["1~"] = "home", ["3~"] = "delete",
  ["4~"] = "end", ["7~"] = "home", ["8~"] = "end",
  ["1;5C"] = "word-right", ["1;5D"] = "word-left", ["1;3C"] = "word-right", ["1;3D"] = "word-left",
}

-- What follows ESC by itself, which is how terminals send Alt.
local ALT = { b = "word-left", f = "word-right", d = "kill-next-word", ["\8"] = "kill-word", ["\127"] = "kill-word" }

---@class pintle.cli.run.keys
local methods = {}

local metatable = { __name = "pintle.cli.run.keys", __index = methods }

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
function methods:feed(byte)
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
return function() return setmetatable({ pending = "" }, metatable) end
