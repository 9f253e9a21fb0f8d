-- The side of the host: commands and tasks are run.

local core = require "pintle.core"
local outcomes = require "pintle.dialect.reginald.outcome"
local told = require "pintle.dialect.reginald.told"
local turns = require "pintle.dialect.reginald.turns"

local json = core.json

local LATE = 1 -- seconds for what came before an answer, and has to wait for its turn

local SETUP = json.order { "name", "args", "config" }
local JUNE_TASK = json.order { "type", "dir", "config" }
local JULY_COMMAND = json.order { "cmd", "config", "pluginConfig" }
local JULY_TASK = json.order { "taskType", "config" }

local function patience_of(context)
  if context.patience ~= nil then return context.patience end
  return context.timeout
end

local function time_left(deadline)
  if deadline then return math.max(deadline - core.now(), 0) end
  return deadline
end

local function is_empty(result)
  if type(result) == "table" then return next(result) == nil end
  return result == nil or result == json.null
end

-- What failed is an outcome; anything else keeps the operation from being run.
local function outcome_of(session, way, result, err, context)
  if err == nil then
    local outcome = context.outcome or { success = true }
    outcome.result = not is_empty(result) and result or nil
    return outcome
  end
  local is_failure = err.kind == "remote" and err.code == session.state.release.codes[way]
  if is_failure then return outcomes.of_failure(err) end
  return nil, err
end

-- What the operation has to say comes before the answer, in the log.
local function call(session, way, method, params, deadline, listener)
  local begun = session.peer:begin(method, params, { timeout = time_left(deadline) })
  local context = { on_progress = listener.on_progress }
  if begun.id then session.running[begun.id] = context end
  local result, err = begun:wait()
  if session.peer.backlog_count > 0 then session.peer:idle(LATE) end
  if begun.id then session.running[begun.id] = nil end
  if not begun:is_done() then begun:cancel(err and err.message) end
  return outcome_of(session, way, result, err, context)
end

local run = { june = {}, july = {} }

-- The two belong together, so that nobody else may set up the same command in between.
function run.june.command(session, told_of, config, deadline, context)
  local turn <close>, err = turns.take(session.state.queues, told_of.name, time_left(deadline))
  if not turn then return nil, err end
  local setup = setmetatable({ name = told_of.name, args = json.null, config = config }, SETUP)
  local _
  _, err = session.peer:call("setupCommand", setup, { timeout = time_left(deadline) })
  if err ~= nil then return nil, err end
  return call(session, "command", "runCommand", { name = told_of.name }, deadline, context)
end

function run.june.task(session, told_of, config, deadline, context)
  local params = setmetatable({ type = told_of.name, config = config }, JUNE_TASK)
  local _, err = session.peer:call("validateTask", params, { timeout = time_left(deadline) })
  if err ~= nil then return nil, err end
  params.dir = context.workdir
  return call(session, "task", "runTask", params, deadline, context)
end

function run.july.command(session, told_of, config, deadline, context)
  local params = setmetatable({
    cmd = told_of.name, config = #config > 0 and config or nil, pluginConfig = session.state.config,
  }, JULY_COMMAND)
  return call(session, "command", "runCommand", params, deadline, context)
end

function run.july.task(session, told_of, config, deadline, context)
  local params = setmetatable({ taskType = told_of.name, config = config }, JULY_TASK)
  return call(session, "task", "runTask", params, deadline, context)
end

---@param session pintle.session
---@param operation string
---@param args table
---@param context pintle.context
---@return pintle.outcome?, pintle.error?
return function(session, operation, args, context)
  local told_of = session.state.ways[operation] or told.guess(operation)
  local release, patience = session.state.release, patience_of(context)
  local config, err = told.write(args, told_of.config, release)
  if not config then return nil, err end
  local deadline = patience and core.now() + patience
  return run[release.name][told_of.way](session, told_of, config, deadline, context)
end
