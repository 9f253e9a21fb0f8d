-- Finds a time of day in a text, and the zone behind it: 14:30:05.25 +02:00, 2h30m, 5 p.m. EST.

local match, sub, find = string.match, string.sub, string.find

-- Where a word ends, and what may be there.
local WORD_END = "%f[^%w_\x80-\xFF]"
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

-- am or pm: which half of the day, and what is behind it.
local function half_at(text, at)
  local half, after = match(text, HALF, at)
  if half then return half, after end
  return match(text, "^%s*([ap])%.m%.()", at)
end

-- Behind hours: `:minutes` and `:seconds.fraction`, whatever space is between them.
local function with_colons(text, at)
  local minute, after = match(text, "^%s*:%s*(%d+)()", at)
  if not minute then return nil end
  local second, behind = match(text, "^%s*:%s*(%d+)()", after)
  if not second then return after, minute end
  local fraction, last = match(text, "^[,.](%d*)()", behind)
  return last or behind, minute, second, fraction
end

-- Behind hours: `h`, `minutes m` and `seconds s`. Behind an h that stands apart they are passed over.
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

-- The time whose hours begin at a position, and what is behind it.
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

-- +02:00, gmt-5
local function distance_end(text, at)
  local sign = match(text, "^gmt()", at) or match(text, "^utc?()", at) or at
  local after = match(text, "^[-+]%d+()", sign)
  if not after then return nil end
  local behind = match(text, "^[,.:]%d+()", after)
  return behind and (match(text, "^:%d+()", behind) or behind) or after
end

-- Eastern Standard Time: the last that ends so.
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

-- Whatever word stands here is taken for a zone, also where there is none of that name.
local function zone_at(text, at)
  at = match(text, "^%s*()", at)
  local stop = distance_end(text, at) or long_name_end(text, at) or name_end(text, at)
  if stop then return sub(text, at, stop - 1), stop end
end

---Finds a time of day.
---@param text string in small letters
---@param found table gets its hour, minute, second, nanosecond and the name of its zone
---@return string text without it
return function(text, found)
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
