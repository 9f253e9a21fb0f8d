-- A point in time as ISO 8601 writes it.

local moment = {}

-- Days since 1970-01-01, for years that begin in March: then the leap day is the last.
local function days(year, month, day)
  if month < 3 then year, month = year - 1, month + 12 end
  return 365 * year + year // 4 - year // 100 + year // 400 + (153 * (month - 3) + 2) // 5 + day - 719469
end

local LENGTHS = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 }

local function is_date(year, month, day)
  if not LENGTHS[month] or day < 1 or day > LENGTHS[month] then return false end
  local is_leap = year % 4 == 0 and (year % 100 ~= 0 or year % 400 == 0)
  return not (month == 2 and day == 29) or is_leap
end

-- Seconds of the day, and what is behind.
local function read_clock(text)
  if text == "" then return 0, "" end
  local hour, minute, rest = text:match "^[Tt ](%d%d):(%d%d)(.*)$"
  if not hour then return nil end
  local second, after = rest:match "^:(%d%d)(.*)$"
  local fraction, zone = (after or rest):match "^[.,](%d+)(.*)$"
  local whole = tonumber(second or 0)
  if tonumber(hour) > 24 or tonumber(minute) > 59 or whole > 60 then return nil end
  if fraction then whole = whole + tonumber("0." .. fraction) end
  return tonumber(hour) * 3600 + tonumber(minute) * 60 + whole, zone or after or rest
end

local UTC = { [""] = true, Z = true, z = true, UTC = true }

-- Seconds that a zone is ahead.
local function read_zone(text)
  text = text:gsub("^ ", "")
  if UTC[text] then return 0 end
  local sign, hours, minutes = text:match "^([+-])(%d%d):?(%d%d)$"
  if not sign then
    sign, hours = text:match "^([+-])(%d%d)$"
    minutes = 0
  end
  if not sign then return nil end
  local ahead = tonumber(hours) * 3600 + tonumber(minutes) * 60
  return sign == "-" and -ahead or ahead
end

---Seconds since the epoch; an integer if there is no fraction. What names no zone is UTC.
---@param text string
---@return number?
function moment.seconds(text)
  local year, month, day, rest = text:match "^(%d%d%d%d)%-(%d%d)%-(%d%d)(.*)$"
  if not year then return nil end
  year, month, day = math.tointeger(year), math.tointeger(month), math.tointeger(day)
  if not is_date(year, month, day) then return nil end
  local clock, zone = read_clock(rest)
  local ahead = clock and read_zone(zone)
  return ahead and days(year, month, day) * 86400 + clock - ahead
end

return moment
