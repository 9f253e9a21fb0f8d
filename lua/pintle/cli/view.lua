-- pintle view: makes an HTML page of a recording.

local lazy = require "pintle.lazy"

local errors = lazy "pintle.error"
local lfs = lazy "lfs"
local page = lazy "pintle.cli.view.page"
local recording = lazy "pintle.cli.recording"
local status = require "pintle.cli.status"

local PAYLOAD = 1024 * 1024 -- default of --payload, in bytes

local view = { name = "view", summary = "Make an HTML page of a recording." }

local function size(text)
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
    :format(PAYLOAD)):argname "BYTES":convert(size)
end

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
  local sheet = page.new(out, { title = args.title, payload = args.payload or PAYLOAD })
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
