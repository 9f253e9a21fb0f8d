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
local run_options = require "bench.run_options"

local options = run_options.read(arg)
local still_rounds = options.is_quick and 1 or 3

local can_pin = os.execute "taskset -c 0 true 2> /dev/null"

-- nil if it has no such conversation
local function command_of(contender, row, dialect)
  local text = contender.commands and contender.commands[row.mode]
  if not text and contender.host and not row.is_tool then
    text = ("%s MODE SECONDS N %s"):format(contender.host, contender.plugin)
  end
  if not text then return nil end
  local pinned = can_pin and "taskset -c 0 " or ""
  return pinned .. text:gsub("%u+", {
    MODE = row.mode, SECONDS = options.seconds, N = row.n, DIALECT = dialect, PYTHON = os.getenv "PYTHON" or "python3",
  })
end

local function figure(command)
  local pipe <close> = assert(io.popen(command))
  local value = pipe:read "n"
  if not pipe:close() or not value then error("this failed: " .. command, 0) end
  return value
end

-- For one round: the figure of a contender in a dialect, measured once; nil if it has no such conversation.
local function new_round(row)
  local figures = {}
  return function(contender, dialect)
    local command = command_of(contender, row, dialect)
    if command and not figures[command] then figures[command] = figure(command) end
    return figures[command]
  end
end

-- Of each contender, by its place: its values in all rounds, the factors to pintle's in the same dialect, and pintle's.
local function measure(row)
  local values, factors, ours = {}, {}, {}
  for place in ipairs(contenders) do values[place], factors[place], ours[place] = {}, {}, {} end
  for _ = 1, row.is_still and still_rounds or options.rounds do
    local figure_of = new_round(row)
    for place, contender in ipairs(contenders) do
      local value = figure_of(contender, contender.dialect)
      if value then
        local our_value = figure_of(contenders[1], contender.dialect)
        table.insert(values[place], value)
        table.insert(factors[place], row.is_rate and our_value / value or value / our_value)
        table.insert(ours[place], our_value)
      end
    end
  end
  return values, factors, ours
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

local function print_json(row, values, factors, ours)
  for i, contender in ipairs(contenders) do
    if values[i][1] then
      print(json.encode {
        row = row.name, who = contender.name, value = median(values[i]), factor = median(factors[i]),
        lowest = factors[i][1], highest = factors[i][#factors[i]], pintle = median(ours[i]),
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
