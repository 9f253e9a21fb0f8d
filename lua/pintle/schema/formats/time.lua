-- Dates, times and durations (RFC 3339).

local time = {}

local DAYS = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 }

local function is_leap(year) return year % 4 == 0 and (year % 100 ~= 0 or year % 400 == 0) end

local function days_in(year, month)
  if month == 2 and not is_leap(year) then return 28 end
  return DAYS[month] or 0
end

---@param text string
---@return boolean
function time.is_date(text)
  local year, month, day = text:match "^(%d%d%d%d)%-(%d%d)%-(%d%d)$"
  if not year then return false end
  day = tonumber(day)
  return day >= 1 and day <= days_in(tonumber(year), tonumber(month))
end

-- Minutes that the local time is ahead of UTC.
local function offset_of(zone)
  if zone == "Z" or zone == "z" then return 0 end
  local sign, hours, minutes = zone:match "^([-+])(%d%d):(%d%d)$"
  if not sign or hours > "23" or minutes > "59" then return nil end
  return (sign == "-" and -1 or 1) * (hours * 60 + minutes)
end

-- Seconds go up to 60 in the last minute of a day in UTC, where leap seconds are.
---@param text string
---@return boolean
function time.is_time(text)
  local hour, minute, second, fraction, zone = text:match "^(%d%d):(%d%d):(%d%d)(%.?%d*)([-+Zz].*)$"
  if not hour or fraction ~= "" and not fraction:find "^%.%d+$" then return false end
  local offset = offset_of(zone)
  if not offset or hour > "23" or minute > "59" or second > "60" then return false end
  return second < "60" or (hour * 60 + minute - offset) % 1440 == 1439
end

---@param text string
---@return boolean
function time.is_date_time(text)
  local date, rest = text:match "^([%d-]+)[Tt](.*)$"
  return date ~= nil and time.is_date(date) and time.is_time(rest)
end

-- Whether the text is numbers with these units, some of them left out at either end and none in between.
local function has_units(text, units)
  local first, last, rest = nil, nil, text
  while rest ~= "" do
    local unit, after = rest:match "^%d+(%a)(.*)$"
    local place = unit and units:find(unit, 1, true)
    if not place or last and place ~= last + 1 then return false end
    first, last, rest = first or place, place, after
  end
  return first ~= nil
end

---@param text string
---@return boolean
function time.is_duration(text)
  if text:find "^P%d+W$" then return true end
  local date, mark, clock = text:match "^P([%dYMD]*)(T?)([%dHMS]*)$"
  if not date or date == "" and mark == "" then return false end
  if date ~= "" and not has_units(date, "YMD") then return false end
  if mark == "" then return clock == "" end
  return has_units(clock, "HMS")
end

return time
