-- A program at its own terminal, which `script` of util-linux makes: specs type keys, and read the screen output.
local children = require "spec.support.children"
local core = require "pintle.core"

local methods = {}
local metatable = { __index = methods }

local terminal = {}

local function quote(word) return "'" .. word:gsub("'", "'\\''") .. "'" end

-- Options are those of core.spawn.
function terminal.start(command, options)
  local words = {}
  for i, word in ipairs(command) do words[i] = quote(word) end
  local given = { command = { "script", "-qfec", table.concat(words, " "), "/dev/null" }, env = { TERM = "xterm" } }
  for name, value in pairs(options or {}) do given[name] = value end
  return setmetatable({ process = assert(core.spawn(given)), shown = "", at = 1 }, metatable)
end

-- Keys are few bytes, so the terminal accepts them at once.
function methods:say(keys) assert(self.process.stdin:write(keys) == #keys, "the terminal takes no keys") end

-- Waits until this text is shown after the text expected before. Returns the output up to its end.
function methods:expect(text)
  local deadline = core.now() + children.patience
  while true do
    local first, last = self.shown:find(text, self.at, true)
    if first then
      local shown = self.shown:sub(self.at, last)
      self.at = last + 1
      return shown
    end
    assert(core.now() < deadline, "not shown in time: " .. text .. "\nbut: " .. self.shown:sub(self.at))
    local data = self.process.stdout:read()
    assert(data ~= "" and data ~= nil, "it ended before it has shown: " .. text .. "\nbut: " .. self.shown)
    if data then self.shown = self.shown .. data else self:wait(text) end
  end
end

function methods:wait(text)
  local is_ready = core.poll(children.patience, self.process.stdout, "r")
  assert(is_ready, "not shown in time: " .. text .. "\nbut: " .. self.shown:sub(self.at))
end

-- Its status, and the output after the last expected text.
function methods:finish()
  self.shown = self.shown .. children.read(self.process.stdout)
  local code, signal = self.process:wait(children.patience)
  return code or signal, self.shown:sub(self.at)
end

function metatable.__close(self) self.process:close() end

return terminal
