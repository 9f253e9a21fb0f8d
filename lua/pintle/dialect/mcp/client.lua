-- What a host says it is, and what of it servers may ask for.

local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local wire = require "pintle.dialect.mcp.wire"

local client = {}

---What a user may give as `options`.
---@class pintle.mcp.options
---@field era? string a version of the protocol: only that era is tried
---@field client? { name: string, version: string, title?: string } who the host says it is
---@field roots? (string|{ uri: string, name?: string })[] directories that the server may know of
---@field capabilities? table on top of those that follow from roots and handlers
---@field log_level? string the lowest level of logs that are wanted, as the protocol has them; the host's unless told

-- {====== Options ======

local function is_version(value) return value == wire.MODERN or wire.is_classic(value) end

local CHECKS = {
  era = function(value)
    if is_version(value) then return true end
    return nil, ("there is no %s; there are %s, %s"):format(tostring(value), wire.MODERN,
      table.concat(wire.CLASSIC, ", "))
  end,
  client = function(value)
    if type(value) == "table" and type(value.name) == "string" and type(value.version) == "string" then return true end
    return nil, "a table with name and version expected"
  end,
  roots = function(value)
    if type(value) == "table" then return true end
    return nil, "a list expected, got " .. type(value)
  end,
  capabilities = function(value)
    if type(value) == "table" then return true end
    return nil, "a table expected, got " .. type(value)
  end,
  log_level = function(value)
    if wire.RANK[value] then return true end
    return nil, "there is no " .. tostring(value)
  end,
}

---@param options pintle.mcp.options
---@return true?, pintle.error?
function client.check(options)
  for name, value in pairs(options) do
    local ok, message = nil, "there is no such option"
    if CHECKS[name] then ok, message = CHECKS[name](value) end
    if not ok then return nil, errors.new("invalid", ("options: %s: %s"):format(tostring(name), message)) end
  end
  return true
end

-- }======

-- {====== Who it is ======

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

local LEVELS = { debug = "debug", info = "info", warn = "warning", error = "error" }

---The lowest level of logs that are wanted; nil where none are.
---@param session pintle.session
---@return string?
function client.level(session) return session.options.log_level or LEVELS[session.verbosity] end

-- }======

-- {====== Roots ======

local function escaped(path)
  return (path:gsub("[^%w%-._~/]", function(byte) return ("%%%02X"):format(byte:byte()) end))
end

local function root_of(session, root)
  if type(root) ~= "string" then return root end
  if root:find "^%a[%w+.-]*://" then return { uri = root } end
  if root:sub(1, 1) ~= "/" then root = (session.cwd or os.getenv "PWD" or ".") .. "/" .. root end
  return { uri = "file://" .. escaped(root) }
end

---@param session pintle.session
---@return table?, pintle.error?
function client.list_roots(session)
  if not session.options.roots then return wire.unknown_method "roots/list" end
  local list = json.array()
  for i, root in ipairs(session.options.roots) do list[i] = root_of(session, root) end
  return { roots = list }
end

-- }======

-- {====== What servers ask for ======

---Answers what a server asks for, whichever way it does.
---@param session pintle.session
---@param method any
---@param params any
---@param request pintle.request|table
---@return any result, any err
function client.answer(session, method, params, request)
  local handler = session.handlers[method]
  if handler then return handler(params, request) end
  if method == "roots/list" then return client.list_roots(session) end
  return wire.unknown_method(tostring(jsonrpc.given(method)))
end

-- }======

return client
