-- Text: its whitespace, characters and letter case, and values as text.

local context = require "liquid.context"
local numbers = require "liquid.numbers"
local values = require "liquid.values"

local text = {}

local objects, arrays, null = values.objects, values.arrays, values.null
local float_text, work = numbers.float_text, context.count_work
local math_type, type, getmetatable, format, find = math.type, type, getmetatable, string.format, string.find
local sub, gsub, match, byte = string.sub, string.gsub, string.match, string.byte

-- {====== Whitespace ======

-- Of a long text the tail is searched first, because most texts end with little whitespace. A NUL counts as whitespace,
-- as in Ruby. The time is linear in the length of the text.
local SHORT_TEXT, TAIL = 120, 24

---@param value string
---@return string
function text.lstrip(value)
  local first = find(value, "[^%s%z]")
  if first == 1 then return value end
  return first and sub(value, first) or ""
end

---@param value string
---@return string
function text.rstrip(value)
  local length = #value
  if length <= SHORT_TEXT then return match(value, "^.*[^%s%z]") or "" end
  local from = length - TAIL + 1
  local first = find(value, "[%s%z]*$", from)
  if first > length then return value end
  if first > from then return sub(value, 1, first - 1) end
  return match(value, "^.*[^%s%z]") or ""
end

---@param value string
---@return string
function text.strip(value)
  return text.rstrip(text.lstrip(value))
end

-- }======

-- {====== Characters ======

local count_characters = utf8.len
local CHARACTER = "[%z\1-\x7F\xC2-\xF4][\x80-\xBF]*"

---The number of characters. In a text that is not UTF-8 every byte is a character.
---@param value string
---@return integer
function text.length(value)
  return count_characters(value) or #value
end

---@param value string
---@return string the first character, "" of an empty text
function text.first(value)
  if (byte(value) or 0) < 0x80 or not count_characters(value) then return sub(value, 1, 1) end
  return match(value, "^" .. CHARACTER)
end

---@param value string
---@return string the last character, "" of an empty text
function text.last(value)
  if (byte(value, -1) or 0) < 0x80 or not count_characters(value) then return sub(value, -1) end
  return match(value, CHARACTER .. "$")
end

---@param value string
---@return string[]
function text.characters(value)
  local list, count = {}, 0
  local length = count_characters(value)
  if length and length < #value then
    for character in value:gmatch(CHARACTER) do
      count = count + 1
      list[count] = character
    end
  else
    for i = 1, #value do list[i] = sub(value, i, i) end
  end
  return list
end

---A part of a text, in characters.
---@param value string
---@param start integer the number of characters before it
---@param length integer
---@return string
function text.slice(value, start, length)
  if length <= 0 then return "" end
  local all = count_characters(value)
  if not all or all == #value then return sub(value, start + 1, start + length) end
  local first = utf8.offset(value, start + 1)
  if not first then return "" end
  local after = utf8.offset(value, length + 1, first)
  return sub(value, first, after and after - 1 or -1)
end

-- }======

-- {====== Letter case ======

-- The full case mapping of Unicode 16, as in Ruby: one letter may map to several. It does not depend on context, so
-- there is no final sigma. Letters are hexadecimal code points. "first-last:distance" is a run of letters, "/2" a run
-- of every second letter, and "letter=first+second" a letter that maps to several.

-- Upper case letters and the distance to their lower case letter.
local PAIRS = [[
  C0-D6:32 D8-DE:32 100-12E/2:1 132-136/2:1 139-147/2:1 14A-176/2:1 178:-121 179-17D/2:1 181:210 182-184/2:1 186:206
  187:1 189-18A:205 18B:1 18E:79 18F:202 190:203 191:1 193:205 194:207 196:211 197:209 198:1 19C:211 19D:213 19F:214
  1A0-1A4/2:1 1A6:218 1A7:1 1A9:218 1AC:1 1AE:218 1AF:1 1B1-1B2:217 1B3-1B5/2:1 1B7:219 1B8:1 1BC:1 1C4:2 1C7:2
  1CA:2 1CD-1DB/2:1 1DE-1EE/2:1 1F1:2 1F4:1 1F6:-97 1F7:-56 1F8-21E/2:1 220:-130 222-232/2:1 23A:10795 23B:1
  23D:-163 23E:10792 241:1 243:-195 244:69 245:71 246-24E/2:1 370-372/2:1 376:1 37F:116 386:38 388-38A:37 38C:64
  38E-38F:63 391-3A1:32 3A3-3AB:32 3CF:8 3D8-3EE/2:1 3F7:1 3F9:-7 3FA:1 3FD-3FF:-130 400-40F:80 410-42F:32
  460-480/2:1 48A-4BE/2:1 4C0:15 4C1-4CD/2:1 4D0-52E/2:1 531-556:48 10A0-10C5:7264 10C7:7264 10CD:7264
  13A0-13EF:38864 13F0-13F5:8 1C89:1 1C90-1CBA:-3008 1CBD-1CBF:-3008 1E00-1E94/2:1 1EA0-1EFE/2:1 1F08-1F0F:-8
  1F18-1F1D:-8 1F28-1F2F:-8 1F38-1F3F:-8 1F48-1F4D:-8 1F59-1F5F/2:-8 1F68-1F6F:-8 1FB8-1FB9:-8 1FBA-1FBB:-74
  1FC8-1FCB:-86 1FD8-1FD9:-8 1FDA-1FDB:-100 1FE8-1FE9:-8 1FEA-1FEB:-112 1FEC:-7 1FF8-1FF9:-128 1FFA-1FFB:-126
  2132:28 2160-216F:16 2183:1 24B6-24CF:26 2C00-2C2F:48 2C60:1 2C62:-10743 2C63:-3814 2C64:-10727 2C67-2C6B/2:1
  2C6D:-10780 2C6E:-10749 2C6F:-10783 2C70:-10782 2C72:1 2C75:1 2C7E-2C7F:-10815 2C80-2CE2/2:1 2CEB-2CED/2:1 2CF2:1
  A640-A66C/2:1 A680-A69A/2:1 A722-A72E/2:1 A732-A76E/2:1 A779-A77B/2:1 A77D:-35332 A77E-A786/2:1 A78B:1 A78D:-42280
  A790-A792/2:1 A796-A7A8/2:1 A7AA:-42308 A7AB:-42319 A7AC:-42315 A7AD:-42305 A7AE:-42308 A7B0:-42258 A7B1:-42282
  A7B2:-42261 A7B3:928 A7B4-A7C2/2:1 A7C4:-48 A7C5:-42307 A7C6:-35384 A7C7-A7C9/2:1 A7CB:-42343 A7CC:1 A7D0:1
  A7D6-A7DA/2:1 A7DC:-42561 A7F5:1 FF21-FF3A:32 10400-10427:40 104B0-104D3:40 10570-10594/2:39 10571-10579/2:39
  1057D-10589/2:39 1058D-10591/2:39 10595:39 10C80-10CB2:64 10D50-10D65:32 118A0-118BF:32 16E40-16E5F:32
  1E900-1E921:34
]]

-- Mappings to upper and to lower case that are not reversible.
local UPPER = [[
  B5:743 131:-232 17F:-300 1C5:-1 1C8:-1 1CB:-1 1F2:-1 345:84 3C2:-31 3D0:-62 3D1:-57 3D5:-47 3D6:-54 3F0:-86
  3F1:-80 3F5:-96 1C80:-6254 1C81:-6253 1C82:-6244 1C83-1C84:-6242 1C85:-6243 1C86:-6236 1C87:-6181 1C88:35266
  1E9B:-59 1FBE:-7205
  DF=53+53 149=2BC+4E 1F0=4A+30C 390=399+308+301 3B0=3A5+308+301 587=535+552 1E96=48+331 1E97=54+308 1E98=57+30A
  1E99=59+30A 1E9A=41+2BE 1F50=3A5+313 1F52=3A5+313+300 1F54=3A5+313+301 1F56=3A5+313+342 1FB2=1FBA+399 1FB3=391+399
  1FB4=386+399 1FB6=391+342 1FB7=391+342+399 1FBC=391+399 1FC2=1FCA+399 1FC3=397+399 1FC4=389+399 1FC6=397+342
  1FC7=397+342+399 1FCC=397+399 1FD2=399+308+300 1FD3=399+308+301 1FD6=399+342 1FD7=399+308+342 1FE2=3A5+308+300
  1FE3=3A5+308+301 1FE4=3A1+313 1FE6=3A5+342 1FE7=3A5+308+342 1FF2=1FFA+399 1FF3=3A9+399 1FF4=38F+399 1FF6=3A9+342
  1FF7=3A9+342+399 1FFC=3A9+399 FB00=46+46 FB01=46+49 FB02=46+4C FB03=46+46+49 FB04=46+46+4C FB05=53+54 FB06=53+54
  FB13=544+546 FB14=544+535 FB15=544+53B FB16=54E+546 FB17=544+53D
]]
local LOWER = [[
  1C5:1 1C8:1 1CB:1 1F2:1 3F4:-60 1E9E:-7615 1F88-1F8F:-8 1F98-1F9F:-8 1FA8-1FAF:-8 1FBC:-9 1FCC:-9 1FFC:-9
  2126:-7517 212A:-8383 212B:-8262 130=69+307
]]

-- Letters whose title case differs from their upper case.
local TITLE = [[
  1C4:1 1C5:0 1C6:-1 1C7:1 1C8:0 1C9:-1 1CA:1 1CB:0 1CC:-1 1F1:1 1F2:0 1F3:-1 10D0-10FA:0 10FD-10FF:0
  1C90-1CBA:-3008 1CBD-1CBF:-3008 1F80-1F87:8 1F88-1F8F:0 1F90-1F97:8 1F98-1F9F:0 1FA0-1FA7:8 1FA8-1FAF:0 1FB3:9
  1FBC:0 1FC3:9 1FCC:0 1FF3:9 1FFC:0
  DF=53+73 587=535+582 1FB2=1FBA+345 1FB4=386+345 1FB7=391+342+345 1FC2=1FCA+345 1FC4=389+345 1FC7=397+342+345
  1FF2=1FFA+345 1FF4=38F+345 1FF7=3A9+342+345 FB00=46+66 FB01=46+69 FB02=46+6C FB03=46+66+69 FB04=46+66+6C
  FB05=53+74 FB06=53+74 FB13=544+576 FB14=544+565 FB15=544+56B FB16=54E+576 FB17=544+56D
]]

local char = utf8.char

local function code(source) return tonumber(source, 16) end

local function each_in_runs(source, visit)
  for first, last, step, distance in source:gmatch("(%x+)%-?(%x*)(/?2?):(%-?%d+)") do
    local from = code(first)
    for letter = from, last == "" and from or code(last), step == "" and 1 or 2 do
      visit(char(letter), char(letter + math.tointeger(tonumber(distance))))
    end
  end
end

local function add_runs(source, map)
  each_in_runs(source, function(letter, other) map[letter] = other end)
end

local function add_several(source, map)
  for letter, others in source:gmatch("(%x+)=(%S+)") do
    local parts = {}
    for other in others:gmatch("%x+") do parts[#parts + 1] = char(code(other)) end
    map[char(code(letter))] = table.concat(parts)
  end
end

-- Greek letters with iota subscript, whose upper case has an iota after it.
local function add_iotas(map)
  for from, large in pairs { [0x1F80] = 0x1F08, [0x1F90] = 0x1F28, [0x1FA0] = 0x1F68 } do
    for i = 0, 15 do map[char(from + i)] = char(large + i % 8, 0x399) end
  end
end

-- Builds the maps when they are first needed.
local function build_case_maps()
  local upper, lower, title = {}, {}, {}
  each_in_runs(PAIRS, function(large, small)
    upper[small], lower[large] = large, small
  end)
  add_runs(UPPER, upper)
  add_several(UPPER, upper)
  add_iotas(upper)
  add_runs(LOWER, lower)
  add_several(LOWER, lower)
  add_runs(TITLE, title)
  add_several(TITLE, title)
  return { upper = upper, lower = lower, title = title }
end

local case_maps

local function case_map(name)
  case_maps = case_maps or build_case_maps()
  return case_maps[name]
end

-- Whether a text needs no mapping of letters beyond ASCII.
local function is_simple(value)
  local count = count_characters(value)
  return not count or count == #value
end

local function mapped(value, simple, name)
  if is_simple(value) then return simple(value) end
  return (gsub(simple(value), "[\xC2-\xF4][\x80-\xBF]+", case_map(name)))
end

---@param value string
---@return string
function text.upcase(value)
  return mapped(value, string.upper, "upper")
end

---@param value string
---@return string
function text.downcase(value)
  return mapped(value, string.lower, "lower")
end

---Converts the first character to title case and all others to lower case.
---@param value string
---@return string
function text.capitalize(value)
  if is_simple(value) then return sub(value, 1, 1):upper() .. sub(value, 2):lower() end
  local first = text.first(value)
  local large = case_map("title")[first] or text.upcase(first)
  return large .. text.downcase(sub(value, #first + 1))
end

-- }======

-- {====== Values as text ======

---Texts of this length or longer are counted as work.
text.COUNTED_LENGTH = 4096
local COUNTED_LENGTH = text.COUNTED_LENGTH

-- Values nested deeper are not shown, so that no value can overflow the stack.
local MAX_DEPTH = 100

local escapes = {
  ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t", ["\a"] = "\\a", ["\b"] = "\\b",
  ["\f"] = "\\f", ["\v"] = "\\v", ["\27"] = "\\e",
}

local function escaped(character)
  return escapes[character] or format("\\x%02X", character:byte())
end

local function quoted(value)
  local is_binary = not utf8.len(value)
  if not is_binary and not find(value, '[%c"\\#]') then return '"' .. value .. '"' end
  local shown = value:gsub('[%c"\\]', escaped):gsub("#([{$@])", "\\#%1")
  if is_binary then shown = shown:gsub("[\x80-\xFF]", escaped) end
  return '"' .. shown .. '"'
end

local inspect

local function inspect_list(list, depth)
  local parts = {}
  for i = 1, #list do parts[i] = inspect(list[i], depth + 1) end
  return "[" .. table.concat(parts, ", ") .. "]"
end

local function inspect_hash(hash, depth)
  local parts = {}
  for i, key in ipairs(values.keys(hash)) do
    parts[i] = inspect(key, depth + 1) .. "=>" .. inspect(rawget(hash, key), depth + 1)
  end
  return "{" .. table.concat(parts, ", ") .. "}"
end

---A value as Ruby's inspect shows it.
---@param value any
---@param depth? integer
---@return string
function inspect(value, depth)
  depth = depth or 0
  local kind = type(value)
  if kind == "string" then return quoted(value) end
  if value == nil or value == null then return "nil" end
  if kind ~= "table" then return (text.to_s(value)) end
  if depth > MAX_DEPTH then return values.is_array(value) and "[...]" or "{...}" end
  local protocol = values.protocol(value)
  if protocol then return (text.to_s(value)) or "" end
  return (values.is_array(value) and inspect_list or inspect_hash)(value, depth)
end
text.inspect = inspect

local function table_text(value, ctx)
  local metatable = getmetatable(value)
  local protocol = metatable and objects[metatable]
  if protocol then
    if not protocol.to_s then return protocol.kind end
    return protocol.to_s(value, ctx)
  end
  if value == null then return "" end
  return inspect(value)
end

---A value as text.
---@param value any
---@param ctx? liquid.context
---@return string? text, table? err
function text.to_s(value, ctx)
  local kind = type(value)
  if kind == "string" then
    if ctx and #value >= COUNTED_LENGTH then work(ctx, #value) end
    return value
  end
  if kind == "number" then
    if math_type(value) == "integer" then return format("%d", value) end
    return float_text(value)
  elseif kind == "boolean" then
    return value and "true" or "false"
  elseif kind == "table" then
    return table_text(value, ctx)
  end
  return ""
end

---Writes a value to the output: each item of a list, and other values as text.
---@param value any
---@param ctx liquid.context
---@param out string[]
---@param n integer
---@return integer? n, table? err
function text.write(value, ctx, out, n)
  local kind = type(value)
  if kind == "string" then
    local usage = ctx.usage
    local length = usage.length + #value
    usage.length = length
    if length > usage.length_limit then ctx.exceed_limits() end
    out[n + 1] = value
    return n + 1
  elseif math_type(value) == "integer" then
    out[n + 1] = value
    return n + 1
  elseif kind == "table" then
    local metatable = getmetatable(value)
    if metatable and arrays[metatable] or metatable == nil and value[1] ~= nil then
      return text.write_list(value, ctx, out, n)
    end
  end
  local shown, err = text.to_s(value, ctx)
  if err then return nil, err end
  out[n + 1] = shown
  return n + 1
end

---@param list table
---@param ctx liquid.context
---@param out string[]
---@param n integer
---@return integer? n, table? err
function text.write_list(list, ctx, out, n)
  local depth = ctx.writing
  if depth > MAX_DEPTH then ctx.exceed_limits() end
  ctx.writing = depth + 1
  for i = 1, #list do
    local item = list[i]
    if item ~= null then
      local after, err = text.write(item, ctx, out, n)
      if err then
        ctx.writing = depth
        return nil, err
      end
      n = after
    end
  end
  ctx.writing = depth
  return n
end

-- }======

return text
