-- Tasks as users see them: start one, wait for it, for all or the first of several, cancel it.

local errors = require "pintle.error"
local loop = require "pintle.loop"

require("pintle.core").protect()

---@class pintle.task
---@field state "running"|"done"|"failed"
---@field results table what the function returned; or its error, first
---@field traceback string? where it failed
local methods = {}

local metatable = { __name = "pintle.task", __index = methods }

---@class pintle.task.module
local tasks = {}

local live = 0 -- tasks that have not ended

-- {====== The end of a task ======

-- Those that wait for a task are its `groups`: each waits for so many of its tasks to end, or one to fail. The task
-- with which the wait is over is the group's `last`, and its error is heard.
local function note(group, task)
  if group.last then return end
  group.left = group.left - 1
  if group.left > 0 and task.state ~= "failed" then return end
  group.last, task.is_heard = task, true
end

local function tell_groups(groups, task)
  for group in pairs(groups) do
    note(group, task)
    if group.last == task then group.event:set(task) end
  end
end

local function settle(task, state, results)
  local groups = task.groups
  task.state, task.results, task.groups = state, results, nil
  live = live - 1
  if groups then tell_groups(groups, task) end
end

local function tell(task)
  if not task.is_heard then loop.on_error(task.results[1], task.traceback, "a task") end
end

-- The tasks that failed and have not been waited for yet. At the end of the program nobody will any more.
local unheard = setmetatable({}, {
  __gc = function(set)
    for task in pairs(set) do tell(task) end
  end,
})

local function give_up_waiting(task)
  unheard[task] = nil
  tell(task)
end

---@private called by the loop. The error goes to the task that waits for this one by the next turn, else to
---`loop.on_error`. The error that a cancelled task was stopped with is dropped.
function methods:failed(err, traceback)
  self.traceback = errors.text(err) .. "\n" .. traceback
  settle(self, "failed", { err, n = 1 })
  if self.is_heard or self.stopped and err == self.stopped then return end
  unheard[self] = true
  loop.soon(give_up_waiting, self)
end

-- }======

-- {====== Starting ======

local function body(task, fn, ...) settle(task, "done", table.pack(fn(...))) end

local function start(fn, ...)
  local task = setmetatable({ state = "running", stopped = false }, metatable)
  live = live + 1
  loop.start(task, body, task, fn, ...)
  return task
end

local function check_function(value, level)
  if type(value) ~= "function" then error("a task needs a function, got " .. type(value), level + 1) end
end

---Runs `fn(...)` in a task: now until it waits, and then beside other tasks. If it raises and no task waits for it,
---`loop.on_error` is called.
---@param fn function
---@return pintle.task
function tasks.start(fn, ...)
  check_function(fn, 2)
  return start(fn, ...)
end

local function as_tasks(list)
  local started = {}
  for _, item in ipairs(list) do
    if getmetatable(item) ~= metatable then check_function(item, 3) end
  end
  for i, item in ipairs(list) do
    started[i] = getmetatable(item) == metatable and item or start(item)
  end
  return started
end

-- }======

-- {====== Waiting ======

local function leave(group)
  for _, task in ipairs(group.tasks) do
    if task.groups then task.groups[group] = nil end
  end
end

local function join(group, task)
  if task.state ~= "running" then return note(group, task) end
  local groups = task.groups or {}
  if groups[group] then group.left = group.left - 1 end
  groups[group], task.groups = true, groups
end

-- Waits until so many of the tasks have ended, or one has failed: the task with which that came about.
local function wait_for(list, left, seconds)
  local group = { tasks = list, left = left, event = loop.event() }
  for _, task in ipairs(list) do join(group, task) end
  local task, err = group.last, nil
  if not task then
    local late = seconds and errors.new("timeout", "the task has not ended in time")
    task, err = group.event:wait(seconds, late)
  end
  leave(group)
  return task, err
end

local function results_of(task)
  if task.state == "failed" then error(task.results[1], 0) end
  return table.unpack(task.results, 1, task.results.n)
end

---Waits for the end of the task. Returns what its function returned, or raises its error again. Returns `nil, err` if
---the time is over first (kind "timeout") or the waiting task is cancelled.
---@param timeout? number seconds
---@return any ...
function methods:await(timeout)
  if self == loop.current() then error("a task cannot wait for itself", 2) end
  local task, err = wait_for({ self }, 1, timeout)
  if not task then return nil, err end
  return results_of(task)
end

---Ends the wait of the task, and every later one: they return `nil, err` of the kind "cancelled".
---@param reason? string
function methods:cancel(reason)
  if self.state ~= "running" or self.stopped then return end
  self.stopped = loop.cancelled(reason)
  loop.stop(self, self.stopped)
end

-- Whatever is not over when the value is closed is cancelled.
local function cancelling(list)
  return setmetatable({}, {
    __close = function()
      for _, task in ipairs(list) do task:cancel() end
    end,
  })
end

---Waits for all of them, tasks or functions that become some, and returns a list of what each returned first, with
---nil as it is. If one raises, that is raised again; then, and if the time is over, the others are cancelled.
---@param list (pintle.task|function)[]
---@param timeout? number seconds
---@return table? results, pintle.error?
function tasks.all(list, timeout)
  local started = as_tasks(list)
  local results = { n = #started }
  if #started == 0 then return results end
  local _ <close> = cancelling(started)
  local last, err = wait_for(started, #started, timeout)
  if not last then return nil, err end
  if last.state == "failed" then error(last.results[1], 0) end
  for i, task in ipairs(started) do results[i] = task.results[1] end
  return results
end

---Waits for the first of them to end and cancels the others.
---@param list (pintle.task|function)[]
---@param timeout? number seconds
---@return integer? which, any ... what it returned; or nil and why not
function tasks.any(list, timeout)
  if #list == 0 then error("nothing to wait for", 2) end
  local started = as_tasks(list)
  local _ <close> = cancelling(started)
  local first, err = wait_for(started, 1, timeout)
  if not first then return nil, err end
  for i, task in ipairs(started) do
    if task == first then return i, results_of(task) end
  end
end

---Turns the loop until `fn(...)` has returned, and returns what it did; without one, until no task is left.
---@param fn? function
---@return any ...
function tasks.run(fn, ...)
  if fn then
    check_function(fn, 2)
    return start(fn, ...):await()
  end
  if loop.current() then error("a task that waits for all tasks would wait for itself", 2) end
  loop.turn_while(function() return live > 0 end)
end

-- }======

return tasks
