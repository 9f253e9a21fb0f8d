-- pintle view: makes a page of what `pintle trace` has recorded, to be looked at with a browser.

local lazy = require "pintle.lazy"

local errors = lazy "pintle.error"
local lfs = lazy "lfs"
local page = lazy "pintle.cli.view.page"
local recording = lazy "pintle.cli.recording"
local status = require "pintle.cli.status"

local PAYLOAD = 1024 * 1024 -- bytes of a message that are in the page unless told

local view = { name = "view", summary = "Make a page of what was recorded, for a browser." }

local function size(text)
  local number = math.tointeger(tonumber(text))
  if number and number >= 0 then return number end
  return nil, "a number of bytes expected"
end

function view.define(parser)
  parser:argument("file", "What `pintle trace` has written; - is stdin."):argname "FILE"
  parser:option("-o --output", "Where to write the page; - is stdout. Unless told, beside FILE, with .html.")
    :argname "FILE"
  parser:option("-t --title", "The title of the page. The command that was recorded unless told."):argname "TEXT"
  parser:option("--payload", ("Bytes of each text that are in the page; 0 is all of it. %d unless told.")
    :format(PAYLOAD)):argname "BYTES":convert(size)
end

-- {====== Where to ======

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

-- Half a page is of no use. What is no file of its own, such as a device, is left alone.
local function take_back(draft)
  if not draft.is_whole and draft.path ~= "-" and lfs.attributes(draft.path, "mode") == "file" then
    os.remove(draft.path)
  end
end

-- What is taken back unless it is whole in the end.
local function new_draft(path) return setmetatable({ path = path, is_whole = false }, { __close = take_back }) end

-- }======

local function first_record(input, name)
  local line = input:read "l"
  if not line then return nil, errors.new("invalid", name .. ": the file is empty") end
  return recording.parse(line, name, 1)
end

-- Up to the end, or to the first line that is none: whoever was killed while he recorded leaves half a line.
local function add_records(sheet, input, name)
  local number = 1
  for line in input:lines() do
    number = number + 1
    local record, err = recording.parse(line, name, number)
    if not record then
      sheet:break_off(err.message)
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
