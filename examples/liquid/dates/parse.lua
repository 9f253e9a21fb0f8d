-- Finds a date and a time in a text, in the many ways people write them; what is missing is taken from now.

local calendar = require "liquid.dates.calendar"
local zones = require "liquid.dates.zones"

local match, tonumber = string.match, tonumber

local months = {
  jan = 1, feb = 2, mar = 3, apr = 4, may = 5, jun = 6, jul = 7, aug = 8, sep = 9, oct = 10, nov = 11, dec = 12,
}

local function full_year(text)
  local year = tonumber(text)
  if #text:gsub("^[+-]", "") > 2 then return year end
  return year + (year >= 69 and 1900 or 2000)
end

local function half_day(hour, half)
  if half == "" then return hour end
  return hour % 12 + (half == "p" and 12 or 0)
end

local function set_zone(found, name)
  if name == "" then return end
  found.offset, found.zone = zones.offset(name)
end

local function nanoseconds(digits)
  return tonumber((digits .. "000000000"):sub(1, 9))
end

-- hours:minutes:seconds.fraction am zone; what was found is cut out.
local function take_clock(text, found)
  local first, last, hour, minute = text:find("(%d+):(%d+)")
  if not first then
    local half
    first, last, hour, half = text:find("(%d+)%s*([ap])%.?m%.?%f[%W]")
    if not first then return text end
    found.hour, found.minute = half_day(tonumber(hour), half), 0
    return text:sub(1, first - 1) .. " " .. text:sub(last + 1)
  end
  local second, at = text:match("^:(%d+)()", last + 1)
  last = at and at - 1 or last
  local digits, after = text:match("^[.,](%d+)()", last + 1)
  last = after and after - 1 or last
  local half, behind = text:match("^%s*([ap])%.?m%.?%f[%W]()", last + 1)
  last = behind and behind - 1 or last
  local zone, stop = text:match("^%s*(%a*[+-]%d[%d:]*)()", last + 1)
  if not zone then zone, stop = text:match("^%s*(%a+)%f[%W]()", last + 1) end
  -- Whatever word stands here is taken for a zone, also where there is none of that name.
  if zone then
    set_zone(found, zone)
    last = stop - 1
  end
  found.hour, found.minute = half_day(tonumber(hour), half or ""), tonumber(minute)
  found.second, found.nanosecond = tonumber(second or 0), digits and nanoseconds(digits) or 0
  return text:sub(1, first - 1) .. " " .. text:sub(last + 1)
end

-- Year, month and day in one of the orders they are written in, told by which has more than two digits.
local function assign(found, year, month, day)
  if year and #year <= 2 and day and #day > 2 then
    -- It was day/month/year.
    year, day = day, year
  end
  if day and #day > 2 and not year then year, day = day, nil end
  found.year = year and full_year(year)
  found.month, found.day = tonumber(month), day and tonumber(day)
  return true
end

local function month_number(name) return months[name:sub(1, 3)] end

-- '24 jan 3: what has an apostrophe is the year.
local function marked_year(text, found)
  local year, name, day = text:match("'(%d+)%s+(%a%a%a)%a*%s+(%d+)")
  if not year or not months[name] then return false end
  found.year, found.month, found.day = full_year(year), months[name], tonumber(day)
  return true
end

local function named_month(text, found)
  if marked_year(text, found) then return true end
  local day, name, year = text:match("(%d+)%a*[%s.%-/]+(%a%a%a)%a*[%s.,%-/]+(%-?%d+)")
  if name and months[name] then return assign(found, year, months[name], day) end
  for word, rest in text:gmatch("(%a+)%.?()") do
    if month_number(word) and #word >= 3 then
      local before = text:sub(1, rest - 1):match("(%d+)%a*[%s.%-/]*%a+%.?$")
      local after, behind = text:match("^[%s.,%-/]*(%d+)%a*,?%s*(%-?%d*)", rest)
      found.month = month_number(word)
      if before then
        return assign(found, after, found.month, before)
      elseif after then
        return assign(found, behind ~= "" and behind or nil, found.month, after)
      end
      return true
    end
  end
end

local function digits_only(text, found)
  local year, month, day, rest = text:match("^%s*(%d%d%d%d)(%d%d)(%d%d)[t%s]*(%d*)")
  if not year then return false end
  assign(found, year, month, day)
  local hour, minute, second = rest:match("^(%d%d)(%d%d)(%d?%d?)")
  if hour then
    found.hour, found.minute, found.second = tonumber(hour), tonumber(minute), tonumber(second) or 0
    set_zone(found, text:match("([+-]%d[%d:]*)%s*$") or text:match("%d(z)%s*$") or "")
  end
  return true
end

local numeric = {
  "([+-]?%d+)%-(%d%d?)%-(%d+)%f[%D]", "(%d+)/(%d+)/(%d+)", "(%d+)%.(%d+)%.(%d+)",
}

-- Digits that stand alone, by how many there are: a day, a day of the year, month and day, year and month and day.
local function by_digits(digits, found)
  local count = #digits
  if count == 2 then
    found.day = tonumber(digits)
  elseif count == 3 then
    found.day_of_year = tonumber(digits)
  elseif count == 4 then
    found.month, found.day = tonumber(digits:sub(1, 2)), tonumber(digits:sub(3))
  elseif count == 6 then
    assign(found, digits:sub(1, 2), digits:sub(3, 4), digits:sub(5))
  end
end

-- A year and a day of it, seconds with a fraction, the 14th, or any digits.
local function take_lone(text, found)
  local year, day = text:match("^%s*(%d%d%d%d)%-(%d%d%d)%s*$")
  if year then
    local days = calendar.days(tonumber(year), 1, 1) + tonumber(day) - 1
    found.year, found.month, found.day = calendar.date(days)
    return
  end
  local second, digits = text:match("^%s*(%d%d)[.,](%d+)%s*$")
  if second then
    found.second, found.nanosecond = tonumber(second), nanoseconds(digits)
    return
  end
  local ordinal = text:match("(%d+)st%f[%W]") or text:match("(%d+)nd%f[%W]") or text:match("(%d+)rd%f[%W]")
    or text:match("(%d+)th%f[%W]")
  if ordinal then
    found.day = tonumber(ordinal)
  else
    by_digits(text:match("%d%d+") or "", found)
  end
end

local function take_date(text, found)
  if text:find("%a%a%a") and named_month(text, found) then return end
  for _, pattern in ipairs(numeric) do
    local year, month, day = text:match(pattern)
    if year then return assign(found, year, month, day) end
  end
  local month, day = text:match("(%d+)/(%d+)")
  if month then
    found.month, found.day = tonumber(month), tonumber(day)
    return
  end
  if digits_only(text, found) then return end
  return take_lone(text, found)
end

-- Units larger than the largest that was found are now's; smaller ones begin.
local function complete(found, now)
  local units = { "year", "month", "day", "hour", "minute", "second" }
  for _, unit in ipairs(units) do
    if found[unit] then break end
    found[unit] = now[unit]
  end
  found.month, found.day = found.month or 1, found.day or 1
  found.hour, found.minute, found.second = found.hour or 0, found.minute or 0, found.second or 0
  return found
end

local function in_bounds(time)
  return time.month >= 1 and time.month <= 12 and time.day >= 1 and time.day <= 31
    and time.hour <= 24 and time.minute <= 59 and time.second <= 60
end

-- The form that machines write: 2024-12-31 23:59:59.
local function plain(text)
  local year, month, day, hour, minute, second =
    match(text, "^(%d%d%d%d)%-(%d%d)%-(%d%d)[ T](%d%d):(%d%d):(%d%d)$")
  if not year or day > "28" then return nil end
  local time = {
    year = tonumber(year), month = tonumber(month), day = tonumber(day), hour = tonumber(hour),
    minute = tonumber(minute), second = tonumber(second), nanosecond = 0, offset = 0, zone = "UTC",
  }
  if time.hour < 24 and time.second < 60 and time.day > 0 and in_bounds(time) then return time end
end

---@param text string
---@param read_now fun(...): liquid.time what is missing is taken from it
---@param ... any what it is given
---@return liquid.time? nil if there is no date in it
return function(text, read_now, ...)
  local simple = plain(text)
  if simple then return simple end
  local found = {}
  local rest = take_clock(text:lower(), found)
  take_date(rest, found)
  if not (found.year or found.month or found.day or found.hour or found.second or found.day_of_year) then
    return nil
  end
  local now = read_now(...)
  if found.day_of_year then
    found.year, found.month, found.day = calendar.date(calendar.days(now.year, 1, 1) + found.day_of_year - 1)
  end
  complete(found, found.offset and calendar.at(calendar.seconds(now), found.offset, found.zone) or now)
  found.offset, found.zone = found.offset or 0, found.zone or "UTC"
  found.nanosecond = found.nanosecond or 0
  if not in_bounds(found) then return nil end
  return calendar.at(calendar.seconds(found), found.offset, found.zone, found.nanosecond)
end
