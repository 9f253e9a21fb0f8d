-- Tasks as users see them: start one, wait for it, for all or the first of several, cancel it.

local errors = require "pintle.error"
local loop = require "pintle.loop"

require("pintle.core").protect()

---@class pintle.task
---@field state "running"|"done"|"failed"
---@field results table what the function returned; or only its error
---@field traceback string? where it failed
local methods = {}

local metatable = { __name = "pintle.task", __index = methods }

---@class pintle.task.module
local tasks = {}

local live = 0 -- tasks that have not ended

-- {====== The end of a task ======

-- When a task ends, each function in `watchers` is called with it.
local function end_task(task, state, results)
  local watchers = task.watchers
  task.state, task.results, task.watchers = state, results, nil
  live = live - 1
  for watcher in pairs(watchers or {}) do watcher(task) end
end

local function report_task_failure(task)
  if not task.is_heard then loop.on_error(task.results[1], task.traceback, "a task") end
end

-- Failed tasks whose error no other task has received yet. If the program ends now, they are reported.
local unreported_failures = setmetatable({}, {
  __gc = function(set)
    for task in pairs(set) do report_task_failure(task) end
  end,
})

local function report_unawaited_task(task)
  unreported_failures[task] = nil
  report_task_failure(task)
end

---@private called by the loop. If a task awaits this one before the next turn, it gets the error; otherwise
---`loop.on_error` does. The error with which a cancelled task was stopped is dropped.
function methods:failed(err, traceback)
  self.traceback = errors.text(err) .. "\n" .. traceback
  end_task(self, "failed", { err, n = 1 })
  if self.is_heard or self.stopped and err == self.stopped then return end
  unreported_failures[self] = true
  loop.soon(report_unawaited_task, self)
end

-- }======

-- {====== Starting ======

local function run_task_function(task, fn, ...) end_task(task, "done", table.pack(fn(...))) end

local function start_task(fn, ...)
  local task = setmetatable({
    state = "running", stopped = false, is_heard = false, task = false, results = false, watchers = false,
  }, metatable)
  live = live + 1
  loop.start(task, run_task_function, task, fn, ...)
  return task
end

local function check_task_function(value, level)
  if type(value) ~= "function" then error("a task needs a function, got " .. type(value), level + 1) end
end

---Runs `fn(...)` in a task: now until it waits, and later in turns with other tasks. If it raises and no task waits for
---it, `loop.on_error` is called.
---@param fn function
---@return pintle.task
function tasks.start(fn, ...)
  check_task_function(fn, 2)
  return start_task(fn, ...)
end

local function start_task_functions(list)
  local started = {}
  for _, item in ipairs(list) do
    if getmetatable(item) ~= metatable then check_task_function(item, 3) end
  end
  for i, item in ipairs(list) do
    started[i] = getmetatable(item) == metatable and item or start_task(item)
  end
  return started
end

-- }======

-- {====== Waiting ======

-- Calls `note(task)` when the task ends, or now if it has ended. Returns false if `note` is registered already.
local function watch_task_end(task, note)
  if task.state ~= "running" then
    note(task)
    return true
  end
  local watchers = task.watchers or {}
  task.watchers = watchers
  local is_new = not watchers[note]
  watchers[note] = true
  return is_new
end

-- Waits until `left` of the tasks have ended, or one has failed. Returns the task that ended the wait, whose error
-- counts as received.
local function wait_for_tasks(list, left, seconds)
  local is_over, last = loop.event(), nil
  local function note_task_end(task)
    left = left - 1
    if last or left > 0 and task.state ~= "failed" then return end
    last, task.is_heard = task, true
    is_over:set(task)
  end
  for _, task in ipairs(list) do
    if not watch_task_end(task, note_task_end) then left = left - 1 end
  end
  local task, err = is_over:wait(seconds, seconds and errors.new("timeout", "the task has not ended in time"))
  for _, watched in ipairs(list) do
    if watched.watchers then watched.watchers[note_task_end] = nil end
  end
  return task, err
end

local function task_results(task)
  if task.state == "failed" then error(task.results[1], 0) end
  return table.unpack(task.results, 1, task.results.n)
end

---Waits for the end of the task. Returns what its function returned, or raises its error again. Returns `nil, err` if
---the timeout passes first (kind "timeout") or the waiting task is cancelled.
---@param timeout? number seconds
---@return any ...
function methods:await(timeout)
  if self == loop.current() then error("a task cannot wait for itself", 2) end
  if self.state == "running" then
    local task, err = wait_for_tasks({ self }, 1, timeout)
    if not task then return nil, err end
  end
  self.is_heard = true
  return task_results(self)
end

---Ends the wait of the task, and every later one: they return `nil, err` of the kind "cancelled".
---@param reason? string
function methods:cancel(reason)
  if self.state ~= "running" or self.stopped then return end
  self.stopped = loop.cancelled(reason)
  loop.stop(self, self.stopped)
end

-- A value that cancels the tasks that still run when it is closed.
local function cancel_on_close(list)
  return setmetatable({}, {
    __close = function()
      for _, task in ipairs(list) do task:cancel() end
    end,
  })
end

---Waits for all tasks; a function in the list is started as a task. Returns a list of the first result of each, which
---may be nil. If one raises, its error is raised again. Then, and after the timeout, the others are cancelled.
---@param list (pintle.task|function)[]
---@param timeout? number seconds
---@return table? results, pintle.error?
function tasks.all(list, timeout)
  local started = start_task_functions(list)
  local results = { n = #started }
  if #started == 0 then return results end
  local _ <close> = cancel_on_close(started)
  local last, err = wait_for_tasks(started, #started, timeout)
  if not last then return nil, err end
  if last.state == "failed" then error(last.results[1], 0) end
  for i, task in ipairs(started) do results[i] = task.results[1] end
  return results
end

---Waits until the first of the tasks or functions ends, and cancels the others.
---@param list (pintle.task|function)[]
---@param timeout? number seconds
---@return integer? which, any ... what it returned; or nil and an error
function tasks.any(list, timeout)
  if #list == 0 then error("nothing to wait for", 2) end
  local started = start_task_functions(list)
  local _ <close> = cancel_on_close(started)
  local first, err = wait_for_tasks(started, 1, timeout)
  if not first then return nil, err end
  for i, task in ipairs(started) do
    if task == first then return i, task_results(task) end
  end
end

---Turns the loop until `fn(...)` has returned, and returns its results; without `fn`, until no task is left.
---@param fn? function
---@return any ...
function tasks.run(fn, ...)
  if fn then
    check_task_function(fn, 2)
    return start_task(fn, ...):await()
  end
  if loop.current() then error("a task that waits for all tasks would wait for itself", 2) end
  loop.run_while(function() return live > 0 end)
end

-- }======

return tasks
