-- What the command says: results on stdout, everything else on stderr. Colours are for terminals.

local errors = require "pintle.error"
local lazy = require "pintle.lazy"

local core = lazy "pintle.core"

local STYLES = {
  bold = "\27[1m", dim = "\27[2m", red = "\27[31m", green = "\27[32m", yellow = "\27[33m", cyan = "\27[36m",
}
local PLAIN = "\27[0m"

---@class pintle.cli.console
---@field checkout? string the folder of the checkout that the command runs from
---@field is_terminal boolean whether a person reads stdout
---@field failure? string why something could not be written to stdout
local methods = {}

local metatable = { __name = "pintle.cli.console", __index = methods }

local console = {}

-- Whoever reads it may go when he has seen enough; that is no failure.
local EPIPE = 32

local function note(self, ok, message, errno)
  if not ok and errno ~= EPIPE then self.failure = self.failure or message end
end

---@param ... string
function methods:write(...) note(self, self.out:write(...)) end

---@param ... string
function methods:print(...) note(self, self.out:write(..., "\n")) end

---Writes what is still to be written.
---@return string? message why not all that was to be on stdout is there
function methods:flush()
  note(self, self.out:flush())
  return self.failure
end

local function harmless(text) return errors.harmless(text, "\n\t") end

---What somebody else has said: as it is for programs, and on a terminal nothing that steers it.
---@param text string
function methods:tell(text) self:print(self.is_terminal and harmless(text) or text) end

---What went wrong, or has to be said beside the result.
---@param message string
function methods:complain(message) self.err:write("pintle: ", harmless(message), "\n") end

---A line of the stderr of a plugin: as it is for programs, and on a terminal nothing that steers it.
---@param line string
function methods:pass_on(line) self.err:write(core.isatty(2) and harmless(line) or line, "\n") end

---A value for programs to read, broken into lines.
---@param value any
function methods:json(value)
  self:tell(require("pintle.plugin.command").indent(core.json.encode(value)))
end

---The same on a line of its own, for one of many.
---@param value any
function methods:json_line(value) self:tell(core.json.encode(value)) end

---@param style string
---@param text string
---@return string
function methods:paint(style, text)
  return self.has_colour and STYLES[style] .. text .. PLAIN or text
end

---@return integer? columns of the terminal that stdout is
function methods:columns() return self.is_terminal and core.columns(1) or nil end

---@param checkout? string
---@return pintle.cli.console
function console.new(checkout)
  local ok, is_terminal = pcall(function() return core.isatty(1) end)
  is_terminal = ok and is_terminal
  return setmetatable({
    out = io.stdout, err = io.stderr, checkout = checkout, is_terminal = is_terminal,
    has_colour = is_terminal and (os.getenv "NO_COLOR" or "") == "" and os.getenv "TERM" ~= "dumb",
  }, metatable)
end

return console
