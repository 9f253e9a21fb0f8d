-- The client that a host is for its servers: its options and capabilities, its answers to requests of a server, and the
-- calls it makes.

local core = require "pintle.core"
local errors = require "pintle.error"
local jsonrpc = require "pintle.jsonrpc"
local tasks = require "pintle.task"
local wire = require "pintle.dialect.mcp.wire"

local json = core.json

local MOST_PAGES = 1000
local MOST_ROUNDS = 10 -- times that one call is made, if the server asks for input

local client = {}

---@return nil, pintle.error
function client.protocol_error(format, ...) return nil, errors.new("protocol", format:format(...)) end

local protocol_error = client.protocol_error

-- {====== Options ======

---The `options` of `host:start` for this dialect.
---@class pintle.mcp.options
---@field era? string a version of the protocol: only that version is tried
---@field client? { name: string, version: string, title?: string } the name of the host as servers see it
---@field roots? (string|{ uri: string, name?: string })[] directories that the server may know of
---@field capabilities? table added to those that follow from roots and handlers
---@field log_level? string minimum log level, one of the protocol's; default: follows from the host's verbosity

local function table_of(what)
  return function(value)
    if type(value) == "table" then return true end
    return nil, ("a %s expected, got %s"):format(what, type(value))
  end
end

local CHECKS = {
  era = function(value)
    if value == wire.MODERN or wire.is_classic(value) then return true end
    return nil, ("there is no %s; there are %s, %s"):format(tostring(value), wire.MODERN,
      table.concat(wire.CLASSIC, ", "))
  end,
  client = function(value)
    if type(value) == "table" and type(value.name) == "string" and type(value.version) == "string" then return true end
    return nil, "a table with name and version expected"
  end,
  roots = table_of "list",
  capabilities = table_of "table",
  log_level = function(value)
    if wire.RANK[value] then return true end
    return nil, "there is no " .. tostring(value)
  end,
}

---@param options pintle.mcp.options
---@return true?, pintle.error?
function client.check_options(options)
  for name, value in pairs(options) do
    local ok, message = nil, "there is no such option"
    if CHECKS[name] then ok, message = CHECKS[name](value) end
    if not ok then return nil, errors.new("invalid", ("options: %s: %s"):format(tostring(name), message)) end
  end
  return true
end

-- }======

-- {====== The client's description of itself ======

local INFO = json.order { "name", "title", "version" }

---@param session pintle.session
---@return table
function client.info(session)
  local given = session.options.client or { name = "pintle", version = "scm" }
  return setmetatable({ name = given.name, title = given.title, version = given.version }, INFO)
end

---@param session pintle.session
---@return table
function client.capabilities(session)
  local capabilities = {}
  if session.options.roots then capabilities.roots = {} end
  if session.handlers["sampling/createMessage"] then capabilities.sampling = {} end
  if session.handlers["elicitation/create"] then capabilities.elicitation = {} end
  for name, value in pairs(session.options.capabilities or {}) do capabilities[name] = value end
  return capabilities
end

-- The user can replace the extensions, and so take the tasks away.
local function modern_capabilities(session)
  local capabilities = client.capabilities(session)
  capabilities.extensions = capabilities.extensions or { [wire.TASKS] = {} }
  return capabilities
end

local LEVELS = { debug = "debug", info = "info", warn = "warning", error = "error" }

---The minimum log level; nil for no logs.
---@param session pintle.session
---@return string?
function client.log_level(session) return session.options.log_level or LEVELS[session.verbosity] end

---The `_meta` of every modern request. It is kept once the server's capabilities are known.
---@param session pintle.session
---@return table
function client.meta(session)
  local state = session.state
  if state.meta then return state.meta end
  local meta = {
    [wire.META.version] = wire.MODERN,
    [wire.META.client] = client.info(session),
    [wire.META.capabilities] = modern_capabilities(session),
  }
  if state.has_logs then meta[wire.META.level] = client.log_level(session) end
  if state.has_logs ~= nil then state.meta = meta end
  return meta
end

---The params for a request: with `_meta`, in the modern era.
---@param session pintle.session
---@param params table
---@return table
function client.with_meta(session, params)
  return session.state.is_modern and wire.with_meta(params, client.meta(session)) or params
end

local unclosed = setmetatable({}, { __mode = "k" }) ---@type table<pintle.raw, string> the texts without the last brace

---The same, encoded once, for params that the dialect has made; nil in the classic era.
---@param session pintle.session
---@return pintle.raw?
function client.encoded_meta(session)
  local state = session.state
  if not state.is_modern then return nil end
  local text = json.encode(wire.with_meta(nil, client.meta(session))._meta)
  local encoded = json.raw(text)
  unclosed[encoded] = text:sub(1, -2)
  if state.meta then state.encoded_meta = encoded end
  return encoded
end

---@type pintle.progress
client.PROGRESS = {
  method = wire.PROGRESS.method,
  report = wire.PROGRESS.report,
  -- Params with an encoded `_meta` belong to this call alone, so they may be changed.
  attach = function(params, token)
    local text = params and unclosed[params._meta]
    if not text then return wire.PROGRESS.attach(params, token) end
    params._meta = json.raw(('%s,"progressToken":%d}'):format(text, token))
    return params
  end,
}

-- }======

-- {====== Requests of a server ======

local function escape_path(path)
  return (path:gsub("[^%w%-._~/]", function(byte) return ("%%%02X"):format(byte:byte()) end))
end

local function root_of(session, root)
  if type(root) ~= "string" then return root end
  if root:find "^%a[%w+.-]*://" then return { uri = root } end
  if root:sub(1, 1) ~= "/" then root = (session.cwd or os.getenv "PWD" or ".") .. "/" .. root end
  return { uri = "file://" .. escape_path(root) }
end

---@param session pintle.session
---@return table?, pintle.error?
function client.list_roots(session)
  if not session.options.roots then return wire.unknown_method "roots/list" end
  local list = json.array()
  for i, root in ipairs(session.options.roots) do list[i] = root_of(session, root) end
  return { roots = list }
end

local function handle(session, method, params, request)
  local handler = session.handlers[method]
  if handler then return handler(params, request) end
  if method == "roots/list" then return client.list_roots(session) end
  return wire.unknown_method(tostring(jsonrpc.given(method)))
end

-- The second argument of a handler where there is no request.
local function request_for(session, method)
  return {
    peer = session.peer, method = method, cancelled = function() return false end, deadline = function() end,
  }
end

-- As for a request of the classic era, a handler that raises is logged, and the call does not wait longer for one that
-- waits than its deadline.
local function handle_in_time(session, method, params, left)
  local task = tasks.start(handle, session, method, params, request_for(session, method))
  local ok, result, err = pcall(task.await, task, left() or nil)
  if not ok then
    session:log("error", ("handler of %s failed: %s"):format(method, task.traceback))
    return nil, "Internal error"
  end
  if task.state ~= "running" then return result, err end
  task:cancel(err.message)
  if err.kind == "timeout" then
    err = errors.new("timeout", ("%s: its request %s was not answered in time"):format(session.name, method))
  end
  return nil, nil, err
end

local function answer_input_request(session, name, asked, left)
  if json.kind(asked) ~= "object" then return protocol_error("its input request %q is no object", name) end
  local result, err, end_of_wait = handle_in_time(session, asked.method, jsonrpc.given(asked.params), left)
  if result ~= nil or end_of_wait then return result, end_of_wait end
  local reason = errors.text(err or "there is no answer")
  return nil, errors.new("invalid", ("it asks for %s: %s"):format(tostring(asked.method), reason))
end

---Answers requests for input, one after the other.
---@param session pintle.session
---@param requests table<string, any>
---@param left fun(): number|false the time that the call has left
---@return table<string, any>? responses, pintle.error?
function client.answer_input_requests(session, requests, left)
  local responses = {}
  for name, asked in pairs(requests) do
    local err
    responses[name], err = answer_input_request(session, name, asked, left)
    if err ~= nil then return nil, err end
  end
  return responses
end

-- A copy of the params with the input that the server asked for.
local function add_input(session, params, result, left)
  local requests, state = jsonrpc.given(result.inputRequests), jsonrpc.given(result.requestState)
  local full = {}
  for name, value in pairs(params or {}) do full[name] = value end
  full.inputResponses, full.requestState = nil, state
  if requests == nil then return full end
  if json.kind(requests) ~= "object" then return protocol_error "its inputRequests are no object" end
  local err
  full.inputResponses, err = client.answer_input_requests(session, requests, left)
  if err then return nil, err end
  return setmetatable(full, getmetatable(params))
end

-- }======

-- {====== Calls ======

---@param result any
---@return boolean
local function asks_for_input(result) return type(result) == "table" and result.resultType == "input_required" end

---The progress token that was put into the `_meta` of params; nil without one.
---@param params table?
---@return integer?
function client.token_of(params)
  local meta = params and params._meta
  if type(meta) == "table" then return meta.progressToken end
  return math.tointeger(tostring(meta):match '"progressToken":(%d+)}$')
end

-- Repeats a call with the input that its result asks for, until there is another result.
local function repeat_call(session, method, params, options, result, left)
  for _ = 2, MOST_ROUNDS do
    local err
    params, err = add_input(session, params, result, left)
    if not params then return nil, err end
    local sent = wire.with_meta(params, client.meta(session))
    result, err = session.peer:call(method, sent, { timeout = left(), on_progress = options and options.on_progress })
    if not asks_for_input(result) then return result, err end
  end
  return protocol_error("it still asks for more after %d rounds", MOST_ROUNDS)
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
function client.settle(session, method, params, options, result, begun, token)
  if asks_for_input(result) then
    local err
    result, err = repeat_call(session, method, params, options, result,
      client.countdown(session, options and options.timeout, begun))
    if err ~= nil then return nil, err end
  end
  if type(result) ~= "table" or result.resultType ~= "task" then return result end
  return require("pintle.dialect.mcp.polling").wait(session, result, options, begun, token)
end

---Has a classic server run a tool as a task, and waits for its result.
---@param session pintle.session
---@param params table
---@param options? { timeout?: number|false, on_progress?: fun(...) }
---@return any result, pintle.error?
function client.call_as_task(session, params, options)
  local begun, timeout = core.now(), options and options.timeout
  if timeout == nil then timeout = session.peer.timeout end
  params.task = { ttl = timeout and math.ceil(timeout * 1000) or nil }
  if options and options.on_progress then params = wire.with_meta(params, {}) end
  local result, err = session.peer:call("tools/call", params, options)
  if err ~= nil then return nil, err end
  if json.kind(result) ~= "object" or json.kind(result.task) ~= "object" then return result end
  return require("pintle.dialect.mcp.polling").wait(session, result.task, options, begun, client.token_of(params))
end

---The time that a call has left, for its parts.
---@param session pintle.session
---@param timeout? number|false default: the peer's
---@param begun? number default: now
---@return fun(): number|false
function client.countdown(session, timeout, begun)
  if timeout == nil then timeout = session.peer.timeout end
  local deadline = timeout and (begun or core.now()) + timeout
  return function() return deadline and math.max(deadline - core.now(), 0) end
end

---Makes a call as the server's era requires.
---@param session pintle.session
---@param method string
---@param params any
---@param options? { timeout?: number|false, on_progress?: fun(...) }
---@return any result, pintle.error?
function client.call(session, method, params, options)
  local is_plain = not session.state.is_modern or params ~= nil and json.kind(params) ~= "object"
  if is_plain then return session.peer:call(method, params, options) end
  local begun, sent = core.now(), wire.with_meta(params, client.meta(session))
  local result, err = session.peer:call(method, sent, options)
  if err ~= nil then return nil, err end
  return client.settle(session, method, params, options, result, begun, client.token_of(sent))
end

---Reads a list page by page. A list without an end is cut.
---@param session pintle.session
---@param method string
---@param member string the name of the list in each page
---@param timeout_of fun(session: pintle.session): number|false the timeout of the next page
---@param add fun(item: any)
---@return boolean? is_cut, pintle.error?
function client.read_pages(session, method, member, timeout_of, add)
  local cursor
  for _ = 1, MOST_PAGES do
    local page, err = client.call(session, method, { cursor = cursor }, { timeout = timeout_of(session) })
    if page == nil then return nil, err or errors.new("protocol", ("its answer to %s is empty"):format(method)) end
    if json.kind(page) ~= "object" or json.kind(page[member]) ~= "array" then
      return protocol_error("its answer to %s has no list of %s", method, member)
    end
    for _, item in ipairs(page[member]) do add(item) end
    local next_cursor = jsonrpc.given(page.nextCursor)
    if next_cursor == nil then return false end
    if next_cursor == cursor then break end
    cursor = next_cursor
  end
  session:log("warn", ("its list of %s has no end"):format(member))
  return true
end

-- }======

return client
