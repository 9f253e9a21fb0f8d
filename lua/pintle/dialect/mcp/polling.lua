-- Tasks of a server: a call that the server answers with a task, whose result is fetched later. Polls the task until it
-- has ended, gives the input that it asks for, and cancels it if its caller gives up. Loaded with the first task.
--
-- In version 2025-11-25 the client asks for a task, and `tasks/result` waits for its result; the server sends requests
-- for input meanwhile. In the modern era tasks are an extension: the server decides, `tasks/get` returns the result,
-- and `tasks/update` sends the input.

local client = require "pintle.dialect.mcp.client"
local core = require "pintle.core"
local errors = require "pintle.error"
local jsonrpc = require "pintle.jsonrpc"
local loop = require "pintle.loop"

local kind_of, given, protocol_error = core.json.kind, jsonrpc.given, client.protocol_error

local LEAST, USUAL, MOST = 0.05, 1, 60 -- seconds between two polls
local MOST_ROUNDS = 10 -- times that a task may ask for input
local CANCEL_TIMEOUT = 10 -- seconds

local polling = {}

---A task that is waited for.
---@class pintle.mcp.poll
---@field session pintle.session
---@field id string
---@field left fun(): number|false seconds until the deadline
---@field timeout number|false
---@field on_progress? fun(progress: number|false, total: number?, message: string?)
---@field woken pintle.event set when the server notifies of a new status
---@field message? string the last status message
---@field answered table<string, true> names of the input requests that were answered
---@field rounds integer times that it has asked for input

-- {====== Requests ======

local function timeout_error(self)
  local message = ("%s: no result of a task within %gs"):format(self.session.name, self.timeout)
  return errors.new("timeout", message, { elapsed = self.timeout })
end

local function request(self, method, more)
  local params = more or {}
  params.taskId = self.id
  local result, err = self.session.peer:call(method, client.with_meta(self.session, params), { timeout = self.left() })
  if err ~= nil and err.kind == "timeout" then err = timeout_error(self) end
  return result, err
end

-- Nothing waits for the answer. In the classic era a server need not be able to cancel.
local function cancel(self)
  local session = self.session
  local of_classic = type(session.raw_manifest.capabilities.tasks) == "table"
    and given(session.raw_manifest.capabilities.tasks.cancel) ~= nil
  if session.dead or not session.state.is_modern and not of_classic then return end
  session.peer:begin("tasks/cancel", client.with_meta(session, { taskId = self.id }), { timeout = CANCEL_TIMEOUT })
end

-- }======

-- {====== Status ======

local IS_OVER = { working = false, input_required = false, completed = true, failed = true, cancelled = true }

local function check_task(task)
  if kind_of(task) ~= "object" then return protocol_error "a task that is no object" end
  if IS_OVER[task.status] ~= nil then return task end
  return protocol_error("a task with the status %s", tostring(task.status))
end

-- A new status message is a report of progress.
local function report_status(self, task)
  local message = given(task.statusMessage)
  if type(message) ~= "string" or message == self.message then return end
  self.message = message
  if self.on_progress then
    loop.call(self.on_progress, false, nil, message)
  else
    self.session:log("debug", message)
  end
end

-- At most half of the time that is left, so that a task that ends just before the deadline is noticed.
local function interval_of(self, task)
  local milliseconds, left = given(task.pollIntervalMs) or given(task.pollInterval), self.left()
  local seconds = type(milliseconds) == "number" and milliseconds / 1000 or USUAL
  if left then seconds = math.min(seconds, left / 2) end
  return math.max(LEAST, math.min(seconds, MOST))
end

local function pause(self, task)
  if IS_OVER[task.status] then return true end
  local _, err = self.woken:wait(interval_of(self, task))
  if err then return nil, err end
  self.woken = loop.event()
  if self.left() == 0 then return nil, timeout_error(self) end
  return true
end

local function get(self)
  local task, err = request(self, "tasks/get")
  if err ~= nil then return nil, err end
  return check_task(task)
end

-- }======

-- {====== Input ======

local function unanswered(self, requests)
  local new = {}
  for name, asked in pairs(requests) do
    if not self.answered[name] then new[name] = asked end
  end
  return new
end

local function give_input(self, task)
  if kind_of(task.inputRequests) ~= "object" then return protocol_error "a task whose inputRequests are no object" end
  local new = unanswered(self, task.inputRequests)
  if not next(new) then return true end
  self.rounds = self.rounds + 1
  if self.rounds > MOST_ROUNDS then return protocol_error("it still asks for more after %d rounds", MOST_ROUNDS) end
  local responses, err = client.answer_input_requests(self.session, new, self.left)
  if not responses then return nil, err end
  for name in pairs(new) do self.answered[name] = true end
  local _, refusal = request(self, "tasks/update", { inputResponses = responses })
  return refusal == nil or nil, refusal
end

-- }======

-- {====== The end ======

local function error_of_cancelled(task)
  local message = given(task.statusMessage)
  return errors.new("remote", "it has cancelled the task" .. (type(message) == "string" and ": " .. message or ""))
end

-- The result of a modern task is in it.
local function read_end(self, task)
  if task.status == "cancelled" then return nil, error_of_cancelled(task) end
  if not self.session.state.is_modern then return request(self, "tasks/result") end
  if task.status == "completed" then return given(task.result) end
  local err = kind_of(task.error) == "object" and task.error or {}
  local message = given(err.message) or given(task.statusMessage) or "the task has failed"
  local code = math.tointeger(given(err.code))
  return nil, errors.new("remote", tostring(message), { code = code, data = given(err.data) })
end

-- A classic server that needs input asks for it while its client waits for the result.
local function has_result(self, task)
  return IS_OVER[task.status] or task.status == "input_required" and not self.session.state.is_modern
end

-- What a task says when it is created is only a beginning: its result is in what `tasks/get` returns.
local function follow(self, task)
  report_status(self, task)
  while true do
    local ok, err = pause(self, task)
    if ok then task, err = get(self) end
    if err ~= nil then return nil, err end
    report_status(self, task)
    if has_result(self, task) then return read_end(self, task) end
    if task.status == "input_required" then
      ok, err = give_input(self, task)
      if not ok then return nil, err end
    end
  end
end

-- }======

local function new(session, task, options, begun)
  local timeout = options and options.timeout
  if timeout == nil then timeout = session.peer.timeout end
  return {
    session = session, id = task.taskId, timeout = timeout, on_progress = options and options.on_progress,
    left = client.countdown(session, timeout, begun), woken = loop.event(), answered = {}, rounds = 0,
  }
end

---Waits for the result of a task.
---@param session pintle.session
---@param task any the task as the server has created it
---@param options? { timeout?: number|false, on_progress?: fun(...) } of the call that it answers
---@param begun number when that call began
---@param token? integer the progress token of that call, which stays valid
---@return any result, pintle.error?
function polling.wait(session, task, options, begun, token)
  local created, err = check_task(task)
  if not created then return nil, err end
  if type(task.taskId) ~= "string" then return protocol_error "a task without a taskId" end
  local state, self = session.state, new(session, task, options, begun)
  state.polls, state.task_progress = state.polls or {}, state.task_progress or {}
  state.polls[self.id] = self
  if token then state.task_progress[token] = self.on_progress end
  local result
  result, err = follow(self, task)
  state.polls[self.id] = nil
  if token then state.task_progress[token] = nil end
  if err ~= nil and err.kind ~= "closed" and err.kind ~= "remote" then cancel(self) end
  return result, err
end

---The server notifies of a new status: the task is polled at once.
---@param session pintle.session
---@param params any
function polling.wake(session, params)
  local self = type(params) == "table" and session.state.polls[params.taskId]
  if self then self.woken:set(true) end
end

return polling
