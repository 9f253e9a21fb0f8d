-- The loop of the core (tasks, events, timers, descriptors), and what Lua adds to it.
--
-- A task that waits yields to the loop. Code outside of tasks (the main program, a coroutine of the user) turns the
-- loop until its wait is over. So a handler can call back to its caller in the middle of its own work.

local core = require "pintle.core"
local errors = require "pintle.error"

core.protect()

---@class pintle.loop: pintle.core.loop
local loop = core.loop

loop.now = core.now

-- {====== Errors without a receiver ======

---Called with an error that no caller and no waiting task can receive. Prints it; replace it to do something else. If
---it raises, the error goes to the code that turns the loop.
---@param err any
---@param traceback string begins with the error
---@param what string? what failed, such as "a task"
function loop.on_error(err, traceback, what) -- luacheck: ignore 212
  io.stderr:write("pintle: ", what or "a callback", " failed: ", traceback, "\n")
end

local function report_raised_error(err) loop.on_error(err, debug.traceback(errors.text(err), 2)) end

---Calls a function of the user. If it raises, `on_error` is called.
---@private
---@param fn function
---@return boolean ok, any result
function loop.call(fn, ...) return xpcall(fn, report_raised_error, ...) end

-- }======

-- {====== Tasks that compute without waiting ======

local busy_checks = {} ---@type fun()[]

-- An error that `object.tick` raises passes through the code that computes.
local function call_watchdog_tick()
  for i = 1, #busy_checks do busy_checks[i]() end
  local object = loop.current()
  if object and object.tick then object:tick() end
end

-- If true, the task is interrupted before every instruction, so that no pcall can hold it.
local function watchdog_must_abort()
  local object = loop.current()
  return object and object.must_abort or false
end

core.watchdog(call_watchdog_tick, watchdog_must_abort)

---Calls `fn()` about every 50 ms while a task computes without waiting and the loop cannot turn.
---@param fn fun()
function loop.while_busy(fn) busy_checks[#busy_checks + 1] = fn end

-- }======

-- {====== The end of the program ======

local exit_actions = {} ---@type function[]

local function run_exit_actions()
  for _, action in ipairs(exit_actions) do
    local ok, err = pcall(action)
    if not ok then io.stderr:write("pintle: ", tostring(err), "\n") end
  end
end

---Calls `action()`, which may wait, before os.exit ends the program. os.exit is wrapped for that, once.
---@private
---@param action fun()
function loop.before_exit(action)
  exit_actions[#exit_actions + 1] = action
  if #exit_actions > 1 then return end
  local exit = os.exit
  os.exit = function(...) -- luacheck: ignore 122
    run_exit_actions()
    return exit(...)
  end
end

-- }======

---Waits. Returns early, with `nil, err`, only if the task is cancelled.
---@param seconds number
---@return true?, pintle.error?
function loop.sleep(seconds)
  if type(seconds) ~= "number" or seconds ~= seconds then error("seconds expected", 2) end
  local _, err = loop.event():wait(seconds)
  if err then return nil, err end
  return true
end

---Turns the loop as long as `fn()` returns true.
---@param fn fun(): boolean
function loop.run_while(fn)
  while fn() do loop.step(math.huge) end
end

---The error of a wait that was cancelled.
---@private
---@param reason? string
---@return pintle.error
function loop.cancelled(reason) return errors.new("cancelled", reason or "cancelled") end

return loop
