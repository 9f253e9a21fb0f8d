-- The client that a host is for its servers: its options, its description of itself, and its answers to requests of a
-- server.

local core = require "pintle.core"
local errors = require "pintle.error"
local jsonrpc = require "pintle.jsonrpc"
local tasks = require "pintle.task"
local wire = require "pintle.dialect.mcp.wire"

local json, protocol_error = core.json, jsonrpc.protocol_error

local client = {}

-- {====== Options ======

---The `options` of `host:start` for this dialect.
---@class pintle.mcp.options
---@field era? string a version of the protocol: only that version is tried
---@field client? { name: string, version: string, title?: string } the name of the host as servers see it
---@field roots? (string|{ uri: string, name?: string })[] directories that the server may know of
---@field capabilities? table added to those that follow from roots and handlers
---@field log_level? string minimum log level, one of the protocol's; default: follows from the host's verbosity

local function client_option_checker(what)
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
  roots = client_option_checker "list",
  capabilities = client_option_checker "table",
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
  return wire.copy_members(session.options.capabilities or {}, capabilities)
end

-- The user can replace the extensions, and so take the tasks away.
local function modern_client_capabilities(session)
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
    [wire.META.capabilities] = modern_client_capabilities(session),
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

local function escape_client_root(path)
  return (path:gsub("[^%w%-._~/]", function(byte) return ("%%%02X"):format(byte:byte()) end))
end

local function describe_client_root(session, root)
  if type(root) ~= "string" then return root end
  if root:find "^%a[%w+.-]*://" then return { uri = root } end
  if root:sub(1, 1) ~= "/" then root = (session.cwd or os.getenv "PWD" or ".") .. "/" .. root end
  return { uri = "file://" .. escape_client_root(root) }
end

---@param session pintle.session
---@return table?, pintle.error?
function client.list_roots(session)
  if not session.options.roots then return wire.unknown_method "roots/list" end
  local list = json.array()
  for i, root in ipairs(session.options.roots) do list[i] = describe_client_root(session, root) end
  return { roots = list }
end

local function handle_client_input_request(session, method, params, request)
  local handler = session.handlers[method]
  if handler then return handler(params, request) end
  if method == "roots/list" then return client.list_roots(session) end
  return wire.unknown_method(tostring(jsonrpc.given(method)))
end

-- The second argument of a handler where there is no request.
local function client_input_context(session, method)
  return {
    peer = session.peer, method = method, cancelled = function() return false end, deadline = function() end,
  }
end

-- As for a request of the classic era, a handler that raises is logged, and the call does not wait longer for one that
-- waits than its deadline.
local function handle_client_input_in_time(session, method, params, left)
  local context = client_input_context(session, method)
  local task = tasks.start(handle_client_input_request, session, method, params, context)
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

local function answer_client_input_request(session, name, asked, left)
  if json.kind(asked) ~= "object" then return protocol_error("its input request %q is no object", name) end
  local params = jsonrpc.given(asked.params)
  local result, err, end_of_wait = handle_client_input_in_time(session, asked.method, params, left)
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
    responses[name], err = answer_client_input_request(session, name, asked, left)
    if err ~= nil then return nil, err end
  end
  return responses
end

-- }======

return client
