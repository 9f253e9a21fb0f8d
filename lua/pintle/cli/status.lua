-- The statuses with which the command ends. docs/cli.md has them for users.

local lazy = require "pintle.lazy"

local core = lazy "pintle.core"

local status = {
  DONE = 0,
  FAILED = 1, -- it was done, and the answer is no
  BROKEN = 2, -- it could not be done
  LATE = 3, -- it was not done in time
  USAGE = 64, -- it makes no sense; nothing was done
  BUG = 70, -- pintle itself has failed
}

local NUMBERS = { HUP = 1, INT = 2, QUIT = 3, TERM = 15 }
local BY_KIND = { invalid = status.USAGE, timeout = status.LATE }

---@param err pintle.error
---@return integer
function status.of(err) return BY_KIND[err.kind] or status.BROKEN end

---The status of a program that a signal has ended in order, as a shell would tell it.
---@param signal pintle.signal
---@return integer
function status.of_signal(signal) return 128 + (NUMBERS[signal] or 0) end

---Ends as somebody else did, by a signal. One that has no name is told in digits, and cannot be raised; then it is the
---status that a shell would tell.
---@param signal pintle.signal
---@return integer status where that does not end it
function status.end_by(signal)
  local number = math.tointeger(tonumber(signal))
  if number then return 128 + number end
  pcall(core.raise, signal) -- in a recording of another system may be one that this has not
  return status.BROKEN
end

return status
