-- Has the same conversations in several technologies and prints how each compares with pintle:
--   run.lua [--quick] [--json] [PART OF A ROW'S NAME]
-- All take turns, round by round, each with host and plugin tied to one and the same core: with more of them it matters
-- where the system happens to put them, several times over. A factor is how many times pintle's time (for rates, the
-- inverse) or memory it is: the median of the rounds' factors, because machines drift from round to round more than
-- within one.

local contenders = require "bench.compare.contenders"
local json = require("pintle.core").json
local median = require "bench.median"
local rows = require "bench.compare.rows"

local options = { rounds = 7, still_rounds = 3, seconds = 1, part = "" }
for _, option in ipairs(arg) do
  if option == "--quick" then
    options.rounds, options.still_rounds, options.seconds = 3, 1, 0.1
  elseif option == "--json" then
    options.json = true
  else
    options.part = option
  end
end

local can_pin = os.execute "taskset -c 0 true 2> /dev/null"

-- nil if it has no such conversation
local function command_of(contender, row)
  local text = contender.hosts and contender.hosts[row.mode]
  if contender.hosts and not text then return nil end
  text = text or ("%s MODE SECONDS N %s"):format(contender.host, contender.plugin)
  local pinned = can_pin and "taskset -c 0 " or ""
  return pinned .. text:gsub("%u+", {
    MODE = row.mode, SECONDS = options.seconds, N = row.n, PYTHON = os.getenv "PYTHON" or "python3",
  })
end

local function figure(command)
  local pipe <close> = assert(io.popen(command))
  local value = pipe:read "n"
  if not pipe:close() or not value then error("this failed: " .. command, 0) end
  return value
end

-- One round: what each printed, by its place.
local function round(row)
  local values = {}
  for i, contender in ipairs(contenders) do
    local command = command_of(contender, row)
    values[i] = command and figure(command)
  end
  return values
end

-- Of each contender the median of its values and of its factors, by its place.
local function measure(row)
  local values, factors = {}, {}
  for place in ipairs(contenders) do values[place], factors[place] = {}, {} end
  for _ = 1, row.is_still and options.still_rounds or options.rounds do
    local of_round = round(row)
    for place, list in ipairs(factors) do
      local value, ours = of_round[place], of_round[1]
      if value then
        list[#list + 1] = row.is_rate and ours / value or value / ours
        table.insert(values[place], value)
      end
    end
  end
  return values, factors
end

local function pad(text, width) return (" "):rep(width - utf8.len(text)) .. text end

local function shown(factor)
  if not factor then return "–" end
  return (factor < 9.95 and "%.1f" or "%.0f"):format(factor)
end

local function print_text(row, _, factors)
  local cells = { row.name .. (" "):rep(34 - utf8.len(row.name)) }
  for i, contender in ipairs(contenders) do
    cells[#cells + 1] = pad(shown(factors[i][1] and median(factors[i])), utf8.len(contender.name))
  end
  print(table.concat(cells, "  "))
end

local function print_json(row, values, factors)
  for i, contender in ipairs(contenders) do
    if values[i][1] then
      print(json.encode {
        row = row.name, who = contender.name, value = median(values[i]), factor = median(factors[i]),
        lowest = factors[i][1], highest = factors[i][#factors[i]],
      })
    end
  end
end

io.stdout:setvbuf "line"
if not options.json then
  local heads = { (" "):rep(34) }
  for _, contender in ipairs(contenders) do heads[#heads + 1] = contender.name end
  print(table.concat(heads, "  "))
end
for _, row in ipairs(rows) do
  if row.name:find(options.part, 1, true) then
    local show = options.json and print_json or print_text
    show(row, measure(row))
  end
end
