-- Releases the specs of a file that has run. busted keeps them, and all that they refer to, until the end, and every
-- garbage collection would have to visit that.
local busted = require "busted"

local HOOKS = { "before_each", "after_each", "strict_setup", "strict_teardown", "lazy_setup", "lazy_teardown" }

local function release(element)
  element.run, element.env = nil, nil
  for _, hook in ipairs(HOOKS) do element[hook] = nil end
  return nil, true
end

-- The file is loaded again if it is needed again.
local function release_file(file)
  local run = file.run
  release(file)
  file.run = run
  collectgarbage()
  return nil, true
end

busted.subscribe({ "test", "end" }, release)
busted.subscribe({ "describe", "end" }, release)
busted.subscribe({ "file", "end" }, release_file)
