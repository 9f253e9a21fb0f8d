-- Folds the lines that a plugin writes to stderr, for hosts that stop reading at one that is too long.
--
-- Both stdout and stderr of a plugin that serves go to its stderr, and a line may be written in parts and by both. So
-- each has half of the limit. Everything that Lua writes is folded; what C libraries and child processes write there
-- does not come by here.

local stdout = require "pintle.plugin.stdout"

local fold = {}

-- {====== Text ======

-- Where to cut at the latest: not inside of a character.
local function cut_before(text, at)
  local start = at
  while at - start < 3 and start > 1 and text:byte(start) & 0xC0 == 0x80 do start = start - 1 end
  return text:byte(start) & 0xC0 == 0x80 and at or start
end

local function column_after(text, column)
  local last = text:match ".*()\n"
  return last and #text - last or column + #text
end

-- The pieces of one line, from `at` to before `stop`, of which `column` bytes are written already.
local function add_line(parts, text, at, stop, column, most)
  while column + stop - at > most do
    local cut = cut_before(text, at + most - column)
    parts[#parts + 1] = text:sub(at, cut - 1)
    parts[#parts + 1] = "\n"
    at, column = cut, 0
  end
  parts[#parts + 1] = text:sub(at, stop - 1)
  return column + stop - at
end

---@param text string
---@param column integer bytes of its first line that are written already
---@param most integer bytes of a line, at least 4
---@return string folded, integer column bytes of its last line
function fold.text(text, column, most)
  if column + #text <= most then return text, column_after(text, column) end
  local parts, at = {}, 1
  for stop in text:gmatch "()\n" do
    add_line(parts, text, at, stop, column, most)
    parts[#parts + 1] = "\n"
    at, column = stop + 1, 0
  end
  column = add_line(parts, text, at, #text + 1, column, most)
  return table.concat(parts), column
end

-- }======

-- {====== Everything that writes ======

-- Numbers as files write them, which is not what tostring gives.
local NUMBERS = { integer = "%d", float = "%.14g" }

-- What is neither text nor number is left for the file to refuse.
local function fold_arguments(columns, file, most, ...)
  local arguments = table.pack(...)
  for i = 1, arguments.n do
    local text = arguments[i]
    if math.type(text) then text = NUMBERS[math.type(text)]:format(text) end
    if type(text) == "string" then arguments[i], columns[file] = fold.text(text, columns[file], most) end
  end
  return table.unpack(arguments, 1, arguments.n)
end

local function fold_files(most)
  local columns, methods = { [io.stdout] = 0, [io.stderr] = 0 }, getmetatable(io.stderr).__index
  local write = methods.write
  function methods.write(file, ...)
    if not columns[file] then return write(file, ...) end
    return write(file, fold_arguments(columns, file, most, ...))
  end
  rawset(io, "write", function(...) return io.output():write(...) end)
end

local function fold_print()
  if print ~= stdout.true_print then return end
  function _G.print(...)
    stdout.print_unflushed(...)
    io.stdout:flush()
  end
end

local function fold_warnings(most)
  local warn = warn
  function _G.warn(...) warn((fold.text(table.concat { ... }, 0, most))) end
end

local is_folding = false

---Keeps every line that Lua writes to stderr from now on below a limit: by print, io.write, warn, and the methods of
---io.stdout and io.stderr. Without a claim of stdout nothing is done, for then stderr is not read by a host.
---@param limit integer bytes
function fold.lines_below(limit)
  if is_folding or not stdout.is_claimed then return end
  is_folding = true
  local most = limit // 2 - 1
  fold_files(most)
  fold_print()
  fold_warnings(most)
end

-- }======

return fold
