-- Recordings of `pintle trace`: reading them, matching answers with requests, and writing them. A recording has one
-- JSON object per line; docs/trace.md describes the format.

local bytes = require "pintle.bytes"
local core = require "pintle.core"
local dialects = require "pintle.dialect"
local errors = require "pintle.error"
local json_values = require "pintle.cli.json_values"
local lfs = require "lfs"

local json = core.json

local VERSION = 1

---A line of a recording.
---@class pintle.cli.record
---@field time number
---@field from? "host"|"plugin"
---@field message? any
---@field noise? string
---@field encoding? "base64"
---@field problem? string
---@field stderr? string
---@field closed? "stdin"|"stdout"
---@field signal? string
---@field dialect? string
---@field framing? "line"|"header"
---@field command? string[]
---@field exit? pintle.exit
---@field line string the text of the line

local recording = {}

-- {====== Reading ======

local function invalid_line(name, number, format, ...)
  return nil, errors.new("invalid", ("%s: line %d: %s"):format(name, number, format:format(...)))
end

-- Types of members, checked so that readers can rely on them.
local TYPES = {
  from = "host or plugin", noise = "a string", stderr = "a string", encoding = "a string", problem = "a string",
  closed = "a string", signal = "a string", framing = "a string", dialect = "a string",
  command = "a list of strings", exit = "a code or a signal",
}

local CHECKS = {
  ["host or plugin"] = function(value) return value == "host" or value == "plugin" end,
  ["a string"] = function(value) return type(value) == "string" end,
  ["a list of strings"] = function(value)
    if type(value) ~= "table" then return false end
    for _, text in ipairs(value) do
      if type(text) ~= "string" then return false end
    end
    return value[1] ~= nil and value[1] ~= ""
  end,
  ["a code or a signal"] = function(value)
    return type(value) == "table" and (math.type(value.code) == "integer" or type(value.signal) == "string")
  end,
}

local NEED_FROM = { "message", "noise", "stderr", "closed" }

local function check_record_members(record, name, number)
  for member, kind in pairs(TYPES) do
    local value = record[member]
    if value ~= nil and not CHECKS[kind](value) then
      return invalid_line(name, number, "%s: %s expected", member, kind)
    end
  end
  for _, member in ipairs(NEED_FROM) do
    if record[member] ~= nil and not record.from then
      return invalid_line(name, number, "from: missing, but required with %s", member)
    end
  end
  return record
end

local NO_RECORDING = "not a recording of `pintle trace`"

local function check_record(record, name, number)
  if type(record) ~= "table" or type(record.time) ~= "number" then
    return invalid_line(name, number, number == 1 and NO_RECORDING or "not a record: an object with a time expected")
  end
  local ok, err = check_record_members(record, name, number)
  if not ok then return nil, err end
  if number > 1 then return record end
  if record.trace == nil then return invalid_line(name, number, NO_RECORDING) end
  if record.trace ~= VERSION then
    return invalid_line(name, number, "unknown version %s of the format; this pintle reads version %d",
      tostring(record.trace), VERSION)
  end
  return record
end

---Parses a line.
---@param line string
---@param name string of the file
---@param number integer number of the line
---@return pintle.cli.record?, pintle.error?
function recording.parse(line, name, number)
  local record, message = json.decode(line)
  if message and number == 1 then return invalid_line(name, number, NO_RECORDING) end
  if message then return invalid_line(name, number, "not JSON: %s", message) end
  local checked, err = check_record(record, name, number)
  if checked then checked.line = line end
  return checked, err
end

---@param path string "-" is stdin
---@return file*?, string|pintle.error name_or_err
function recording.open(path)
  if path == "-" then return io.stdin, "stdin" end
  local file, message = io.open(path)
  if not file then return nil, errors.new("invalid", message) end
  if lfs.attributes(path, "mode") == "directory" then
    file:close()
    return nil, errors.new("invalid", path .. ": Is a directory")
  end
  return file, path
end

---Reads a whole recording.
---@param path string
---@return pintle.cli.record[]?, pintle.error?
function recording.read(path)
  local file <close>, name = recording.open(path)
  if not file then return nil, name end
  local records = {}
  for line in file:lines() do
    local record, err = recording.parse(line, name, #records + 1)
    if not record then return nil, err end
    records[#records + 1] = record
  end
  if #records == 0 then return invalid_line(name, 1, "the file is empty") end
  return records
end

---Describes a record that is neither a message nor noise nor stderr.
---@param record pintle.cli.record
---@return string
function recording.describe_event(record)
  if record.command then return "started " .. table.concat(record.command, " ") end
  if record.dialect then return "dialect: " .. record.dialect end
  if record.framing then return record.framing .. " framing" end
  if record.signal then return "signal " .. record.signal end
  if record.exit then return "ended with " .. errors.describe_exit(record.exit) end
  if not record.closed then return json.encode(record) end
  local is_writer = (record.from == "host") == (record.closed == "stdin")
  return ("%s %s"):format(is_writer and "closed" or "stopped reading", record.closed)
end

-- }======

-- {====== Requests and answers ======

---A message, or one message of a batch.
---@class pintle.cli.item
---@field kind "request"|"notification"|"result"|"error"|"other"
---@field method? string of an answer: the method of its request
---@field id? string JSON text of the id
---@field payload any params, result or error
---@field latency? number seconds between request and answer
---@field request? pintle.cli.item of an answer: its request
---@field text string JSON text of the message

local exchange_methods = {}

local exchange_metatable = { __name = "pintle.cli.exchange", __index = exchange_methods }

local OTHER = { host = "plugin", plugin = "host" }

local function id_json_text(message) return message.id ~= nil and json.encode(message.id) or nil end

local function round_to_microseconds(seconds) return math.floor(seconds * 1e6 + 0.5) / 1e6 end

---Classifies a message without looking at others.
---@param message any
---@param text string
---@return pintle.cli.item
local function classify_message(message, text)
  if type(message) ~= "table" then return { kind = "other", text = text } end
  local item = { text = text, id = id_json_text(message) }
  if type(message.method) == "string" then
    item.kind, item.method, item.payload = item.id and "request" or "notification", message.method, message.params
  elseif message.error ~= nil and message.error ~= json.null then
    item.kind, item.payload = "error", message.error
  elseif message.result ~= nil then
    item.kind, item.payload = "result", message.result
  else
    item.kind = "other"
  end
  return item
end

---Splits a batch into its messages; any other message is the only element.
---@param message any
---@param text string
---@return pintle.cli.item[]
function recording.split_message(message, text)
  local is_batch = type(message) == "table" and message[1] ~= nil
  if not is_batch then return { classify_message(message, text) } end
  local items, texts = {}, json_values.split_elements(text)
  for i, member in ipairs(message) do items[i] = classify_message(member, texts[i]) end
  return items
end

local function request_key(from, id) return from .. " " .. id end

-- A cancelled request need not be answered, and a stream is open until either side ends the conversation.
local CANCELLATIONS = { ["notifications/cancelled"] = "requestId", ["$/cancelRequest"] = "id", cancel = "id" }
local STREAMS = { ["subscriptions/listen"] = true }

local function match_cancellation(self, from, item)
  local member = item.kind == "notification" and CANCELLATIONS[item.method]
  local id = member and type(item.payload) == "table" and item.payload[member]
  local request = id and self.open[request_key(from, json.encode(id))]
  if request then request.is_cancelled = true end
end

local function match_answer(self, from, item, time)
  if item.kind == "request" then
    local request = { method = item.method, id = item.id, from = from, time = time, item = item }
    self.open[request_key(from, item.id)] = request
  elseif item.id and (item.kind == "result" or item.kind == "error") then
    local place = request_key(OTHER[from], item.id)
    local request = self.open[place]
    self.open[place] = nil
    if not request then return end
    item.method, item.request, item.latency = request.method, request.item, round_to_microseconds(time - request.time)
  end
end

---Takes the next record with a message, and matches its answers with earlier requests.
---@param record pintle.cli.record
---@return pintle.cli.item[] items several if the message is a batch
function exchange_methods:items(record)
  local first, last = json_values.find_member(record.line, "message")
  local items = recording.split_message(record.message, record.line:sub(first, last))
  for _, item in ipairs(items) do
    match_answer(self, record.from, item, record.time)
    match_cancellation(self, record.from, item)
  end
  return items
end

---Requests that should have been answered, in the order in which they were sent.
---@return { method: string, id: string, from: string, time: number }[]
function exchange_methods:unanswered()
  local list = {}
  for _, request in pairs(self.open) do
    if not request.is_cancelled and not STREAMS[request.method] then list[#list + 1] = request end
  end
  table.sort(list, function(a, b)
    if a.time ~= b.time then return a.time < b.time end
    return a.id < b.id
  end)
  return list
end

function recording.new_exchange() return setmetatable({ open = {} }, exchange_metatable) end

-- }======

-- {====== Writing ======

local ORDER = json.order {
  "trace", "time", "from", "message", "noise", "stderr", "encoding", "problem", "closed", "signal", "dialect",
  "framing", "command", "cwd", "pid", "at", "pintle", "exit",
}
local LINE_LIMIT = 64 * 1024 -- bytes of a line of stderr; a longer one becomes several

---@class pintle.cli.recorder
local recorder_methods = {}

local recorder_metatable = { __name = "pintle.cli.recorder", __index = recorder_methods }

local function seconds_since_start(self, at) return math.floor((at - self.began) * 1e6 + 0.5) / 1e6 end

-- A file that cannot be written must not stop the forwarding.
local function stop_recording(self, message)
  if self.is_broken then return end
  self.is_broken = true
  io.stderr:write("pintle trace: recording stopped: ", message, "\n")
end

local function write_record(self, at, record)
  if self.is_broken then return end
  record.time = seconds_since_start(self, at)
  local ok, message = self.file:write(json.encode(setmetatable(record, ORDER)), "\n")
  if not ok then stop_recording(self, message) end
end

---Runs a job whose failure must not stop the forwarding.
---@param job fun()
function recorder_methods:attempt_recording(job)
  local ok, message = pcall(job)
  if not ok then stop_recording(self, tostring(message)) end
end

---Writes the buffered records to the file.
function recorder_methods:flush()
  local ok, message = self.file:flush()
  if not ok then stop_recording(self, message) end
end

local function text_and_encoding(data)
  if utf8.len(data) then return data end
  return bytes.new(data)["$bytes"], "base64"
end

local function record_noise(self, at, from, data, problem)
  local text, encoding = text_and_encoding(data)
  write_record(self, at, { from = from, noise = text, encoding = encoding, problem = problem })
end

local function record_framing(self, at, framing)
  if self.framing then return end
  self.framing = framing
  write_record(self, at, { framing = framing })
end

-- The dialect is recognised by the host's first message.
local function record_dialect(self, at, raw, framing)
  if self.is_recognised then return end
  self.is_recognised = true
  local message = json.decode(raw)
  if type(message) ~= "table" or type(message.method) ~= "string" then return end
  local dialect = dialects.recognise(message.method, message.params, framing)
  if dialect then write_record(self, at, { dialect = dialect.name }) end
end

local function record_message(self, at, from, text, framing)
  local ok, raw = pcall(json.raw, text)
  if not ok then return record_noise(self, at, from, text, framing == "header" and "not JSON" or nil) end
  record_framing(self, at, framing)
  write_record(self, at, { from = from, message = raw })
  if from == "host" then record_dialect(self, at, raw, framing) end
end

local function record_frames(self, at, from)
  local frames = self.frames[from]
  for kind, text, problem in frames.next, frames do
    if kind == "message" then
      record_message(self, at, from, text, frames:framing())
    else
      record_noise(self, at, from, text, problem)
    end
  end
end

---@param at number time of `core.now`
---@param from "host"|"plugin"
---@param data string
function recorder_methods:record_bytes(at, from, data)
  self.frames[from]:feed(data)
  record_frames(self, at, from)
end

---Ends one direction.
---@param at number
---@param from "host"|"plugin"
function recorder_methods:finish_direction(at, from)
  self.frames[from]:finish()
  record_frames(self, at, from)
end

local function record_stderr_line(self, at, line)
  local text, encoding = text_and_encoding((line:gsub("\r$", "")))
  write_record(self, at, { from = "plugin", stderr = text, encoding = encoding })
end

---@param at number
---@param data string
function recorder_methods:record_stderr(at, data)
  local text, first = self.line .. data, 1
  for line, stop in text:gmatch "([^\n]*)\n()" do
    record_stderr_line(self, at, line)
    first = stop
  end
  self.line = text:sub(first)
  if #self.line > LINE_LIMIT then self:finish_stderr(at) end
end

---@param at number
function recorder_methods:finish_stderr(at)
  if self.line ~= "" then record_stderr_line(self, at, self.line) end
  self.line = ""
end

---@param at number
---@param record table members of the record
function recorder_methods:record_event(at, record) write_record(self, at, record) end

function recorder_methods:close()
  self:flush()
  self.file:close()
end

---@param file file*
---@param began number time of `core.now`
---@param start table members of the first record
---@return pintle.cli.recorder
function recording.new_recorder(file, began, start)
  local self = setmetatable({
    file = file, began = began, line = "", is_broken = false,
    frames = { host = core.frames "auto", plugin = core.frames "auto" },
  }, recorder_metatable)
  start.trace, start.pintle, start.at = VERSION, require "pintle.version", os.date "!%Y-%m-%dT%H:%M:%SZ"
  write_record(self, began, start)
  return self
end

-- }======

return recording
