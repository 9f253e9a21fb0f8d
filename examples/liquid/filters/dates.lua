-- The date filter.

local calendar = require "liquid.dates.calendar"
local errors = require "liquid.errors"
local parse = require "liquid.dates.parse"
local strftime = require "liquid.dates.strftime"
local text = require "liquid.text"

local words = { now = true, today = true }

local function now(ctx)
  local seconds = ctx.now or os.time()
  return calendar.at(math.floor(seconds))
end

local function to_time(input, ctx)
  if math.type(input) == "integer" then return calendar.at(input) end
  if type(input) ~= "string" or input == "" or #input > 128 then return nil end
  if #input <= 5 and words[input:lower()] then return now(ctx) end
  if input:find("^%-?%d+$") then
    local seconds = math.tointeger(tonumber(input))
    return seconds and calendar.at(seconds)
  end
  return parse(input, now, ctx)
end

-- A date this far away is no date: its year would overflow.
local FAR = 1 << 53

local function date(ctx, input, pattern)
  local shown, err = text.to_s(pattern, ctx)
  if err then return nil, err end
  if shown == "" then return input end
  if math.type(input) == "integer" and (input > FAR or input < -FAR) then return input end
  local time = to_time(input, ctx)
  if not time then return input end
  local printed = strftime(time, shown)
  if not printed then return errors.argument("invalid format: " .. shown) end
  return printed
end

return function(define)
  define("date", 1, 1, date)
end
