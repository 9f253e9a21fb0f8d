-- The page of `pintle view`, written while the recording is read: head, blocks of rows, a summary, foot. Its scripts
-- and styles are files beside this one, in a checkout as well as in a rock.

local bytes = require "pintle.bytes"
local core = require "pintle.core"
local errors = require "pintle.error"
local latency = require "pintle.cli.latency"
local recording = require "pintle.cli.recording"

local json = core.json

-- {====== Scripts, styles and policy ======

local STYLES = { "page", "diagram", "panes" }
local SCRIPTS = { "text", "model", "list", "overview", "details", "latencies", "page" }

local _, own_path = ...
local folder = own_path:match "^(.*)/" or "."

local function path_of(name) return ("%s/%s"):format(folder, name) end

local function read(name)
  local file <close> = assert(io.open(path_of(name), "rb"))
  return file:read "a"
end

local function from_hex(digits)
  return (digits:gsub("%x%x", function(byte) return string.char(tonumber(byte, 16)) end))
end

-- The source of a file in a Content-Security-Policy.
local function source_of(name)
  local digest = bytes.new(from_hex(assert(core.sha256(path_of(name)))))
  return ("'sha256-%s'"):format(digest["$bytes"])
end

-- The files as elements, and their sources for the policy.
local function embed(names, suffix, tag)
  local texts, sources = {}, {}
  for i, name in ipairs(names) do
    texts[i] = ("<%s>%s</%s>"):format(tag, read(name .. suffix), tag)
    sources[i] = source_of(name .. suffix)
  end
  return table.concat(texts, "\n"), table.concat(sources, " ")
end

-- Only these files run and nothing is fetched, whatever a recording contains.
local function policy(script_sources, style_sources)
  return table.concat({
    "default-src 'none'", "script-src " .. script_sources, "style-src " .. style_sources, "base-uri 'none'",
    "form-action 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'",
  }, "; ")
end

local ENTITIES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }

---The page without its data, split where the data belongs.
---@param title string
---@return string before, string after
local function split_page(title)
  local scripts, script_sources = embed(SCRIPTS, ".js", "script")
  local styles, style_sources = embed(STYLES, ".css", "style")
  local values = {
    scripts = scripts, styles = styles, policy = policy(script_sources, style_sources),
    title = title:gsub("%c", " "):gsub("[&<>\"']", ENTITIES),
  }
  local before, after = read("page.html"):match "^(.*){{data}}(.*)$"
  return before:gsub("{{(%l+)}}", values), (after:gsub("{{(%l+)}}", values))
end

-- }======

-- {====== Rows ======

local MAX_NAME = 1000 -- bytes of a method or an id; the message has all of it

---@class pintle.cli.view.rows
local row_methods = {}

local row_metatable = { __name = "pintle.cli.view.rows", __index = row_methods }

-- Cuts at a number of bytes, never inside a character.
local function cut(text, limit)
  if #text <= limit then return text end
  while text:byte(limit + 1) & 0xC0 == 0x80 do limit = limit - 1 end
  return text:sub(1, limit)
end

---@param name string?
---@return string|userdata
local function name_field(name) return name and cut(name, MAX_NAME) or json.null end

-- The fields, in the order that model.js expects.
local function new_row(self, record, kind, text, of)
  local shown = self.payload == 0 and text or cut(text, self.payload)
  self.count = self.count + 1
  return json.array {
    record.time, record.from or "", kind, shown, name_field(of.method), name_field(of.id), of.request or json.null,
    #shown < #text and #text or json.null, of.note or json.null,
  }
end

local function item_row(self, record, item, note)
  item.index = self.count
  return new_row(self, record, item.kind, item.text,
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
---@param items pintle.cli.item[] messages of the record
---@return any[][] list
function row_methods:of(record, items)
  local list = {}
  for i, item in ipairs(items) do
    list[i] = item_row(self, record, item, #items > 1 and ("%d of %d in a batch"):format(i, #items) or nil)
  end
  if record.message ~= nil then return list end
  if record.noise then return { new_row(self, record, "noise", record.noise, { note = noise_note(record) }) } end
  if record.stderr then return { new_row(self, record, "stderr", record.stderr, { note = record.encoding }) } end
  return { new_row(self, record, event_kind(record), recording.describe_event(record), {}) }
end

---@param time number
---@param reason string why the recording cannot be read further
---@return any[]
function row_methods:add_break(time, reason)
  return new_row(self, { time = time }, "failure", "the recording ends early: " .. reason, {})
end

---@param payload integer maximum bytes of a text; 0 is no limit
---@return pintle.cli.view.rows
local function new_rows(payload) return setmetatable({ payload = payload, count = 0 }, row_metatable) end

-- }======

local SUMMARY = json.order { "command", "cwd", "at", "pid", "dialect", "framing", "latencies" }
local BLOCK = 4 * 1024 * 1024 -- approximate bytes of a block: browsers limit the length of a text

---@class pintle.cli.view.page
local methods = {}

local metatable = { __name = "pintle.cli.view.page", __index = methods }

local page = {}

-- {====== Writing ======

local function put(self, ...)
  local ok, message = self.out:write(...)
  if not ok then error(errors.new("closed", "cannot write the page: " .. message), 0) end
end

-- JSON without "<", so that it cannot contain a tag.
local function encode_for_html(value) return (json.encode(value):gsub("<", "\\u003c")) end

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
  local text = encode_for_html(row)
  put(self, is_first and "[\n" or ",\n", text)
  self.block = self.block + #text
end

-- }======

---@param record pintle.cli.record
function methods:add(record)
  local items = record.message ~= nil and self.exchange:items(record) or {}
  for _, item in ipairs(items) do self.latencies:add(item, record.from) end
  for _, row in ipairs(self.rows:of(record, items)) do put_row(self, row) end
  self.time = record.time
  self.summary.dialect = self.summary.dialect or record.dialect
  self.summary.framing = self.summary.framing or record.framing
end

---@param start pintle.cli.record the first record
function methods:begin(start)
  local before
  local command = start.command and table.concat(start.command, " ") or "a recording"
  before, self.after = split_page(self.title or command)
  put(self, before)
  self.summary = setmetatable({ command = command, cwd = start.cwd, at = start.at, pid = start.pid }, SUMMARY)
  self:add(start)
end

---Adds a row that says why the recording ends early.
---@param reason string
function methods:add_break(reason) put_row(self, self.rows:add_break(self.time, reason)) end

function methods:finish()
  put(self, "\n]")
  end_block(self)
  self.summary.latencies = latency.values(self.latencies:summaries())
  for _, entry in ipairs(self.summary.latencies) do entry.method = name_field(entry.method) end
  begin_block(self, "summary")
  put(self, encode_for_html(self.summary))
  end_block(self)
  put(self, self.after)
  local ok, message = self.out:flush()
  if not ok then error(errors.new("closed", "cannot write the page: " .. message), 0) end
end

---@param out file*
---@param options { title?: string, payload: integer }
---@return pintle.cli.view.page
function page.new(out, options)
  return setmetatable({
    out = out, title = options.title, rows = new_rows(options.payload), exchange = recording.new_exchange(),
    latencies = latency.new(),
  }, metatable)
end

return page
