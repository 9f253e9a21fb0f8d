-- The extension for tasks of the Model Context Protocol 2026-07-28, on the server's side.
local children = require "spec.support.children"
local core = require "pintle.core"
local extension = require "spec.support.extension"
local json = core.json
local mcp = require "spec.support.mcp_client"
require "pintle.loop" -- keeps its descriptor open

children.leave_nothing()

local TASKS = "io.modelcontextprotocol/tasks"
local WITH_TASKS = {
  ["io.modelcontextprotocol/clientCapabilities"] = { elicitation = {}, extensions = { [TASKS] = {} } },
}

local function start(env) return extension.plugin("slow_server", nil, env) end

local id = 200

-- Sends a request. Returns the response and the notifications before it.
local function send(plugin, method, params, meta)
  id = id + 1
  local notifications, answer = {}, plugin:call(method, mcp.with_meta(params, meta or WITH_TASKS), id)
  while answer.id ~= id do
    notifications[#notifications + 1] = answer
    answer = json.decode(plugin:line())
  end
  return answer, notifications
end

local function call(plugin, tool, args, more, meta)
  local params = { name = tool, arguments = args or {} }
  for name, value in pairs(more or {}) do params[name] = value end
  return send(plugin, "tools/call", params, meta)
end

local function get(plugin, task_id) return send(plugin, "tasks/get", { taskId = task_id }).result end

-- Polls until the task has this status.
local function await(plugin, task_id, status)
  local give_up = core.now() + children.patience
  repeat
    local task = get(plugin, task_id)
    if task.status == status then return task end
    core.poll(0.01)
  until core.now() > give_up
  error("the task does not get the status " .. status)
end

describe("a tool that may be a task", function()
  it("is answered with a task at once, which stores the result", function()
    local plugin <close> = start()
    local capabilities = send(plugin, "server/discover", {}).result.capabilities
    assert.same({ [TASKS] = {} }, capabilities.extensions)
    local seed, before = call(plugin, "work", { seconds = 0.05 })
    seed = seed.result
    assert.same({}, before)
    assert.same({ "task", "working", 3600000, 500 },
      { seed.resultType, seed.status, seed.ttlMs, seed.pollIntervalMs })
    assert.matches("^%d+%-%d%d%-%d%dT%d%d:%d%d:%d%dZ$", seed.createdAt)
    assert.is_nil(seed.result)
    local task = get(plugin, seed.taskId)
    assert.same({ "complete", seed.taskId, "working", "half of it" },
      { task.resultType, task.taskId, task.status, task.statusMessage })
    task = await(plugin, seed.taskId, "completed")
    assert.same({ { type = "text", text = "done" } }, task.result.content)
    assert.same(task, await(plugin, seed.taskId, "completed"))
    assert.matches("slow: info: working\n", plugin:complaints "\n")
  end)

  it("runs without a task for a client without the extension, unless it requires one", function()
    local plugin <close> = start()
    local none = { ["io.modelcontextprotocol/clientCapabilities"] = {} }
    assert.equal("done", call(plugin, "work", {}, nil, none).result.content[1].text)
    local missing = { code = -32021, message = "Missing required client capability: " .. TASKS,
      data = { requiredCapabilities = { extensions = { [TASKS] = {} } } } }
    assert.same(missing, call(plugin, "fail", {}, nil, none).error)
    for _, method in ipairs { "tasks/get", "tasks/update", "tasks/cancel" } do
      assert.same(missing, send(plugin, method, { taskId = "x" }, none).error)
    end
    assert.same(missing, send(plugin, "subscriptions/listen", { notifications = { taskIds = { "x" } } }, none).error)
  end)

  it("runs without a task in the classic era", function()
    local plugin <close> = start()
    local told = json.decode(plugin:ask(mcp.INITIALIZE)).result
    assert.is_nil(told.capabilities.extensions)
    assert.equal("no luck", mcp.call(plugin, "fail").result.content[1].text)
    assert.same({ code = -32601, message = "Method not found: tasks/get" },
      mcp.ask(plugin, "tasks/get", { taskId = "x" }).error)
  end)

  it("has the status completed after a failure of the tool, and failed after a protocol error", function()
    local plugin <close> = start()
    local failed = await(plugin, call(plugin, "fail").result.taskId, "completed")
    assert.is_true(failed.result.isError)
    local refused = await(plugin, call(plugin, "refuse").result.taskId, "failed")
    assert.same({ { code = -32050, message = "refused", data = { n = 1 } }, "refused", nil },
      { refused.error, refused.statusMessage, refused.result })
    local raised = await(plugin, call(plugin, "raise").result.taskId, "failed")
    assert.equal(-32603, raised.error.code)
    assert.matches("broken", raised.error.message)
    local wrong = await(plugin, call(plugin, "number", { n = "x" }).result.taskId, "completed")
    assert.is_true(wrong.result.isError)
    assert.matches("a task failed: .*broken.*stack traceback", (select(3, plugin:finish())))
  end)

  it("can be cancelled twice, and after its end", function()
    local plugin <close> = start()
    local task_id = call(plugin, "work", { seconds = 600 }).result.taskId
    local ack = send(plugin, "tasks/cancel", { taskId = task_id }).result
    assert.same({ "complete", nil }, { ack.resultType, ack.taskId })
    assert.equal("cancelled", get(plugin, task_id).status)
    assert.equal("complete", send(plugin, "tasks/cancel", { taskId = task_id }).result.resultType)
    assert.same({ code = -32602, message = 'Invalid params: taskId: there is no task "x", or it has expired' },
      send(plugin, "tasks/cancel", { taskId = "x" }).error)
  end)

  it("sends its questions in the task", function()
    local plugin <close> = start()
    local task_id = call(plugin, "ask").result.taskId
    local task = await(plugin, task_id, "input_required")
    assert.same({ "first", "second" }, { task.inputRequests.a.params.message, task.inputRequests.b.params.message })
    local function update(answers)
      return send(plugin, "tasks/update", { taskId = task_id, inputResponses = answers })
    end
    assert.equal("complete", update({ a = { action = "accept" }, c = {}, b = 5 }).result.resultType)
    task = get(plugin, task_id)
    assert.same({ "input_required", "b" }, { task.status, (next(task.inputRequests)) })
    assert.is_nil(task.inputRequests.a)
    update { b = { action = "decline" } }
    assert.equal("accept decline", await(plugin, task_id, "completed").result.content[1].text)
    assert.equal(-32602, send(plugin, "tasks/update", { taskId = task_id }).error.code)
  end)

  it("notifies its subscribers", function()
    local plugin <close> = start()
    local task_id = call(plugin, "ask").result.taskId
    await(plugin, task_id, "input_required")
    local told = plugin:call("subscriptions/listen", mcp.with_meta({ notifications = { taskIds = { task_id, "x" } } },
      WITH_TASKS), "s")
    assert.same({ taskIds = { task_id } }, told.params.notifications)
    local _, changes = send(plugin, "tasks/cancel", { taskId = task_id })
    local params = changes[1].params
    assert.same({ "notifications/tasks", task_id, "cancelled", "s" },
      { changes[1].method, params.taskId, params.status, params._meta["io.modelcontextprotocol/subscriptionId"] })
  end)

  it("becomes a task after the declared time, counted from the last answer", function()
    local plugin <close> = start()
    assert.equal("for nobody", call(plugin, "later").result.content[1].text)
    local seed = call(plugin, "later", { seconds = 0.3 }).result
    assert.equal("task", seed.resultType)
    assert.equal("for nobody", await(plugin, seed.taskId, "completed").result.content[1].text)
    local asked = call(plugin, "later", { ask = true, seconds = 0.3 }).result
    assert.same({ "input_required", nil }, { asked.resultType, asked.taskId })
    seed = call(plugin, "later", { ask = true, seconds = 0.3 }, {
      requestState = asked.requestState, inputResponses = { name = { action = "accept", content = { name = "Ada" } } },
    }).result
    assert.same({ "task", nil, nil }, { seed.resultType, seed.requestState, seed.inputRequests })
    assert.equal("for Ada", await(plugin, seed.taskId, "completed").result.content[1].text)
  end)

  it("is stored until its result was fetched and its place is needed", function()
    local plugin <close> = start()
    local first = call(plugin, "work").result.taskId
    local second = call(plugin, "work").result.taskId
    call(plugin, "work", { seconds = 600 })
    await(plugin, second, "completed")
    -- A fourth task takes the place of the second, whose result was fetched. Then no place is left.
    assert.equal("task", call(plugin, "work", { seconds = 600 }).result.resultType)
    assert.equal(-32602, send(plugin, "tasks/get", { taskId = second }).error.code)
    assert.equal("done", call(plugin, "work").result.content[1].text)
    assert.equal("there are 3 tasks already", call(plugin, "fail").error.message)
    assert.equal("completed", get(plugin, first).status)
  end)

  it("is stopped and forgotten after its time limit", function()
    local plugin <close> = start { TASK_TIME = "0.1" }
    local seed = call(plugin, "work", { seconds = 600 }).result
    assert.equal(100, seed.ttlMs)
    local give_up, err = core.now() + children.patience
    repeat
      err = send(plugin, "tasks/get", { taskId = seed.taskId }).error
      core.poll(0.01)
    until err or core.now() > give_up
    assert.equal(-32602, err.code)
    assert.equal("done", await(plugin, call(plugin, "work").result.taskId, "completed").result.content[1].text)
  end)

  it("does not prevent the plugin from exiting", function()
    local plugin <close> = start()
    call(plugin, "work", { seconds = 600 })
    call(plugin, "ask")
    local rest, status, complaints = plugin:finish()
    assert.same({ "", 0 }, { rest, status })
    assert.matches("over\n$", complaints)
  end)
end)
