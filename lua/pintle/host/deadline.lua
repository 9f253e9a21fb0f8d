-- A deadline that progress extends: `timeout` counts from the last report of progress, and `longest` from the start.
-- The work runs in a task of its own, which is cancelled when the deadline comes. Loaded when it is first used.

local errors = require "pintle.error"
local loop = require "pintle.loop"
local tasks = require "pintle.task"

require("pintle.core").protect()

local FACTOR = 10 -- the default of `longest`, in timeouts

local deadline = {}

---@class pintle.deadline
---@field timeout number|false seconds without a report
---@field longest number|false seconds in all
---@field due number by the clock of the loop
---@field latest number
local methods = {}

local metatable = { __name = "pintle.deadline", __index = methods }

local function after(seconds) return seconds and loop.now() + seconds or math.huge end

local function new(timeout, longest)
  if longest == nil then longest = timeout and FACTOR * timeout end
  local latest = after(longest)
  return setmetatable({
    timeout = timeout, longest = longest, latest = latest, due = math.min(after(timeout), latest),
  }, metatable)
end

function methods:extend() self.due = math.min(after(self.timeout), self.latest) end

local function timeout_error(self, what)
  if self.due == self.latest then
    return errors.new("timeout", ("%s: no answer within %gs"):format(what, self.longest), { elapsed = self.longest })
  end
  local message = ("%s: no answer, and no progress for %gs"):format(what, self.timeout)
  return errors.new("timeout", message, { elapsed = self.timeout })
end

-- The results of the task; its error is of the kind "timeout" if the deadline has come.
local function await(self, task, what)
  while true do
    local left = self.due < math.huge and self.due - loop.now() or nil
    if left and left <= 0 then return nil, timeout_error(self, what) end
    local result, err = task:await(left)
    if task.state ~= "running" then return result, err end
    if err.kind ~= "timeout" then return nil, err end
  end
end

-- Each report of progress moves the deadline.
local function watch_progress(self, context)
  local listener = context.on_progress
  function context.extend() self:extend() end
  function context.on_progress(...)
    self:extend()
    if listener then listener(...) end
  end
end

---Runs `fn(longest)` until it returns, or until the deadline, which the callbacks of the context move.
---@param context { on_progress?: fun(...), longest?: number|false }
---@param timeout number|false
---@param what string the subject of the error message
---@param fn fun(longest: number|false): any, pintle.error?
---@return any, pintle.error?
function deadline.run(context, timeout, what, fn)
  local self = new(timeout, context.longest)
  watch_progress(self, context)
  local task = tasks.start(fn, self.longest)
  local result, err = await(self, task, what)
  if task.state == "running" then task:cancel(err.kind == "timeout" and "timeout" or err.message) end
  return result, err
end

return deadline
