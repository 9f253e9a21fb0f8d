-- Plays an extension by a script: lua5.4 spec/support/recording_plugin.lua RECORD SCRIPT
-- It writes each line that it reads to the file RECORD. SCRIPT is a JSON array with one step for each of these lines:
-- `say` has the lines to write, `complain` the text for stderr, `exit` the status to exit with. After the last step it
-- continues to record, and answers only a shutdown. It exits at the end of its input, and records that.
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
