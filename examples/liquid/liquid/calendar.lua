-- The calendar of Ruby's Time, in UTC or at a fixed offset from it; time zones; and strftime.

local bigint = require "liquid.bigint"

local calendar = {}

local format, rep, find, sub, gsub = string.format, string.rep, string.find, string.sub, string.gsub

---@class liquid.time
---@field year integer
---@field month integer
---@field day integer
---@field hour integer
---@field minute integer
---@field second integer
---@field nanosecond integer
---@field offset integer seconds east of UTC
---@field zone string "UTC", or "" if only the offset is known
---@field epoch? table seconds since 1970, if they need more than 64 bits

---The number of days from 1970-01-01 to a date.
---@param year integer
---@param month integer
---@param day integer
---@return integer
function calendar.days(year, month, day)
  if month <= 2 then year = year - 1 end
  local era = year // 400
  local of_era = year - era * 400
  local of_year = (153 * (month + (month > 2 and -3 or 9)) + 2) // 5 + day - 1
  return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
end

---The date so many days after 1970-01-01.
---@param days integer
---@return integer year, integer month, integer day
function calendar.date(days)
  days = days + 719468
  local era = days // 146097
  local of_era = days - era * 146097
  local year = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
  local of_year = of_era - (365 * year + year // 4 - year // 100)
  local shifted = (5 * of_year + 2) // 153
  local day = of_year - (153 * shifted + 2) // 5 + 1
  local month = shifted + (shifted < 10 and 3 or -9)
  return year + era * 400 + (month <= 2 and 1 or 0), month, day
end

---@param seconds integer since 1970, UTC
---@param offset? integer
---@param zone? string
---@param nanosecond? integer
---@return liquid.time
function calendar.at(seconds, offset, zone, nanosecond)
  offset = offset or 0
  local here = seconds + offset
  local year, month, day = calendar.date(here // 86400)
  local rest = here % 86400
  return {
    year = year, month = month, day = day, hour = rest // 3600, minute = rest % 3600 // 60, second = rest % 60,
    nanosecond = nanosecond or 0, offset = offset, zone = zone or "UTC",
  }
end

---@param time liquid.time
---@return integer seconds since 1970, UTC
function calendar.seconds(time)
  return calendar.days(time.year, time.month, time.day) * 86400
    + time.hour * 3600 + time.minute * 60 + time.second - time.offset
end

---@param time liquid.time
---@return integer 0 for Sunday
function calendar.weekday(time)
  return (calendar.days(time.year, time.month, time.day) + 4) % 7
end

---@param time liquid.time
---@return integer from 1
function calendar.day_of_year(time)
  return calendar.days(time.year, time.month, time.day) - calendar.days(time.year, 1, 1) + 1
end

---The week of ISO 8601, and the year to which it belongs.
---@param time liquid.time
---@return integer year, integer week
function calendar.iso_week(time)
  local days = calendar.days(time.year, time.month, time.day)
  -- A week belongs to the year of its Thursday.
  local thursday = days - (calendar.weekday(time) + 6) % 7 + 3
  local year = calendar.date(thursday)
  return year, (thursday - calendar.days(year, 1, 1)) // 7 + 1
end

---The week of the year. `first` is the weekday on which weeks begin: 0 is Sunday.
---@param time liquid.time
---@param first integer
---@return integer
function calendar.week(time, first)
  return (calendar.day_of_year(time) + 6 - (calendar.weekday(time) - first) % 7) // 7
end

-- {====== Time zones ======

-- The zones that Ruby knows, in hours: those of North America, and military letters. Others are ignored.
local zone_hours = { est = -5, edt = -4, cst = -6, cdt = -5, mst = -7, mdt = -6, pst = -8, pdt = -7 }
for i, letter in ipairs { "a", "b", "c", "d", "e", "f", "g", "h", "i", "k", "l", "m" } do zone_hours[letter] = i end
for i, letter in ipairs { "n", "o", "p", "q", "r", "s", "t", "u", "v", "w", "x", "y" } do zone_hours[letter] = -i end

local utc = { utc = true, gmt = true, z = true, ut = true }

local distances = {
  "^([+-])(%d%d)$", "^([+-])(%d%d):?(%d%d)$", "^([+-])(%d%d)(%d%d)(%d%d)$", "^([+-])(%d%d):(%d%d):(%d%d)$",
}

local function distance(name)
  for _, pattern in ipairs(distances) do
    local sign, hour, minute, second = name:match(pattern)
    if sign then
      local seconds = tonumber(hour) * 3600 + tonumber(minute or 0) * 60 + tonumber(second or 0)
      return math.tointeger(sign == "-" and -seconds or seconds)
    end
  end
end

---The offset of a time zone in seconds east of UTC.
---@param name string in lower case: "utc", "-04:00", "est"
---@return integer? offset, string? zone as %Z prints it
function calendar.offset(name)
  if utc[name] then return 0, "UTC" end
  if zone_hours[name] then return zone_hours[name] * 3600, "" end
  local seconds = distance(name)
  return seconds, seconds == 0 and "UTC" or ""
end

-- }======

-- {====== strftime ======

local months = {
  "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
  "December",
}
local weekdays = { [0] = "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday" }

local function hour12(time) return (time.hour + 11) % 12 + 1 end

-- Numeric directives: each returns the value, its default width and its padding.
local numeric = {
  Y = function(t) return t.year, t.year < 0 and 5 or 4, "0" end,
  C = function(t) return t.year // 100, 2, "0" end,
  y = function(t) return t.year % 100, 2, "0" end,
  m = function(t) return t.month, 2, "0" end,
  d = function(t) return t.day, 2, "0" end,
  e = function(t) return t.day, 2, " " end,
  j = function(t) return calendar.day_of_year(t), 3, "0" end,
  H = function(t) return t.hour, 2, "0" end,
  k = function(t) return t.hour, 2, " " end,
  I = function(t) return hour12(t), 2, "0" end,
  l = function(t) return hour12(t), 2, " " end,
  M = function(t) return t.minute, 2, "0" end,
  S = function(t) return t.second, 2, "0" end,
  u = function(t) return (calendar.weekday(t) + 6) % 7 + 1, 1, "0" end,
  w = function(t) return calendar.weekday(t), 1, "0" end,
  G = function(t)
    local year = calendar.iso_week(t)
    return year, year < 0 and 5 or 4, "0"
  end,
  g = function(t) return calendar.iso_week(t) % 100, 2, "0" end,
  V = function(t) return select(2, calendar.iso_week(t)), 2, "0" end,
  U = function(t) return calendar.week(t, 0), 2, "0" end,
  W = function(t) return calendar.week(t, 1), 2, "0" end,
  s = function(t) return t.epoch or calendar.seconds(t), 1, "0" end,
}

local words = {
  A = function(t) return weekdays[calendar.weekday(t)] end,
  a = function(t) return weekdays[calendar.weekday(t)]:sub(1, 3) end,
  B = function(t) return months[t.month] end,
  b = function(t) return months[t.month]:sub(1, 3) end,
  h = function(t) return months[t.month]:sub(1, 3) end,
  p = function(t) return t.hour < 12 and "AM" or "PM" end,
  P = function(t) return t.hour < 12 and "am" or "pm" end,
  Z = function(t) return t.zone end,
  n = function() return "\n" end,
  t = function() return "\t" end,
  ["%"] = function() return "%" end,
}

local compound = {
  c = "%a %b %e %H:%M:%S %Y", D = "%m/%d/%y", F = "%Y-%m-%d", T = "%H:%M:%S", R = "%H:%M", r = "%I:%M:%S %p",
  x = "%m/%d/%y", X = "%H:%M:%S", v = "%e-%^b-%4Y",
}

local function filled(text, width, fill)
  if #text >= width or fill == "" then return text end
  local sign, digits = text:match("^([+-])(.*)$")
  if sign and fill == "0" then return sign .. rep("0", width - #text) .. digits end
  return rep(fill, width - #text) .. text
end

-- The padding of a field: that of the last padding flag; none with a dash.
local function fill_of(flags, own)
  if flags:find("-", 1, true) then return "" end
  local fill = flags:match(".*([_0])")
  return fill == "_" and " " or fill or own
end

local function number(flags, width, value, own_width, fill)
  return filled(bigint.text(value), width or own_width, fill_of(flags, fill))
end

-- Directives that the flag # converts to lower case; it converts others to upper case.
local lowered = { p = true, Z = true }

local function word(flags, width, text, directive)
  local turned = not compound[directive] and flags:find("#", 1, true)
  if turned and lowered[directive] then
    text = text:lower()
  elseif turned or flags:find("^", 1, true) then
    text = text:upper()
  end
  if text == "" then return text end
  return filled(text, width or 0, fill_of(flags, " "))
end

-- The minutes and seconds of a UTC offset. The number of colons selects them; three colons omit what is zero.
local function zone_tail(colons, minutes, seconds)
  if colons == 0 then return format("%02d", minutes) end
  if colons == 3 then colons = seconds > 0 and 2 or minutes > 0 and 1 or 0 end
  return sub(format(":%02d:%02d", minutes, seconds), 1, colons * 3)
end

-- The offset from UTC: +0100, +01:00, +01:00:00 or +01.
local function zone(flags, width, time, colons)
  local sign, seconds = time.offset < 0 and "-" or "+", math.abs(time.offset)
  local tail = zone_tail(colons, seconds % 3600 // 60, seconds % 60)
  local room = math.max((width or 0) - #tail, 3)
  local is_blank = flags:match(".*([_0])") == "_"
  local hours = format(is_blank and "%s%d" or "%s%02d", sign, seconds // 3600)
  return filled(hours, room, is_blank and " " or "0") .. tail
end

local function fraction(width, time, digits)
  local text = format("%09d", time.nanosecond)
  width = width or digits
  return width <= 9 and text:sub(1, width) or text .. rep("0", width - 9)
end

local function directive(time, flags, width, letter, colons)
  local own = numeric[letter]
  if own then return number(flags, width, own(time)) end
  if words[letter] then return word(flags, width, words[letter](time), letter) end
  if compound[letter] then return word(flags, width, calendar.strftime(time, compound[letter]), letter) end
  if letter == "z" then return zone(flags, width, time, colons) end
  if letter == "L" then return fraction(width, time, 3) end
  if letter == "N" then return fraction(width, time, 9) end
end

-- A directive with a larger width is written as it is, so that no format can use much memory.
local MAX_WIDTH = 1024

-- Compiles a directive into a function of the time, with a fast path for numbers of two digits without flags.
local function compile_directive(shown, flags, width, letter, colons)
  local wide = width ~= "" and tonumber(width) or nil
  if wide and wide > MAX_WIDTH then return shown end
  local own = numeric[letter]
  if own and flags == "" and not wide and letter ~= "Y" and #shown == 2 then
    return function(time)
      local value, digits, fill = own(time)
      if digits == 2 and value >= 10 and value < 100 then return value end
      return number("", nil, value, digits, fill)
    end
  end
  return function(time) return directive(time, flags, wide, letter, colons) or shown end
end

-- The modifiers E and O select the notation of a locale. They are allowed before some letters, and have no effect.
local modifiers = { E = "^[cCxXyY]", O = "^[deHkIlmMSuUVwWy]" }

-- The end of a directive that is invalid because of its colons or its modifier; nil if it is valid.
local function invalid_end(letter, after_colons, colons, modifier)
  if colons ~= "" and (modifier ~= "" or letter ~= "z" or #colons > 3) then return after_colons end
  if modifier ~= "" and not find(letter, modifiers[modifier]) then return after_colons + 1 end
end

-- Splits a format into texts and functions of the time.
local function parts_of(pattern)
  local parts, at = {}, 1
  while true do
    local first, last, flags, width, colons, behind, modifier, letter =
      find(pattern, "%%([%-0^#_]*)(%d*)(:*)()([EO]?)(.?)", at)
    if not first then break end
    if first > at then parts[#parts + 1] = sub(pattern, at, first - 1) end
    at = invalid_end(letter, behind, colons, modifier)
    parts[#parts + 1] = at and sub(pattern, first, at - 1)
      or compile_directive(sub(pattern, first, last), flags, width, letter, #colons)
    at = at or last + 1
  end
  parts[#parts + 1] = sub(pattern, at)
  return parts
end

local function compile_parts(pattern)
  local parts = parts_of(pattern)
  return function(time)
    local pieces = {}
    for i = 1, #parts do
      local part = parts[i]
      pieces[i] = type(part) == "string" and part or part(time)
    end
    return table.concat(pieces)
  end
end

local simple_directives = { Y = "year", m = "month", d = "day", H = "hour", M = "minute", S = "second" }
local MAX_FIELDS = 6

-- A format with only these directives, as most are, is one call of string.format.
local function compile_fields(pattern)
  local fields = {}
  local shape = gsub(pattern, "%%(.?)", function(letter)
    fields[#fields + 1] = simple_directives[letter] or "none"
    return letter == "Y" and "%04d" or "%02d"
  end)
  for i = 1, #fields do
    if fields[i] == "none" or i > MAX_FIELDS then return nil end
  end
  local a, b, c, d, e, f = table.unpack(fields)
  b, c, d, e, f = b or a, c or a, d or a, e or a, f or a
  return a and function(t) return format(shape, t[a], t[b], t[c], t[d], t[e], t[f]) end
end

local function compile(pattern)
  local by_parts, by_fields = compile_parts(pattern), compile_fields(pattern)
  if not by_fields then return by_parts end
  return function(time) return (time.year < 0 and by_parts or by_fields)(time) end
end

-- A cache of compiled formats.
local MAX_FORMATS = 500
local formats, format_count = {}, 0

local function compile_and_keep(pattern)
  if format_count >= MAX_FORMATS then formats, format_count = {}, 0 end
  local print_time = compile(pattern)
  formats[pattern], format_count = print_time, format_count + 1
  return print_time
end

---Formats a time.
---@param time liquid.time
---@param pattern string
---@return string? text nil if the format ends in the middle of a directive
function calendar.strftime(time, pattern)
  if find(pattern, "%%[%-0^#_]*%d*$") and find(gsub(pattern, "%%[%-0^#_]*%d*%%", ""), "%%[%-0^#_]*%d*$") then
    return nil
  end
  return (formats[pattern] or compile_and_keep(pattern))(time)
end

-- }======

return calendar
