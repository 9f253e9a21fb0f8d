-- What the scenarios check, and how they repeat what memory was short for.
local core = ...
local loop = core.loop

local checks = {}

function checks.is_memory(message)
  return tostring(message):find("not enough memory", 1, true)
end

local function finish(f, a, b, c, d, e, ok, value, message, ...)
  if ok and not (value == nil and checks.is_memory(message)) then return value, message, ... end
  if not ok and not checks.is_memory(value) then error(value, 0) end
  return f(a, b, c, d, e)
end

function checks.again(f, a, b, c, d, e)
  return finish(f, a, b, c, d, e, pcall(f, a, b, c, d, e))
end

function checks.is(expected, value)
  if value ~= expected then error(("%s expected, got %s"):format(expected, value), 2) end
  return value
end

function checks.says(pattern, message)
  if checks.is_memory(message) then error(message, 0) end
  if not tostring(message):find(pattern) then error(("'%s' is not in '%s'"):format(pattern, message), 3) end
end

function checks.raises(pattern, f, ...)
  local ok, message = pcall(f, ...)
  if ok then error("no error: " .. pattern, 2) end
  checks.says(pattern, message)
end

function checks.fails(pattern, kind, value, message, what)
  checks.is(nil, value)
  checks.says(pattern, message)
  checks.is(kind, what)
end

-- What a scenario has left in the loop when memory was short for it is no part of this one.
function checks.empty_loop()
  while loop.timeout() == 0 do pcall(loop.step) end
end

-- Runs the function in a task. What it raises is in `err` of the object.
function checks.start(f, ...)
  local object = { failed = function(self, err) self.err = err end }
  checks.again(loop.start, object, f, ...)
  return object
end

function checks.not_failed(object)
  if object.err then error(object.err, 0) end
end

return checks
