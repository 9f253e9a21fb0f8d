-- Counts the specs, whatever the output format is, and writes "N passed, N failed" to the file PINTLE_CLOSING_LINE,
-- which script/test prints last. If there is no file, the run was not completed.
local busted = require "busted"

local path = os.getenv "PINTLE_CLOSING_LINE"
local passed, failed, skipped = 0, 0, 0

local function test_ended(_, _, status)
  if status == "success" then
    passed = passed + 1
  elseif status == "pending" then
    skipped = skipped + 1
  else
    failed = failed + 1
  end
  return nil, true
end

-- A failed test is counted when it ends. This counts failed files, setups and teardowns.
local function broken(element)
  if element.descriptor ~= "it" then failed = failed + 1 end
  return nil, true
end

local function write_line()
  local file = assert(io.open(path, "w"))
  file:write(passed, " passed, ", failed, " failed", skipped > 0 and ", " .. skipped .. " skipped" or "", "\n")
  file:close()
  return nil, true
end

if path then
  busted.subscribe({ "test", "end" }, test_ended)
  busted.subscribe({ "error" }, broken)
  busted.subscribe({ "failure" }, broken)
  busted.subscribe({ "exit" }, write_line)
end
