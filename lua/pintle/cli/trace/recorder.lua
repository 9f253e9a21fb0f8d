-- Writes a recording: one JSON object per line. docs/trace.md describes the format.

local bytes = require "pintle.bytes"
local core = require "pintle.core"
local dialects = require "pintle.dialect"

local json = core.json

local ORDER = json.order {
  "trace", "time", "from", "message", "noise", "stderr", "encoding", "problem", "closed", "signal", "dialect",
  "framing", "command", "cwd", "pid", "at", "pintle", "exit",
}
local LINE_LIMIT = 64 * 1024 -- bytes of a line of stderr; a longer one becomes several

---@class pintle.cli.recorder
local methods = {}

local metatable = { __name = "pintle.cli.recorder", __index = methods }

local recorders = {}

-- {====== Writing ======

local function elapsed(self, at) return math.floor((at - self.began) * 1e6 + 0.5) / 1e6 end

-- A file that cannot be written must not stop the forwarding.
local function give_up(self, message)
  if self.is_broken then return end
  self.is_broken = true
  io.stderr:write("pintle trace: recording stopped: ", message, "\n")
end

local function put(self, at, record)
  if self.is_broken then return end
  record.time = elapsed(self, at)
  local ok, message = self.file:write(json.encode(setmetatable(record, ORDER)), "\n")
  if not ok then give_up(self, message) end
end

---Runs a job whose failure must not stop the forwarding.
---@param job fun()
function methods:attempt(job)
  local ok, message = pcall(job)
  if not ok then give_up(self, tostring(message)) end
end

---Writes the buffered records to the file.
function methods:flush()
  local ok, message = self.file:flush()
  if not ok then give_up(self, message) end
end

-- }======

-- {====== Messages ======

local function text_of(data)
  if utf8.len(data) then return data end
  return bytes.new(data)["$bytes"], "base64"
end

local function put_noise(self, at, from, data, problem)
  local text, encoding = text_of(data)
  put(self, at, { from = from, noise = text, encoding = encoding, problem = problem })
end

local function note_framing(self, at, framing)
  if self.framing then return end
  self.framing = framing
  put(self, at, { framing = framing })
end

-- The dialect is recognised by the host's first message.
local function recognise(self, at, raw, framing)
  if self.is_recognised then return end
  self.is_recognised = true
  local message = json.decode(raw)
  if type(message) ~= "table" or type(message.method) ~= "string" then return end
  local dialect = dialects.recognise(message.method, message.params, framing)
  if dialect then put(self, at, { dialect = dialect.name }) end
end

local function put_message(self, at, from, text, framing)
  local ok, raw = pcall(json.raw, text)
  if not ok then return put_noise(self, at, from, text, framing == "header" and "not JSON" or nil) end
  note_framing(self, at, framing)
  put(self, at, { from = from, message = raw })
  if from == "host" then recognise(self, at, raw, framing) end
end

local function take_frames(self, at, from)
  local frames = self.frames[from]
  for kind, text, problem in frames.next, frames do
    if kind == "message" then
      put_message(self, at, from, text, frames:framing())
    else
      put_noise(self, at, from, text, problem)
    end
  end
end

---@param at number time of `core.now`
---@param from "host"|"plugin"
---@param data string
function methods:bytes(at, from, data)
  self.frames[from]:feed(data)
  take_frames(self, at, from)
end

---Ends one direction.
---@param at number
---@param from "host"|"plugin"
function methods:finish(at, from)
  self.frames[from]:finish()
  take_frames(self, at, from)
end

-- }======

-- {====== Other records ======

local function put_line(self, at, line)
  local text, encoding = text_of((line:gsub("\r$", "")))
  put(self, at, { from = "plugin", stderr = text, encoding = encoding })
end

---@param at number
---@param data string
function methods:stderr(at, data)
  local text, first = self.line .. data, 1
  for line, stop in text:gmatch "([^\n]*)\n()" do
    put_line(self, at, line)
    first = stop
  end
  self.line = text:sub(first)
  if #self.line > LINE_LIMIT then self:finish_stderr(at) end
end

---@param at number
function methods:finish_stderr(at)
  if self.line ~= "" then put_line(self, at, self.line) end
  self.line = ""
end

---@param at number
---@param record table members of the record
function methods:event(at, record) put(self, at, record) end

function methods:close()
  self:flush()
  self.file:close()
end

-- }======

---@param file file*
---@param began number time of `core.now`
---@param start table members of the first record
---@return pintle.cli.recorder
function recorders.new(file, began, start)
  local self = setmetatable({
    file = file, began = began, line = "", is_broken = false,
    frames = { host = core.frames "auto", plugin = core.frames "auto" },
  }, metatable)
  start.trace, start.pintle, start.at = 1, require "pintle.version", os.date "!%Y-%m-%dT%H:%M:%SZ"
  put(self, began, start)
  return self
end

return recorders
