-- pintle view: makes an HTML page of a recording. The page is written while the recording is read: head, blocks of
-- rows, a summary, foot. Its scripts and styles are the files in the folder view/.

local lazy = require "pintle.lazy"

local bytes = lazy "pintle.bytes"
local core = lazy "pintle.core"
local errors = lazy "pintle.error"
local latency = lazy "pintle.cli.latency"
local lfs = lazy "lfs"
local recording = lazy "pintle.cli.recording"
local status = require "pintle.cli.status"

local PAYLOAD = 1024 * 1024 -- default of --payload, in bytes

local view = { name = "view", summary = "Make an HTML page of a recording." }

local function read_size(text)
  local number = math.tointeger(tonumber(text))
  if number and number >= 0 then return number end
  return nil, "a number of bytes expected"
end

function view.define(parser)
  parser:argument("file", "A recording of `pintle trace`; - is stdin."):argname "FILE"
  parser:option("-o --output", "The page to write; - is stdout (default: FILE with the extension .html).")
    :argname "FILE"
  parser:option("-t --title", "The title of the page (default: the recorded command)."):argname "TEXT"
  parser:option("--payload", ("Maximum bytes of each message in the page; 0 is no limit (default: %d).")
    :format(PAYLOAD)):argname "BYTES":convert(read_size)
end

-- {====== Scripts, styles and policy ======

local STYLES = { "page", "diagram", "panes" }
local SCRIPTS = { "text", "model", "list", "overview", "details", "latencies", "page" }

local _, own_path = ...
local folder = own_path:gsub("%.lua$", "")

local function path_of(name) return ("%s/%s"):format(folder, name) end

local function read_part(name)
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
    texts[i] = ("<%s>%s</%s>"):format(tag, read_part(name .. suffix), tag)
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
  local before, after = read_part("page.html"):match "^(.*){{data}}(.*)$"
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
local function name_field(name) return name and cut(name, MAX_NAME) or core.json.null end

-- The fields, in the order that model.js expects.
local function new_row(self, record, kind, text, of)
  local shown = self.payload == 0 and text or cut(text, self.payload)
  self.count = self.count + 1
  return core.json.array {
    record.time, record.from or "", kind, shown, name_field(of.method), name_field(of.id), of.request or core.json.null,
    #shown < #text and #text or core.json.null, of.note or core.json.null,
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

-- {====== The page ======

local SUMMARY = { "command", "cwd", "at", "pid", "dialect", "framing", "latencies" }
local BLOCK = 4 * 1024 * 1024 -- approximate bytes of a block: browsers limit the length of a text

---@class pintle.cli.view.page
local methods = {}

local metatable = { __name = "pintle.cli.view.page", __index = methods }

local function write_to_page(self, ...)
  local ok, message = self.out:write(...)
  if not ok then error(errors.new("closed", "cannot write the page: " .. message), 0) end
end

-- JSON without "<", so that it cannot contain a tag.
local function encode_for_html(value) return (core.json.encode(value):gsub("<", "\\u003c")) end

local function begin_block(self, class)
  write_to_page(self, ('<script type="application/json" class="%s">'):format(class))
  self.block = 0
end

local function end_block(self)
  write_to_page(self, "</script>\n")
  self.block = nil
end

local function put_row(self, row)
  if self.block and self.block > BLOCK then
    write_to_page(self, "\n]")
    end_block(self)
  end
  local is_first = not self.block
  if is_first then begin_block(self, "rows") end
  local text = encode_for_html(row)
  write_to_page(self, is_first and "[\n" or ",\n", text)
  self.block = self.block + #text
end

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
  write_to_page(self, before)
  self.summary = setmetatable({ command = command, cwd = start.cwd, at = start.at, pid = start.pid },
    core.json.order(SUMMARY))
  self:add(start)
end

---Adds a row that says why the recording ends early.
---@param reason string
function methods:add_break(reason) put_row(self, self.rows:add_break(self.time, reason)) end

function methods:finish()
  write_to_page(self, "\n]")
  end_block(self)
  self.summary.latencies = latency.values(self.latencies:summaries())
  for _, entry in ipairs(self.summary.latencies) do entry.method = name_field(entry.method) end
  begin_block(self, "summary")
  write_to_page(self, encode_for_html(self.summary))
  end_block(self)
  write_to_page(self, self.after)
  local ok, message = self.out:flush()
  if not ok then error(errors.new("closed", "cannot write the page: " .. message), 0) end
end

---@param out file*
---@param options { title?: string, payload: integer }
---@return pintle.cli.view.page
local function new_page(out, options)
  return setmetatable({
    out = out, title = options.title, rows = new_rows(options.payload), exchange = recording.new_exchange(),
    latencies = latency.new(),
  }, metatable)
end

-- }======

-- {====== The output file ======

local function output_of(args)
  if args.output then return args.output end
  if args.file == "-" then return "-" end
  return (args.file:gsub("%.jsonl?$", "")) .. ".html"
end

local function is_same_file(a, b)
  local first, second = lfs.attributes(a), lfs.attributes(b)
  return first ~= nil and second ~= nil and first.dev == second.dev and first.ino == second.ino
end

local function open_output(path, input)
  if path == "-" then return io.stdout end
  if is_same_file(path, input) then return nil, errors.new("invalid", path .. ": this is the recording itself") end
  local file, message = io.open(path, "w")
  if not file then return nil, errors.new("invalid", message) end
  return file
end

-- Removes an incomplete page. A device or a pipe is left alone.
local function remove_incomplete(draft)
  if not draft.is_whole and draft.path ~= "-" and lfs.attributes(draft.path, "mode") == "file" then
    os.remove(draft.path)
  end
end

-- Closing the draft removes the file unless `is_whole` is set.
local function new_draft(path)
  return setmetatable({ path = path, is_whole = false }, { __close = remove_incomplete })
end

-- }======

local function first_record(input, name)
  local line = input:read "l"
  if not line then return nil, errors.new("invalid", name .. ": the file is empty") end
  return recording.parse(line, name, 1)
end

-- Reads to the end or to the first invalid line: a tracer that was killed leaves half a line.
local function add_records(sheet, input, name)
  local number = 1
  for line in input:lines() do
    number = number + 1
    local record, err = recording.parse(line, name, number)
    if not record then
      sheet:add_break(err.message)
      return err
    end
    sheet:add(record)
  end
end

local function write_page(args, out, start, input, name)
  local sheet = new_page(out, { title = args.title, payload = args.payload or PAYLOAD })
  sheet:begin(start)
  local broken = add_records(sheet, input, name)
  sheet:finish()
  return broken
end

---@param args table
---@return integer?, pintle.error?
function view.run(args)
  local input <close>, name = recording.open(args.file)
  if not input then return nil, name end
  local start, err = first_record(input, name)
  if not start then return nil, err end
  local path = output_of(args)
  local out <close>, problem = open_output(path, args.file)
  if not out then return nil, problem end
  local draft <close> = new_draft(path)
  local broken = write_page(args, out, start, input, name)
  draft.is_whole = true
  if broken then return nil, broken end
  return status.DONE
end

return view
