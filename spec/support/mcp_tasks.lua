-- Plays an MCP server whose tools run as tasks, in plain lines of JSON:
-- lua5.4 spec/support/mcp_tasks.lua classic|modern HEARD; see mcp_fake.lua. Each poll moves a task to the next
-- status of its list.
local fake = require "spec.support.mcp_fake"
local json = require("pintle.core").json

local is_modern, write, answer, refuse = fake.is_modern, fake.write, fake.answer, fake.refuse

local TASKS = "io.modelcontextprotocol/tasks"

local function text(words, is_error)
  return { content = json.array { { type = "text", text = words } }, isError = is_error or nil }
end

-- {====== Tools ======

-- Each tool is a list of the statuses of its task, and how the task ends.
local TOOLS = {
  work = { { "working", "reading" }, { "working", "reading" }, { "working", "writing" }, { "completed" } },
  at_once = { { "completed" } },
  fail = { { is_modern and "completed" or "failed" } },
  break_down = { { "failed", "out of paper" } },
  give_up = { { "cancelled", "no time" } },
  ask = { { "working" }, { "input_required", "a question" }, { "input_required" }, { "working" }, { "completed" } },
  hang = { { "working" } },
  odd = { { "pondering" } },
  forget = { { "working" } },
  progress = { { "working" }, { "completed" } },
  wake = { { "working" }, { "completed" } },
}
local SLOW = { wake = 3600000, hang = 20 } -- poll intervals in milliseconds

local tasks, count = {}, 0

local function status_of(task)
  local states = TOOLS[task.name]
  return states[math.min(task.step, #states)]
end

local function describe(task)
  local status = status_of(task)
  local interval = SLOW[task.name] or 1
  return {
    taskId = task.id, status = status[1], statusMessage = status[2] or json.null, createdAt = "2026-07-28T00:00:00Z",
    lastUpdatedAt = "2026-07-28T00:00:00Z", ttl = not is_modern and 60000 or nil, ttlMs = is_modern and 60000 or nil,
    pollInterval = not is_modern and interval or nil, pollIntervalMs = is_modern and interval or nil,
  }
end

local function finish(task)
  if task.name == "fail" then return text("it is broken", true) end
  return text(("%s: %s"):format(task.name, task.answer or "done"))
end

local function create(request)
  count = count + 1
  local task = { name = request.params.name, id = "task-" .. count, step = 1, meta = request.params._meta or {} }
  if task.name == "at_once" then task.step = #TOOLS.at_once end
  tasks[task.id] = task
  local described = describe(task)
  if is_modern then
    described.resultType = "task"
    return answer(request, described)
  end
  answer(request, { task = described })
end

local function report(task, progress)
  write { method = "notifications/progress", params = {
    progressToken = task.meta.progressToken, progress = progress, total = 4,
  } }
end

-- }======

local methods = {}

methods["server/discover"] = function(request)
  if not is_modern then return refuse(request, -32601, "Method not found") end
  answer(request, {
    supportedVersions = { "2026-07-28" }, capabilities = { tools = {}, extensions = { [TASKS] = {} } },
  })
end

methods.initialize = function(request)
  if is_modern then return refuse(request, -32601, "Method not found") end
  answer(request, {
    protocolVersion = "2025-11-25", serverInfo = { name = "tasks", version = "1" },
    capabilities = { tools = {}, tasks = { cancel = {}, requests = { tools = { call = {} } } } },
  })
end

methods["tools/list"] = function(request)
  local tools = { { name = "plain", inputSchema = { type = "object" }, execution = { taskSupport = "optional" } } }
  for name in pairs(TOOLS) do
    tools[#tools + 1] = { name = name, inputSchema = { type = "object" }, execution = { taskSupport = "required" } }
  end
  answer(request, { tools = tools })
end

methods["tools/call"] = function(request)
  if request.params.name == "plain" then return answer(request, text "plain") end
  local capabilities = is_modern and request.params._meta["io.modelcontextprotocol/clientCapabilities"]
  if is_modern and not (capabilities.extensions and capabilities.extensions[TASKS]) then
    return refuse(request, -32021, "Missing required client capability")
  elseif not is_modern and type(request.params.task) ~= "table" then
    return refuse(request, -32601, "Task augmentation required")
  end
  create(request)
end

methods["tasks/get"] = function(request)
  local task = tasks[request.params.taskId]
  if not task or task.name == "forget" then return refuse(request, -32602, "Task not found") end
  task.step = task.step + 1
  if task.name == "progress" then report(task, task.step) end
  local described = describe(task)
  if is_modern then
    if described.status == "completed" then described.result = finish(task) end
    if described.status == "failed" then described.error = { code = -32603, message = "out of paper", data = 7 } end
    if described.status == "input_required" then
      described.inputRequests = { name = { method = "elicitation/create", params = { message = "Who?" } } }
    end
  end
  answer(request, described)
end

methods["tasks/update"] = function(request)
  tasks[request.params.taskId].answer = request.params.inputResponses.name.content.name
  answer(request, {})
end

-- Waits for the input of the classic era, which is an ordinary request.
methods["tasks/result"] = function(request)
  local task = tasks[request.params.taskId]
  if task.name == "break_down" then return refuse(request, -32603, "out of paper") end
  if task.name == "ask" then
    write { id = "q", method = "elicitation/create", params = { message = "Who?" } }
    task.answer = fake.read().result.content.name
  end
  answer(request, finish(task))
end

-- Notifies of the status of the last task.
methods.nudge = function(request)
  write { method = is_modern and "notifications/tasks" or "notifications/tasks/status",
    params = { taskId = "task-" .. count, status = "completed" } }
  answer(request, {})
end

methods["tasks/cancel"] = function(request) answer(request, {}) end

fake.serve(methods)
