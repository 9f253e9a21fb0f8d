-- Makes calls, so many at a time, and takes down how long each has taken.

local core = require "pintle.core"
local tasks = require "pintle.task"

---@class pintle.cli.bench.plan
---@field calls? integer how many; as many as the time allows unless told
---@field seconds? number for how long
---@field in_flight integer how many at a time

---@class pintle.cli.bench.measured
---@field times number[] seconds of each call that was answered, errors included
---@field seconds number that all of it has taken
---@field errors integer
---@field problems { message: string, count: integer }[] the errors, each once, in the order in which they came
---@field ended? pintle.error why it has ended before its time

local function note_problem(measured, message)
  measured.errors = measured.errors + 1
  local known = measured.problems[message]
  if known then known.count = known.count + 1 return end
  known = { message = message, count = 1 }
  measured.problems[message] = known
  table.insert(measured.problems, known)
end

-- Errors after which there is nobody to call.
local FINAL = { closed = true, cancelled = true, spawn = true, invalid = true }

local function one_after_another(call, measured, may_begin)
  local now = core.now
  while may_begin() do
    local began = now()
    local ok, problem, kind = call()
    if FINAL[kind] then
      measured.ended = measured.ended or problem
      return
    end
    measured.times[#measured.times + 1] = now() - began
    if not ok then note_problem(measured, tostring(problem)) end
  end
end

---@param call fun(): boolean, any, string? whether it went well; else why not, and the kind of error if it is one
---@param plan pintle.cli.bench.plan
---@return pintle.cli.bench.measured
return function(call, plan)
  local measured = { times = {}, errors = 0, problems = {} }
  local began, begun = core.now(), 0
  local latest = plan.seconds and began + plan.seconds or math.huge
  local function may_begin()
    if measured.ended or begun >= (plan.calls or math.huge) or core.now() >= latest then return false end
    begun = begun + 1
    return true
  end
  local workers = {}
  for i = 1, plan.in_flight do
    workers[i] = function() one_after_another(call, measured, may_begin) end
  end
  local _, err = tasks.all(workers)
  measured.ended = measured.ended or err
  measured.seconds = core.now() - began
  return measured
end
