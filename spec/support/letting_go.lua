-- Lets go of specs that are done. busted keeps them all to the end, with whatever they hold, and every collection of
-- garbage would have to walk through that.
local busted = require "busted"

local HOOKS = { "before_each", "after_each", "strict_setup", "strict_teardown", "lazy_setup", "lazy_teardown" }

local function release(element)
  element.run, element.env = nil, nil
  for _, hook in ipairs(HOOKS) do element[hook] = nil end
  return nil, true
end

-- The file itself is run again if it is asked for.
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
