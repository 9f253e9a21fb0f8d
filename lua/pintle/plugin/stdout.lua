-- Who owns stdout: the program, until it serves a plugin; then the protocol.
--
-- A plugin that prints while it is loaded would break the protocol before it begins. But a program may also declare a
-- plugin, print, and never serve it. So from the declaration on, printed text is only kept from being written at once:
-- `print` does not flush. If the plugin is served, the text goes to stderr; if not, to stdout, as ever.

local core = require "pintle.core"

local stdout = {}

local true_print, is_claimed, is_folding = print, false, false

local function print_unflushed(...)
  for i = 1, select("#", ...) do
    if i > 1 then io.stdout:write "\t" end
    io.stdout:write(tostring((select(i, ...))))
  end
  io.stdout:write "\n"
end

local function is_main_script(level)
  local caller = debug.getinfo(level + 1, "S")
  return arg ~= nil and caller ~= nil and caller.source == "@" .. tostring(arg[0])
end

---Holds back printed text, if the main script calls for it and stdout is no terminal.
---@param level integer where the call for it came from, as for `error`
function stdout.hold(level)
  if print == true_print and is_main_script(level + 1) and not core.isatty(1) then _G.print = print_unflushed end
end

---Takes stdin and stdout for the protocol. From now on printed text, and text that was held back, goes to stderr.
---@return pintle.fd? input, pintle.fd|string output_or_message
function stdout.claim()
  if print == print_unflushed then _G.print = true_print end
  local input, output = core.claim_stdio()
  if not input then return nil, output end
  is_claimed = true
  io.stdout:flush()
  io.stdout:setvbuf "line"
  return input, output
end

-- {====== Folding ======

-- Some hosts stop reading stderr at a line that is too long. Both stdout and stderr of a plugin that serves go to its
-- stderr, and a line may be written in parts and by both. So each has half of the limit. Everything that Lua writes is
-- folded; output of C libraries and child processes is not.

-- Where to cut at the latest: not inside of a character.
local function cut_before(text, at)
  local start = at
  while at - start < 3 and start > 1 and text:byte(start) & 0xC0 == 0x80 do start = start - 1 end
  return text:byte(start) & 0xC0 == 0x80 and at or start
end

---@param text string
---@param column integer bytes of its first line that are written already
---@param most integer bytes of a line, at least 4
---@return string folded, integer column bytes of its last line
function stdout.fold(text, column, most)
  local parts = {}
  for at, stop in text:gmatch "()[^\n]*()\n?" do
    while column + stop - at > most do
      local cut = cut_before(text, at + most - column)
      parts[#parts + 1] = text:sub(at, cut - 1) .. "\n"
      at, column = cut, 0
    end
    parts[#parts + 1] = text:sub(at, stop)
    column = stop <= #text and 0 or column + stop - at
  end
  return table.concat(parts), column
end

-- Numbers as files write them, which is not what tostring gives.
local NUMBERS = { integer = "%d", float = "%.14g" }

-- An argument that is neither text nor number is left for the file to refuse.
local function fold_arguments(columns, file, most, ...)
  local arguments = table.pack(...)
  for i = 1, arguments.n do
    local text = arguments[i]
    if math.type(text) then text = NUMBERS[math.type(text)]:format(text) end
    if type(text) == "string" then arguments[i], columns[file] = stdout.fold(text, columns[file], most) end
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

local function print_flushed(...)
  print_unflushed(...)
  io.stdout:flush()
end

---Keeps every line that Lua writes to stderr from now on below a limit: by print, io.write, warn, and the methods of
---io.stdout and io.stderr. Without a claim of stdout nothing is done, for then stderr is not read by a host.
---@param limit integer bytes
function stdout.fold_lines(limit)
  if is_folding or not is_claimed then return end
  is_folding = true
  local most, true_warn = limit // 2 - 1, warn
  fold_files(most)
  if print == true_print then _G.print = print_flushed end
  function _G.warn(...) true_warn((stdout.fold(table.concat { ... }, 0, most))) end
end

-- }======

return stdout
