-- The Model Context Protocol over stdio, both sides and both eras: the classic era with a handshake (2024-11-05 to
-- 2025-11-25), and the modern era, in which every request describes the client (2026-07-28).

local lazy = require "pintle.lazy"

local VERSION = "io.modelcontextprotocol/protocolVersion"

local METHODS = {
  ["server/discover"] = true, ["subscriptions/listen"] = true, ["completion/complete"] = true,
  ["logging/setLevel"] = true, ping = "perhaps",
}
local PREFIXES = { tools = true, resources = true, prompts = true, tasks = true, notifications = "perhaps" }

local function has_modern_mcp_meta(params)
  local meta = type(params) == "table" and params._meta
  return type(meta) == "table" and meta[VERSION] ~= nil
end

-- Other protocols have "initialize" as well, but their versions look different.
local function is_mcp_handshake(params)
  if type(params) ~= "table" then return false end
  local version = params.protocolVersion
  if type(version) ~= "string" then return type(params.clientInfo) == "table" and "perhaps" end
  return version:find "^%d%d%d%d%-%d%d%-%d%d" ~= nil or type(params.clientInfo) == "table"
end

---@type pintle.dialect
return {
  name = "mcp",
  framing = "line",
  cancellation = false, -- the handshake cannot be cancelled
  declare = function(_, declared) return require("pintle.dialect.mcp.declarations").check_plugin(declared) end,
  check_operation = function(own) return require("pintle.dialect.mcp.declarations").check_operation(own) end,
  plugin_methods = setmetatable({}, {
    __index = function(_, name) return require("pintle.dialect.mcp.declarations").methods[name] end,
  }),
  recognises = function(method, params, framing)
    if framing ~= "line" then return false end
    if has_modern_mcp_meta(params) then return true end
    if method == "initialize" then return is_mcp_handshake(params) end
    return METHODS[method] or PREFIXES[method:match "^(%a+)/"] or false
  end,
  host = lazy "pintle.dialect.mcp.host",
  plugin = lazy "pintle.dialect.mcp.plugin",
}
