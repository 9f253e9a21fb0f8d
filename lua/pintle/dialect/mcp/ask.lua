-- Asking a server: with all that it has to be told, and again with what it wants to know.

local client = require "pintle.dialect.mcp.client"
local core = require "pintle.core"
local errors = require "pintle.error"
local jsonrpc = require "pintle.jsonrpc"
local wire = require "pintle.dialect.mcp.wire"

local json = core.json

local ROUNDS = 10 -- times that a server may ask back before it answers

local ask = {}

---The `_meta` of every request in the era without a handshake. It stays the same once the server's capabilities are
---known.
---@param session pintle.session
---@return table
function ask.meta(session)
  if session.state.meta then return session.state.meta end
  local meta = {
    [wire.META.version] = wire.MODERN,
    [wire.META.client] = client.info(session),
    [wire.META.capabilities] = client.capabilities(session),
  }
  if session.state.has_logs then meta[wire.META.level] = client.level(session) end
  if session.state.has_logs ~= nil then session.state.meta = meta end
  return meta
end

---The same as a text that is encoded once, for params that have no `_meta` of their own; nil in the era with a
---handshake.
---@param session pintle.session
---@return pintle.raw?
function ask.meta_text(session)
  local state = session.state
  if not state.is_modern then return nil end
  local text = json.raw(json.encode(wire.with_meta(nil, ask.meta(session))._meta))
  if state.meta then state.meta_text = text end
  return text
end

-- {====== Asking back ======

local function protocol_error(format, ...) return nil, errors.new("protocol", format:format(...)) end

-- What handlers are given beside the params, where there is no request to give them.
local function context_of(session, method)
  return {
    peer = session.peer, method = method, cancelled = function() return false end, deadline = function() end,
  }
end

local function respond(session, name, asked)
  if json.kind(asked) ~= "object" then return protocol_error("its input request %q is no object", name) end
  local context = context_of(session, asked.method)
  local result, err = client.answer(session, asked.method, jsonrpc.given(asked.params), context)
  if result ~= nil then return result end
  local why = errors.text(err or "there is no answer")
  return nil, errors.new("invalid", ("it asks for %s: %s"):format(tostring(asked.method), why))
end

local function responses_to(session, requests)
  local responses = {}
  for name, asked in pairs(requests) do
    local err
    responses[name], err = respond(session, name, asked)
    if err ~= nil then return nil, err end
  end
  return responses
end

-- The same params with what the server has asked for.
local function completed(session, params, result)
  local requests, state = jsonrpc.given(result.inputRequests), jsonrpc.given(result.requestState)
  local full = {}
  for name, value in pairs(params or {}) do full[name] = value end
  full.inputResponses, full.requestState = nil, state
  if requests == nil then return full end
  if json.kind(requests) ~= "object" then return protocol_error "its inputRequests are no object" end
  local err
  full.inputResponses, err = responses_to(session, requests)
  if err then return nil, err end
  return setmetatable(full, getmetatable(params))
end

-- }======

---@param result any
---@return boolean
local function is_wanting(result) return type(result) == "table" and result.resultType == "input_required" end

---Goes on with a call whose answer asks for more, until it is answered. The timeout is for all rounds together.
---@param session pintle.session
---@param method string
---@param params table? without the `_meta` of the first round
---@param options? { timeout?: number|false, on_progress?: fun(...) }
---@param result table the answer of the first round
---@param begun number when that began
---@return any result, pintle.error?
function ask.go_on(session, method, params, options, result, begun)
  local given = options or {}
  local timeout = given.timeout
  if timeout == nil then timeout = session.peer.timeout end
  for _ = 2, ROUNDS do
    local err
    params, err = completed(session, params, result)
    if not params then return nil, err end
    local left = timeout and math.max(begun + timeout - core.now(), 0)
    local sent = wire.with_meta(params, ask.meta(session))
    result, err = session.peer:call(method, sent, { timeout = left, on_progress = given.on_progress })
    if not is_wanting(result) then return result, err end
  end
  return protocol_error("it still asks for more after %d rounds", ROUNDS)
end

---Makes a call, as the era of the server has it.
---@param session pintle.session
---@param method string
---@param params any
---@param options? { timeout?: number|false, on_progress?: fun(...) }
---@return any result, pintle.error?
function ask.call(session, method, params, options)
  local is_plain = not session.state.is_modern or params ~= nil and json.kind(params) ~= "object"
  if is_plain then return session.peer:call(method, params, options) end
  local begun = core.now()
  local result, err = session.peer:call(method, wire.with_meta(params, ask.meta(session)), options)
  if not is_wanting(result) then return result, err end
  return ask.go_on(session, method, params, options, result, begun)
end

return ask
