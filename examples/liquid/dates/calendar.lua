-- Days and seconds: the calendar that Ruby's Time keeps, in UTC or at a fixed distance from it.

local calendar = {}

---@class liquid.time
---@field year integer
---@field month integer
---@field day integer
---@field hour integer
---@field minute integer
---@field second integer
---@field nanosecond integer
---@field offset integer seconds east of UTC
---@field zone string "UTC", or "" where only the distance is known
---@field epoch? table seconds since 1970, where they are more than 64 bits hold

---Days from 1970-01-01.
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

---The date of a day counted from 1970-01-01.
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

---The week of ISO 8601 and the year it belongs to.
---@param time liquid.time
---@return integer year, integer week
function calendar.iso_week(time)
  local days = calendar.days(time.year, time.month, time.day)
  -- A week belongs to the year of its Thursday.
  local thursday = days - (calendar.weekday(time) + 6) % 7 + 3
  local year = calendar.date(thursday)
  return year, (thursday - calendar.days(year, 1, 1)) // 7 + 1
end

---The week of the year, its weeks beginning on a weekday: 0 for Sunday.
---@param time liquid.time
---@param first integer
---@return integer
function calendar.week(time, first)
  return (calendar.day_of_year(time) + 6 - (calendar.weekday(time) - first) % 7) // 7
end

return calendar
