-- The entries of a page, made of the records of a recording: rows, and facts about the whole conversation.

local core = require "pintle.core"
local recording = require "pintle.cli.recording"

local json = core.json

local MAX_NAME = 1000 -- bytes of a method, an operation or an id; the message has all of it

---@class pintle.cli.view.entries
---@field count integer rows so far
---@field time number of the last record
local methods = {}

local metatable = { __name = "pintle.cli.view.entries", __index = methods }

-- {====== Operations and outcomes ======

-- The members of params that name the operation, by method: messages of one method run operations of many names.
local NAMED_BY = {
  ["execute"] = { "operation" }, ["tools/call"] = { "name" }, ["prompts/get"] = { "name" },
  ["workspace/executeCommand"] = { "command" }, ["setupCommand"] = { "name" }, ["runCommand"] = { "cmd", "name" },
  ["validateTask"] = { "type" }, ["runTask"] = { "taskType", "type" },
}

local function entry_operation(item)
  local members = NAMED_BY[item.method]
  if not members or type(item.payload) ~= "table" then return nil end
  for _, member in ipairs(members) do
    local name = item.payload[member]
    if type(name) == "string" then return name end
  end
end

local function is_error_given(value) return value ~= nil and value ~= json.null and value ~= "" end

-- Whether a result says that the operation failed: gevals, MCP and Liquid report that in the result.
local function has_operation_failed(item)
  local result = item.kind == "result" and item.payload
  if type(result) ~= "table" then return false end
  local errors = result.errors
  return result.success == false or result.isError == true or is_error_given(result.error)
    or type(errors) == "table" and #errors > 0
end

-- }======

-- {====== Rows ======

-- Cuts at a number of bytes, never inside a character.
local function cut_entry_text(text, limit)
  if #text <= limit then return text end
  while text:byte(limit + 1) & 0xC0 == 0x80 do limit = limit - 1 end
  return text:sub(1, limit)
end

---@param name string?
---@return string|userdata
local function entry_name_field(name) return name and cut_entry_text(name, MAX_NAME) or json.null end

-- The fields, in the order that model.js expects.
local function new_entry_row(self, record, kind, text, of)
  local shown = self.payload == 0 and text or cut_entry_text(text, self.payload)
  self.count = self.count + 1
  return json.array {
    record.time, record.from or "", kind, shown, entry_name_field(of.method), entry_name_field(of.id),
    of.request or json.null, #shown < #text and #text or json.null, of.note or json.null,
    entry_name_field(of.operation),
  }
end

local function message_row(self, record, item, note)
  item.index = self.count
  local request = item.request
  item.operation = request and request.operation or entry_operation(item)
  return new_entry_row(self, record, has_operation_failed(item) and "failed" or item.kind, item.text, {
    method = item.method, id = item.id, request = request and request.index, note = note, operation = item.operation,
  })
end

local function message_rows(self, record)
  local items, list = self.exchange:items(record), {}
  for i, item in ipairs(items) do
    list[i] = message_row(self, record, item, #items > 1 and ("%d of %d in a batch"):format(i, #items) or nil)
  end
  return list
end

local function noise_row_note(record)
  if record.encoding and record.problem then return record.encoding .. ", " .. record.problem end
  return record.encoding or record.problem
end

local function event_row_kind(record)
  local exit = record.exit
  if exit then return exit.code == 0 and "exit" or "failure" end
  return record.command and "start" or record.closed and "closed" or record.signal and "signal" or "event"
end

local function rows_of_record(self, record)
  if record.message ~= nil then return message_rows(self, record) end
  if record.noise then
    return { new_entry_row(self, record, "noise", record.noise, { note = noise_row_note(record) }) }
  end
  if record.stderr then return { new_entry_row(self, record, "stderr", record.stderr, { note = record.encoding }) } end
  return { new_entry_row(self, record, event_row_kind(record), recording.describe_event(record), {}) }
end

-- }======

local FACTS = json.order { "command", "cwd", "at", "pid", "dialect", "framing" }

local function facts_of_record(record)
  local command = record.command and table.concat(record.command, " ")
  local facts = {
    command = command, cwd = record.cwd, at = record.at, pid = record.pid, dialect = record.dialect,
    framing = record.framing,
  }
  return next(facts) and setmetatable(facts, FACTS)
end

---@param record pintle.cli.record
---@return any[][] list rows are arrays, facts are objects
function methods:entries_of_record(record)
  local list, facts = rows_of_record(self, record), facts_of_record(record)
  self.time = record.time
  if facts then table.insert(list, 1, facts) end
  return list
end

---A row that says why the recording ends early.
---@param reason string
---@return any[]
function methods:entry_of_break(reason)
  return new_entry_row(self, { time = self.time }, "failure", "the recording ends early: " .. reason, {})
end

local entries = {}

---JSON without "<", so that it cannot contain a tag.
---@param entry any[]
---@return string
function entries.encode(entry) return (json.encode(entry):gsub("<", "\\u003c")) end

---@param payload integer maximum bytes of a text; 0 is no limit
---@return pintle.cli.view.entries
function entries.new(payload)
  return setmetatable({ payload = payload, count = 0, time = 0, exchange = recording.new_exchange() }, metatable)
end

return entries
