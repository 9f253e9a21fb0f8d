-- The only place that waits. What runs is in threads of the loop: there, waiting yields; anywhere else it turns the
-- loop until what is waited for has come. So a handler can call back to its caller in the middle of its own work.
--
-- A waiter is what an answer is given to: such a thread, or a cell that somebody who turns the loop is looking at.
-- Whoever can answer keeps the waiter and hands it to `resume` or `wake`. Only the first answer to a wait counts.

local core = require "pintle.core"
local errors = require "pintle.error"
local readiness = require "pintle.readiness"
local timers = require "pintle.timers"

local clock, resume, yielder, innermost, yield = core.now, core.resume, core.yielder, core.innermost, coroutine.yield
local wait_until_ready, disturb, huge = readiness.wait, readiness.disturb, math.huge
local asking, focus, sole = core.asking, readiness.focus, core.sole

---What somebody waits for who turns the loop meanwhile.
---@class pintle.cell
---@field done boolean
---@field settled? fun(self: pintle.cell) told when it has its answer, which is in 1 and 2
---@field owner? pintle.runner who waits, if he is in a thread of the loop after all but cannot yield there

---@alias pintle.waiter thread|pintle.cell

---What runs in a thread of the loop.
---@class pintle.runner
---@field failed fun(self: pintle.runner, err: any, traceback: string) told if it raised
---@field stopped? pintle.error why its waits return at once
---@field tick? fun(self: pintle.runner) called while it computes without waiting
---@field thread? thread in which it waits, or did
---@field canceller? function|false what ends that wait before its time
---@field nested? pintle.cell what it waits for where it cannot yield

---@class pintle.loop
---@field now fun(): number seconds, on a clock that never goes back
---@field reader? table whose messages are being handed out: if the loop is turned from within that, `receive_on` is
---called, for what it has read already is not seen by any poller
local loop = { watch = readiness.watch, unwatch = readiness.unwatch, fileno = readiness.fileno, now = clock }

local PARKED, IDLE = core.parked, core.idle -- what a thread yields: it waits; it has finished
local MOST_IDLE = 256
local LOOK_AROUND = 16 -- turns after which the descriptors are looked at even if answers keep coming

local owners, new_thread = sole.owners, core.worker
loop.owners = owners

local idle = {} ---@type thread[] threads that have nothing to do
local is_turning = false -- what is sent now is flushed before the loop waits

-- {====== Errors that have nobody to go to ======

---What is done about them: printed, unless you replace it. If it raises, that goes to whoever turns the loop.
---@param err any
---@param traceback string begins with the error
---@param what string? what failed, such as "a task"
function loop.on_error(err, traceback, what) -- luacheck: ignore 212
  io.stderr:write("pintle: ", what or "a callback", " failed: ", traceback, "\n")
end

local function complain(err) loop.on_error(err, debug.traceback(errors.text(err), 2)) end

---Calls what a user has given to be called. What it raises goes to `on_error`, not through the loop.
---@param fn function
---@return boolean ok, any result
function loop.call(fn, ...) return xpcall(fn, complain, ...) end

-- }======

-- {====== Threads ======

local deferred, first, last = {}, 1, 0

local function defer(what, a, b)
  if focus[1] ~= nil then disturb() end
  deferred[last + 1], deferred[last + 2], deferred[last + 3] = what, a, b
  last = last + 3
end

-- What it has left to close is closed here, and may wait. The hook is that of one who had to be stopped.
local function fail(thread, err)
  local owner = owners[thread]
  owners[thread] = nil
  local traceback = debug.traceback(thread, errors.text(err))
  debug.sethook(thread)
  local is_clean, later = coroutine.close(thread)
  return owner:failed(is_clean and err or later, traceback)
end

---Sees to a thread that was resumed and did something else than to wait again.
---@param thread thread
---@param ok boolean
---@param what any
function loop.settle(thread, ok, what)
  if not ok then
    fail(thread, what)
  elseif what == IDLE then
    owners[thread] = nil
    if #idle < MOST_IDLE then idle[#idle + 1] = thread end
  elseif what ~= PARKED then
    owners[thread].canceller = false
    defer(thread)
  end
end
local settle = loop.settle

local function run(thread, a, b)
  local ok, what = resume(thread, a, b)
  if what ~= PARKED then return settle(thread, ok, what) end
end

---Runs `fn(...)` in a thread of its own, at once and until it waits. What it returns is its own business.
---@param runner pintle.runner
---@param fn function
function loop.start(runner, fn, ...)
  local n = #idle
  local thread = idle[n]
  if thread then idle[n] = nil else thread = new_thread() end
  owners[thread], runner.thread = runner, thread
  local ok, what = resume(thread, fn, ...)
  if what ~= PARKED then return settle(thread, ok, what) end
end

---Who is running, if that is in a thread of the loop.
---@return pintle.runner?
function loop.current() return owners[innermost()] end

-- }======

-- {====== Answers ======

---What the next `wait` of the running code is to be woken by; nobody may answer before that.
---@return pintle.waiter
function loop.waiter()
  local thread = yielder()
  if owners[thread] then return thread end
  return { done = false, owner = owners[innermost()], canceller = false, subject = nil, token = nil, nil, nil }
end

-- Takes it that an answer has come; false if one had before. One that waits in a call of the core's has no canceller:
-- only who has taken the call out can answer.
local function take(waiter)
  local waiting = owners[waiter]
  if not waiting then return false end
  if not waiting.canceller then return asking(waiter) ~= nil end
  waiting.canceller = false
  return true
end

---Gives the waiter its answer now. For the loop's own watchers and timers only.
---@param waiter pintle.waiter
function loop.resume(waiter, a, b)
  if type(waiter) == "thread" then
    if take(waiter) then return run(waiter, a, b) end
  elseif not waiter.done then
    waiter[1], waiter[2], waiter.done = a, b, true
    if waiter.settled then return waiter:settled() end
  end
end
local give = loop.resume

---Gives the waiter its answer in the next turn; for everybody else.
---@param waiter pintle.waiter
function loop.wake(waiter, a, b)
  if type(waiter) ~= "thread" then
    waiter.canceller = false
    defer(waiter, a, b)
  elseif take(waiter) then
    defer(waiter, a, b)
  end
end

---Calls `action(subject)` in the next turn.
---@param action fun(subject: any)
---@param subject any
function loop.soon(action, subject) defer(action, subject) end

local function give_up_call(thread, err)
  local peer, id = asking(thread)
  return peer and peer:abandon(id, err) or false
end

-- Whether it was waiting.
local function interrupt(waiter, err)
  local waiting = owners[waiter] or waiter
  local canceller = waiting.canceller
  if not canceller then return waiting ~= waiter and give_up_call(waiter, err) end
  if waiting ~= waiter and coroutine.status(waiter) ~= "suspended" then return false end
  waiting.canceller = false
  canceller(waiting.subject, waiting.token, err)
  return true
end

---Ends the wait of who runs in a thread and every later one: they return `nil, err`. What it computes is not touched.
---@param runner pintle.runner
---@param err pintle.error
function loop.stop(runner, err)
  if runner.stopped then return end
  runner.stopped = err
  local waiter = runner.nested or runner.thread
  if not runner.nested and owners[waiter] ~= runner then return end
  if interrupt(waiter, err) then defer(waiter, nil, err) end
end

local function run_deferred()
  local stop = last
  while first <= stop and first <= last do -- a turn inside of this one may have gone on
    local what, a, b = deferred[first], deferred[first + 1], deferred[first + 2]
    deferred[first], deferred[first + 1], deferred[first + 2] = nil, nil, nil
    first = first + 3
    local kind = type(what)
    if kind == "thread" then
      run(what, a, b)
    elseif kind == "function" then
      what(a)
    else
      give(what, a, b)
    end
  end
  if first > last then first, last = 1, 0 end
end

-- }======

-- {====== Sending ======

local dirty, dirty_count = {}, 0
local spinner ---@type table? what an answer is due from that is worth a moment
local spins = 0 -- in a row that were

---Sees to it that `object:flush()` is called before the loop waits again; at once if nobody is turning it.
---@param object table
function loop.flush(object)
  if not is_turning then return object:flush() end
  if focus[1] ~= nil then disturb() end
  dirty_count = dirty_count + 1
  dirty[dirty_count] = object
end

local function flush_dirty()
  while dirty_count > 0 do
    local object = dirty[dirty_count]
    dirty[dirty_count] = nil
    dirty_count = dirty_count - 1
    object:flush()
  end
end

---Has `object:spin_for_answer()` called before the loop goes to sleep, once: it may take a moment for an answer that is
---due, and says whether it has come.
---@param object table
function loop.spin(object)
  if focus[1] ~= nil then disturb() end
  spinner = object
end

-- Whether the answer has come.
local function spin()
  local object = spinner
  spinner = nil
  spins = object:spin_for_answer() and spins + 1 or 0
  return spins > 0
end

-- }======

-- {====== Turning ======

-- Seconds until the next timer, or the limit if that is before; nil where there is neither.
local function time_left(limit)
  local due = timers.due
  if limit and limit < due then due = limit end
  if due == huge then return nil end
  local left = due - clock()
  return left > 0 and left or 0
end

local function wait(limit)
  local timeout = (limit or timers.due < huge) and time_left(limit) or nil
  if not timeout and not readiness.is_watching() then error("nothing is left that could end this wait", 0) end
  return wait_until_ready(timeout)
end

-- What was deferred, or has come, may be all that was waited for, so nothing is waited for after it.
local function turn(limit)
  local had_deferred = first <= last
  if had_deferred then run_deferred() end
  if dirty_count > 0 then flush_dirty() end
  if had_deferred or first <= last then
    wait_until_ready(0)
  elseif not spinner or not spin() then
    wait(limit)
  elseif spins % LOOK_AROUND == 0 then
    wait_until_ready(0)
  end
  if timers.due < huge and timers.due <= clock() then timers.fire(clock()) end
end

-- What is called from here does not belong to the thread in which it happens to be. An error is a stop from outside,
-- such as Ctrl-C: nothing may stay marked.
local function turning(fn, argument)
  if sole.peer then sole.complete() end
  local thread, was_turning = innermost(), is_turning
  local owner = owners[thread]
  if owner then owners[thread] = nil end
  if not thread and not was_turning then loop.reader, focus[1] = nil, nil end -- left by such a stop
  local reader = loop.reader or focus[1] or readiness.current()
  if reader then
    reader:flush()
    loop.soon(reader.receive_on, reader)
  end
  is_turning = true
  local ok, err = pcall(fn, argument)
  is_turning = was_turning
  if owner then owners[thread], owner.nested = owner, nil end
  if not ok then error(err, 0) end
  if was_turning then return end
  flush_dirty()
  if not thread and first > last then readiness.rest() end
end

local function turn_until_done(cell)
  while not cell.done do turn() end
end

local function turn_while(fn)
  while fn() do turn() end
end

---Turns the loop as long as `fn()` says so.
---@param fn fun(): boolean
function loop.turn_while(fn) turning(turn_while, fn) end

---One turn: what is ready now, or becomes so within `timeout` seconds, is dealt with.
---@param timeout? number 0 unless told
function loop.step(timeout) turning(turn, clock() + (timeout or 0)) end

---Makes a function that calls from outside of the loop, without turning it while there is nothing else to do.
---@param go_on function see `core.alone`
---@param long_way function
---@return function
function loop.alone(go_on, long_way) return core.alone(readiness, timers, go_on, long_way) end

---When `step` has something to do even if nothing is ready at `fileno`.
---@return number? seconds nil when only descriptors count
function loop.timeout() return first <= last and 0 or time_left() end

-- }======

-- {====== Waiting ======

local function wait_turning(cell, canceller, subject, token)
  if cell.done then return cell[1], cell[2] end
  local owner = cell.owner
  if owner and owner.stopped then
    canceller(subject, token, owner.stopped)
    return nil, owner.stopped
  end
  cell.canceller, cell.subject, cell.token = canceller, subject, token
  if owner then owner.nested = cell end
  turning(turn_until_done, cell)
  return cell[1], cell[2]
end

---Waits until the waiter is given its answer, and returns that. Who ends the wait before it calls
---`canceller(subject, token, err)`, which has to see to it that the waiter is not answered any more.
---@param waiter pintle.waiter from `loop.waiter`
---@param canceller fun(subject: any, token: any, err: pintle.error)
---@param subject any
---@param token any
function loop.wait(waiter, canceller, subject, token)
  local runner = owners[waiter]
  if not runner then return wait_turning(waiter, canceller, subject, token) end
  if runner.stopped then
    canceller(subject, token, runner.stopped)
    return nil, runner.stopped
  end
  runner.thread, runner.canceller, runner.subject, runner.token = waiter, canceller, subject, token
  return yield(PARKED)
end

local function time_out(late)
  local waiter, err = late.waiter, late.err
  if not interrupt(waiter, err) then return end
  if type(waiter) == "thread" then return run(waiter, nil, err) end
  give(waiter, nil, err)
end

---As `wait`, but the answer is `nil, err` when the time is over first.
---@param seconds? number nil is for ever
---@param err pintle.error
function loop.wait_within(seconds, err, waiter, canceller, subject, token)
  if not seconds then return loop.wait(waiter, canceller, subject, token) end
  local timer = loop.after(seconds, time_out, { waiter = waiter, err = err })
  local a, b = loop.wait(waiter, canceller, subject, token)
  timers.remove(timer)
  return a, b
end

-- }======

-- {====== Time ======

---Calls `action(subject)` from the loop, once, when the time has come.
---@param seconds number
---@param action fun(subject: any)
---@param subject any
---@return pintle.timer
function loop.after(seconds, action, subject)
  if focus[1] ~= nil then disturb() end
  return timers.add(clock() + (seconds > 0 and seconds or 0), action, subject)
end

loop.forget = timers.remove

local function wake_up(waiter) give(waiter, true) end

---Waits. Ends early, with `nil, err`, only if the task is cancelled.
---@param seconds number
---@return true?, pintle.error?
function loop.sleep(seconds)
  if type(seconds) ~= "number" or seconds ~= seconds then error("seconds expected", 2) end
  local waiter = loop.waiter()
  return loop.wait(waiter, timers.remove, loop.after(seconds, wake_up, waiter))
end

-- }======

---The error of a wait that was given up.
---@param reason? string
---@return pintle.error
function loop.cancelled(reason) return errors.new("cancelled", reason or "cancelled") end

return loop
