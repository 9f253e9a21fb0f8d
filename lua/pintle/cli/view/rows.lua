-- The records of a recording as rows of a page: a list of fields each.

local json = require("pintle.core").json
local transcript = require "pintle.cli.transcript"

local null = json.null
local NAME = 1000 -- bytes of a method or an id; the message has all of it

---@class pintle.cli.view.rows
local methods = {}

local metatable = { __name = "pintle.cli.view.rows", __index = methods }

local rows = {}

-- Up to so many bytes, and no half character at the end.
local function cut(text, limit)
  if #text <= limit then return text end
  while text:byte(limit + 1) & 0xC0 == 0x80 do limit = limit - 1 end
  return text:sub(1, limit)
end

---@param name string?
---@return string|userdata
function rows.name(name) return name and cut(name, NAME) or null end

-- The fields as model.js takes them.
local function row(self, record, kind, text, of)
  local shown = self.payload == 0 and text or cut(text, self.payload)
  self.count = self.count + 1
  return json.array {
    record.time, record.from or "", kind, shown, rows.name(of.method), rows.name(of.id), of.request or null,
    #shown < #text and #text or null, of.note or null,
  }
end

local function item_row(self, record, item, note)
  item.index = self.count
  return row(self, record, item.kind, item.text,
    { method = item.method, id = item.id, request = item.request and item.request.index, note = note })
end

local function noise_note(record)
  if record.encoding and record.problem then return record.encoding .. ", " .. record.problem end
  return record.encoding or record.problem
end

local function event_kind(record)
  local exit = record.exit
  if exit then return exit.code == 0 and "exit" or "failure" end
  return record.command and "start" or record.closed and "closed" or record.signal and "signal" or "event"
end

---@param record pintle.cli.record
---@param items pintle.cli.item[] of its message, if it has one
---@return any[][] list
function methods:of(record, items)
  local list = {}
  for i, item in ipairs(items) do
    list[i] = item_row(self, record, item, #items > 1 and ("%d of %d in a batch"):format(i, #items) or nil)
  end
  if record.message ~= nil then return list end
  if record.noise then return { row(self, record, "noise", record.noise, { note = noise_note(record) }) } end
  if record.stderr then return { row(self, record, "stderr", record.stderr, { note = record.encoding }) } end
  return { row(self, record, event_kind(record), transcript.event_text(record), {}) }
end

---@param time number
---@param reason string why nothing follows
---@return any[]
function methods:break_off(time, reason)
  return row(self, { time = time }, "failure", "the recording breaks off: " .. reason, {})
end

---@param payload integer bytes of a text; 0 is all of it
---@return pintle.cli.view.rows
function rows.new(payload) return setmetatable({ payload = payload, count = 0 }, metatable) end

return rows
