-- pintle show: prints what `pintle trace` has recorded.

local lazy = require "pintle.lazy"

local errors = lazy "pintle.error"
local exchange = lazy "pintle.cli.exchange"
local interrupt = lazy "pintle.cli.interrupt"
local latency = lazy "pintle.cli.latency"
local loop = lazy "pintle.loop"
local recording = lazy "pintle.cli.recording"
local status = require "pintle.cli.status"
local transcript = lazy "pintle.cli.transcript"

local LOOK_AGAIN = 0.05 -- seconds, while a recording grows

local show = { name = "show", summary = "Print what was recorded, readably." }

function show.define(parser)
  parser:argument("file", "What `pintle trace` has written; - is stdin."):argname "FILE"
  parser:flag("-f --follow", "Go on while it is written to, up to the end of the program.")
  parser:option("-m --method", "Only messages of this method, and their answers; * and ? are wildcards.")
    :argname "GLOB"
  parser:flag("-e --errors", "Only what went wrong.")
  parser:flag("-l --latency", "How long answers took, by method, instead of what was said.")
  parser:option("-w --width", "Columns of a line; 0 is all of it. The terminal's unless told.")
    :argname "COLUMNS":convert(function(text) return math.tointeger(tonumber(text)), "a number of columns expected" end)
  parser:flag("--json", "Print it for programs to read: an object a line, or one list of latencies.")
end

-- {====== Reading ======

-- What has come since is looked at now and then. A line without its end is left until that has come.
local function wait_for_line(file)
  local place = file:seek()
  local line = file:read "L"
  while not line or line:sub(-1) ~= "\n" do
    io.stdout:flush()
    if place then file:seek("set", place) end
    local ok, err = loop.sleep(LOOK_AGAIN)
    if not ok then return nil, err end
    line = file:read "L"
  end
  return line:sub(1, -2)
end

local function each_record(path, follows, visit)
  local file <close>, name = recording.open(path)
  if not file then return nil, name end
  follows = follows and file:seek() ~= nil -- what cannot be read again ends by itself
  local number = 0
  while true do
    local line, err
    if follows then line, err = wait_for_line(file) else line = file:read "l" end
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

local function show_latencies(counts, args, console)
  local summaries = counts:summaries()
  if args.json then return console:json(transcript.latency_values(summaries)) end
  for i, line in ipairs(transcript.latency_lines(summaries)) do
    console:print(i == 1 and console:paint("bold", line) or line)
  end
end

local function show_all(args, console)
  local talk, counts = exchange.new(), latency.new()
  local script = transcript.new(args, console)
  local ok, err = each_record(args.file, args.follow, function(record)
    local items = record.message ~= nil and talk:items(record) or {}
    for _, item in ipairs(items) do counts:add(item, record.from) end
    if not args.latency then script:record(record, items) end
  end)
  if not ok then return nil, err end
  if args.latency then show_latencies(counts, args, console) else script:unanswered(talk:unanswered()) end
  return status.DONE
end

---@param args table
---@param console pintle.cli.console
---@return integer?, pintle.error?
function show.run(args, console)
  if args.width and args.width < 0 then return nil, errors.new("invalid", "--width: 0 or more expected") end
  if not args.follow then return show_all(args, console) end
  local signal, code, err = interrupt.run(function() return show_all(args, console) end)
  if signal then return status.of_signal(signal) end
  return code, err
end

return show
