-- Names of time zones that texts of dates may end in, as seconds east of UTC.

local zones = {}

-- Those that Ruby knows: of America, and the letters of the military. Others are passed over.
local hours = { est = -5, edt = -4, cst = -6, cdt = -5, mst = -7, mdt = -6, pst = -8, pdt = -7 }
for i, letter in ipairs { "a", "b", "c", "d", "e", "f", "g", "h", "i", "k", "l", "m" } do hours[letter] = i end
for i, letter in ipairs { "n", "o", "p", "q", "r", "s", "t", "u", "v", "w", "x", "y" } do hours[letter] = -i end

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

---@param name string in small letters: "utc", "-04:00", "est"
---@return integer? offset, string? zone as %Z prints it
function zones.offset(name)
  if utc[name] then return 0, "UTC" end
  if hours[name] then return hours[name] * 3600, "" end
  local seconds = distance(name)
  return seconds, seconds == 0 and "UTC" or ""
end

return zones
