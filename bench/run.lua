-- Runs the rows of bench/rows.lua and prints a table, or one JSON object a line:
--   run.lua [--quick] [--json] [PART OF A ROW'S NAME]
-- The limit and ours take turns, round by round. The ratio is the median of the rounds' ratios, because machines
-- drift from round to round more than within one; the value is the median of ours.

local json = require("pintle.core").json
local median = require "bench.median"
local rows = require "bench.rows"
local run_options = require "bench.run_options"

local options = run_options.read(arg)

local can_pin = os.execute("taskset -c 0,1 true 2>/dev/null")

local function fill_in(command)
  local filled = (" " .. command .. " ")
    :gsub(" core(%d) ", can_pin and " taskset -c %1 " or " ")
    :gsub(" ECHO ", " lua bench/peer_echo.lua ")
    :gsub(" OPERATIONS ", " lua bench/operations.lua ")
    :gsub(" lua ", " lua5.4 ")
    :gsub(" limit/", " build/bench/")
    :gsub("SECONDS", options.seconds)
    :gsub("ROUNDS", options.rounds)
  return filled
end

-- The figures that a command prints, in the order of printing; nil and the reason if it cannot be run here.
local function figures(command)
  local pipe = assert(io.popen(fill_in(command)))
  local text, list = pipe:read "a", {}
  local reason = text:match "^skipped: ([^\n]*)"
  for figure in text:gmatch "%S+" do list[#list + 1] = tonumber(figure) end
  if not pipe:close() or #list == 0 and not reason then error("this failed:" .. fill_in(command), 0) end
  if reason then return nil, reason end
  return list
end

-- One figure for the limit and one for ours a round, in turn.
local function rounds(row)
  if row.both then return figures(row.both) end
  local list = {}
  for _ = 1, options.rounds do
    list[#list + 1] = figures(row.limit)[1]
    list[#list + 1] = figures(row.ours)[1]
  end
  return list
end

local function is_met(row, ratio)
  if not row.target then return nil end
  if row.better == "less" then return ratio <= row.target end
  return ratio >= row.target
end

-- How ours compares with the limit.
local function compare(row, ours, limit)
  if row.messages then return (ours - limit) / row.messages * row.scale end
  return ours / limit
end

local function measure(row)
  local list, reason = rounds(row)
  if not list then return nil, reason end
  local values, ratios = {}, {}
  for i = 1, #list, 2 do
    values[#values + 1] = list[i + 1]
    ratios[#ratios + 1] = compare(row, list[i + 1], list[i])
  end
  local value, ratio = median(values) * row.scale, median(ratios)
  return value, ratio, is_met(row, ratio)
end

-- Without a value, the ratio is the reason.
local function print_json(row, value, ratio, met)
  local members = {}
  local function member(name, content)
    members[#members + 1] = json.encode(name) .. ":" .. json.encode(content)
  end
  member("name", row.name)
  if not value then
    member("skipped", ratio)
    return print("{" .. table.concat(members, ",") .. "}")
  end
  member("value", value)
  member("unit", row.unit)
  member("against", row.against)
  member("ratio", ratio)
  if row.target then
    member("target", row.target)
    member("met", met)
  end
  print("{" .. table.concat(members, ",") .. "}")
end

local function pad(text, width)
  return text .. (" "):rep(width - utf8.len(text))
end

local function print_line(name, value, against, ratio, target, met)
  print(pad(name, 54) .. pad(value, 19) .. pad(against, 37) .. pad(ratio, 8) .. pad(target, 9) .. met)
end

local function print_text(row, value, ratio, met)
  if not value then return print(pad(row.name, 54) .. "skipped: " .. ratio) end
  local sign = row.better == "less" and "≤ " or "≥ "
  local target, verdict = "–", ""
  if row.target then target, verdict = sign .. row.target, met and "met" or "MISSED" end
  print_line(row.name, ("%.4g %s"):format(value, row.unit), row.against, ("%.2f"):format(ratio), target, verdict)
end

io.stdout:setvbuf("line")
if not options.json then print_line("", "ours", "limit (= 1.00)", "ratio", "target", "") end
for _, row in ipairs(rows) do
  if row.name:find(options.part, 1, true) and not (row.is_slow and options.is_quick) then
    local show = options.json and print_json or print_text
    show(row, measure(row))
  end
end
