-- The forms that dates are written in. Each finds the first date of its form in a text, in small letters: it gives the
-- text without that date, or nil if there is none.

local match, sub, find, byte = string.match, string.sub, string.find, string.byte

local forms = {}

local APOSTROPHE <const> = 0x27

-- Where a word begins, and where it ends.
local WORD, WORD_END = "%f[%w_\x80-\xFF]", "%f[^%w_\x80-\xFF]"
local THREE_LETTERS = WORD .. "%a%a%a"

local months = {
  jan = 1, feb = 2, mar = 3, apr = 4, may = 5, jun = 6, jul = 7, aug = 8, sep = 9, oct = 10, nov = 11, dec = 12,
}

local function month_at(text, at) return months[sub(text, at, at + 2)] end

local function without(text, first, after) return sub(text, 1, first - 1) .. " " .. sub(text, after) end

local function whole(text) return math.tointeger(tonumber(match(text, "%d+"))) end

local function is_year(text) return #text > 2 or byte(text) == APOSTROPHE end

-- Which of three parts is the year: it has more than two digits, or an apostrophe before them, or it is the first.
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

-- Keeps a date of three parts, of which some may be missing.
local function keep(found, year, month, day, is_before)
  year, month, day = in_order(year, month, day)
  if year then
    local sign, digits = match(year, "([-+]?)(%d+)")
    found.year = math.tointeger(tonumber(sign .. digits))
    found.far = not found.year
    -- Years of two digits are of this century or the last.
    found.is_exact = sign ~= "" or #digits > 2
    found.is_before = is_before
  end
  if month then found.month = whole(month) or 0 end
  if day then found.day = whole(day) or 0 end
end

-- ce, bce, ad or bc, with points or without: what is behind it, and whether it is before the first year.
local function era_at(text, at)
  if not find(text, "^[abc]", at) then return nil end
  for _, era in ipairs { "ce", "bce", "ad", "bc" } do
    local after = match(text, "^" .. era .. "()", at) or match(text, "^" .. era:gsub(".", "%0%%.") .. "()", at)
    if after then return after, sub(era, 1, 1) == "b" end
  end
end

-- The year behind a month and a day, perhaps with an era before it.
local function year_at(text, at)
  local behind_era, is_before = era_at(text, at)
  if behind_era then
    local year, after = match(text, "^%s*('?%-?%d+)()", behind_era)
    if year then return year, after, is_before end
  end
  return match(text, "^('?%-?%d+)()", at)
end

-- The month in or behind what stands directly behind a day: 5jan, 5th jan.
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

-- Tries where a month begins a word.
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

-- A date whose three parts are what a pattern captures.
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

-- The year before the first of a Japanese era.
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

-- How a week of a year is written, from where a word begins or ends.
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

---2024-W05-1, -W-1: a time knows nothing of weeks, so there is nothing to keep.
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

return forms
