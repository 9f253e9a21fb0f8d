-- Counts what ran, whatever the output looks like, and leaves "N passed, N failed" in the file that
-- PINTLE_CLOSING_LINE names, for script/test to print last. No file means the run did not get to its end.
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

-- A test that fails is counted when it ends; this is a file, a setup or a teardown.
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
