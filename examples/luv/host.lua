-- Runs pintle's loop in luv's: luv waits, and pintle runs a step when its descriptor is ready or its next timer is due.
-- The example calls a plugin while a timer of luv runs.

local has_luv, luv = pcall(require, "luv")
if not has_luv then
  print "This example needs luv, on Debian the package lua-luv."
  return
end

local pintle = require "pintle"
local loop = pintle.loop

-- {====== The integration ======

local readable, timer, before_waiting = luv.new_poll(loop.fileno()), luv.new_timer(), luv.new_prepare()

local function step() loop.step() end

readable:start("r", step)
before_waiting:start(function()
  local seconds = loop.timeout()
  if seconds then timer:start(math.ceil(seconds * 1000), 0, step) else timer:stop() end
end)

-- }======

local ticks = 0
local ticking = luv.new_timer()
ticking:start(0, 20, function() ticks = ticks + 1 end)

pintle.task(function()
  local folder = arg[0]:match "^(.*)/" or "."
  local peer <close> = assert(pintle.connect {
    command = { "lua5.4", folder .. "/../echo/plugin.lua" }, framing = "header", stderr = "null",
  })
  for _, word in ipairs { "hello", "from", "luv" } do
    print("the plugin says " .. peer:call("echo", { word })[1])
    pintle.sleep(0.05)
  end
  print(ticks > 3 and "and luv's timer ticked meanwhile" or "but luv's timer stood still")
  luv.stop()
end)

luv.run()
