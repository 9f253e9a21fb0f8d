-- Hosts are killed with SIGKILL at a random moment, while their plugins start, work or idle. No process is left.

local core = require "pintle.core"
local runs = require "torture.runs"

local TRIALS = 1000
local LATEST = 0.15 -- seconds after the start of the host; by then it works or is idle

local kills = { name = "kills", workers = 4 }

-- The host starts three plugins in different ways, and works until it is killed.
local HOST = [[
  local pintle = require "pintle"
  local host = pintle.host { log = false }
  local command = { "lua5.4", "spec/support/plugins/greeter.lua" }
  for _, options in ipairs { { name = "one" }, { name = "pool", pool = 2 }, { name = "lazy", lazy = true } } do
    options.command = command
    local plugin = assert(host:start(options))
    pintle.task(function()
      while true do
        plugin:execute("greet", { name = "Ada" })
        pintle.sleep(0.01)
      end
    end)
  end
  pintle.sleep(60)
]]

function kills.list()
  local items = {}
  for i = 1, TRIALS do items[i] = { after = math.random() * LATEST } end
  return items
end

function kills.try(item)
  local mark = runs.new_mark()
  local host = assert(core.spawn {
    command = { "lua5.4", "-e", HOST }, env = { PINTLE_TORTURE = mark }, stdin = "null", stdout = "null",
  })
  require("pintle").sleep(item.after)
  host:kill "KILL"
  local _, signal = runs.wait(host, 60)
  host:close()
  if signal ~= "KILL" then return "the host ended by itself before it was killed: " .. tostring(signal) end
  local left = #runs.await_none(mark)
  return left > 0 and ("%d processes are left of a host killed after %.3f s"):format(left, item.after) or nil
end

return kills
