-- The date filter, and a parser of dates and times that accepts what Ruby's Time.parse accepts. Missing parts of a date
-- are those of the current time.

local bigint = require "liquid.bigint"
local calendar = require "liquid.calendar"
local errors = require "liquid.errors"
local forms = require "liquid.date_forms"
local to_s = require("liquid.text").to_s

local match, find, tonumber = string.match, string.find, tonumber

-- The forms in the order in which they are tried, with a pattern that the text must match. The first one found is used.
local LETTERS, DIGIT = "%a%a%a", "%d"
local date_forms = {
  { LETTERS, forms.day_month }, { LETTERS, forms.month_day }, { "%-", forms.with_dashes }, { "%.", forms.japanese },
  { "%-", forms.month_and_dashes }, { "/", forms.with_slashes }, { "%.", forms.with_points }, { "w", forms.week },
  { "%-%-", forms.without_year }, { "%-", forms.day_of_year }, { "'", forms.year }, { LETTERS, forms.month },
  { "%d%a", forms.day }, { DIGIT, forms.digits },
}

local weekdays = { sun = true, mon = true, tue = true, wed = true, thu = true, fri = true, sat = true }

-- Removes the day of the week, which is ignored.
local function without_weekday(text)
  for first, name, after in text:gmatch("()%f[%w_\x80-\xFF](%a%a%a)[^%-/%d%s]*()") do
    if weekdays[name] then return text:sub(1, first - 1) .. " " .. text:sub(after) end
  end
  return text
end

local function take_date(text, found)
  for _, form in ipairs(date_forms) do
    local rest = find(text, form[1]) and form[2](text, found)
    if rest then return rest end
  end
  return text
end

local function full_year(found)
  local year = found.year
  if found.is_before then year = 1 - year end
  if found.is_exact or year < 0 or year > 99 then return year end
  return year + (year >= 69 and 1900 or 2000)
end

local before_the_first = {
  "%f[%w_\x80-\xFF]bc%f[^%w_\x80-\xFF]", "%f[%w_\x80-\xFF]bce%f[^%w_\x80-\xFF]", "%f[%w_\x80-\xFF]b%.c%.",
}

-- Finds an era before the first year, and a single number that is the day of a time, or the hour of a day.
local function take_rest(text, found)
  if not find(text, "%S") then return end
  for _, era in ipairs(before_the_first) do
    if find(text, era) then
      found.is_before = true
      text = text:gsub(era, " ", 1)
      break
    end
  end
  local number = tonumber(match(text, "^%s*(%d%d?)%s*$"))
  if not number then return end
  if found.hour and not found.day and number >= 1 and number <= 31 then found.day = number end
  if found.day and not found.hour and number <= 24 then found.hour = number end
end

local function elements(text)
  local found = {}
  text = text:lower():gsub("[^%-+',./:@%w%[%]\x80-\xFF]+", " ")
  text = forms.time(without_weekday(text), found)
  take_rest(take_date(text, found), found)
  if found.year then found.year = full_year(found) end
  return found
end

local function place_day_of_year(found, now)
  if not found.day_of_year then return true end
  local year = found.year or now.year
  found.year, found.month, found.day =
    calendar.date(calendar.days(year, 1, 1) + found.day_of_year - 1)
  return found.day_of_year >= 1 and found.year == year
end

local units = { "year", "month", "day", "hour", "minute", "second" }

-- Adds missing units: those larger than the largest unit found are taken from now, smaller ones are the smallest.
local function complete(found, now)
  for _, unit in ipairs(units) do
    if found[unit] then break end
    found[unit] = now[unit]
  end
  found.month, found.day = found.month or 1, found.day or 1
  found.hour, found.minute, found.second = found.hour or 0, found.minute or 0, found.second or 0
end

local function days_of(year, month)
  return calendar.days(year, month + 1, 1) - calendar.days(year, month, 1)
end

-- Changes the month if the day is outside of it.
local function carry(time, direction)
  if direction < 0 then
    if time.day >= 1 then return end
    time.month = time.month - 1
    if time.month < 1 then time.year, time.month = time.year - 1, 12 end
    time.day = days_of(time.year, time.month)
  elseif time.month >= 1 and time.month <= 12 and time.day > days_of(time.year, time.month) then
    time.month, time.day = time.month + 1, 1
    if time.month > 12 then time.year, time.month = time.year + 1, 1 end
  end
end

local sizes = { { "second", 60 }, { "minute", 60 }, { "hour", 24 } }

-- Converts a time to UTC. Only units that change are normalized.
local function to_utc(time, offset)
  local direction, rest = offset < 0 and 1 or -1, math.abs(offset)
  for _, size in ipairs(sizes) do
    local unit, count = size[1], size[2]
    local part = rest % count
    rest = rest // count
    if part ~= 0 then
      local sum = time[unit] + direction * part
      time[unit] = sum % count
      rest = rest + direction * (sum // count)
    end
  end
  if rest == 0 then return end
  time.day = time.day + direction * rest
  carry(time, direction)
end

-- The offset of a zone is less than a day.
local DAY = 86400

local function in_bounds(time)
  if time.hour == 24 and (time.minute > 0 or time.second > 0) then return false end
  return time.month >= 1 and time.month <= 12 and time.day >= 1 and time.day <= 31
    and time.hour <= 24 and time.minute <= 59 and time.second <= 60
end

-- The time and zone after a date in ISO 8601; midnight UTC for an empty text.
local function parse_iso_time(text)
  if text == "" then return "0", "0", "0", 0, "UTC" end
  local hour, minute, second, zone = match(text, "^[ T](%d%d):(%d%d):(%d%d) ?([-+:%dZ]*)$")
  if not hour then return nil end
  if zone == "" or zone == "Z" then return hour, minute, second, 0, "UTC" end
  return hour, minute, second, calendar.offset(zone)
end

-- The fast path for ISO 8601: 2024-12-31, 2024-12-31 23:59:59, 2024-12-31T23:59:59+01:00.
local function parse_iso(text)
  local year, month, day, rest = match(text, "^(%d%d%d%d)%-(%d%d)%-(%d%d)(.*)$")
  if not year or day > "28" then return nil end
  local hour, minute, second, offset, zone = parse_iso_time(rest)
  if not offset or offset <= -DAY or offset >= DAY then return nil end
  local time = {
    year = tonumber(year), month = tonumber(month), day = tonumber(day), hour = tonumber(hour),
    minute = tonumber(minute), second = tonumber(second), nanosecond = 0, offset = offset, zone = zone,
  }
  if time.hour < 24 and time.second < 60 and time.day > 0 and in_bounds(time) then return time end
end

-- The seconds of larger years would overflow.
local FAR = 100000000000

local function is_near(found)
  return not found.far and (not found.year or math.abs(found.year) < FAR)
end

local function is_nothing(found)
  return not (found.year or found.month or found.day or found.hour or found.minute or found.second
    or found.nanosecond or found.day_of_year)
end

---@param text string
---@param read_now fun(...): liquid.time the current time, which provides missing units
---@param ... any the arguments of `read_now`
---@return liquid.time? nil if the text has no date
local function parse(text, read_now, ...)
  local simple = parse_iso(text)
  if simple then return simple end
  local found = elements(text)
  if is_nothing(found) or not is_near(found) then return nil end
  local now, offset, zone = read_now(...), 0, "UTC"
  if found.zone then
    local given, name = calendar.offset(found.zone)
    if given then offset, zone = given, name end
  end
  if math.abs(offset) >= DAY then return nil end
  if offset ~= 0 then now = calendar.at(calendar.seconds(now), offset, zone) end
  if not place_day_of_year(found, now) then return nil end
  complete(found, now)
  to_utc(found, offset)
  if not in_bounds(found) then return nil end
  found.offset = 0
  return calendar.at(calendar.seconds(found), offset, zone, found.nanosecond)
end

local words = { now = true, today = true }

local function now(ctx)
  local given = ctx.now
  local time = type(given) == "string" and parse(given, calendar.at, 0)
  return time or calendar.at(math.floor(type(given) == "number" and given or os.time()))
end

-- The current time in UTC.
local function now_in_utc(ctx) return calendar.at(calendar.seconds(now(ctx))) end

-- The calendar repeats after so many seconds.
local CYCLE_SECONDS, CYCLE_YEARS = 146097 * 86400, 400

-- The year of a time must be a Lua integer.
local MAX_CYCLES = 1 << 52

local function at_any(seconds)
  if math.type(seconds) == "integer" then return calendar.at(seconds) end
  if bigint.is_too_long(seconds) then return nil end
  local cycles, rest = bigint.divide(seconds, CYCLE_SECONDS)
  if bigint.is(cycles) or cycles > MAX_CYCLES or cycles < -MAX_CYCLES then return nil end
  local time = calendar.at(rest)
  time.year, time.epoch = time.year + cycles * CYCLE_YEARS, seconds
  return time
end

local function to_time(input, ctx)
  if math.type(input) == "integer" or bigint.is(input) then return at_any(input) end
  if type(input) ~= "string" or input == "" or #input > 128 then return nil end
  if #input <= 5 and words[input:lower()] then return now(ctx) end
  if input:find("^%d+$") then return at_any(bigint.parse(input)) end
  return parse(input, now_in_utc, ctx)
end

local function date(ctx, input, pattern)
  local shown, err = to_s(pattern, ctx)
  if err then return nil, err end
  if shown == "" then return input end
  local time = to_time(input, ctx)
  if not time then return input end
  local printed = calendar.strftime(time, shown)
  if not printed then return errors.argument("invalid format: " .. shown) end
  return printed
end

return function(define)
  define("date", 1, 1, date)
end
