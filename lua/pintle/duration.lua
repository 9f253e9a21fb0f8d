-- Spans of time as Go writes and reads them: "1h30m", "1.5s", "100ms".

---@class pintle.duration
local duration = {}

local SECOND = 1000000000
-- 2^63 nanoseconds, as an unsigned integer. As in Go, a negative duration may reach it, and a positive one may not.
local LIMIT = math.mininteger

local UNITS = {
  ns = 1,
  us = 1000,
  ["\u{B5}s"] = 1000,
  ["\u{3BC}s"] = 1000,
  ms = 1000000,
  s = SECOND,
  m = 60 * SECOND,
  h = 3600 * SECOND,
}

local function escape_duration_byte(byte) return ("\\x%02x"):format(byte:byte()) end

local function quote_duration(text)
  if #text > 64 then text = text:sub(1, 61) .. "..." end
  text = text:gsub('[%c"\\]', escape_duration_byte)
  if not utf8.len(text) then text = text:gsub("[\x80-\xff]", escape_duration_byte) end
  return '"' .. text .. '"'
end

-- Raises the reason why the text is no duration; `duration.parse` returns it.
local function reject_duration(text, reason)
  error({ reason = ("duration %s %s"):format(quote_duration(text), reason) })
end

local function reject_long_duration(text)
  reject_duration(text, "is too long: 64 bits of nanoseconds are about 292 years")
end

local function add_nanoseconds(a, b, text)
  local result = a + b
  if math.ult(result, a) or math.ult(LIMIT, result) then reject_long_duration(text) end
  return result
end

-- Digits that no longer fit 63 bits are dropped, as Go does: they are far below a nanosecond.
local function fraction_to_nanoseconds(digits, unit)
  local number, scale = 0, 1.0
  for digit in digits:gmatch "%d" do
    local longer = number * 10 + math.tointeger(digit)
    if math.ult(math.maxinteger // 10, number) or math.ult(LIMIT, longer) then break end
    number, scale = longer, scale * 10
  end
  return math.floor((number == LIMIT and 2.0 ^ 63 or number) * (unit / scale))
end

local function term_to_nanoseconds(whole, decimals, name, text)
  if name == "" then reject_duration(text, "has a number without a unit, such as s or ms") end
  local unit = UNITS[name]
  if not unit then
    reject_duration(text, ("has the unknown unit %s; it has to be ns, us, ms, s, m or h"):format(quote_duration(name)))
  end
  local count = math.tointeger(tonumber(whole == "" and 0 or whole))
  if unit == 1 and whole:find "^0*9223372036854775808$" then count = LIMIT end
  if not count or count > math.maxinteger // unit then reject_long_duration(text) end
  return add_nanoseconds(count * unit, fraction_to_nanoseconds(decimals, unit), text)
end

local function sum_duration_terms(body, text)
  if body == "0" then return 0 end
  if body == "" then reject_duration(text, text == "" and "is empty" or "has nothing after its sign") end
  local total, at = 0, 1
  while at <= #body do
    local whole, point, decimals, name, after = body:match("^(%d*)(%.?)(%d*)([^%d.]*)()", at)
    if whole == "" and decimals == "" then
      reject_duration(text, point == "" and "has something else where a number is due" or "has a point without digits")
    end
    total = add_nanoseconds(total, term_to_nanoseconds(whole, decimals, name, text), text)
    at = after
  end
  return total
end

local function parse_signed_duration(text)
  local sign, body = text:match "^([-+]?)(.*)$"
  local total = sum_duration_terms(body, text)
  if sign == "-" then return -total end
  if total == LIMIT then reject_long_duration(text) end
  return total
end

---Reads what Go's time.ParseDuration reads.
---@param text string
---@return number? seconds, string? message what is wrong, in a sentence
function duration.parse(text)
  if type(text) ~= "string" then error("a duration is read from a string, got " .. type(text), 2) end
  local ok, result = pcall(parse_signed_duration, text)
  if ok then return result / SECOND end
  if type(result) ~= "table" then error(result, 0) end
  return nil, result.reason
end

-- 1, 500000000 out of 1.5 or -1.5; nil if it does not fit into Go's 64 bits of nanoseconds.
local function split_nanoseconds(seconds)
  local fits = seconds > -1e10 and seconds < 1e10
  if not fits then return nil end
  local magnitude = math.abs(seconds)
  local whole = math.floor(magnitude)
  local nanoseconds = math.floor((magnitude - whole) * SECOND + 0.5)
  whole, nanoseconds = whole + nanoseconds // SECOND, nanoseconds % SECOND
  local most = math.maxinteger // SECOND
  if whole > most or whole == most and nanoseconds > math.maxinteger % SECOND then return nil end
  return whole, nanoseconds
end

-- 1, 50000000, 9 -> "1.05"
local function format_decimal(whole, rest, places)
  return (("%d.%0" .. places .. "d"):format(whole, rest):gsub("%.?0*$", ""))
end

local function format_duration_milliseconds(nanoseconds)
  if nanoseconds < 1000 then return ("%dns"):format(nanoseconds) end
  if nanoseconds < 1000000 then return format_decimal(nanoseconds // 1000, nanoseconds % 1000, 3) .. "\u{B5}s" end
  return format_decimal(nanoseconds // 1000000, nanoseconds % 1000000, 6) .. "ms"
end

local function format_duration_hours(seconds, nanoseconds)
  local text = format_decimal(seconds % 60, nanoseconds, 9) .. "s"
  if seconds >= 60 then text = ("%dm%s"):format(seconds // 60 % 60, text) end
  if seconds >= 3600 then text = ("%dh%s"):format(seconds // 3600, text) end
  return text
end

---Writes as Go's Duration.String does, to the nanosecond. Raises for values that Go cannot hold: more than about 292
---years, and NaN.
---@param seconds number
---@return string
function duration.format(seconds)
  if type(seconds) ~= "number" then error("seconds are a number, got " .. type(seconds), 2) end
  local whole, nanoseconds = split_nanoseconds(seconds)
  if not whole then error("no duration is " .. seconds .. " seconds long", 2) end
  if whole == 0 and nanoseconds == 0 then return "0s" end
  local text = whole == 0 and format_duration_milliseconds(nanoseconds) or format_duration_hours(whole, nanoseconds)
  return seconds < 0 and "-" .. text or text
end

-- Programs use the same few texts in every call.
local parsed_texts = setmetatable({}, { __mode = "v" }) ---@type table<string, { seconds: number }>

local function parse_duration_once(text)
  if parsed_texts[text] then return parsed_texts[text].seconds end
  local seconds, message = duration.parse(text)
  if seconds then parsed_texts[text] = { seconds = seconds } end
  return seconds, message
end

---A span of time as a user gives it: a number of seconds, or a duration in Go's syntax.
---@param value any
---@return number? seconds finite and not negative, string? message
function duration.seconds(value)
  local seconds, message = value, nil
  if type(value) == "string" then
    seconds, message = parse_duration_once(value)
  elseif type(value) ~= "number" then
    seconds, message = nil, ('seconds or a duration such as "1m30s" are needed, got %s'):format(type(value))
  end
  if not seconds then return nil, message end
  if seconds < 0 then return nil, ("a span of time cannot be negative, got %s"):format(value) end
  if seconds ~= seconds or seconds == math.huge then return nil, ("a span of time has to end, got %s"):format(value) end
  return seconds
end

return duration
