-- The extension for tasks of 2026-07-28, on the server's side: a call of a tool that is answered with a task at once.
-- The client polls the task for its result, answers its questions, or cancels it.
--
-- The handler of the call goes on as usual. When it ends, the result is kept in the task instead of being sent.

local declarations = require "pintle.dialect.mcp.declarations"
local errors = require "pintle.error"
local era = require "pintle.dialect.mcp.era"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local loop = require "pintle.loop"
local questions = require "pintle.dialect.mcp.questions"
local wire = require "pintle.dialect.mcp.wire"

---One call that may have become a task, or has: then `id` is set.
---@class pintle.mcp.task
---@field id? string
---@field status "working"|"completed"|"failed"|"cancelled"
---@field message? string the last message of `ctx:progress`
---@field is_fetched boolean whether the client has seen the end of it
local methods = {}

local metatable = { __name = "pintle.mcp.task", __index = methods }

local tasks = {}

local POLL_INTERVAL = 500 -- milliseconds that a client should wait between two polls

-- {====== Tasks as the client sees them ======

local TASK = json.order {
  "resultType", "taskId", "status", "statusMessage", "createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs",
  "inputRequests", "result", "error", "_meta",
}

local function task_timestamp_now() return os.date "!%Y-%m-%dT%H:%M:%SZ" end

local function describe_new_task(task)
  return setmetatable({
    taskId = task.id, status = task.status, statusMessage = task.message, createdAt = task.created,
    lastUpdatedAt = task.updated, ttlMs = math.floor(task.seconds * 1000), pollIntervalMs = POLL_INTERVAL,
  }, TASK)
end

local function describe_task(task)
  local seed = describe_new_task(task)
  if task.status == "working" then
    seed.inputRequests = questions.pending(task.request.mcp.run)
    if seed.inputRequests then seed.status = "input_required" end
  end
  seed.result, seed.error = task.result, task.error
  return seed
end

---Notifies the subscribers of the task that it has changed.
function methods:changed()
  self.updated = task_timestamp_now()
  for _, subscription in ipairs(self.server.state.subscriptions) do
    if subscription.task_ids[self.id] then
      local params = wire.with_meta(describe_task(self), { [wire.META.subscription] = subscription.id })
      self.server.peer:notify("notifications/tasks", params)
    end
  end
end

-- }======

-- {====== The life of a task ======

local function forget_task(task)
  local list = task.server.state.tasks
  for place, other in ipairs(list) do
    if other == task then
      table.remove(list, place)
      break
    end
  end
  list[task.id] = nil
  loop.cancel(task.expiry)
end

local function conclude_task(task, status, result, err)
  if task.status ~= "working" then return end
  task.status, task.result, task.error = status, result, err
  task:changed()
end

-- An expired task is stopped, and removed with its result.
local function expire_task(task)
  forget_task(task)
  task.request:stop(errors.new("timeout", ("the task has run for %gs"):format(task.seconds)))
end

-- Drops the results that the client has fetched, the oldest first, until there is room for one more task.
local function make_room_for_task(server)
  local list, limit = server.state.tasks or {}, declarations.limit(server.plugin, "tasks")
  local place = 1
  while #list >= limit and list[place] do
    if list[place].is_fetched then forget_task(list[place]) else place = place + 1 end
  end
  return #list < limit
end

-- Logs and progress of a task are not sent any more: its call is answered.
local function create_task(task)
  local server, request = task.server, task.request
  local list = server.state.tasks or {}
  server.state.tasks = list
  task.id, task.created, task.updated = questions.new_secret(), task_timestamp_now(), task_timestamp_now()
  list[#list + 1], list[task.id] = task, task
  task.expiry = loop.after(task.seconds, expire_task, task)
  request.mcp.task, request.mcp.token, request.mcp.rank = task, nil, nil
  local seed = describe_new_task(task)
  seed.resultType, seed._meta = "task", era.result_meta(server)
  questions.answer_early(request, seed)
end

local function has_task_extension(request)
  local extensions = jsonrpc.given(request.mcp.capabilities.extensions)
  return type(extensions) == "table" and jsonrpc.given(extensions[wire.TASKS]) ~= nil
end

-- While the client is being asked, there is no call to answer.
local function create_task_later(task)
  local request = task.request
  local is_asking = request.mcp.run and next(request.mcp.run.pending)
  local can_be_task = request.id ~= nil and not is_asking and has_task_extension(request)
  if can_be_task and make_room_for_task(task.server) then create_task(task) end
end

-- Begins to count anew when the client has answered questions.
local function start_task_timer(task, seconds)
  if task.timer then loop.cancel(task.timer) end
  if not task.id then task.timer = loop.after(seconds, create_task_later, task) end
end

local function new_task(server, request)
  return setmetatable({
    server = server, request = request, status = "working", is_fetched = false,
    seconds = declarations.limit(server.plugin, "task_time"),
  }, metatable)
end

-- }======

-- {====== Calls ======

local function missing_task_extension()
  return nil, questions.missing_capability(true, wire.TASKS, { extensions = { [wire.TASKS] = {} } })
end

-- Only errors of the protocol are failures; those of the tool are in its result.
local function keep_task_result(task, is_whole, result, err)
  local request = task.request
  if not is_whole then
    local is_stopped = result == request.stopped
    if not is_stopped then task.server:report("a task failed: " .. tostring(request.mcp.traceback)) end
    err = is_stopped and result or { message = "Internal error: " .. errors.text(result) }
  end
  if is_whole and result ~= nil then return conclude_task(task, "completed", result) end
  local told = era.error(true, err)
  task.message = errors.text(told.message)
  conclude_task(task, "failed", nil, { code = told.code, message = task.message, data = told.data })
end

---Makes a call that may become a task.
---@param server pintle.server
---@param request pintle.request
---@param own pintle.mcp.operation.declaration
---@param work fun(): any, any makes the call; returns its result, or nil and an error
---@return any result, any err
function tasks.call(server, request, own, work)
  if not has_task_extension(request) then
    if own.task == "required" then return missing_task_extension() end
    return work()
  end
  if not make_room_for_task(server) then
    if own.task == "optional" then return work() end
    return nil, errors.new("full", ("there are %d tasks already"):format(#server.state.tasks))
  end
  local task, seconds = new_task(server, request), own.task_after or 0
  if seconds == 0 then create_task(task) else start_task_timer(task, seconds) end
  request.on_resume = function() start_task_timer(task, seconds) end
  local ok, result, err = xpcall(work, function(raised)
    request.mcp.traceback = debug.traceback(errors.text(raised), 2)
    return raised
  end)
  if task.timer then loop.cancel(task.timer) end
  if task.id then return keep_task_result(task, ok, result, err) end
  if not ok then error(result, 0) end
  return result, err
end

-- }======

-- {====== Requests about tasks ======

local function find_task(server, params, request)
  if not has_task_extension(request) then return missing_task_extension() end
  local ok, err = wire.check_required(params, "object", "params")
  if ok then ok, err = wire.check_required(params.taskId, "string", "taskId") end
  if not ok then return nil, err end
  local list = server.state.tasks
  local task = list and list[params.taskId]
  if task then return task end
  return jsonrpc.invalid_params("taskId: there is no task %q, or it has expired", params.taskId)
end

---@param server pintle.server
---@param params table?
---@param request pintle.request
---@return table?, pintle.error?
function tasks.get(server, params, request)
  local task, err = find_task(server, params, request)
  if not task then return nil, err end
  if task.status ~= "working" then task.is_fetched = true end
  return describe_task(task)
end

---@param server pintle.server
---@param params table?
---@param request pintle.request
---@return table?, pintle.error?
function tasks.update(server, params, request)
  local task, err = find_task(server, params, request)
  if not task then return nil, err end
  local ok
  ok, err = wire.check_required(params.inputResponses, "object", "inputResponses")
  if not ok then return nil, err end
  local run = task.request.mcp.run
  if run and task.status == "working" and questions.answer(run, params.inputResponses) then task:changed() end
  return {}
end

---@param server pintle.server
---@param params table?
---@param request pintle.request
---@return table?, pintle.error?
function tasks.cancel(server, params, request)
  local task, err = find_task(server, params, request)
  if not task then return nil, err end
  if task.status == "working" then
    conclude_task(task, "cancelled")
    task.request:stop(loop.cancelled "Cancelled")
  end
  return {}
end

---The tasks that a subscription asks for, of those that there are.
---@param server pintle.server
---@param ids string[]
---@param request pintle.request
---@return string[]?, pintle.error?
function tasks.known(server, ids, request)
  if not has_task_extension(request) then return missing_task_extension() end
  local list, known = server.state.tasks or {}, json.array()
  for _, id in ipairs(ids) do
    if type(id) == "string" and list[id] then known[#known + 1] = id end
  end
  return known
end

---The client sends no more messages, so no result will be fetched: what works is stopped.
---@param server pintle.server
function tasks.stop(server)
  for _, task in ipairs(server.state.tasks) do
    task.request:stop(errors.new("closed", "the client sends no more messages"))
  end
end

-- }======

return tasks
