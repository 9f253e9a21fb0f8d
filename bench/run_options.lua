-- The command line of bench/run.lua and bench/compare/run.lua: [--quick] [--json] [PART OF A ROW'S NAME]

local run_options = {}

---@class bench.run_options
---@field rounds integer
---@field seconds number how long each round measures
---@field is_quick? boolean
---@field json? boolean
---@field part string of the names of the rows to run

---@param words string[]
---@return bench.run_options
function run_options.read(words)
  local options = { rounds = 7, seconds = 1, part = "" }
  for _, word in ipairs(words) do
    if word == "--quick" then
      options.rounds, options.seconds, options.is_quick = 5, 0.1, true
    elseif word == "--json" then
      options.json = true
    else
      options.part = word
    end
  end
  return options
end

return run_options
