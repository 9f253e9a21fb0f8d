-- Times this engine, ruby-liquid and liquidjs on the same templates and data: run.lua [ROUNDS [SECONDS]]
-- They take turns, round by round; the figures are medians. Their outputs are compared first.

local median = require "bench.median"

local rounds, seconds = tonumber(arg[1] or 5), tonumber(arg[2] or 0.4)
local directory = arg[0]:match("^(.*)/") or "."
local scratch = os.getenv("LIQUID_BENCH_SCRATCH")
local data = scratch .. "/data.json"

local engines = {
  { name = "pintle", command = "lua5.4 " .. directory .. "/worker.lua" },
  { name = "ruby-liquid", command = "ruby " .. directory .. "/worker.rb" },
  { name = "liquidjs", command = "node " .. directory .. "/worker.js" },
}
local templates = { "product", "table", "partials", "filters" }

local function run(engine, phase, template)
  local pipe = assert(io.popen(("%s %s %s %s %s"):format(engine.command, phase, template, data, seconds)))
  local output = pipe:read("a")
  if not pipe:close() then error(engine.name .. " failed", 0) end
  return output
end

local function same_words(a, b)
  return a:gsub("%s+", " ") == b:gsub("%s+", " ")
end

local function compare_outputs()
  for _, template in ipairs(templates) do
    local ours = run(engines[1], "output", template)
    if run(engines[2], "output", template) ~= ours then error(template .. ": ruby-liquid renders it differently", 0) end
    if not same_words(run(engines[3], "output", template), ours) then
      print(template .. ": the output of liquidjs differs in numbers or escapes; the work is the same")
    end
  end
end

local function measure(phase, template)
  local times = {}
  for i in ipairs(engines) do times[i] = {} end
  for round = 1, rounds do
    for i, engine in ipairs(engines) do times[i][round] = tonumber(run(engine, phase, template)) end
  end
  for i in ipairs(engines) do times[i] = median(times[i]) end
  return times
end

local function row(label, times, unit)
  print(("%-20s %10.1f %10.1f %10.1f %s  %5.1fx %5.1fx"):format(label, times[1], times[2], times[3], unit,
    times[2] / times[1], times[3] / times[1]))
end

compare_outputs()
print(("%-20s %10s %10s %10s     %s"):format("", "pintle", "ruby", "liquidjs", "ruby/pintle, liquidjs/pintle"))
for _, phase in ipairs { "parse", "again", "render" } do
  for _, template in ipairs(templates) do row(phase .. " " .. template, measure(phase, template), "us") end
end
for _, template in ipairs { "product", "table" } do
  row("memory " .. template, measure("memory", template), "kB")
end
