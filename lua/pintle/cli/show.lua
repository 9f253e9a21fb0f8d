-- pintle show: prints a recording.

local consoles = require "pintle.cli.console"
local lazy = require "pintle.lazy"
local options = require "pintle.cli.options"
local status = require "pintle.cli.status"

local core = lazy "pintle.core"
local json_values = lazy "pintle.cli.json_values"
local latency = lazy "pintle.cli.latency"
local loop = lazy "pintle.loop"
local recording = lazy "pintle.cli.recording"

local POLL_INTERVAL = 0.05 -- seconds, with --follow

local show = { name = "show", summary = "Print a recording." }

function show.define(parser)
  parser:usage "Usage: pintle show [OPTIONS] FILE"
  parser:argument("file", "A recording of `pintle trace`; - is stdin."):argname "FILE"
  parser:flag("-f --follow", "Keep reading while the recording grows, until the program exits.")
  parser:option("-m --method", "Show only messages of this method and their answers; * and ? are wildcards.")
    :argname "GLOB"
  parser:flag("-e --errors", "Show only errors, noise and failed exits.")
  parser:flag("-l --latency", "Show how long answers took, by method, instead of messages.")
  parser:option("-w --width", "Cut lines at this width; 0 never cuts (default: the terminal's width).")
    :argname "COLUMNS":convert(options.whole_number)
  parser:flag("--json", "Print JSON: one object per line, or one list of latencies.")
end

local ARROWS = { host = "→", plugin = "←" }

---@class pintle.cli.transcript
local transcript = {}

local transcript_metatable = { __name = "pintle.cli.transcript", __index = transcript }

-- {====== Lines ======

-- Cuts at a number of columns, never inside a character.
local function cut_shown_line(text, width)
  if not width or (utf8.len(text) or #text) <= width then return text end
  local stop = utf8.len(text) and utf8.offset(text, width) or width
  return text:sub(1, stop - 1) .. "…"
end

local function shown_item_name(item)
  local name = item.method or (item.kind == "other" and "not a JSON-RPC message" or "?")
  return item.id and ("%s #%s"):format(name, item.id) or name
end

local MEMBERS = { request = "params", notification = "params", result = "result", error = "error" }

local function shown_payload(item)
  local member = MEMBERS[item.kind]
  if not member then return item.text end
  local first, last = json_values.find_member(item.text, member)
  return first and item.text:sub(first, last) or ""
end

local function shown_error(item)
  local err = item.payload
  if type(err) ~= "table" or err.message == nil then return shown_payload(item) end
  local text = ("%s %s"):format(tostring(err.code), tostring(err.message))
  return err.data ~= nil and text .. " " .. core.json.encode(err.data) or text
end

local function shown_item(item)
  local after = item.latency and ("  (%s)"):format(latency.duration_text(item.latency)) or ""
  if item.kind == "result" then return ("%s = %s"):format(shown_item_name(item), shown_payload(item)), after end
  if item.kind == "error" then return ("%s ! %s"):format(shown_item_name(item), shown_error(item)), after end
  local payload = shown_payload(item)
  return payload == "" and shown_item_name(item) or ("%s %s"):format(shown_item_name(item), payload), after
end

local function shown_noise(record)
  local text = record.encoding and record.encoding .. " " .. record.noise or record.noise
  return record.problem and ("? %s (%s)"):format(text, record.problem) or "? " .. text
end

local COLOURS = { request = "cyan", result = "green", error = "red", other = "red" }

local function show_line(self, record, text, after, style)
  local time = ("%11.6f %s "):format(record.time, ARROWS[record.from] or " ")
  local room = self.width and math.max(self.width - utf8.len(time) - utf8.len(after), 8)
  local line = cut_shown_line(consoles.harmless_line(text), room)
  if style then line = self.console:paint(style, line) end
  self.console:print(time .. line .. self.console:paint("dim", after))
end

-- }======

-- {====== Filters ======

local function is_shown_as_error(record)
  local exit = record.exit
  return record.noise ~= nil or exit ~= nil and exit.code ~= 0
end

local function is_shown(self, record, item)
  if item then
    local is_right_method = not self.matches or item.method ~= nil and self.matches(item.method)
    local is_error = item.kind == "error" or item.kind == "other"
    return is_right_method and (not self.only_errors or is_error)
  end
  if self.matches then return false end
  return not self.only_errors or is_shown_as_error(record)
end

local function shown_items(self, record, items)
  local wanted = {}
  for _, item in ipairs(items) do
    if is_shown(self, record, item) then wanted[#wanted + 1] = item end
  end
  return wanted
end

-- }======

-- {====== JSON ======

local function show_record_as_json(self, record, items)
  local line = record.line
  local answer = #items == 1 and items[1].latency and items[1]
  if answer then
    local extra = (',"method":%s,"latency":%s}'):format(core.json.encode(answer.method),
      core.json.encode(math.floor(answer.latency * 1e6 + 0.5) / 1e6))
    line = line:gsub("}%s*$", function() return extra end)
  end
  self.console:print_foreign(line)
end

-- }======

---@param record pintle.cli.record
---@param items pintle.cli.item[] messages of the record
function transcript:show_record(record, items)
  local wanted = shown_items(self, record, items)
  local is_wanted = #wanted > 0 or record.message == nil and is_shown(self, record)
  if not is_wanted then return end
  if self.json then return show_record_as_json(self, record, wanted) end
  for _, item in ipairs(wanted) do
    local text, after = shown_item(item)
    show_line(self, record, text, after, COLOURS[item.kind])
  end
  if record.noise then return show_line(self, record, shown_noise(record), "", "yellow") end
  if record.stderr then return show_line(self, record, "| " .. record.stderr, "", "dim") end
  if record.message == nil then show_line(self, record, recording.describe_event(record), "", "bold") end
end

---@param list table[] requests without an answer
function transcript:show_unanswered(list)
  if self.json then return end
  for _, request in ipairs(list) do
    if not self.matches or self.matches(request.method) then
      local line = ("never answered: %s #%s"):format(consoles.harmless_line(request.method),
        consoles.harmless_line(request.id))
      self.console:print((" "):rep(12) .. ARROWS[request.from] .. " " .. self.console:paint("red", line))
    end
  end
end

local function transcript_columns(args, console)
  if args.width == 0 then return nil end
  return args.width or console:terminal_columns()
end

---@param args { method?: string, errors?: boolean, width?: integer, json?: boolean }
---@param console pintle.cli.console
---@return pintle.cli.transcript
local function new_transcript(args, console)
  return setmetatable({
    console = console, json = args.json, only_errors = args.errors, width = transcript_columns(args, console),
    matches = args.method and options.glob(args.method),
  }, transcript_metatable)
end

-- {====== Reading ======

-- Polls the file. A line without its end is left until the rest has been written.
local function wait_for_followed_line(file)
  local place = file:seek()
  local line = file:read "L"
  while not line or line:sub(-1) ~= "\n" do
    io.stdout:flush()
    if place then file:seek("set", place) end
    local ok, err = loop.sleep(POLL_INTERVAL)
    if not ok then return nil, err end
    line = file:read "L"
  end
  return line:sub(1, -2)
end

local function visit_shown_records(path, follows, visit)
  local file <close>, name = recording.open(path)
  if not file then return nil, name end
  follows = follows and file:seek() ~= nil -- a pipe ends by itself
  local number = 0
  while true do
    local line, err
    if follows then line, err = wait_for_followed_line(file) else line = file:read "l" end
    if not line then return not err or nil, err end
    number = number + 1
    local record
    record, err = recording.parse(line, name, number)
    if not record then return nil, err end
    visit(record)
    if follows and record.exit then return true end
  end
end

-- }======

local function show_latencies(latencies, args, console)
  local summaries = latencies:latency_summaries()
  if args.json then return console:print_json(latency.latencies_value(summaries)) end
  console:print_lines(latency.latency_lines(summaries))
end

local function show_recording(args, console)
  local exchange, latencies = recording.new_exchange(), latency.new()
  local output = new_transcript(args, console)
  local ok, err = visit_shown_records(args.file, args.follow, function(record)
    local items = record.message ~= nil and exchange:items(record) or {}
    for _, item in ipairs(items) do latencies:add_latency(item, record.from) end
    if not args.latency then output:show_record(record, items) end
  end)
  if not ok then return nil, err end
  if args.latency then show_latencies(latencies, args, console) else output:show_unanswered(exchange:unanswered()) end
  return status.DONE
end

---@param args table
---@param console pintle.cli.console
---@return integer?, pintle.error?
function show.run(args, console)
  if not args.follow then return show_recording(args, console) end
  local signal, code, err = status.run_interruptible(function() return show_recording(args, console) end)
  if signal then return status.of_signal(signal) end
  return code, err
end

return show
