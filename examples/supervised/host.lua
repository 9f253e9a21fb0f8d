-- A plugin that crashes and is restarted: script/lua examples/supervised/host.lua

local pintle = require "pintle"

local here = arg[0]:match "^(.*)/" or "."
local host <close> = pintle.host { log = print }
local fragile = assert(host:start {
  name = "fragile",
  command = { "lua5.4", here .. "/plugin.lua" },
  restart = { max = 5, within = "1m", backoff = "50ms" },
})

local function work(number, options)
  local outcome, err = fragile:execute("work", {}, options)
  print(("call %d: %s"):format(number, outcome and outcome.message or "error: " .. tostring(err)))
end

-- The third job kills the plugin. Its call fails at once; the next call waits until the plugin is restarted.
for number = 1, 5 do work(number, { timeout = "10s" }) end

-- An idempotent job is sent again after the restart.
work(6, { timeout = "10s", idempotent = true })
