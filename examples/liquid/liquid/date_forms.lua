-- The forms in which dates and times are written. Each function finds the first date or time of its form in a text in
-- lower case. It returns the text without that date, or nil if there is none.

local match, sub, find, byte = string.match, string.sub, string.find, string.byte

local forms = {}

local APOSTROPHE <const> = 0x27

-- The begin and the end of a word.
local WORD, WORD_END = "%f[%w_\x80-\xFF]", "%f[^%w_\x80-\xFF]"
local THREE_LETTERS = WORD .. "%a%a%a"

local months = {
  jan = 1, feb = 2, mar = 3, apr = 4, may = 5, jun = 6, jul = 7, aug = 8, sep = 9, oct = 10, nov = 11, dec = 12,
}

local function month_at(text, at) return months[sub(text, at, at + 2)] end

local function without(text, first, after) return sub(text, 1, first - 1) .. " " .. sub(text, after) end

local function whole(text) return math.tointeger(tonumber(match(text, "%d+"))) end

local function is_year(text) return #text > 2 or byte(text) == APOSTROPHE end

-- Sorts the three parts of a date. The year has more than two digits or an apostrophe, or is the first part.
local function in_order(year, month, day)
  if year and month and not day then year, month, day = nil, year, month end
  if not year and day and is_year(day) then year, day = day, nil end
  if year then
    local digits, rest = match(year, "([-+]?%d+)(.*)")
    if rest ~= "" then year, day = day, digits end
  end
  if month and is_year(month) then year, month, day = month, day, year end
  if day and is_year(day) then year, day = day, year end
  return year, month, day
end

-- Stores the parts of a date, of which some may be missing.
local function keep(found, year, month, day, is_before)
  year, month, day = in_order(year, month, day)
  if year then
    local sign, digits = match(year, "([-+]?)(%d+)")
    found.year = math.tointeger(tonumber(sign .. digits))
    found.far = not found.year
    -- A year of two digits is one of this century or the last.
    found.is_exact = sign ~= "" or #digits > 2
    found.is_before = is_before
  end
  if month then found.month = whole(month) or 0 end
  if day then found.day = whole(day) or 0 end
end

-- The era at a position, ce, bce, ad or bc, with or without points: the position after it, and whether it is bce or bc.
local function era_at(text, at)
  if not find(text, "^[abc]", at) then return nil end
  for _, era in ipairs { "ce", "bce", "ad", "bc" } do
    local after = match(text, "^" .. era .. "()", at) or match(text, "^" .. era:gsub(".", "%0%%.") .. "()", at)
    if after then return after, sub(era, 1, 1) == "b" end
  end
end

-- The year after a month and a day, with an optional era before it.
local function year_at(text, at)
  local behind_era, is_before = era_at(text, at)
  if behind_era then
    local year, after = match(text, "^%s*('?%-?%d+)()", behind_era)
    if year then return year, after, is_before end
  end
  return match(text, "^('?%-?%d+)()", at)
end

-- The position of the month in or after the word that follows a day: 5jan, 5th jan.
local function month_behind(text, first, last)
  local at = match(text, "^%s*()", last)
  if month_at(text, at) then return at end
  for from = last - 1, first, -1 do
    if month_at(text, from) then return from end
  end
end

local function day_first(text, found, first)
  local day, from, to = match(text, "^('?%d+)()[^%-%d%s]*()", first)
  local at = month_behind(text, from, to)
  if not at then return nil end
  local after = match(text, "^[^%-%d%s']*()", at + 3)
  local year, behind, is_before = year_at(text, match(text, "^%s*()", after))
  if year then
    local ordinal, last = match(text, "^([snrt][tdh])" .. WORD_END .. "()", behind)
    if ordinal == "st" or ordinal == "nd" or ordinal == "rd" or ordinal == "th" then
      year, behind = year .. ordinal, last
    end
  end
  keep(found, year, tostring(month_at(text, at)), day, is_before)
  return without(text, first, behind or after)
end

---5 Jan 2024
---@param text string
---@param found table
---@return string?
function forms.day_month(text, found)
  local first, last = find(text, "'?%d+")
  while first do
    local rest = day_first(text, found, first)
    if rest then return rest end
    first, last = find(text, "'?%d+", last + 1)
  end
end

local function month_first(text, found, first)
  local day, from = match(text, "^[^%-%d%s']*%s*('?%d+)()", first + 3)
  if not day then return nil end
  local after = match(text, "^[^%-%d%s']*()", from)
  local year, behind, is_before = year_at(text, match(text, "^%s*,?%s*()", after))
  keep(found, year, tostring(month_at(text, first)), day, is_before)
  return without(text, first, behind or after)
end

-- Calls `try` at each word that begins with a month, until it succeeds.
local function at_months(text, found, try)
  local first = find(text, THREE_LETTERS)
  while first do
    local rest = month_at(text, first) and try(text, found, first)
    if rest then return rest end
    first = find(text, THREE_LETTERS, first + 1)
  end
end

---Jan 5, 2024
---@param text string
---@param found table
---@return string?
function forms.month_day(text, found)
  return at_months(text, found, month_first)
end

-- A date whose parts are the three captures of a pattern.
local function three_parts(text, found, pattern)
  local first, last, year, month, day = find(text, pattern)
  if not first then return nil end
  keep(found, year, month, day)
  return without(text, first, last + 1)
end

---2024-01-05
---@param text string
---@param found table
---@return string?
function forms.with_dashes(text, found)
  return three_parts(text, found, "('?[-+]?%d+)%-(%d+)%-('?%-?%d+)")
end

-- The year before the first year of each Japanese era.
local japanese = { m = 1867, t = 1911, s = 1925, h = 1988, r = 2018 }

---H31.04.30
---@param text string
---@param found table
---@return string?
function forms.japanese(text, found)
  local first, last, era, year, month, day = find(text, WORD .. "([mtshr])(%d+)%.(%d+)%.(%d+)")
  if not first then return nil end
  found.year, found.month, found.day = (whole(year) or 0) + japanese[era], whole(month) or 0, whole(day) or 0
  return without(text, first, last + 1)
end

local BETWEEN = "('?%-?%d+)%-()%a%a%a[^%-/.]*%-('?%-?%d+)"

local function month_between(text, found)
  local first, last, day, at, year = find(text, BETWEEN)
  while first do
    if month_at(text, at) then
      keep(found, year, tostring(month_at(text, at)), day)
      return without(text, first, last + 1)
    end
    first, last, day, at, year = find(text, BETWEEN, first + 1)
  end
end

local function month_and_dash(text, found, first)
  local day, after = match(text, "^[^%-/.]*%-('?%-?%d+)()", first + 3)
  if not day then return nil end
  local year, last = match(text, "^%-('?%-?%d+)()", after)
  keep(found, year, tostring(month_at(text, first)), day)
  return without(text, first, last or after)
end

---5-Jan-2024, Jan-5-2024
---@param text string
---@param found table
---@return string?
function forms.month_and_dashes(text, found)
  return month_between(text, found) or at_months(text, found, month_and_dash)
end

---2024/1/5, 1/5
---@param text string
---@param found table
---@return string?
function forms.with_slashes(text, found)
  local first, last, year, month = find(text, "('?%-?%d+)/%s*('?%d+)")
  if not first then return nil end
  local day, after = match(text, "^%D%s*('?%-?%d+)()", last + 1)
  keep(found, year, month, day)
  return without(text, first, after or last + 1)
end

---2024.1.5
---@param text string
---@param found table
---@return string?
function forms.with_points(text, found)
  return three_parts(text, found, "('?%-?%d+)%.%s*('?%d+)%.%s*('?%-?%d+)")
end

-- Patterns of a week of a year, at the begin or the end of a word.
local weeks = { "^%d%d%-?w%d%d()", "^%d%d%d%d%-?w%d%d()", "^%-?w%d%d()" }

local function week_end(text, at)
  for _, pattern in ipairs(weeks) do
    local after = match(text, pattern, at)
    if after then
      after = match(text, "^%-?%d" .. WORD_END .. "()", after) or match(text, "^" .. WORD_END .. "()", after)
      if after then return after end
    end
  end
end

---2024-W05-1, -W-1: a week is removed from the text and ignored, as in Ruby.
---@param text string
---@return string?
function forms.week(text)
  for at = 1, #text do
    local after = (match(text, "^" .. WORD, at) or match(text, "^" .. WORD_END, at)) and week_end(text, at)
    if after then return without(text, at, after) end
  end
  local first, last = find(text, "%-w%-%d" .. WORD_END)
  if first then return without(text, first, last + 1) end
end

---  --01-05, --0105, --01
---@param text string
---@param found table
---@return string?
function forms.without_year(text, found)
  for _, pattern in ipairs { "%-%-(%d%d)%-(%d%d)", "%-%-()%-(%d%d)", "%-%-(%d%d)(%d%d)", "%-%-(%d%d)" } do
    local first, last, month, day = find(text, pattern .. WORD_END)
    if first then
      found.month = tonumber(type(month) == "string" and month or nil) or found.month
      found.day = tonumber(day) or found.day
      return without(text, first, last + 1)
    end
  end
end

local function day_of_year(text, found)
  for _, pattern in ipairs { "(%d%d)%-(%d%d%d)", "(%d%d%d%d)%-(%d%d%d)" } do
    local first, last, year, day = find(text, WORD .. pattern .. WORD_END)
    if first then
      found.year, found.day_of_year = tonumber(year), tonumber(day)
      return without(text, first, last + 1)
    end
  end
end

---2024-123, -123: a day of a year
---@param text string
---@param found table
---@return string?
function forms.day_of_year(text, found)
  if not find(text, "[,.]%d%d%-%d%d%d" .. WORD_END) and not find(text, "[,.]%d%d%d%d%-%d%d%d" .. WORD_END) then
    local rest = day_of_year(text, found)
    if rest then return rest end
  end
  if find(text, "%d%-%d%d%d" .. WORD_END) then return nil end
  local first, last, day = find(text, WORD_END .. "%-(%d%d%d)" .. WORD_END)
  if not first then return nil end
  found.day_of_year = tonumber(day)
  return without(text, first, last + 1)
end

---'24
---@param text string
---@param found table
---@return string?
function forms.year(text, found)
  local first, last, year = find(text, "'(%d+)" .. WORD_END)
  if not first then return nil end
  found.year = math.tointeger(tonumber(year))
  return without(text, first, last + 1)
end

local function month_alone(text, found, first)
  found.month = month_at(text, first)
  return without(text, first, match(text, "^%S*()", first))
end

---January
---@param text string
---@param found table
---@return string?
function forms.month(text, found)
  return at_months(text, found, month_alone)
end

---The 5th
---@param text string
---@param found table
---@return string?
function forms.day(text, found)
  local best, best_last, best_day
  for _, ordinal in ipairs { "st", "nd", "rd", "th" } do
    local first, last, day = find(text, "(%d+)" .. ordinal .. WORD_END)
    if first and (not best or first < best) then best, best_last, best_day = first, last, day end
  end
  if not best then return nil end
  found.day = whole(best_day) or 0
  return without(text, best, best_last + 1)
end

-- {====== Dates of digits only ======

-- The meaning of a date that is only digits, by their number: units and the number of digits of each.
local from_front = {
  [2] = { "day", 2 }, [3] = { "day_of_year", 3 }, [4] = { "month", 2, "day", 2 },
  [5] = { "year", 2, "day_of_year", 3 }, [6] = { "year", 2, "month", 2, "day", 2 },
  [7] = { "year", 4, "day_of_year", 3 }, [8] = { "year", 4, "month", 2, "day", 2 },
  [10] = { "year", 4, "month", 2, "day", 2, "hour", 2 },
  [12] = { "year", 4, "month", 2, "day", 2, "hour", 2, "minute", 2 },
  [14] = { "year", 4, "month", 2, "day", 2, "hour", 2, "minute", 2, "second", 2 },
}

-- The same if a fraction follows, so that the last digits are the seconds.
local to_seconds = {
  [2] = { "second", 2 }, [3] = { "minute", 1, "second", 2 }, [4] = { "minute", 2, "second", 2 },
  [5] = { "hour", 1, "minute", 2, "second", 2 }, [6] = { "hour", 2, "minute", 2, "second", 2 },
  [7] = { "day", 1, "hour", 2, "minute", 2, "second", 2 }, [8] = { "day", 2, "hour", 2, "minute", 2, "second", 2 },
  [10] = { "month", 2, "day", 2, "hour", 2, "minute", 2, "second", 2 },
  [12] = { "year", 2, "month", 2, "day", 2, "hour", 2, "minute", 2, "second", 2 },
  [14] = from_front[14],
}

-- The same for digits after a date.
local times = { [2] = { "hour", 2 }, [4] = { "hour", 2, "minute", 2 }, [6] = to_seconds[6] }

local function keep_units(found, digits, units)
  local at = 1
  for i = 1, units and #units or 0, 2 do
    found[units[i]] = math.tointeger(tonumber(sub(digits, at, at + units[i + 1] - 1)))
    at = at + units[i + 1]
  end
end

-- The digits at a position, at least and at most so many, and the position after them.
local function digits_at(text, at, least, most)
  local digits = match(text, "^%d*", at)
  if #digits < least then return nil, at end
  digits = sub(digits, 1, most)
  return digits, at + #digits
end

-- The zone at a position, z, +0200 or [+2:name], and the position after it.
local function short_zone_at(text, at)
  at = match(text, "^%s*()", at)
  local name, after = match(text, "^(z)" .. WORD_END .. "()", at)
  if name then return name, after end
  name, after = match(text, "^([-+]%d%d?%d?%d?)" .. WORD_END .. "()", at)
  if name then return name, after end
  name, after = match(text, "^%[([-+]?%d[^%]]*)%]()", at)
  if name then return match(name, ":(.*)$") or name, after end
end

local function keep_date(found, sign, digits, ends_in_seconds)
  keep_units(found, digits, (ends_in_seconds and to_seconds or from_front)[#digits])
  if found.year and sign == "-" then found.year = -found.year end
  -- A year of four digits needs no century.
  found.is_exact = #digits >= 8 and (not ends_in_seconds or #digits == 14)
end

---20240105, 20240105T143005Z: digits only, with an optional time and zone.
---@param text string
---@param found table
---@return string?
function forms.digits(text, found)
  local first, _, sign, at = find(text, "([-+]?)()%d%d")
  if not first then return nil end
  local digits, after = digits_at(text, at, 2, 14)
  after = match(text, "^%s*t?%s*()", after)
  local time, fraction, behind
  time, after = digits_at(text, after, 2, 6)
  fraction, behind = match(text, "^[,.](%d*)()", after)
  keep_date(found, sign, digits, fraction and not time)
  if time and fraction and #time < 6 then
    if #time % 2 == 0 then keep_units(found, time, to_seconds[#time]) end
  elseif time then
    keep_units(found, time, times[#time])
  end
  if fraction then found.nanosecond = tonumber((fraction .. "000000000"):sub(1, 9)) end
  local zone, stop = short_zone_at(text, behind or after)
  found.zone = zone or found.zone
  return sub(text, 1, first - 1) .. " " .. sub(text, stop or behind or after)
end

-- }======

-- {====== Times of day ======

local HALF, LAST = "^%s*([ap])m" .. WORD_END .. "()", "^" .. WORD_END .. "()"
local STANDARD, DAYLIGHT = "^standard%stime" .. WORD_END .. "()", "^daylight%stime" .. WORD_END .. "()"
local SUMMER = "^%sdst" .. WORD_END .. "()"

local function half_day(hour, half)
  if not half then return hour end
  return hour % 12 + (half == "p" and 12 or 0)
end

local function nanoseconds(digits)
  return math.tointeger(tonumber((digits .. "000000000"):sub(1, 9)))
end

-- am or pm at a position: "a" or "p", and the position after it.
local function half_at(text, at)
  local half, after = match(text, HALF, at)
  if half then return half, after end
  return match(text, "^%s*([ap])%.m%.()", at)
end

-- The rest of a time after its hours: `:minutes` and `:seconds.fraction`, with optional whitespace.
local function with_colons(text, at)
  local minute, after = match(text, "^%s*:%s*(%d+)()", at)
  if not minute then return nil end
  local second, behind = match(text, "^%s*:%s*(%d+)()", after)
  if not second then return after, minute end
  local fraction, last = match(text, "^[,.](%d*)()", behind)
  return last or behind, minute, second, fraction
end

-- The same for `h`, `minutes m` and `seconds s`. After an h with whitespace before it they are ignored.
local function with_letters(text, at)
  local space, after = match(text, "^(%s*)h()", at)
  if not after then return nil end
  local minute, second
  local behind = match(text, "^%s*%d+m?()", after)
  if behind then
    minute = match(text, "%d+", after)
    local last = match(text, "^%s*%d+s?()", behind)
    if last then second = match(text, "%d+", behind) end
    after = last or behind
  end
  if space ~= "" then return after end
  return after, minute, second
end

-- The time whose hours begin at a position: the position after it, and its parts.
local function time_at(text, at)
  local hour, behind_hour = match(text, "^(%d+)()", at)
  local after, minute, second, fraction = with_colons(text, behind_hour)
  if not after then after, minute, second = with_letters(text, behind_hour) end
  local half, behind_half = half_at(text, after or behind_hour)
  if not after and not half then return nil end
  if after and not minute and match(text, "^%s", behind_hour) then half = nil end
  return behind_half or after, {
    hour = half_day(tonumber(hour), half), minute = tonumber(minute), second = tonumber(second),
    nanosecond = fraction and fraction ~= "" and nanoseconds(fraction) or nil,
  }
end

-- The end of a UTC offset: +02:00, gmt-5.
local function distance_end(text, at)
  local sign = match(text, "^gmt()", at) or match(text, "^utc?()", at) or at
  local after = match(text, "^[-+]%d+()", sign)
  if not after then return nil end
  local behind = match(text, "^[,.:]%d+()", after)
  return behind and (match(text, "^:%d+()", behind) or behind) or after
end

-- The end of a long zone name, up to the last such word: Eastern Standard Time.
local function long_name_end(text, at)
  if not find(text, " time", at, true) then return nil end
  for from = match(text, "^[%a.%s\x80-\xFF]*()", at), at + 1, -1 do
    local after = match(text, STANDARD, from) or match(text, DAYLIGHT, from)
    if after then return after end
  end
end

local function name_end(text, at)
  local after = match(text, "^[%a\x80-\xFF]+()", at)
  if not after then return nil end
  return match(text, SUMMER, after) or match(text, LAST, after)
end

-- The zone at a position: any word counts as a zone, even if it is unknown.
local function zone_at(text, at)
  at = match(text, "^%s*()", at)
  local stop = distance_end(text, at) or long_name_end(text, at) or name_end(text, at)
  if stop then return sub(text, at, stop - 1), stop end
end

---14:30:05.25 +02:00, 2h30m, 5 p.m. EST: stores hour, minute, second, nanosecond and the name of the zone.
---@param text string
---@param found table
---@return string text without the time; unchanged if there is none
function forms.time(text, found)
  local at = find(text, "%d")
  while at do
    local after, time = time_at(text, at)
    if after then
      for unit, value in pairs(time) do found[unit] = value end
      local zone, stop = zone_at(text, after)
      found.zone = zone
      return sub(text, 1, at - 1) .. " " .. sub(text, stop or after)
    end
    at = find(text, "%f[%d]", match(text, "^%d+()", at))
    if at and at > #text then at = nil end
  end
  return text
end

-- }======

return forms
