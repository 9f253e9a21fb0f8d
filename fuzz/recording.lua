-- Recordings: every line is read or refused with a message, and the messages of the conversation are matched.
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path
package.loaded["pintle.core"] = core -- luacheck: globals core

local recording = require "pintle.cli.recording"

return function(input)
  local exchange, number = recording.new_exchange(), 0
  for line in input:gmatch "[^\n]+" do
    number = number + 1
    local record, err = recording.parse(line, "recording", number)
    if record and record.message ~= nil then
      exchange:items(record)
    elseif record then
      recording.describe_event(record)
    else
      assert(type(err) == "table" and type(err.message) == "string")
    end
  end
  exchange:unanswered()
end
