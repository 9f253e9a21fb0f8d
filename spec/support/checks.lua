-- Runs `pintle check` and parses its report.
local children = require "spec.support.children"
local cli = require "spec.support.cli"
local json = require("pintle.core").json

local checks = {}

-- The options that run the greeter's operation.
checks.GREET = { "--run", "greet", "--args", '{"name":"Ada"}' }

-- Runs all commands of a block at the same time, because they mostly wait: before its specs, each value of `commands`
-- is replaced by the process that runs these words. Then no process or descriptor may be left. To be called outside of
-- specs.
function checks.run_at_once(commands)
  local busted, nothing_left = require "busted", nil
  busted.setup(function()
    nothing_left = children.stock()
    for key, words in pairs(commands) do commands[key] = cli.start(words, { stdin = "null" }) end
  end)
  busted.teardown(function()
    for _, started in pairs(commands) do started.process:close() end
    nothing_left()
  end)
end

-- A plugin that is not expected to be slow has plenty of time.
local function patiently(...)
  local words = cli.words(...)
  for _, word in ipairs(words) do
    if word == "-t" then return words end
  end
  return cli.words("-t", "30s", words)
end

function checks.checking(...) return cli.words("check", "--json", patiently(...)) end

-- All verdicts except those that passed, the status, and the report.
function checks.verdicts_in(started)
  local out, err, status = started:finish()
  local report = json.decode(out)
  assert(type(report) == "table", err)
  local verdicts = {}
  for _, probe in ipairs(report.probes) do
    if probe.verdict ~= "pass" then verdicts[#verdicts + 1] = probe.verdict .. " " .. probe.name end
  end
  return verdicts, status, report
end

function checks.check(...)
  local started <close> = cli.start(checks.checking(...), { stdin = "null" })
  return checks.verdicts_in(started)
end

function checks.find(report, name)
  for _, probe in ipairs(report.probes) do
    if probe.name == name then return probe end
  end
  error("there is no probe " .. name)
end

function checks.only(...)
  local words = {}
  for i, name in ipairs { ... } do words[i] = { "--only", name } end
  return words
end

return checks
