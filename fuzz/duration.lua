-- Durations: every text gives seconds or a message, and what is written can be read again. The longest durations round
-- up to more than can be written.
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path
package.loaded["pintle.core"] = core -- luacheck: globals core

local duration = require "pintle.duration"

return function(input)
  local seconds, message = duration.parse(input)
  if not seconds then
    assert(type(message) == "string" and not message:find "%c", message)
    return
  end
  assert(math.abs(seconds) <= 2^63 / 1e9)
  if math.abs(seconds) == 2^63 / 1e9 then return end
  local again = assert(duration.parse(duration.format(seconds)))
  assert(again == seconds, duration.format(seconds))
end
