-- A host that ends in one of many ways while its plugin runs: lua5.4 spec/support/ending_host.lua WAY WITNESS
-- It first prints the process id of the plugin.
local hosts = require "pintle.host"
local loop = require "pintle.loop"
local tasks = require "pintle.task"

local way, witness = arg[1], arg[2]
local host = hosts { log = false }

local function compute()
  io.stdout:write "computing\n"
  io.stdout:flush()
  while true do end
end

local plugin = assert(host:start {
  command = { "lua5.4", "spec/support/bad_plugin.lua", "witness", witness }, handlers = { compute = compute },
})
print(plugin:pids()[1])
io.stdout:flush()

local ways = {}

function ways.normal() end

function ways.error() error "on purpose" end

function ways.exit() os.exit(3) end

function ways.exit_closing() os.exit(3, true) end

function ways.exit_in_task() tasks.run(function() os.exit(3) end) end

function ways.exit_in_cancelled_task()
  local task = tasks.start(function()
    loop.sleep(600)
    os.exit(3)
  end)
  task:cancel()
  loop.sleep(600)
end

function ways.exit_in_coroutine() coroutine.wrap(function() os.exit(3) end)() end

function ways.wait() loop.sleep(600) end

function ways.compute_in_task() tasks.run(compute) end

function ways.compute_in_handler()
  plugin:call "ask"
  loop.sleep(600)
end

function ways.wait_for_answer() plugin:call("execute", {}, { timeout = 600 }) loop.sleep(600) end

function ways.collected()
  plugin = nil
  host = nil
  collectgarbage()
  collectgarbage()
  loop.run_while(function() return io.open(witness) == nil end)
  loop.sleep(0.1)
  os.exit(0)
end

function ways.stopped_twice()
  plugin:stop()
  host:stop()
end

ways[way]()
