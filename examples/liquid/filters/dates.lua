-- The date filter.

local bigint = require "liquid.bigint"
local calendar = require "liquid.dates.calendar"
local errors = require "liquid.errors"
local parse = require "liquid.dates.parse"
local strftime = require "liquid.dates.strftime"
local text = require "liquid.text"

local words = { now = true, today = true }

local function now(ctx)
  local given = ctx.now
  local time = type(given) == "string" and parse(given, calendar.at, 0)
  return time or calendar.at(math.floor(type(given) == "number" and given or os.time()))
end

-- What a text leaves out is taken from now, in UTC.
local function now_in_utc(ctx) return calendar.at(calendar.seconds(now(ctx))) end

-- The calendar repeats itself after so many seconds.
local CYCLE_SECONDS, CYCLE_YEARS = 146097 * 86400, 400

-- Years are integers of Lua: a time whose year would be none is no time.
local MOST_CYCLES = 1 << 52

local function at_any(seconds)
  if math.type(seconds) == "integer" then return calendar.at(seconds) end
  if bigint.is_too_long(seconds) then return nil end
  local cycles, rest = bigint.divide(seconds, CYCLE_SECONDS)
  if bigint.is(cycles) or cycles > MOST_CYCLES or cycles < -MOST_CYCLES then return nil end
  local time = calendar.at(rest)
  time.year, time.epoch = time.year + cycles * CYCLE_YEARS, seconds
  return time
end

local function to_time(input, ctx)
  if math.type(input) == "integer" or bigint.is(input) then return at_any(input) end
  if type(input) ~= "string" or input == "" or #input > 128 then return nil end
  if #input <= 5 and words[input:lower()] then return now(ctx) end
  if input:find("^%d+$") then return at_any(bigint.parse(input)) end
  return parse(input, now_in_utc, ctx)
end

local function date(ctx, input, pattern)
  local shown, err = text.to_s(pattern, ctx)
  if err then return nil, err end
  if shown == "" then return input end
  local time = to_time(input, ctx)
  if not time then return input end
  local printed = strftime(time, shown)
  if not printed then return errors.argument("invalid format: " .. shown) end
  return printed
end

return function(define)
  define("date", 1, 1, date)
end
