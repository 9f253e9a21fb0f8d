-- Questions of a server to its client: elicitation, sampling and roots, asked by `ctx:call` while a request is handled.
--
-- A client with a handshake gets a request. A client without one takes no requests: its own request is answered with
-- the questions (`input_required`) and a `requestState`, and it sends the request again with the answers. Meanwhile the
-- handler of the first request, the "run", waits. So the function of the author runs once, in both eras. The repeated
-- request gives its id to the run, which answers it. If the run is a task, the client fetches the questions from it.

local declarations = require "pintle.dialect.mcp.declarations"
local errors = require "pintle.error"
local era = require "pintle.dialect.mcp.era"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local loop = require "pintle.loop"
local wire = require "pintle.dialect.mcp.wire"

local kind_of = json.kind

local questions = {}

-- {====== What may be asked ======

local ACTIONS = { accept = true, decline = true, cancel = true }

-- The capability that a client needs for a question, and whether an answer has the right form.
local QUESTIONS = {
  ["elicitation/create"] = {
    capability = "elicitation",
    is_answer = function(answer) return ACTIONS[answer.action] end,
  },
  ["sampling/createMessage"] = {
    capability = "sampling",
    is_answer = function(answer) return type(answer.content) == "table" end,
  },
  ["roots/list"] = { capability = "roots", is_answer = function(answer) return kind_of(answer.roots) == "array" end },
}

-- The requests that may be answered with questions.
local MAY_ASK = { ["tools/call"] = true, ["prompts/get"] = true, ["resources/read"] = true }

-- An empty capability for elicitation means forms.
local function required_question_capability(method, params, own)
  if method == "elicitation/create" then
    local mode = params.mode or "form"
    return not (mode == "form" and own.url == nil) and mode or nil
  end
  return method == "sampling/createMessage" and params.tools ~= nil and "tools" or nil
end

---The error for a client that has not declared a capability.
---@param is_modern boolean
---@param what string
---@param required table the capabilities that are missing
---@return pintle.error
function questions.missing_capability(is_modern, what, required)
  return errors.new("requirement", "Missing required client capability: " .. what, {
    code = is_modern and wire.MISSING_CAPABILITY or nil, data = { requiredCapabilities = required },
  })
end

local function check_question_capability(request, method, params)
  local name = QUESTIONS[method].capability
  local own = jsonrpc.given(request.mcp.capabilities[name])
  local member = required_question_capability(method, params, own or {})
  if own and (not member or own[member]) then return true end
  local required = { [name] = member and own and { [member] = {} } or {} }
  local what = member and own and name .. "." .. member or name
  return nil, questions.missing_capability(request.mcp.is_modern, what, required)
end

-- }======

-- {====== A run ======

-- What a request that has asked has in `request.mcp.run`: `pending` has the questions by their keys, `keys` all keys in
-- the order in which they were asked, `given` the answers that came with the request, `state` is the `requestState`
-- while the run waits for the request to be sent again, and `failure` the error if that did not happen in time.

local function forget_question_state(run)
  if run.state then run.server.state.waiting[run.state] = nil end
  run.state = nil
end

-- The function of the author has returned: nothing that still asks gets an answer.
local function close_asking_run(run)
  run.failure = run.failure or errors.new("closed", "the request is answered already")
  forget_question_state(run)
  if run.is_counted then run.server.state.asking = run.server.state.asking - 1 end
  run.is_counted = false
  for _, question in pairs(run.pending) do question.answered:set(nil, run.failure) end
end

local function asking_run_of(server, request)
  local run = request.mcp.run
  if run then return run end
  run = { server = server, request = request, pending = {}, keys = {}, given = {} }
  request.mcp.run = run
  request.on_finish = function() close_asking_run(run) end
  return run
end

-- There is no more than one client, so what it could guess is its own.
local function new_question_secret()
  local file <close> = io.open("/dev/urandom", "rb")
  local bytes = file and file:read(16) or string.pack("<jj", math.random(0), math.random(0))
  return (bytes:gsub(".", function(byte) return ("%02x"):format(byte:byte()) end))
end

questions.new_secret = new_question_secret

---The questions of a run that are not answered, as the client gets them; nil if there are none.
---@param run table?
---@return table?
function questions.pending(run)
  if not run or not next(run.pending) then return nil end
  local names, requests = {}, {}
  for _, key in ipairs(run.keys) do
    if run.pending[key] then
      names[#names + 1], requests[key] = key, run.pending[key].text
    end
  end
  return setmetatable(requests, json.order(names))
end

---Answers a request before its handler has ended, which then answers nothing.
---@param request pintle.request
---@param result table
function questions.answer_early(request, result)
  local id = request.id
  request.id = nil
  request.peer.stream:handle(id, request.method, nil, function() return result end)
end

local INPUT_REQUIRED = json.order { "resultType", "inputRequests", "requestState", "_meta" }

local function send_questions(run)
  local request, requests = run.request, questions.pending(run)
  run.is_settling = false
  if request.id == nil or not requests or run.failure or request.peer.ended then return end
  run.state = new_question_secret()
  run.server.state.waiting[run.state] = run
  questions.answer_early(request, setmetatable({
    resultType = "input_required", inputRequests = requests, requestState = run.state,
    _meta = era.result_meta(run.server),
  }, INPUT_REQUIRED))
end

local function send_questions_soon(run) loop.soon(send_questions, run) end

-- Questions that are asked in the same turn, and those of tasks that an answer has woken, are sent together.
local function schedule_questions(run)
  if run.is_settling then return end
  run.is_settling = true
  loop.soon(send_questions_soon, run)
end

-- }======

-- {====== Asking ======

-- A key is unique in its request, and in a task for as long as that lives.
local function new_question_key(run, wanted)
  local base = wanted or "question-" .. #run.keys + 1
  local key, count, is_used = base, 1, {}
  for _, used in ipairs(run.keys) do is_used[used] = true end
  while is_used[key] do
    count = count + 1
    key = ("%s-%d"):format(base, count)
  end
  run.keys[#run.keys + 1] = key
  return key
end

local function is_valid_question_answer(method, answer)
  return kind_of(answer) == "object" and QUESTIONS[method].is_answer(answer)
end

-- Takes an answer that came without being asked for, which only a key of the author's makes possible.
local function take_given_question_answer(run, key, method)
  local answer = run.given[key]
  run.given[key] = nil
  if is_valid_question_answer(method, answer) then return answer end
end

-- One handler less than may run, so that there is room for the request that brings the answers.
local function count_asking_run(run)
  local state = run.server.state
  if run.is_counted then return true end
  local limit = math.min(declarations.limit(run.server.plugin, "questions"), run.server.peer.most_requests - 1)
  if (state.asking or 0) >= limit then
    return nil, errors.new("full", ("%d requests wait for answers of the client already"):format(limit))
  end
  state.asking, state.waiting, run.is_counted = (state.asking or 0) + 1, state.waiting or {}, true
  return true
end

-- Without an answer the client has not repeated its request either, so the run has none to answer. A task continues.
local function give_up_question(run, question, err)
  run.pending[question.key] = nil
  if run.request.mcp.task then return run.request.mcp.task:changed() end
  if not run.state then return end
  forget_question_state(run)
  run.failure = err
  for _, other in pairs(run.pending) do other.answered:set(nil, err) end
  if err.kind ~= "timeout" then return end
  run.server:note("warn", ("%s: the client has not answered; the result is dropped"):format(question.method))
end

local function await_question_answer(run, question, timeout)
  local seconds = math.min(timeout or math.huge, declarations.limit(run.server.plugin, "question_time"))
  local message = ("no answer to %q within %gs"):format(question.method, seconds)
  local answer, err = question.answered:wait(seconds, errors.new("timeout", message, { elapsed = seconds }))
  if err and run.pending[question.key] then give_up_question(run, question, err) end
  return answer, err
end

local QUESTION = json.order { "method", "params" }

local function ask_question(server, request, method, params, timeout, wanted_key)
  local run = asking_run_of(server, request)
  local ok, err = nil, run.failure or server.ending and errors.new("closed", "the client sends no more messages")
  if not err then ok, err = count_asking_run(run) end
  if not ok then return nil, err end
  local key = new_question_key(run, wanted_key)
  local answer = take_given_question_answer(run, key, method)
  if answer then return answer end
  local is_sendable, text = pcall(json.encode, setmetatable({ method = method, params = params }, QUESTION))
  if not is_sendable then return nil, errors.new("invalid", text) end
  local question = { key = key, method = method, text = json.raw(text), answered = loop.event() }
  run.pending[key] = question
  if request.mcp.task then request.mcp.task:changed() else schedule_questions(run) end
  return await_question_answer(run, question, timeout)
end

local TRACE = { "traceparent", "tracestate", "baggage" }

-- The trace of a request is passed on to the calls that are made for it.
local function with_question_trace(request, params)
  local trace, meta = {}, request.meta
  for _, name in ipairs(TRACE) do trace[name] = meta[name] end
  return next(trace) and wire.with_meta(params, trace) or params
end

local function refuse_question(request, method)
  local reason = ("%s: a client without a handshake takes no such request while %s is handled")
  return nil, errors.new("invalid", reason:format(method, request.method))
end

---`ctx:call`, in both eras.
---@param server pintle.server
---@param request pintle.request
---@param method string
---@param params? table
---@param options? { timeout?: number|false }
---@param key? string the name of the question for a client without a handshake
---@return any result, pintle.error?
function questions.call(server, request, method, params, options, key)
  if QUESTIONS[method] then
    local ok, err = check_question_capability(request, method, type(params) == "table" and params or {})
    if not ok then return nil, err end
  end
  local sent = with_question_trace(request, params)
  if not request.mcp.is_modern then return request.peer:call(method, sent, options) end
  if not QUESTIONS[method] or not MAY_ASK[request.method] then return refuse_question(request, method) end
  local is_over, why = request:cancelled()
  if is_over then return nil, why end
  return ask_question(server, request, method, sent or {}, options and options.timeout, key)
end

-- }======

-- {====== Answers ======

---Gives answers to a run. Others than those that are waited for are ignored.
---@param run table
---@param answers table<string, any>
---@return boolean whether there was an answer to one of its questions
function questions.answer(run, answers)
  local is_any = false
  for key, question in pairs(run.pending) do
    local answer = answers[key]
    if answer ~= nil and is_valid_question_answer(question.method, answer) then
      run.pending[key], is_any = nil, true
      question.answered:set(answer)
    end
  end
  return is_any
end

-- The run answers the request that has come instead of its own.
local function resume_asking_run(run, request, answers)
  local own = run.request
  forget_question_state(run)
  own.id, own.meta, request.id = request.id, request.meta, nil
  request.mcp.run, own.mcp = run, request.mcp
  questions.answer(run, answers)
  schedule_questions(run)
  if own.on_resume then own.on_resume() end
end

local function find_asking_run(server, request, params)
  local waiting = server.state.waiting
  local run = waiting and waiting[params.requestState]
  local first = run and run.request.mcp.params
  if run and run.request.method == request.method and first.name == params.name and first.uri == params.uri then
    return run
  end
  return jsonrpc.invalid_params("requestState: it is unknown, or has expired, or belongs to another request")
end

---Reads the answers in a request. Returns true if the request is to be handled; nil alone if it continues an earlier
---one, which then answers it.
---@param server pintle.server
---@param params table
---@param request pintle.request
---@return true?, pintle.error?
function questions.receive(server, params, request)
  if not request.mcp.is_modern or not MAY_ASK[request.method] then return true end
  local ok, err = jsonrpc.check(params.inputResponses, "object", "inputResponses")
  if ok then ok, err = jsonrpc.check(params.requestState, "string", "requestState") end
  if not ok then return nil, err end
  local answers = jsonrpc.given(params.inputResponses) or {}
  if jsonrpc.given(params.requestState) == nil then
    asking_run_of(server, request).given = wire.copy_members(answers, {})
    return true
  end
  local run
  run, err = find_asking_run(server, request, params)
  if not run and server.plugin.methods[request.method] then return true end -- the state may be the author's own
  if not run then return nil, err end
  resume_asking_run(run, request, answers)
end

---The client sends no more messages: what waits for its answers ends.
---@param server pintle.server
function questions.stop(server)
  for _, run in pairs(server.state.waiting or {}) do
    run.request:stop(errors.new("closed", "the client sends no more messages"))
  end
end

-- }======

return questions
