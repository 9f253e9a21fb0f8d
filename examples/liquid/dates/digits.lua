-- Dates that are nothing but digits, by how many there are: a day, a day of the year, month and day, and so on up to
-- 20240105143005. Where a fraction is behind them they are counted from the seconds on.

local match, sub, find = string.match, string.sub, string.find

-- The units of digits that are read from the front, and how many digits each has.
local from_front = {
  [2] = { "day", 2 }, [3] = { "day_of_year", 3 }, [4] = { "month", 2, "day", 2 },
  [5] = { "year", 2, "day_of_year", 3 }, [6] = { "year", 2, "month", 2, "day", 2 },
  [7] = { "year", 4, "day_of_year", 3 }, [8] = { "year", 4, "month", 2, "day", 2 },
  [10] = { "year", 4, "month", 2, "day", 2, "hour", 2 },
  [12] = { "year", 4, "month", 2, "day", 2, "hour", 2, "minute", 2 },
  [14] = { "year", 4, "month", 2, "day", 2, "hour", 2, "minute", 2, "second", 2 },
}

-- The same of those that end in seconds.
local to_seconds = {
  [2] = { "second", 2 }, [3] = { "minute", 1, "second", 2 }, [4] = { "minute", 2, "second", 2 },
  [5] = { "hour", 1, "minute", 2, "second", 2 }, [6] = { "hour", 2, "minute", 2, "second", 2 },
  [7] = { "day", 1, "hour", 2, "minute", 2, "second", 2 }, [8] = { "day", 2, "hour", 2, "minute", 2, "second", 2 },
  [10] = { "month", 2, "day", 2, "hour", 2, "minute", 2, "second", 2 },
  [12] = { "year", 2, "month", 2, "day", 2, "hour", 2, "minute", 2, "second", 2 },
  [14] = from_front[14],
}

-- Of those behind a date.
local times = { [2] = { "hour", 2 }, [4] = { "hour", 2, "minute", 2 }, [6] = to_seconds[6] }

local function keep(found, digits, units)
  local at = 1
  for i = 1, units and #units or 0, 2 do
    found[units[i]] = math.tointeger(tonumber(sub(digits, at, at + units[i + 1] - 1)))
    at = at + units[i + 1]
  end
end

-- As many digits as there are at a position, within bounds; and what is behind them.
local function digits_at(text, at, least, most)
  local digits = match(text, "^%d*", at)
  if #digits < least then return nil, at end
  digits = sub(digits, 1, most)
  return digits, at + #digits
end

local WORD_END = "%f[^%w_\x80-\xFF]"

-- z, +0200 or [+2:name]: the name of the zone, and what is behind it.
local function zone_at(text, at)
  at = match(text, "^%s*()", at)
  local name, after = match(text, "^(z)" .. WORD_END .. "()", at)
  if name then return name, after end
  name, after = match(text, "^([-+]%d%d?%d?%d?)" .. WORD_END .. "()", at)
  if name then return name, after end
  name, after = match(text, "^%[([-+]?%d[^%]]*)%]()", at)
  if name then return match(name, ":(.*)$") or name, after end
end

local function keep_date(found, sign, digits, ends_in_seconds)
  keep(found, digits, (ends_in_seconds and to_seconds or from_front)[#digits])
  if found.year and sign == "-" then found.year = -found.year end
  -- A year of four digits is that year.
  found.is_exact = #digits >= 8 and (not ends_in_seconds or #digits == 14)
end

---Finds a date that is only digits, the time behind it and its zone.
---@param text string in small letters
---@param found table
---@return string? text without it; nil if there is none
return function(text, found)
  local first, _, sign, at = find(text, "([-+]?)()%d%d")
  if not first then return nil end
  local digits, after = digits_at(text, at, 2, 14)
  after = match(text, "^%s*t?%s*()", after)
  local time, fraction, behind
  time, after = digits_at(text, after, 2, 6)
  fraction, behind = match(text, "^[,.](%d*)()", after)
  keep_date(found, sign, digits, fraction and not time)
  if time and fraction and #time < 6 then
    if #time % 2 == 0 then keep(found, time, to_seconds[#time]) end
  elseif time then
    keep(found, time, times[#time])
  end
  if fraction then found.nanosecond = tonumber((fraction .. "000000000"):sub(1, 9)) end
  local zone, stop = zone_at(text, behind or after)
  found.zone = zone or found.zone
  return sub(text, 1, first - 1) .. " " .. sub(text, stop or behind or after)
end
