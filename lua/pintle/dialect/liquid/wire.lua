-- What both sides know of the messages: text that JSON can carry, timestamps, and the errors of templates.

local json = require("pintle.core").json

local wire = {
  VERSION = "1.0",
  ---The error code of a render that failed.
  RENDER_ERROR = -32001,
}

-- {====== Text ======

local REPLACEMENT = "\u{FFFD}"

local function utf8_continuation_count(lead)
  if lead >= 0xC2 and lead <= 0xDF then return 1 end
  if lead >= 0xE0 and lead <= 0xEF then return 2 end
  return lead >= 0xF0 and lead <= 0xF4 and 3 or 0
end

-- The range of the second byte, for first bytes with less than 80 to BF.
local SECOND = { [0xE0] = { 0xA0, 0xBF }, [0xED] = { 0x80, 0x9F }, [0xF0] = { 0x90, 0xBF }, [0xF4] = { 0x80, 0x8F } }

-- The last byte of the invalid sequence that starts at `at`. Such a sequence is replaced as a whole.
local function end_of_invalid_utf8(text, at)
  local lead = text:byte(at)
  local last = at
  for i = 1, utf8_continuation_count(lead) - 1 do
    local range = i == 1 and SECOND[lead] or { 0x80, 0xBF }
    local byte = text:byte(at + i)
    if not byte or byte < range[1] or byte > range[2] then break end
    last = at + i
  end
  return last
end

---Replaces bytes that are not UTF-8 by U+FFFD, as the protocol requires for binary data.
---@param text string
---@return string
function wire.valid_text(text)
  if json.is_utf8(text) then return text end
  local bad = select(2, utf8.len(text))
  local parts, from = {}, 1
  while bad do
    parts[#parts + 1] = text:sub(from, bad - 1) .. REPLACEMENT
    from = end_of_invalid_utf8(text, bad) + 1
    bad = select(2, utf8.len(text, from))
  end
  return table.concat(parts) .. text:sub(from)
end

-- }======

-- {====== Timestamps ======

-- Years are counted from March, so that the leap day is the last day of a year.
local function days_since_epoch(year, month, day)
  if month < 3 then year, month = year - 1, month + 12 end
  return 365 * year + year // 4 - year // 100 + year // 400 + (153 * (month - 3) + 2) // 5 + day - 719469
end

local MONTH_LENGTHS = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 }

local function is_liquid_date(year, month, day)
  if not MONTH_LENGTHS[month] or day < 1 or day > MONTH_LENGTHS[month] then return false end
  local is_leap = year % 4 == 0 and (year % 100 ~= 0 or year % 400 == 0)
  return not (month == 2 and day == 29) or is_leap
end

-- The seconds of the day, and the rest of the text.
local function read_liquid_time_of_day(text)
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

-- The seconds that a zone is ahead of UTC.
local function read_liquid_time_zone(text)
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

---Reads an ISO 8601 timestamp; without a zone it is UTC.
---@param text string
---@return number? seconds since the epoch, an integer if there is no fraction; nil if it is not a timestamp
function wire.seconds(text)
  local year, month, day, rest = text:match "^(%d%d%d%d)%-(%d%d)%-(%d%d)(.*)$"
  if not year then return nil end
  year, month, day = math.tointeger(year), math.tointeger(month), math.tointeger(day)
  if not is_liquid_date(year, month, day) then return nil end
  local clock, zone = read_liquid_time_of_day(rest)
  local ahead = clock and read_liquid_time_zone(zone)
  return ahead and days_since_epoch(year, month, day) * 86400 + clock - ahead
end

-- }======

-- {====== Errors of templates ======

local PROBLEM = json.order { "type", "message", "line" }
local DATA = json.order { "type", "line" }

---An error in a template. The message is sent as it is.
---@class pintle.liquid.problem
---@field type string "syntax_error" or "parse_error" if the template does not compile
---@field message string
---@field line? integer

---@param given any a `pintle.liquid.problem`, or a message
---@param kind string the type if none is given
---@return pintle.liquid.problem
function wire.problem(given, kind)
  if type(given) ~= "table" then given = { message = given } end
  local message = wire.valid_text(tostring(given.message))
  return setmetatable({ type = given.type or kind, message = message, line = given.line }, PROBLEM)
end

---@param all any[]?
---@return pintle.liquid.problem[]
function wire.problem_list(all)
  local list = json.array()
  for i, given in ipairs(all or {}) do list[i] = wire.problem(given, "render_error") end
  return list
end

---Whether it is an error object with a code or kind already.
---@param err any
---@return boolean
function wire.is_error(err) return type(err) == "table" and (err.code or err.kind) ~= nil end

---The error response of a failed render.
---@param err any
---@return pintle.error|table
function wire.render_error(err)
  if wire.is_error(err) then return err end
  local problem = wire.problem(err, "render_error")
  local data = setmetatable({ type = problem.type, line = problem.line }, DATA)
  return { code = wire.RENDER_ERROR, message = problem.message, data = data }
end

---The message of an error: a string, or an object with a message.
---@param problem any
---@param default string
---@return string
function wire.error_text(problem, default)
  if type(problem) == "table" then problem = problem.message end
  return type(problem) == "string" and problem or default
end

-- }======

return wire
