-- pintle view: makes an HTML page of a recording, or serves one that grows with it.

local lazy = require "pintle.lazy"
local status = require "pintle.cli.status"

local errors = lazy "pintle.error"
local lfs = lazy "lfs"
local loop = lazy "pintle.loop"
local options = lazy "pintle.cli.options"
local pages = lazy "pintle.cli.view.page"
local recording = lazy "pintle.cli.recording"
local servers = lazy "pintle.cli.view.server"

local PAYLOAD = 1024 * 1024 -- default of --payload, in bytes

local view = { name = "view", summary = "Make an HTML page of a recording." }

local function read_payload_size(text)
  local number = math.tointeger(tonumber(text))
  if number and number >= 0 then return number end
  return nil, "a number of bytes expected"
end

function view.define(parser)
  parser:usage "Usage: pintle view [OPTIONS] FILE [OTHER]"
  parser:argument("file", "A recording of `pintle trace`; - is stdin."):argname "FILE"
  parser:argument("other", "A second recording, to compare the first with."):argname "OTHER":args "?"
  parser:option("-o --output", "The page to write; - is stdout (default: FILE with the extension .html).")
    :argname "FILE"
  parser:flag("--open", "Open the page in the browser: $BROWSER, or the system's.")
  parser:flag("-f --follow", "Serve a page that grows with the recording, to this machine only, until Ctrl-C.")
  parser:option("-t --title", "The title of the page (default: the recorded command)."):argname "TEXT"
  parser:option("--payload", ("Maximum bytes of each message in the page; 0 is no limit (default: %d).")
    :format(PAYLOAD)):argname "BYTES":convert(read_payload_size)
end

-- {====== The output file ======

local function recording_stem(path) return (path:gsub("%.jsonl?$", "")) end

local function page_path(args)
  if args.output then return args.output end
  if args.file == "-" then return "-" end
  if not args.other then return recording_stem(args.file) .. ".html" end
  return ("%s-%s.html"):format(recording_stem(args.file), recording_stem(args.other:match "[^/]*$"))
end

local function is_same_file(a, b)
  local first, second = lfs.attributes(a), lfs.attributes(b)
  return first ~= nil and second ~= nil and first.dev == second.dev and first.ino == second.ino
end

local function open_page_file(path, inputs)
  if path == "-" then return io.stdout end
  for _, input in ipairs(inputs) do
    if is_same_file(path, input) then return nil, errors.new("invalid", path .. ": this is the recording itself") end
  end
  local file, message = io.open(path, "w")
  if not file then return nil, errors.new("invalid", message) end
  return file
end

-- Removes an incomplete page. A device or a pipe is left alone.
local function remove_incomplete_page(draft)
  if not draft.is_whole and draft.path ~= "-" and lfs.attributes(draft.path, "mode") == "file" then
    os.remove(draft.path)
  end
end

-- Closing the draft removes the file unless `is_whole` is set.
local function new_page_draft(path)
  return setmetatable({ path = path, is_whole = false }, { __close = remove_incomplete_page })
end

-- }======

-- {====== The browser ======

-- $BROWSER may have arguments. The shell leaves the browser running when pintle ends, and keeps Ctrl-C from it.
local OPEN = [[
if [ -n "${BROWSER:-}" ]; then set -- $BROWSER "$page"
elif command -v xdg-open; then set -- xdg-open "$page"
elif command -v open; then set -- open "$page"
else exit 1
fi
"$@" < /dev/null > /dev/null 2>&1 &
]]

---@param page string an address, or a path
---@return true?, pintle.error?
local function open_browser(page)
  local is_path = not page:find "^%w+://" and page:sub(1, 1) ~= "/"
  local place = is_path and ("%s/%s"):format(lfs.currentdir(), page) or page
  if os.execute(("page=%s; { %s\n} > /dev/null 2>&1"):format(options.shell_line { place }, OPEN)) then return true end
  return nil, errors.new("spawn", "no browser found to open " .. place .. "; set BROWSER to the command that opens it")
end

-- }======

-- {====== A page in a file ======

-- A recording that is open, with its first record.
local function open_viewed_recording(path)
  local file, name = recording.open(path)
  if not file then return nil, name end
  local line = file:read "l"
  if not line then return nil, errors.new("invalid", name .. ": the file is empty") end
  local start, err = recording.parse(line, name, 1)
  if not start then return nil, err end
  return { file = file, name = name, start = start }
end

-- Reads to the end or to the first invalid line: a tracer that was killed leaves half a line.
local function add_records_to_page(page, input)
  local number = 1
  page:add(input.start)
  for line in input.file:lines() do
    number = number + 1
    local record, err = recording.parse(line, input.name, number)
    if not record then
      page:add_break(err.message)
      return err
    end
    page:add(record)
  end
end

local function viewed_command(input)
  return input.start.command and table.concat(input.start.command, " ") or "a recording"
end

local function page_title(args, inputs)
  if args.title then return args.title end
  if #inputs == 1 then return viewed_command(inputs[1]) end
  return ("%s | %s"):format(inputs[1].name:match "[^/]*$", inputs[2].name:match "[^/]*$")
end

local CLASSES = { "data", "data other" }

local function write_page(args, out, inputs)
  local page = pages.new(out, {
    title = page_title(args, inputs), payload = args.payload or PAYLOAD, mode = #inputs == 1 and "file" or "compare",
  })
  local broken
  for i, input in ipairs(inputs) do
    page:begin(CLASSES[i], #inputs > 1 and input.name:match "[^/]*$" or nil)
    broken = add_records_to_page(page, input) or broken
  end
  page:finish()
  return broken
end

local function close_viewed_recordings(inputs)
  for _, input in ipairs(inputs) do input.file:close() end
end

local function open_viewed_recordings(args)
  local inputs = setmetatable({}, { __close = close_viewed_recordings })
  for i, path in ipairs { args.file, args.other } do
    local err
    inputs[i], err = open_viewed_recording(path)
    if not inputs[i] then
      close_viewed_recordings(inputs)
      return nil, err
    end
  end
  return inputs
end

local function make_page(args, console)
  local inputs <close>, err = open_viewed_recordings(args)
  if not inputs then return nil, err end
  local path = page_path(args)
  local out <close>, problem = open_page_file(path, { args.file, args.other })
  if not out then return nil, problem end
  local draft <close> = new_page_draft(path)
  local broken = write_page(args, out, inputs)
  draft.is_whole = true
  if console.is_terminal and path ~= "-" then console:warn("saved " .. path) end
  if args.open then
    local ok, failure = open_browser(path)
    if not ok then return nil, failure end
  end
  if broken then return nil, broken end
  return status.DONE
end

-- }======

-- {====== A live page ======

local function serve_live_page(args, console)
  local input, err = open_viewed_recording(args.file)
  if not input then return nil, err end
  input.file:close()
  local server <close>, problem = servers.start(args.file,
    { title = page_title(args, { input }), payload = args.payload or PAYLOAD })
  if not server then return nil, problem end
  console:print(server.address)
  io.stdout:flush()
  if console.is_terminal then console:warn "the page grows with the recording; Ctrl-C ends it" end
  if args.open then
    local ok, failure = open_browser(server.address)
    if not ok then return nil, failure end
  end
  loop.event():wait() -- until the task is cancelled
  return status.DONE
end

-- }======

local function check_view_arguments(args)
  if args.file == "-" and args.other == "-" then return options.usage_error "stdin can be read only once" end
  if args.open and not args.follow and page_path(args) == "-" then
    return options.usage_error "--open: a page on stdout cannot be opened; give --output FILE"
  end
  if not args.follow then return true end
  if args.other or args.output then
    return options.usage_error "--follow: takes one recording, and writes no file"
  end
  if lfs.attributes(args.file, "mode") == "file" or not lfs.attributes(args.file) and args.file ~= "-" then
    return true -- opening reports a missing file
  end
  return options.usage_error("--follow: a regular file expected, got " .. args.file)
end

---@param args table
---@param console pintle.cli.console
---@return integer?, pintle.error?
function view.run(args, console)
  local ok, err = check_view_arguments(args)
  if not ok then return nil, err end
  if not args.follow then return make_page(args, console) end
  local signal, code, problem = status.run_interruptible(function() return serve_live_page(args, console) end)
  if signal then return status.of_signal(signal) end
  return code, problem
end

return view
