-- A page, written as its recording is read: the head, blocks of rows, a summary, the foot.

local errors = require "pintle.error"
local exchange = require "pintle.cli.exchange"
local json = require("pintle.core").json
local latency = require "pintle.cli.latency"
local parts = require "pintle.cli.view.parts"
local rows = require "pintle.cli.view.rows"
local transcript = require "pintle.cli.transcript"

local SUMMARY = json.order { "command", "cwd", "at", "pid", "dialect", "framing", "latencies" }
local BLOCK = 4 * 1024 * 1024 -- bytes, about: browsers do not take texts of any length

---@class pintle.cli.view.page
local methods = {}

local metatable = { __name = "pintle.cli.view.page", __index = methods }

local page = {}

-- {====== Writing ======

local function put(self, ...)
  local ok, message = self.out:write(...)
  if not ok then error(errors.new("closed", "the page cannot be written: " .. message), 0) end
end

-- JSON in which no tag can begin.
local function harmless(value) return (json.encode(value):gsub("<", "\\u003c")) end

local function begin_block(self, class)
  put(self, ('<script type="application/json" class="%s">'):format(class))
  self.block = 0
end

local function end_block(self)
  put(self, "</script>\n")
  self.block = nil
end

local function put_row(self, row)
  if self.block and self.block > BLOCK then
    put(self, "\n]")
    end_block(self)
  end
  local is_first = not self.block
  if is_first then begin_block(self, "rows") end
  local text = harmless(row)
  put(self, is_first and "[\n" or ",\n", text)
  self.block = self.block + #text
end

-- }======

---@param record pintle.cli.record
function methods:add(record)
  local items = record.message ~= nil and self.talk:items(record) or {}
  for _, item in ipairs(items) do self.counts:add(item, record.from) end
  for _, row in ipairs(self.rows:of(record, items)) do put_row(self, row) end
  self.time = record.time
  self.summary.dialect = self.summary.dialect or record.dialect
  self.summary.framing = self.summary.framing or record.framing
end

---@param start pintle.cli.record the first
function methods:begin(start)
  local before
  local command = start.command and table.concat(start.command, " ") or "a recording"
  before, self.after = parts.around(self.title or command)
  put(self, before)
  self.summary = setmetatable({ command = command, cwd = start.cwd, at = start.at, pid = start.pid }, SUMMARY)
  self:add(start)
end

---Nothing more can be read.
---@param reason string
function methods:break_off(reason) put_row(self, self.rows:break_off(self.time, reason)) end

function methods:finish()
  put(self, "\n]")
  end_block(self)
  self.summary.latencies = transcript.latency_values(self.counts:summaries())
  for _, entry in ipairs(self.summary.latencies) do entry.method = rows.name(entry.method) end
  begin_block(self, "summary")
  put(self, harmless(self.summary))
  end_block(self)
  put(self, self.after)
  local ok, message = self.out:flush()
  if not ok then error(errors.new("closed", "the page cannot be written: " .. message), 0) end
end

---@param out file*
---@param options { title?: string, payload: integer }
---@return pintle.cli.view.page
function page.new(out, options)
  return setmetatable({
    out = out, title = options.title, rows = rows.new(options.payload), talk = exchange.new(), counts = latency.new(),
  }, metatable)
end

return page
