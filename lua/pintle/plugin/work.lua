-- Runs operations and methods: checks requirements and arguments, makes the context, and reads the outcome.

local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local lazy = require "pintle.lazy"
local loop = require "pintle.loop"
local option_checks = require "pintle.options"

local contents = lazy "pintle.content"
local program = lazy "pintle.plugin.program"

local type = type

local LEVELS = { debug = true, info = true, warn = true, error = true }
local QUEUE_LIMIT = 1 << 20 -- unsent bytes above which a function that sends has to wait
local NOTHING = {}

local work = {}

-- {====== Context ======

---@class pintle.plugin.context
---@field operation? string nil in a method
---@field method string
---@field workdir? string base of relative paths
---@field env table<string, string> added to the environment of the plugin
---@field phase? string
---@field agent? table
---@field config table the configuration of the plugin
---@field meta table what the protocol sends beside the params: the `_meta` of MCP; otherwise an empty table
---@field request pintle.request
---@field server pintle.server
local methods = {}

-- Computed when they are first read, because most functions use few of them. `given` is the context from the host.
local fields = {
  method = function(self) return self.request.method end,
  config = function(self) return self.server.config end,
  workdir = function(self) return self.given.workdir end,
  env = function(self) return self.given.env or {} end,
  phase = function(self) return self.given.phase end,
  agent = function(self) return self.given.agent end,
  meta = function(self) return self.request.meta or {} end,
}

local function index_work_context(self, name)
  local method = methods[name]
  if method then return method end
  local field = fields[name]
  if not field then return nil end
  local value = field(self)
  rawset(self, name, value)
  return value
end

local metatable = { __name = "pintle.plugin.context", __index = index_work_context }

local function new_work_context(server, request, operation, given)
  return setmetatable({ server = server, request = request, operation = operation, given = given }, metatable)
end

local function check_work_argument(where, value, expected)
  if type(value) ~= expected then error(("%s: a %s expected, got %s"):format(where, expected, type(value)), 3) end
end

-- {====== Messages to the host ======

-- Waits while too much is unsent, so that a handler that sends faster than the host reads does not fill the memory.
-- Raises if the value cannot be sent. That the host has ended is no error of the author.
local function wait_for_work_output_room(self, request, err)
  if err and err.kind == "invalid" then error(err.message, 3) end
  local peer = request.peer
  if peer.stream:queued() > QUEUE_LIMIT and not peer.ended then peer:flush(self:deadline() or math.huge) end
end

---Logs to the host.
---@param level pintle.level
---@param message string
---@param data? any
function methods:log(level, message, data)
  if not LEVELS[level] then
    error(("log: level: debug, info, warn or error expected, got %s"):format(tostring(level)), 2)
  end
  if type(message) ~= "string" then check_work_argument("log: message", message, "string") end
  local request = self.request
  local _, err = self.server:send_log(request, level, message, data)
  wait_for_work_output_room(self, request, err)
end

---Reports progress.
---@param fraction number from 0 to 1
---@param message? string
function methods:progress(fraction, message)
  if type(fraction) ~= "number" or not (fraction >= 0 and fraction <= 1) then
    error(("progress: a number from 0 to 1 expected, got %s"):format(tostring(fraction)), 2)
  end
  if message ~= nil then check_work_argument("progress: message", message, "string") end
  local request = self.request
  local _, err = self.server:progress(request, fraction, message)
  wait_for_work_output_room(self, request, err)
end

---Sends a part of the result before the rest, if host and protocol support that.
---@param value any
---@return true?, pintle.error?
function methods:part(value)
  local request = self.request
  local ok, err = self.server:part(request, value)
  wait_for_work_output_room(self, request)
  return ok, err
end

local function without_question_key(options)
  local rest = {}
  for name, value in pairs(options) do rest[name] = value end
  rest.key = nil
  return rest
end

---Calls the host. `key` is the name of a question to an MCP client without a handshake; other hosts do not see it.
---@param method string
---@param params? any
---@param options? { timeout?: number|false, key?: string }
---@return any result, pintle.error?
function methods:call(method, params, options)
  local key = options and options.key
  return self.request:call(method, params, key and without_question_key(options) or options, key)
end

---@param method string
---@param params? any
---@return true?, pintle.error?
function methods:notify(method, params) return self.request:notify(method, params) end

-- }======

---Whether the request was cancelled or timed out, or the host has ended. `why` is the error to return.
---@return boolean, pintle.error? why
function methods:cancelled() return self.request:cancelled() end

---Seconds until the deadline; nil if there is none.
---@return number?
function methods:deadline() return self.request:deadline() end

---Waits. Ends early, with `nil, err`, when the request is cancelled.
---@param seconds number
---@return true?, pintle.error?
function methods.sleep(_, seconds)
  check_work_argument("sleep", seconds, "number")
  return loop.sleep(seconds)
end

---A path relative to `workdir`.
---@param name string
---@return string
function methods:path(name)
  check_work_argument("path", name, "string")
  local workdir = self.workdir
  if name:sub(1, 1) == "/" or not workdir then return name end
  if name == "" or name == "." then return workdir end
  return (workdir:find "/$" and workdir or workdir .. "/") .. name:gsub("^%./+", "")
end

-- The words of the command are at integers.
local RUN_OPTIONS = setmetatable({
  input = "string", env = "table", cwd = "string", timeout = "number", keep = "number",
}, { __index = function(_, name) return math.type(name) == "integer" and "string" or nil end })

local function check_work_run_options(given)
  if type(given) ~= "table" then error("run: a table expected, got " .. type(given), 3) end
  if type(given[1]) ~= "string" then error("run: a command expected, such as { \"ls\", \"-l\" }", 3) end
  option_checks.check_types("run", given, RUN_OPTIONS, 3)
  for name, value in pairs(given.env or NOTHING) do
    if type(value) ~= "string" and value ~= false then
      error(("run: env: %s: a string expected, got %s"):format(tostring(name), type(value)), 3)
    end
  end
end

local function merge_work_env(base, more)
  local all = {}
  for name, value in pairs(base) do all[name] = value end
  for name, value in pairs(more or NOTHING) do all[name] = value end
  return all
end

---Runs a program in the directory and environment of the request. When its `timeout` is over or the request is
---cancelled, it is killed with its process group. `keep` is how many bytes of each output are kept; default: 1 MiB.
---@param given { [integer]: string, input?: string, env?: table, cwd?: string, timeout?: number, keep?: integer }
---@return pintle.program.result?, pintle.error?
function methods:run(given)
  check_work_run_options(given)
  local is_over, why = self:cancelled()
  if is_over then return nil, why end
  local result, err = program.run {
    command = table.move(given, 1, #given, 1, {}),
    input = given.input,
    env = merge_work_env(self.env, given.env),
    cwd = given.cwd and self:path(given.cwd) or self.workdir,
    timeout = math.min(given.timeout or math.huge, self:deadline() or math.huge),
    keep = given.keep,
  }
  is_over, why = self:cancelled()
  if not result and is_over then err = why end
  return result, err
end

-- }======

-- {====== Outcome ======

-- The function of an operation may return:
--   "text", true, nothing                    success
--   { message =, content =, outputs = }      success
--   bytes                                    success; the same as { content = { bytes } }
--   nil, "text"                              failure; the text is the message and the error
--   nil, { message =, error =, content =, outputs = }   failure
--   nil, err                                 a protocol error: a pintle.error, or any table with a code and a message
-- Anything else raises.

local MEMBERS = { success = "boolean", message = "string", error = "string", content = "table", outputs = true }

local function reject_outcome(operation, format, ...)
  error(("operation %q returned %s"):format(operation.name, format:format(...)), 0)
end

local function work_content_blocks(operation, list)
  local blocks, message = contents.blocks(list)
  return blocks or reject_outcome(operation, "wrong content: %s", message)
end

local function work_outcome_of_table(operation, given, success)
  for name, value in pairs(given) do
    local expected = MEMBERS[name]
    if name == "$bytes" then
      return { success = success, content = work_content_blocks(operation, { given }) }
    elseif not expected then
      reject_outcome(operation, "a table with %q; it may have message, error, content and outputs", tostring(name))
    elseif expected ~= true and type(value) ~= expected then
      reject_outcome(operation, "a %s as its %s; a %s expected", type(value), name, expected)
    end
  end
  if given.success ~= nil then success = given.success end
  local message, problem = given.message, given.error
  if not success then message, problem = message or problem, problem or message end
  return {
    success = success, message = message, error = problem, outputs = given.outputs,
    content = given.content and work_content_blocks(operation, given.content),
  }
end

local function work_outcome_of_failure(operation, err)
  if err == nil then return { success = false } end
  if type(err) == "string" then return { success = false, message = err, error = err } end
  if type(err) ~= "table" then reject_outcome(operation, "nil and a %s; a string or a table expected", type(err)) end
  if errors.is(err) or err.code ~= nil then return nil, err end
  return work_outcome_of_table(operation, err, false)
end

local function work_outcome_of(operation, result, err)
  local kind = type(result)
  if kind == "string" then return { success = true, message = result } end
  if kind == "table" then return work_outcome_of_table(operation, result, true) end
  if result == true or result == nil and err == nil then return { success = true } end
  if not result then return work_outcome_of_failure(operation, err) end
  reject_outcome(operation, "a %s; it may return a string, a table with message and outputs, true or nothing", kind)
end

-- Raises if the outputs do not match their schema. A failure need not have outputs.
local function check_work_outputs(self, operation, outcome)
  if not outcome.success and outcome.outputs == nil then return end
  local ok, message = self.plugin.manifest:check_outputs(operation.name, outcome.outputs)
  if not ok then reject_outcome(operation, "outputs that do not match its schema: %s", message) end
end

local function join_work_message(text, more) return text and text .. "\n" .. more or more end

-- For a dialect that has neither content nor outputs other than objects: they become text.
local function make_work_outcome_plain(outcome)
  if outcome.content then
    local text = contents.text(outcome.content)
    if text ~= "" then outcome.message = join_work_message(outcome.message, text) end
    outcome.content = nil
  end
  local outputs = outcome.outputs
  if outputs ~= nil and json.kind(outputs) ~= "object" then
    outcome.message, outcome.outputs = join_work_message(outcome.message, json.encode(outputs)), nil
  end
end

-- }======

-- {====== Operations ======

-- Returns the arguments with defaults. A long check stops when the request is cancelled.
local function check_work_args(self, name, args, request)
  return self.plugin.manifest:check(name, args, true, function()
    local is_cancelled, why = request:cancelled()
    return is_cancelled and why or nil
  end)
end

local function prepare_work_operation(self, operation, given)
  local ok, err = self:begin()
  if not ok or not self.plugin.has_requirements then return ok, err end
  local path = given.env and given.env.PATH
  ok, err = program.check(self.found, self.plugin.manifest.requires, path)
  if not ok then return nil, err end
  return program.check(self.found, operation.requires, path)
end

---Runs an operation.
---@param self pintle.server
---@param name string
---@param args any
---@param given pintle.context
---@param request pintle.request
---@return pintle.outcome?, pintle.error|table|string? err, "arguments"? reason if the arguments are wrong
function work.execute(self, name, args, given, request)
  if given.timeout then request:set_deadline(given.timeout, ("Operation %q"):format(name)) end
  local operation = self.operations[name]
  local complete = operation and operation.complete
  local checked, err = complete and complete(args)
  if not checked then
    checked, err = check_work_args(self, name, args, request)
    if not checked then return nil, err, operation and err.kind == "invalid" and "arguments" or nil end
  end
  if self.phase ~= "ready" or self.plugin.has_requirements then
    local ok
    ok, err = prepare_work_operation(self, operation, given)
    if not ok then return nil, err end
  end
  local ctx = operation.takes_context and new_work_context(self, request, name, given) or nil
  local outcome
  outcome, err = work_outcome_of(operation, operation.fn(checked, ctx))
  if request.on_finish then request.on_finish() end
  if request.stopped or request.due then
    local is_cancelled, why = request:cancelled()
    if is_cancelled then return nil, why end
  end
  if not outcome then return nil, err end
  if operation.validate_outputs then check_work_outputs(self, operation, outcome) end
  local has_more = outcome.content or outcome.outputs ~= nil
  if has_more and not self.dialect.plugin.has_content then make_work_outcome_plain(outcome) end
  return outcome
end

-- }======

-- {====== Methods ======

local function conclude_work_method(self, request, ...)
  if request.on_finish then request.on_finish() end
  local answer_by_dialect = self.dialect and self.dialect.plugin.answer
  if answer_by_dialect then return answer_by_dialect(self, request, ...) end
  return ...
end

local function may_handle_work_method(self, request, params)
  local dialect_decides = self.dialect and self.dialect.plugin.may_handle
  if not dialect_decides then return true end
  local ok, err = dialect_decides(self, request, params)
  if ok then return true end
  return nil, request.id ~= nil and err or nil
end

---The context of a function of the author's that is no operation. Initializes the plugin if the handshake has not done
---it.
---@param self pintle.server
---@param request pintle.request
---@return pintle.plugin.context?, pintle.error|table|string? err
function work.enter(self, request)
  local ok, err = self:begin()
  if not ok then return nil, err end
  return new_work_context(self, request, nil, NOTHING)
end

---Handles a method that the author has declared.
---@param self pintle.server
---@param fn pintle.plugin.method
---@param params any
---@param request pintle.request
---@return any, any
function work.handle(self, fn, params, request)
  local ok, err = may_handle_work_method(self, request, params)
  if not ok then return nil, err end
  local ctx
  ctx, err = work.enter(self, request)
  if not ctx then return nil, err end
  return conclude_work_method(self, request, fn(params, ctx))
end

---Handles an unknown method.
---@param self pintle.server
---@param params any
---@param request pintle.request
---@return nil, pintle.error? err
function work.refuse(self, params, request)
  local ok, err = may_handle_work_method(self, request, params)
  if not ok or request.id == nil then return nil, err end
  return nil, errors.new("invalid", "Method not found: " .. request.method, { code = jsonrpc.METHOD_NOT_FOUND })
end

-- }======

return work
