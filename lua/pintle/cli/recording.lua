-- Recordings written by `pintle trace`: reading them, and matching answers with requests.

local errors = require "pintle.error"
local json = require("pintle.core").json
local json_text = require "pintle.cli.json_text"
local lfs = require "lfs"

local VERSION = 1

---A line of a recording; docs/trace.md describes the format.
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

local function invalid(name, number, format, ...)
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

local function check_members(record, name, number)
  for member, kind in pairs(TYPES) do
    local value = record[member]
    if value ~= nil and not CHECKS[kind](value) then return invalid(name, number, "%s: %s expected", member, kind) end
  end
  for _, member in ipairs(NEED_FROM) do
    if record[member] ~= nil and not record.from then
      return invalid(name, number, "from: missing, but required with %s", member)
    end
  end
  return record
end

local function check(record, name, number)
  if type(record) ~= "table" or type(record.time) ~= "number" then
    return invalid(name, number, "not a record: an object with a time expected")
  end
  local ok, err = check_members(record, name, number)
  if not ok then return nil, err end
  if number > 1 then return record end
  if record.trace == nil then return invalid(name, number, "not a recording of `pintle trace`") end
  if record.trace ~= VERSION then
    return invalid(name, number, "unknown version %s of the format; this pintle reads version %d",
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
  if message then return invalid(name, number, "not JSON: %s", message) end
  local checked, err = check(record, name, number)
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
  if #records == 0 then return invalid(name, 1, "the file is empty") end
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

local function id_text(message) return message.id ~= nil and json.encode(message.id) or nil end

local function round(seconds) return math.floor(seconds * 1e6 + 0.5) / 1e6 end

---Classifies a message without looking at others.
---@param message any
---@param text string
---@return pintle.cli.item
local function classify(message, text)
  if type(message) ~= "table" then return { kind = "other", text = text } end
  local item = { text = text, id = id_text(message) }
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
  if not is_batch then return { classify(message, text) } end
  local items, texts = {}, json_text.elements(text)
  for i, member in ipairs(message) do items[i] = classify(member, texts[i]) end
  return items
end

local function key(from, id) return from .. " " .. id end

local function match_answer(self, from, item, time)
  if item.kind == "request" then
    self.open[key(from, item.id)] = { method = item.method, id = item.id, from = from, time = time, item = item }
  elseif item.id and (item.kind == "result" or item.kind == "error") then
    local place = key(OTHER[from], item.id)
    local request = self.open[place]
    self.open[place] = nil
    if not request then return end
    item.method, item.request, item.latency = request.method, request.item, round(time - request.time)
  end
end

---Takes the next record with a message, and matches its answers with earlier requests.
---@param record pintle.cli.record
---@return pintle.cli.item[] items several if the message is a batch
function exchange_methods:items(record)
  local first, last = json_text.member(record.line, "message")
  local items = recording.split_message(record.message, record.line:sub(first, last))
  for _, item in ipairs(items) do match_answer(self, record.from, item, record.time) end
  return items
end

---Requests without an answer, in the order in which they were sent.
---@return { method: string, id: string, from: string, time: number }[]
function exchange_methods:unanswered()
  local list = {}
  for _, request in pairs(self.open) do list[#list + 1] = request end
  table.sort(list, function(a, b)
    if a.time ~= b.time then return a.time < b.time end
    return a.id < b.id
  end)
  return list
end

function recording.new_exchange() return setmetatable({ open = {} }, exchange_metatable) end

-- }======

return recording
