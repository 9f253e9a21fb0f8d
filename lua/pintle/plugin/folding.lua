-- Folds long lines of a plugin that serves. Some hosts stop reading stderr at a line that is too long. Both stdout and
-- stderr of such a plugin go to its stderr, and both may write parts of one line. So each has half of the limit. All
-- output of Lua is folded; output of C libraries and child processes is not.

local folding = {}

-- The position of the last possible cut that is not inside a character.
local function folding_position(text, at)
  local start = at
  while at - start < 3 and start > 1 and text:byte(start) & 0xC0 == 0x80 do start = start - 1 end
  return text:byte(start) & 0xC0 == 0x80 and at or start
end

---@param text string
---@param column integer bytes of its first line that are already written
---@param most integer maximum bytes of a line, at least 4
---@return string folded, integer column bytes of its last line
function folding.fold(text, column, most)
  local parts = {}
  for at, stop in text:gmatch "()[^\n]*()\n?" do
    while column + stop - at > most do
      local cut = folding_position(text, at + most - column)
      parts[#parts + 1] = text:sub(at, cut - 1) .. "\n"
      at, column = cut, 0
    end
    parts[#parts + 1] = text:sub(at, stop)
    column = stop <= #text and 0 or column + stop - at
  end
  return table.concat(parts), column
end

-- Numbers as files write them, which differs from tostring.
local NUMBERS = { integer = "%d", float = "%.14g" }

-- An argument that is neither text nor number is left to the file, which raises.
local function fold_written_arguments(columns, file, most, ...)
  local arguments = table.pack(...)
  for i = 1, arguments.n do
    local text = arguments[i]
    if math.type(text) then text = NUMBERS[math.type(text)]:format(text) end
    if type(text) == "string" then arguments[i], columns[file] = folding.fold(text, columns[file], most) end
  end
  return table.unpack(arguments, 1, arguments.n)
end

local function fold_output_files(most)
  local columns, methods = { [io.stdout] = 0, [io.stderr] = 0 }, getmetatable(io.stderr).__index
  local write = methods.write
  function methods.write(file, ...)
    if not columns[file] then return write(file, ...) end
    return write(file, fold_written_arguments(columns, file, most, ...))
  end
  rawset(io, "write", function(...) return io.output():write(...) end)
end

local function print_folded_line(...)
  local texts = table.pack(...)
  for i = 1, texts.n do texts[i] = tostring(texts[i]) end
  io.stdout:write(table.concat(texts, "\t"), "\n")
  io.stdout:flush()
end

local is_folding = false

---Folds every line that Lua writes to stderr from now on: by print, io.write, warn, and the methods of io.stdout and
---io.stderr.
---@param limit integer bytes
---@param lua_print function the print of Lua, which is replaced; another one writes to one of these files
function folding.start(limit, lua_print)
  if is_folding then return end
  is_folding = true
  local most, lua_warn = limit // 2 - 1, warn
  fold_output_files(most)
  if print == lua_print then _G.print = print_folded_line end
  function _G.warn(...) lua_warn((folding.fold(table.concat { ... }, 0, most))) end
end

return folding
