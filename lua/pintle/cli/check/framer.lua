-- Messages out of the bytes that a plugin writes, to the letter: what a lenient reader would pass over is told.

---@class pintle.cli.check.piece
---@field kind "message"|"noise"
---@field text string
---@field problem? string what is wrong with the frame of a message, or why it is none

---@class pintle.cli.check.framer
---@field feed fun(self: pintle.cli.check.framer, data: string)
---@field next fun(self: pintle.cli.check.framer): pintle.cli.check.piece?
---@field finish fun(self: pintle.cli.check.framer): pintle.cli.check.piece? what is left when nothing follows

local framers = {}

-- {====== What both have ======

local shared = {}

function shared:feed(data)
  self.rest = self.rest:sub(self.at) .. data
  self.at = 1
end

local function bytes_left(self) return #self.rest - self.at + 1 end

local function take(self, bytes)
  local text = self.rest:sub(self.at, self.at + bytes - 1)
  self.at = self.at + bytes
  return text
end

-- The next line with its end.
local function take_line(self)
  local stop = self.rest:find("\n", self.at, true)
  return stop and take(self, stop - self.at + 1)
end

local function noise(text, problem) return { kind = "noise", text = text, problem = problem } end

-- }======

-- {====== One message a line ======

local line_methods = setmetatable({}, { __index = shared })

function line_methods:next()
  local line = take_line(self)
  if not line then return nil end
  local text = line:gsub("\r?\n$", "")
  if text == "" then return noise("", "an empty line") end
  return { kind = "message", text = text }
end

function line_methods:finish()
  local rest = take(self, bytes_left(self))
  return rest ~= "" and noise(rest, "a line that does not end") or nil
end

-- }======

-- {====== A header before each ======

local header_methods = setmetatable({}, { __index = shared })

local function read_header_line(self, line)
  local name, value = line:match "^(%a[%w-]*):[ \t]*([^\r\n]*)\r?\n$"
  if not name then
    self.length, self.problem = nil, nil
    return noise((line:gsub("\r?\n$", "")), "no header line")
  end
  if not line:find "\r\n$" then self.problem = "a header line ends in a line feed alone" end
  if name:lower() == "content-length" then
    self.length = math.tointeger(value:match "^%d+$" and tonumber(value))
    if not self.length then self.problem = "Content-Length is not a number" end
  end
end

local function read_header(self)
  while not self.is_in_body do
    local line = take_line(self)
    if not line then return nil end
    if line:find "^\r?\n$" and self.length then
      self.is_in_body = true
    else
      local piece = read_header_line(self, line)
      if piece then return piece end
    end
  end
end

function header_methods:next()
  local piece = read_header(self)
  if piece or not self.is_in_body or bytes_left(self) < self.length then return piece end
  piece = { kind = "message", text = take(self, self.length), problem = self.problem }
  self.is_in_body, self.length, self.problem = false, nil, nil
  return piece
end

function header_methods:finish()
  local rest = take(self, bytes_left(self))
  return (rest ~= "" or self.length) and noise(rest, "a message that does not end") or nil
end

-- }======

local METATABLES = { line = { __index = line_methods }, header = { __index = header_methods } }

---@param framing "line"|"header"
---@return pintle.cli.check.framer
function framers.new(framing) return setmetatable({ rest = "", at = 1 }, METATABLES[framing]) end

return framers
