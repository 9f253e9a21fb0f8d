-- Names of time zones that texts of dates may end in, as seconds east of UTC.

local zones = {}

local hours = {
  utc = 0, gmt = 0, z = 0, ut = 0, wet = 0, est = -5, edt = -4, cst = -6, cdt = -5, mst = -7, mdt = -6, pst = -8,
  pdt = -7, akst = -9, akdt = -8, hst = -10, cet = 1, cest = 2, bst = 1, eet = 2, eest = 3, msk = 3, ist = 5.5, jst = 9,
  aest = 10, aedt = 11,
}

local utc = { utc = true, gmt = true, z = true, ut = true }

---@param name string in small letters: "utc", "-04:00", "gmt+2"
---@return integer? offset, string? zone as %Z prints it
function zones.offset(name)
  if utc[name] then return 0, "UTC" end
  if hours[name] then return math.tointeger(hours[name] * 3600), "" end
  local sign, digits = name:match("^%a*([+-])([%d:]+)$")
  if not sign then return nil end
  local hour, minute = digits:match("^(%d%d?):?(%d*)")
  local seconds = tonumber(hour) * 3600 + (tonumber(minute) or 0) * 60
  return math.tointeger(sign == "-" and -seconds or seconds), seconds == 0 and "UTC" or ""
end

return zones
