-- Asking a server: with all that it has to be told, and again with what it wants to know.

local client = require "pintle.dialect.mcp.client"
local core = require "pintle.core"
local errors = require "pintle.error"
local members = require "pintle.members"
local wire = require "pintle.dialect.mcp.wire"

local ROUNDS = 10 -- times that a server may ask back before it answers

local ask = {}

---What goes along with every request of the era without a handshake.
---@param session pintle.session
---@return table
function ask.meta(session)
  local meta = {
    [wire.META.version] = wire.MODERN,
    [wire.META.client] = client.info(session),
    [wire.META.capabilities] = client.capabilities(session),
  }
  if session.state.has_logs then meta[wire.META.level] = client.level(session) end
  return meta
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
  if members.kind(asked) ~= "object" then return protocol_error("its input request %q is no object", name) end
  local context = context_of(session, asked.method)
  local result, err = client.answer(session, asked.method, members.given(asked.params), context)
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
  local requests, state = members.given(result.inputRequests), members.given(result.requestState)
  local full = {}
  for name, value in pairs(params or {}) do full[name] = value end
  full.inputResponses, full.requestState = nil, state
  if requests == nil then return full end
  if members.kind(requests) ~= "object" then return protocol_error "its inputRequests are no object" end
  local err
  full.inputResponses, err = responses_to(session, requests)
  if err then return nil, err end
  return setmetatable(full, getmetatable(params))
end

-- }======

-- A limit is for all rounds together.
local function time_for(round, timeout, deadline)
  if round == 1 or not timeout then return timeout end
  return math.max(deadline - core.now(), 0)
end

local function is_wanting(result) return type(result) == "table" and result.resultType == "input_required" end

---Makes a call, as the era of the server has it.
---@param session pintle.session
---@param method string
---@param params any
---@param options { timeout?: number|false, on_progress?: fun(...) }
---@return any result, pintle.error?
function ask.call(session, method, params, options)
  local is_plain = not session.state.is_modern or params ~= nil and members.kind(params) ~= "object"
  if is_plain then return session.peer:call(method, params, options) end
  local deadline = options.timeout and core.now() + options.timeout
  for round = 1, ROUNDS do
    local result, err = session.peer:call(method, wire.with_meta(params, ask.meta(session)), {
      timeout = time_for(round, options.timeout, deadline), on_progress = options.on_progress,
    })
    if not is_wanting(result) then return result, err end
    params, err = completed(session, params, result)
    if not params then return nil, err end
  end
  return protocol_error("it still asks for more after %d rounds", ROUNDS)
end

return ask
