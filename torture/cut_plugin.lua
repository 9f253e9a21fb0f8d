-- Runs a plugin whose output ends early: cut_plugin.lua WAY N COMMAND…
-- After N bytes of output it is killed, stalled (nothing more comes), closed (its output ends, the plugin goes on), or
-- stopped (SIGSTOP). Without a cut, it writes the number of bytes to the file in PINTLE_CUT_COUNT when it ends.

local core = require "pintle.core"

local way, left = arg[1], tonumber(arg[2])
local input, output = core.claim_stdio()
local plugin = assert(core.spawn { command = table.move(arg, 3, #arg, 1, {}), group = false })
local forwarded = 0

local function wait_forever() while true do core.poll(60) end end

local cuts = {}

function cuts.killed()
  plugin:kill "KILL"
  os.execute(("kill -KILL %d"):format(core.getpid()))
end

function cuts.stalled() wait_forever() end

function cuts.closed()
  output:close()
  wait_forever()
end

function cuts.stopped() os.execute(("kill -STOP %d"):format(core.getpid())) end

local function write_all(descriptor, text)
  while #text > 0 do
    local written = descriptor:write(text)
    if not written then return end
    text = text:sub(written + 1)
    if #text > 0 then core.poll(60, descriptor, "w") end
  end
end

local function forward_output(text)
  local part = text:sub(1, math.max(left - forwarded, 0))
  forwarded = forwarded + #part
  write_all(output, part)
  if forwarded >= left then cuts[way]() end
end

local function finish()
  plugin:wait(10)
  local file <close> = io.open(os.getenv "PINTLE_CUT_COUNT" or "/dev/null", "w")
  if file then file:write(forwarded) end
  os.exit(0)
end

if left == 0 then cuts[way]() end
local reads_input = true
while true do
  if reads_input then
    core.poll(60, plugin.stdout, "r", input, "r")
  else
    core.poll(60, plugin.stdout, "r")
  end
  local text = plugin.stdout:read()
  if text == "" then finish() end
  if text then forward_output(text) end
  local request = reads_input and input:read()
  if request == "" then
    reads_input = false
    plugin.stdin:close()
  elseif request then
    write_all(plugin.stdin, request)
  end
end
