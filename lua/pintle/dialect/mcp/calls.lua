-- The calls that a host makes to a server: repeated with the input that the server asks for, waiting for the task that
-- the server has made of a call, and page by page.

local client = require "pintle.dialect.mcp.client"
local core = require "pintle.core"
local errors = require "pintle.error"
local jsonrpc = require "pintle.jsonrpc"
local loop = require "pintle.loop"
local wire = require "pintle.dialect.mcp.wire"

local json = core.json
local kind_of, given, protocol_error = json.kind, jsonrpc.given, jsonrpc.protocol_error

local MOST_PAGES = 1000
local MOST_ROUNDS = 10 -- times that a call is made, or a task asks for input
local LEAST_PAUSE, USUAL_PAUSE, LONGEST_PAUSE = 0.05, 1, 60 -- seconds between two polls of a task
local CANCEL_TIMEOUT = 10 -- seconds

local calls = {}

---The time that a call has left, for its parts.
---@param session pintle.session
---@param timeout? number|false default: the peer's
---@param begun? number default: now
---@return fun(): number|false
function calls.countdown(session, timeout, begun)
  if timeout == nil then timeout = session.peer.timeout end
  local deadline = timeout and (begun or core.now()) + timeout
  return function() return deadline and math.max(deadline - core.now(), 0) end
end

-- {====== Input that a result asks for ======

local function call_asks_for_input(result) return type(result) == "table" and result.resultType == "input_required" end

-- A copy of the params with the input that the server asked for.
local function add_input_to_call(session, params, result, left)
  local requests, state = given(result.inputRequests), given(result.requestState)
  local full = wire.copy_members(params or {}, {})
  full.inputResponses, full.requestState = nil, state
  if requests == nil then return full end
  if kind_of(requests) ~= "object" then return protocol_error "its inputRequests are no object" end
  local err
  full.inputResponses, err = client.answer_input_requests(session, requests, left)
  if err then return nil, err end
  return setmetatable(full, getmetatable(params))
end

-- Repeats a call with the input that its result asks for, until there is another result.
local function repeat_mcp_call(session, method, params, options, result, left)
  for _ = 2, MOST_ROUNDS do
    local err
    params, err = add_input_to_call(session, params, result, left)
    if not params then return nil, err end
    local sent = wire.with_meta(params, client.meta(session))
    result, err = session.peer:call(method, sent, { timeout = left(), on_progress = options and options.on_progress })
    if not call_asks_for_input(result) then return result, err end
  end
  return protocol_error("it still asks for more after %d rounds", MOST_ROUNDS)
end

-- }======

-- {====== Tasks ======

-- A server may answer a call with a task, whose result is fetched later. The task is polled until it has ended. It gets
-- the input that it asks for, and is cancelled if its caller gives up.
--
-- In version 2025-11-25 the client asks for a task, and `tasks/result` waits for its result; the server sends requests
-- for input meanwhile. In the modern era tasks are an extension: the server decides, `tasks/get` returns the result,
-- and `tasks/update` sends the input.

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

local function called_task_timeout_error(self)
  local message = ("%s: no result of a task within %gs"):format(self.session.name, self.timeout)
  return errors.new("timeout", message, { elapsed = self.timeout })
end

local function request_of_called_task(self, method, more)
  local params = more or {}
  params.taskId = self.id
  local result, err = self.session.peer:call(method, client.with_meta(self.session, params), { timeout = self.left() })
  if err ~= nil and err.kind == "timeout" then err = called_task_timeout_error(self) end
  return result, err
end

-- Nothing waits for the answer. In the classic era a server need not be able to cancel.
local function cancel_called_task(self)
  local session = self.session
  local of_classic = type(session.raw_manifest.capabilities.tasks) == "table"
    and given(session.raw_manifest.capabilities.tasks.cancel) ~= nil
  if session.dead or not session.state.is_modern and not of_classic then return end
  session.peer:begin("tasks/cancel", client.with_meta(session, { taskId = self.id }), { timeout = CANCEL_TIMEOUT })
end

local IS_OVER = { working = false, input_required = false, completed = true, failed = true, cancelled = true }

local function check_called_task(task)
  if kind_of(task) ~= "object" then return protocol_error "a task that is no object" end
  if IS_OVER[task.status] ~= nil then return task end
  return protocol_error("a task with the status %s", tostring(task.status))
end

-- A new status message is a report of progress.
local function report_called_task_status(self, task)
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
local function called_task_poll_interval(self, task)
  local milliseconds, left = given(task.pollIntervalMs) or given(task.pollInterval), self.left()
  local seconds = type(milliseconds) == "number" and milliseconds / 1000 or USUAL_PAUSE
  if left then seconds = math.min(seconds, left / 2) end
  return math.max(LEAST_PAUSE, math.min(seconds, LONGEST_PAUSE))
end

local function await_called_task_poll(self, task)
  if IS_OVER[task.status] then return true end
  local _, err = self.woken:wait(called_task_poll_interval(self, task))
  if err then return nil, err end
  self.woken = loop.event()
  if self.left() == 0 then return nil, called_task_timeout_error(self) end
  return true
end

local function get_called_task(self)
  local task, err = request_of_called_task(self, "tasks/get")
  if err ~= nil then return nil, err end
  return check_called_task(task)
end

local function unanswered_input_requests(self, requests)
  local new = {}
  for name, asked in pairs(requests) do
    if not self.answered[name] then new[name] = asked end
  end
  return new
end

local function give_called_task_input(self, task)
  if kind_of(task.inputRequests) ~= "object" then return protocol_error "a task whose inputRequests are no object" end
  local new = unanswered_input_requests(self, task.inputRequests)
  if not next(new) then return true end
  self.rounds = self.rounds + 1
  if self.rounds > MOST_ROUNDS then return protocol_error("it still asks for more after %d rounds", MOST_ROUNDS) end
  local responses, err = client.answer_input_requests(self.session, new, self.left)
  if not responses then return nil, err end
  for name in pairs(new) do self.answered[name] = true end
  local _, refusal = request_of_called_task(self, "tasks/update", { inputResponses = responses })
  return refusal == nil or nil, refusal
end

local function called_task_cancelled_error(task)
  local message = given(task.statusMessage)
  return errors.new("remote", "it has cancelled the task" .. (type(message) == "string" and ": " .. message or ""))
end

-- The result of a modern task is in it.
local function read_called_task_end(self, task)
  if task.status == "cancelled" then return nil, called_task_cancelled_error(task) end
  if not self.session.state.is_modern then return request_of_called_task(self, "tasks/result") end
  if task.status == "completed" then return given(task.result) end
  local err = kind_of(task.error) == "object" and task.error or {}
  local message = given(err.message) or given(task.statusMessage) or "the task has failed"
  local code = math.tointeger(given(err.code))
  return nil, errors.new("remote", tostring(message), { code = code, data = given(err.data) })
end

-- A classic server that needs input asks for it while its client waits for the result.
local function has_called_task_result(self, task)
  return IS_OVER[task.status] or task.status == "input_required" and not self.session.state.is_modern
end

-- What a task says when it is created is only a beginning: its result is in what `tasks/get` returns.
local function poll_called_task(self, task)
  report_called_task_status(self, task)
  while true do
    local ok, err = await_called_task_poll(self, task)
    if ok then task, err = get_called_task(self) end
    if err ~= nil then return nil, err end
    report_called_task_status(self, task)
    if has_called_task_result(self, task) then return read_called_task_end(self, task) end
    if task.status == "input_required" then
      ok, err = give_called_task_input(self, task)
      if not ok then return nil, err end
    end
  end
end

local function new_called_task_poll(session, task, options, begun)
  local timeout = options and options.timeout
  if timeout == nil then timeout = session.peer.timeout end
  return {
    session = session, id = task.taskId, timeout = timeout, on_progress = options and options.on_progress,
    left = calls.countdown(session, timeout, begun), woken = loop.event(), answered = {}, rounds = 0,
  }
end

-- Waits for the result of the task that has answered a call. `token` is the progress token of the call, which stays
-- valid.
local function await_called_task(session, task, options, begun, token)
  local created, err = check_called_task(task)
  if not created then return nil, err end
  if type(task.taskId) ~= "string" then return protocol_error "a task without a taskId" end
  local state, self = session.state, new_called_task_poll(session, task, options, begun)
  state.polls, state.task_progress = state.polls or {}, state.task_progress or {}
  state.polls[self.id] = self
  if token then state.task_progress[token] = self.on_progress end
  local result
  result, err = poll_called_task(self, task)
  state.polls[self.id] = nil
  if token then state.task_progress[token] = nil end
  if err ~= nil and err.kind ~= "closed" and err.kind ~= "remote" then cancel_called_task(self) end
  return result, err
end

---The server notifies of a new status: the task is polled at once.
---@param session pintle.session
---@param params any
function calls.wake_poll(session, params)
  local self = type(params) == "table" and session.state.polls[params.taskId]
  if self then self.woken:set(true) end
end

-- }======

-- {====== Calls ======

---The progress token that was put into the `_meta` of params; nil without one.
---@param params table?
---@return integer?
function calls.progress_token(params)
  local meta = params and params._meta
  if type(meta) == "table" then return meta.progressToken end
  return math.tointeger(tostring(meta):match '"progressToken":(%d+)}$')
end

---Makes a result final: repeats the call with the input that the result asks for, and waits for the result of a task.
---The timeout is for all of it.
---@param session pintle.session
---@param method string
---@param params table? those of the call, without `_meta`
---@param options? { timeout?: number|false, on_progress?: fun(...) }
---@param result any
---@param begun number when the call began
---@param token? integer its progress token
---@return any result, pintle.error?
function calls.settle_result(session, method, params, options, result, begun, token)
  if call_asks_for_input(result) then
    local err
    result, err = repeat_mcp_call(session, method, params, options, result,
      calls.countdown(session, options and options.timeout, begun))
    if err ~= nil then return nil, err end
  end
  if type(result) ~= "table" or result.resultType ~= "task" then return result end
  return await_called_task(session, result, options, begun, token)
end

---Has a classic server run a tool as a task, and waits for its result.
---@param session pintle.session
---@param params table
---@param options? { timeout?: number|false, on_progress?: fun(...) }
---@return any result, pintle.error?
function calls.call_as_task(session, params, options)
  local begun, timeout = core.now(), options and options.timeout
  if timeout == nil then timeout = session.peer.timeout end
  params.task = { ttl = timeout and math.ceil(timeout * 1000) or nil }
  if options and options.on_progress then params = wire.with_meta(params, {}) end
  local result, err = session.peer:call("tools/call", params, options)
  if err ~= nil then return nil, err end
  if kind_of(result) ~= "object" or kind_of(result.task) ~= "object" then return result end
  return await_called_task(session, result.task, options, begun, calls.progress_token(params))
end

---Makes a call as the server's era requires.
---@param session pintle.session
---@param method string
---@param params any
---@param options? { timeout?: number|false, on_progress?: fun(...) }
---@return any result, pintle.error?
function calls.call(session, method, params, options)
  local is_plain = not session.state.is_modern or params ~= nil and kind_of(params) ~= "object"
  if is_plain then return session.peer:call(method, params, options) end
  local begun, sent = core.now(), wire.with_meta(params, client.meta(session))
  local result, err = session.peer:call(method, sent, options)
  if err ~= nil then return nil, err end
  return calls.settle_result(session, method, params, options, result, begun, calls.progress_token(sent))
end

---Reads a list page by page. A list without an end is cut.
---@param session pintle.session
---@param method string
---@param member string the name of the list in each page
---@param timeout_of fun(session: pintle.session): number|false the timeout of the next page
---@param add fun(item: any)
---@return boolean? is_cut, pintle.error?
function calls.read_pages(session, method, member, timeout_of, add)
  local cursor
  for _ = 1, MOST_PAGES do
    local page, err = calls.call(session, method, { cursor = cursor }, { timeout = timeout_of(session) })
    if page == nil then return nil, err or errors.new("protocol", ("its answer to %s is empty"):format(method)) end
    if kind_of(page) ~= "object" or kind_of(page[member]) ~= "array" then
      return protocol_error("its answer to %s has no list of %s", method, member)
    end
    for _, item in ipairs(page[member]) do add(item) end
    local next_cursor = given(page.nextCursor)
    if next_cursor == nil then return false end
    if next_cursor == cursor then break end
    cursor = next_cursor
  end
  session:log("warn", ("its list of %s has no end"):format(member))
  return true
end

-- }======

return calls
