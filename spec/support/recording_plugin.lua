-- Plays an extension from a script: lua5.4 spec/support/recording_plugin.lua RECORD SCRIPT
-- Each line that it is sent is written to the file RECORD as it came. SCRIPT is a JSON array with one step for each of
-- them: `say` has the lines that it writes then, `complain` what goes to stderr, `exit` the status with which it ends.
-- After the last step it goes on recording, and answers only a shutdown. The end of its input is its own end, and is
-- recorded as such.
local json = require("pintle.core").json

local record = assert(io.open(arg[1], "ab"))
record:setvbuf "no"

local function perform(step)
  for _, line in ipairs(step.say or {}) do io.stdout:write(line, "\n") end
  io.stdout:flush()
  if step.complain then io.stderr:write(step.complain, "\n") end
  if step.exit then os.exit(step.exit) end
end

local function end_politely(line)
  local id = line:match '"id":(%d+),"method":"shutdown"'
  if id then perform { say = { ('{"jsonrpc":"2.0","id":%s,"result":{}}'):format(id) }, exit = 0 } end
end

local steps, n = assert(json.decode(arg[2])), 0
for line in io.lines(nil, "L") do
  record:write(line)
  n = n + 1
  if steps[n] then perform(steps[n]) else end_politely(line) end
end
record:write "(end of input)\n"
